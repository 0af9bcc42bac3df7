"""A cache's blocks allocated, shared and given back in any order, against a plain list of values per sequence."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule
from torch import Tensor

from kvscope.model.kv_cache import CacheFull, KVCache, Sequence


def write(cache: KVCache, slots: Tensor, value: float) -> None:
    """The value in all heads and dimensions; each layer adds its number, and V a half."""
    _, kv_heads, _, width = cache.by_layer[0].shape
    for layer in range(len(cache.by_layer)):
        row = torch.full((len(slots), kv_heads, width), float(value + layer))
        cache.write(layer, slots, row, row + 0.5)


def values(cache: KVCache, sequence: Sequence, layer: int = 1) -> list[float]:
    """The value that a layer's K holds at each position."""
    keys, _ = cache.read(layer, cache.slots(sequence))
    assert torch.equal(keys.nan_to_num(), keys[:1, :, :1].expand_as(keys).nan_to_num())
    return (keys[0, :, 0] - layer).tolist()


class Allocator(RuleBasedStateMachine):
    """Of the cache that `new_cache` returns; one `is_there` from the first step on."""

    sequences = Bundle("sequences")
    is_there = precondition(lambda self: hasattr(self, "cache"))
    cache: Any

    def new_cache(self) -> KVCache:
        raise NotImplementedError

    def state(self, sequence: Sequence) -> tuple[Any, ...]:
        """What a call that fails leaves as it is."""
        return list(self.cache.refcounts), list(sequence.table), sequence.length

    @initialize()
    def start(self) -> None:
        self.cache = self.new_cache()
        self.cache.pool.fill_(torch.nan)
        self.expected: dict[Sequence, list[float]] = {}
        self.written = 0

    @rule(target=sequences)
    def create(self) -> Sequence:
        sequence = Sequence()
        self.expected[sequence] = []
        return sequence

    @rule(sequence=sequences, count=st.integers(1, 40))
    def extend(self, sequence: Sequence, count: int) -> None:
        before = self.state(sequence)
        try:
            slots = self.cache.extend(sequence, count)
        except CacheFull:
            assert before == self.state(sequence)
            return
        self.written += 1
        write(self.cache, slots, self.written)
        self.expected[sequence] += [self.written] * count

    @rule(target=sequences, sequence=sequences, share=st.floats(0, 1))
    def fork(self, sequence: Sequence, share: float) -> Sequence:
        length = int(share * sequence.length)
        if not self.cache.can_fork(sequence, length):
            length = sequence.length
        child: Sequence = self.cache.fork(sequence, length)
        self.expected[child] = self.expected[sequence][:length]
        return child

    @rule(sequence=sequences, share=st.floats(0, 1))
    def truncate(self, sequence: Sequence, share: float) -> None:
        length = int(share * sequence.length)
        if self.cache.can_fork(sequence, length):
            self.cache.truncate(sequence, length)
            del self.expected[sequence][length:]

    @rule(sequence=consumes(sequences))
    def release(self, sequence: Sequence) -> None:
        self.cache.release(sequence)
        del self.expected[sequence]

    @is_there
    @invariant()
    def every_sequence_reads_what_it_wrote(self) -> None:
        for sequence, expected in self.expected.items():
            assert values(self.cache, sequence) == expected

    @is_there
    @invariant()
    def every_reference_is_counted(self) -> None:
        held = [block for sequence in self.expected for block in sequence.table]
        assert self.cache.refcounts == [held.count(block) for block in range(self.cache.blocks)]
        assert self.cache.free_blocks == self.cache.refcounts.count(0)
