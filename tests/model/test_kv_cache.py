from __future__ import annotations

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule
from torch import Tensor

from kvscope.model.kv_cache import CacheFull, KVCache, Sequence
from tests.support.tiny import tiny_config

CONFIG = tiny_config()


def cache(blocks: int = 4) -> KVCache:
    made = KVCache(CONFIG, blocks)
    made.pool.fill_(torch.nan)
    return made


def write(cache: KVCache, slots: Tensor, value: float) -> None:
    row = torch.full((len(slots), CONFIG.kv_heads, CONFIG.head_dim), float(value))
    for layer in range(CONFIG.layers):
        cache.write(layer, slots, row + layer, row + layer + 0.5)


def values(cache: KVCache, sequence: Sequence) -> list[float]:
    """What the last layer's K holds at each position, the same in all heads and dimensions."""
    keys, _ = cache.read(CONFIG.layers - 1, cache.slots(sequence))
    assert bool((keys == keys[:1, :, :1]).all())
    return (keys[0, :, 0] - CONFIG.layers + 1).tolist()


def test_what_is_written_is_read_in_order_of_position_and_per_layer() -> None:
    pool, sequence = cache(), Sequence()
    slots = pool.extend(sequence, 20)
    rows = torch.randn(20, CONFIG.kv_heads, CONFIG.head_dim)
    pool.write(0, slots, rows, -rows)
    pool.write(1, slots, rows + 1, rows + 2)
    keys, vals = pool.read(0, pool.slots(sequence))
    assert torch.equal(keys, rows.transpose(0, 1))
    assert torch.equal(vals, -rows.transpose(0, 1))
    keys, vals = pool.read(1, pool.slots(sequence))
    assert torch.equal(keys, (rows + 1).transpose(0, 1))
    assert torch.equal(vals, (rows + 2).transpose(0, 1))


def test_extend_returns_the_new_slots_and_takes_a_block_only_at_a_boundary() -> None:
    pool, sequence = cache(), Sequence()
    taken = []
    for length in range(1, 34):
        assert pool.extend(sequence, 1).tolist() == pool.slots(sequence)[-1:].tolist()
        assert sequence.length == length
        taken.append(len(sequence.table))
    assert taken == [1] * 16 + [2] * 16 + [3]


def test_a_full_pool_changes_nothing_and_works_again_after_release() -> None:
    pool, first, second = cache(2), Sequence(), Sequence()
    pool.extend(first, 17)
    with pytest.raises(CacheFull):
        pool.extend(second, 1)
    with pytest.raises(CacheFull):
        pool.extend(first, 16)
    assert (first.length, len(first.table), second.table, second.length) == (17, 2, [], 0)
    pool.release(first)
    assert (first.length, first.table, pool.refcounts) == (0, [], [0, 0])
    assert len(pool.extend(second, 32)) == 32


def test_a_fork_shares_blocks_and_neither_changes_the_other() -> None:
    pool, parent = cache(8), Sequence()
    write(pool, pool.extend(parent, 40), 1)
    child = pool.fork(parent, 20)
    assert child.table == parent.table[:2]
    assert [pool.refcounts[block] for block in parent.table] == [2, 2, 1]
    shared = list(parent.table)

    write(pool, pool.extend(child, 4), 2)
    assert child.table[0] == shared[0]
    assert child.table[1] not in shared
    assert parent.table == shared
    assert [pool.refcounts[block] for block in parent.table] == [2, 1, 1]
    assert values(pool, child) == [1] * 20 + [2] * 4

    write(pool, pool.extend(parent, 4), 3)
    assert values(pool, parent) == [1] * 40 + [3] * 4
    assert values(pool, child) == [1] * 20 + [2] * 4


def test_the_last_holder_of_a_block_writes_in_place() -> None:
    pool, parent = cache(1), Sequence()
    write(pool, pool.extend(parent, 5), 1)
    child = pool.fork(parent, 3)
    with pytest.raises(CacheFull):
        pool.extend(child, 1)
    pool.release(parent)
    write(pool, pool.extend(child, 1), 2)
    assert values(pool, child) == [1, 1, 1, 2]


