from __future__ import annotations

import pytest
import torch
from hypothesis import settings

from kvscope.model.kv_cache import CacheFull, KVCache, Sequence
from tests.support.allocator import Allocator, values, write
from tests.support.tiny import tiny_config

CONFIG = tiny_config()


def cache(blocks: int = 4) -> KVCache:
    made = KVCache(CONFIG, blocks)
    made.pool.fill_(torch.nan)
    return made


def test_what_is_written_is_read_in_order_of_position_and_per_layer() -> None:
    pool, sequence = cache(), Sequence()
    slots = pool.extend(sequence, 20)
    rows = torch.randn(20, CONFIG.kv_heads, CONFIG.head_dim)
    pool.write(0, slots, rows, -rows)
    pool.write(1, slots, rows + 1, rows + 2)
    for layer, wanted in ((0, (rows, -rows)), (1, (rows + 1, rows + 2))):
        for found, row in zip(pool.read(layer, pool.slots(sequence)), wanted, strict=True):
            assert torch.equal(found, row.transpose(0, 1))


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
    for sequence, count in ((second, 1), (first, 16)):
        with pytest.raises(CacheFull):
            pool.extend(sequence, count)
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


class PagedAllocator(Allocator):
    def new_cache(self) -> KVCache:
        return cache(6)


TestAllocator = PagedAllocator.TestCase
TestAllocator.settings = settings(max_examples=25, stateful_step_count=25)
