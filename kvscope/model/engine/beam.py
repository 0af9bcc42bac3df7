"""Beam search: of all continuations, follow the few that are the most probable so far (Lowerre 1976).

The hypotheses are sequences of the paged cache that share what they have in common: one that goes on in two ways is
forked, and a block is copied when the first of the two writes to it. Each depth feeds the newest token of every
hypothesis that is alive, all in one ragged batch. What is maximized is the sum of the tokens' log-probabilities under
softmax of the raw logits, without a penalty or reward for length.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from kvscope.model.engine.changes import Changes
from kvscope.model.engine.conditions import Conditions, together
from kvscope.model.engine.records import BeamKV, BeamNode, BeamsRecord
from kvscope.model.engine.sampling import check_finite
from kvscope.model.kv_cache import BLOCK_SIZE, KVCache, Sequence


@dataclass(slots=True, eq=False)
class Hypothesis:
    """A continuation that may grow. `pending`: its tokens that are still to be fed; `node`: its last one, None while it
    is the bare context.
    """

    node: int | None
    total: float
    sequence: Sequence
    pending: list[int]


class BeamSearch:
    """The search for the `length` tokens after `ids`, of which the first `len(context)` lie in the cache.

    `changes`: what is computed otherwise than the model would.
    `eos`: tokens that end a hypothesis. An ended hypothesis keeps its place among the `beams` and grows no more.
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
        """Why nothing more can be found: "eos" or "length"; None while the search goes on."""
        if not self.live:
            return "eos"
        return "length" if self.depth == self.length else None

    def feed(self, most: int) -> list[tuple[Sequence, list[int]]]:
        """What the next forward pass shall compute: at most `most` tokens of each hypothesis."""
        fed = [(each.sequence, each.pending[:most]) for each in self.live]
        for each in self.live:
            del each.pending[:most]
        self._rows += sum(len(ids) for _, ids in fed)
        return fed

    def take(self, logits: Tensor, cache: KVCache, ms: float, conditions: Conditions) -> BeamsRecord | None:
        """Go one token deeper by the logits [live, V] of a pass that took `ms` under `conditions`; None while tokens of
        the context are still to be fed. Raises NotFinite.
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
        """Give back every block."""
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
        """What the hypotheses that are alive hold. All are of one length, so a block is filled alike in every table."""
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
    """Blocks a search may come to hold: full ones of the context once, all behind them once per beam.

    The last token's K and V are not among them: it is never fed.
    """
    shared = context // BLOCK_SIZE
    return shared + beams * (-(-(context + length - 1) // BLOCK_SIZE) - shared)
