"""Stretches of a region: the first hole that is long enough, and no block of anybody else."""

from __future__ import annotations

import pytest

from kvscope.model.kv_cache import BLOCK_SIZE, CacheFull, KVCache, Sequence
from kvscope.model.region import Region
from tests.support.tiny import tiny_config


def region(first: int = 4, blocks: int = 10, of: int = 16) -> tuple[KVCache, Region]:
    cache = KVCache(tiny_config(), of)
    cache.set_apart(range(first, first + blocks))
    return cache, Region(cache, range(first, first + blocks))


def test_a_stretch_is_the_first_hole_that_is_long_enough() -> None:
    cache, made = region()
    a, b, c = (made.take(count) for count in (3, 2, 3))
    assert (a.table, b.table, c.table) == ([4, 5, 6], [7, 8], [9, 10, 11])
    cache.release(b)
    assert made.take(1).table == [7]
    cache.release(a)
    assert made.take(2).table == [4, 5]


def test_enough_is_free_in_total_and_no_hole_is_long_enough() -> None:
    cache, made = region()
    stretches = [made.take(2) for _ in range(5)]
    for at in (0, 2, 4):
        cache.release(stretches[at])
    assert (made.free, made.longest, made.take(3)) == (6, 2, None)
    cache.release(stretches[1])
    assert (made.free, made.longest) == (8, 6)
    assert made.take(3).table == [4, 5, 6]


def test_a_stretch_stays_whole_until_it_is_released_and_gets_no_other_block() -> None:
    cache, made = region()
    sequence = made.take(3)
    assert cache.extend(sequence, 2 * BLOCK_SIZE).tolist() == list(range(4 * BLOCK_SIZE, 6 * BLOCK_SIZE))
    cache.truncate(sequence, 1)
    assert (sequence.length, sequence.table) == (1, [4, 5, 6])
    with pytest.raises(CacheFull, match="than were reserved"):
        cache.extend(sequence, 3 * BLOCK_SIZE)
    cache.release(sequence)
    assert (sequence.table, made.longest) == ([], 10)


def test_others_get_no_block_of_a_region_until_it_is_closed() -> None:
    cache, made = region()
    other = Sequence()
    cache.extend(other, 6 * BLOCK_SIZE)
    assert sorted(other.table) == [0, 1, 2, 3, 14, 15]
    with pytest.raises(CacheFull):
        cache.extend(other, 1)
    made.close()
    cache.extend(other, 10 * BLOCK_SIZE)
    assert sorted(other.table) == list(range(16))
