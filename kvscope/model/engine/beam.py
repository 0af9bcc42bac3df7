"""Beam search: follows the few most probable continuations (Lowerre 1976).

Hypotheses are sequences of the paged cache that share blocks. A hypothesis with two continuations is forked, and a
shared block is copied before one of them writes to it. Each depth feeds the newest token of every live hypothesis in
one ragged batch. The search maximizes the sum of the tokens' log-probabilities under softmax of the raw logits, without
a penalty or reward for length.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.engine.changes import Changes
from kvscope.model.engine.conditions import Conditions, together
from kvscope.model.engine.distribution import check_finite
from kvscope.model.engine.records import BeamKV, BeamNode, BeamsRecord
from kvscope.model.kv_cache import BLOCK_SIZE, KVCache, Sequence


@dataclass(slots=True, eq=False)
class Hypothesis:
    """A continuation that may grow. `pending`: tokens still to be fed; `node`: its last token's node, None for the
    context alone.
    """

    node: int | None
    total: float
    sequence: Sequence
    pending: list[int]


class BeamSearch:
    """Searches for the `length` tokens after `ids`. `context`: the cached rows of the first of these ids.

    `changes`: replacements of values in its passes.
    `eos`: tokens that end a hypothesis. An ended hypothesis still counts as one of the `beams` but does not grow.
    """

    def __init__(
        self,
        key: str,
        ids: list[int],
        context: Sequence,
        *,
        beams: int,
        length: int,
        eos: frozenset[int],
        changes: Changes | None = None,
    ) -> None:
        self.key = key
        self.beams = beams
        self.length = length
        self.changes = changes
        self.depth = 0
        self.live = [Hypothesis(None, 0.0, context, ids[context.length :])]
        self.paused = False
        self.single_steps = 0
        self.blocks_promised = blocks_of_search(len(ids), beams, length)
        self._eos = eos
        self._nodes = 0
        self._ended: list[BeamNode] = []
        self._ms = 0.0
        self._conditions: list[Conditions] = []
        self._rows = 0

    @property
    def ready(self) -> bool:
        return not self.paused or self.single_steps > 0

    @property
    def over(self) -> str | None:
        """Why the search has ended: "eos" or "length"; None while it continues."""
        if not self.live:
            return "eos"
        return "length" if self.depth == self.length else None

    def feed(self, most: int) -> list[tuple[Sequence, list[int]]]:
        """Takes the next pass's tokens: at most `most` of each hypothesis, with its sequence."""
        fed = [(each.sequence, each.pending[:most]) for each in self.live]
        for each in self.live:
            del each.pending[:most]
        self._rows += sum(len(ids) for _, ids in fed)
        return fed

    def take(self, logits: Tensor, cache: KVCache, ms: float, conditions: Conditions) -> BeamsRecord | None:
        """Extends the search by one token from the logits [live, V] of a pass of `ms` milliseconds. Returns None while
        tokens of the context are still to be fed. Raises NotFinite.
        """
        self._ms += ms
        self._conditions.append(conditions)
        if self.live[0].pending:
            return None
        check_finite(logits)
        grown = logits.double().log_softmax(dim=-1)  # live V
        totals = grown + torch.tensor([[each.total] for each in self.live], dtype=grown.dtype, device=grown.device)
        best = totals.flatten().topk(min(2 * self.beams, totals.numel())).indices.tolist()
        places = self.beams - len(self._ended)
        nodes, parents = [], []
        for rank, (place, token) in enumerate(divmod(index, logits.shape[-1]) for index in best):
            parent = self.live[place]
            nodes.append(
                BeamNode(
                    id=self._nodes + rank,
                    parent=parent.node,
                    token=token,
                    logprob=float(grown[place, token]),
                    total=float(totals[place, token]),
                    kept=rank < places,
                    ended=token in self._eos,
                )
            )
            parents.append(parent)
        self._nodes += len(nodes)
        self._follow(nodes, parents, cache)
        return self._record(nodes, cache)

    def release(self, cache: KVCache) -> None:
        """Releases all blocks."""
        for each in self.live:
            cache.release(each.sequence)
        self.live = []

    def _follow(self, nodes: list[BeamNode], parents: list[Hypothesis], cache: KVCache) -> None:
        before = self.live
        self._ended += [node for node in nodes if node.kept and node.ended]
        self.live = [
            Hypothesis(node.id, node.total, cache.fork(parent.sequence, parent.sequence.length), [node.token])
            for node, parent in zip(nodes, parents, strict=True)
            if node.kept and not node.ended
        ]
        for each in before:
            cache.release(each.sequence)
        self.depth += 1
        self.single_steps = max(0, self.single_steps - 1)

    def _record(self, nodes: list[BeamNode], cache: KVCache) -> BeamsRecord:
        best = max((node for node in (*self._ended, *nodes) if node.kept), key=lambda node: node.total)
        conditions = together(self._conditions)
        record = BeamsRecord(
            self.key, self.depth, tuple(nodes), best.id, self._ms, self._rows, self._kv(cache), conditions
        )
        self._ms, self._rows, self._conditions = 0.0, 0, []
        return record

    def _kv(self, cache: KVCache) -> BeamKV:
        """Returns the cache use of the live hypotheses, all of one length: a block has equal rows in every table."""
        tables = Counter(block for each in self.live for block in each.sequence.table)
        filled = {
            block: min(BLOCK_SIZE, each.sequence.length - index * BLOCK_SIZE)
            for each in self.live
            for index, block in enumerate(each.sequence.table)
        }
        return BeamKV(
            blocks=len(tables),
            shared_blocks=sum(count > 1 for count in tables.values()),
            bytes_used=cache.bytes_filled(filled),
            bytes_if_copied=sum(cache.bytes_used(each.sequence) for each in self.live),
        )


def blocks_of_search(context: int, beams: int, length: int) -> int:
    """Returns the most blocks that a search needs: the context's full blocks once, all later blocks once per beam.

    The last token is never fed, so its K and V need no room.
    """
    shared = context // BLOCK_SIZE
    return shared + beams * (-(-(context + length - 1) // BLOCK_SIZE) - shared)