def test_truncate_gives_back_only_blocks_left_empty() -> None:
    pool, sequence = cache(), Sequence()
    pool.extend(sequence, 50)
    pool.truncate(sequence, 17)
    assert (sequence.length, len(sequence.table), pool.free_blocks) == (17, 2, 2)
    pool.truncate(sequence, 16)
    assert (len(sequence.table), pool.free_blocks) == (1, 3)


@pytest.mark.parametrize("length", [-1, 6])
def test_positions_that_are_not_written_cannot_be_shared_or_kept(length: int) -> None:
    pool, sequence = cache(), Sequence()
    pool.extend(sequence, 5)
    with pytest.raises(ValueError, match="share"):
        pool.fork(sequence, length)
    with pytest.raises(ValueError, match="keep"):
        pool.truncate(sequence, length)
    assert pool.refcounts[sequence.table[0]] == 1


def test_bytes_are_those_of_the_tensors_and_agree_with_the_formula() -> None:
    for dtype, size in ((torch.float32, 4), (torch.float16, 2)):
        pool, sequence = KVCache(CONFIG, 4, dtype=dtype), Sequence()
        slots = pool.extend(sequence, 21)
        read = [part for layer in range(CONFIG.layers) for part in pool.read(layer, slots)]
        formula = 2 * CONFIG.layers * CONFIG.kv_heads * CONFIG.head_dim * size
        assert pool.bytes_used(sequence) == sum(part.nbytes for part in read) == formula * 21
        assert pool.bytes_reserved(sequence) == formula * 32
        assert pool.pool.nbytes == formula * 64


class Allocator(RuleBasedStateMachine):
    """The pool against a plain list of values per sequence."""

    sequences = Bundle("sequences")

    @initialize()
    def start(self) -> None:
        self.pool = cache(6)
        self.expected: dict[Sequence, list[float]] = {}
        self.written = 0

    @rule(target=sequences)
    def create(self) -> Sequence:
        sequence = Sequence()
        self.expected[sequence] = []
        return sequence

    @rule(sequence=sequences, count=st.integers(1, 40))
    def extend(self, sequence: Sequence, count: int) -> None:
        before = list(self.pool.refcounts), list(sequence.table), sequence.length
        try:
            slots = self.pool.extend(sequence, count)
        except CacheFull:
            assert before == (self.pool.refcounts, sequence.table, sequence.length)
            return
        self.written += 1
        write(self.pool, slots, self.written)
        self.expected[sequence] += [self.written] * count

    @rule(target=sequences, sequence=sequences, share=st.floats(0, 1))
    def fork(self, sequence: Sequence, share: float) -> Sequence:
        length = int(share * sequence.length)
        child = self.pool.fork(sequence, length)
        self.expected[child] = self.expected[sequence][:length]
        return child

    @rule(sequence=sequences, share=st.floats(0, 1))
    def truncate(self, sequence: Sequence, share: float) -> None:
        length = int(share * sequence.length)
        self.pool.truncate(sequence, length)
        del self.expected[sequence][length:]

    @rule(sequence=consumes(sequences))
    def release(self, sequence: Sequence) -> None:
        self.pool.release(sequence)
        del self.expected[sequence]

    @precondition(lambda self: hasattr(self, "pool"))
    @invariant()
    def every_sequence_reads_what_it_wrote(self) -> None:
        for sequence, expected in self.expected.items():
            assert values(self.pool, sequence) == expected

    @precondition(lambda self: hasattr(self, "pool"))
    @invariant()
    def every_reference_is_counted(self) -> None:
        held = [block for sequence in self.expected for block in sequence.table]
        assert self.pool.refcounts == [held.count(block) for block in range(self.pool.blocks)]
        assert self.pool.free_blocks == self.pool.refcounts.count(0)


TestAllocator = Allocator.TestCase
TestAllocator.settings = settings(max_examples=25, stateful_step_count=25)
