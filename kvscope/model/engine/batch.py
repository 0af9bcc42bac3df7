"""Builds a ragged batch: the new rows of several sequences in one tensor, on the host."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from kvscope.model.engine.changes import Changes
from kvscope.model.transformer import AttentionGroup, Batch


@dataclass(frozen=True, slots=True)
class Entry:
    """One sequence's part of a batch: its new `ids`, and the index `first` of the first of them among its rows.

    `new_slots` [count]: cache slots of the new rows; `slots` [length]: of the whole sequence. `forgotten`: earlier
    tokens whose rows were dropped; the positions of the rows count them. `outputs`: how many of the last new rows get
    logits. `changes`: replacements of values in the pass.
    """

    ids: list[int]
    first: int
    new_slots: Tensor
    slots: Tensor
    forgotten: int = 0
    outputs: int = 1
    changes: Changes | None = None

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def length(self) -> int:
        return self.first + len(self.ids)

    @property
    def positions(self) -> range:
        """Positions of the new rows."""
        return range(self.forgotten + self.first, self.forgotten + self.length)


def make_batch(entries: list[Entry], window: int | None = None) -> tuple[Batch, list[int]]:
    """Returns the batch and the order of its sequences (indices into `entries`).

    Sequences with the same number of new rows form one group, so that decoding runs share their matrix products. The
    last `outputs` rows of each sequence are output rows, in batch order. `window`: the most keys that a query reads,
    its own included.
    """
    order = sorted(range(len(entries)), key=lambda index: entries[index].count)
    ordered = [entries[index] for index in order]
    groups: list[AttentionGroup] = []
    start = 0
    for count, same in groupby(ordered, key=lambda entry: entry.count):
        members = list(same)
        groups.append(_group(members, start, count, window))
        start += count * len(members)
    out_rows: list[int] = []
    end = 0
    for entry in ordered:
        end += entry.count
        out_rows += range(end - entry.outputs, end)
    batch = Batch(
        ids=torch.tensor([token for entry in ordered for token in entry.ids]),
        positions=torch.tensor([p for entry in ordered for p in entry.positions]),
        slots=torch.cat([entry.new_slots for entry in ordered]),
        groups=tuple(groups),
        out_rows=torch.tensor(out_rows, dtype=torch.long),
    )
    return batch, order


def _group(members: list[Entry], start: int, queries: int, window: int | None) -> AttentionGroup:
    keys = max(entry.length for entry in members)
    slots = torch.cat([pad for entry in members for pad in (entry.slots, entry.slots[:1].expand(keys - entry.length))])
    first = torch.tensor([entry.first for entry in members])
    everything = queries == 1 and all(entry.length == keys for entry in members)
    hidden = None if everything else hidden_keys(first, queries, keys)
    windowed = window is not None and keys > window
    far = hidden_keys(first, queries, keys, window) if windowed else hidden
    lengths = tuple(entry.length for entry in members)
    return AttentionGroup(start, len(members), queries, lengths, slots, hidden, far)


def hidden_keys(first: Tensor, queries: int, keys: int, window: int | None = None) -> Tensor:
    """Returns which keys each query may not read, bool [B, 1, 1, Q, K]: later ones, the padding among them, and those
    before the `window` newest. `first` [B]: the index of each sequence's first query among its keys.
    """
    query = first[:, None, None, None, None] + torch.arange(queries, device=first.device)[:, None]
    key = torch.arange(keys, device=first.device)
    later = key > query
    return later if window is None else later | (key <= query - window)
