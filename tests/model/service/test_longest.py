"""The longest run: from the model's context, the cache, the machine's memory and the operator's limit."""

from dataclasses import replace

import pytest

from kvscope.model.service.longest import LEAST_LONGEST, longest_run
from tests.support.tiny import shared_model

GB = 10**9
CONFIG = replace(shared_model().config, layers=30, heads=9, kv_heads=3, context=8192)


@pytest.mark.parametrize(
    ("changes", "capacity", "asked", "memory", "longest"),
    [
        ({}, 8192, 0, 32 * GB, 2048),  # two of them in half of the cache
        ({}, 8192, 0, 8 * GB, 1360),  # 270 · 1360² ÷ 2 = 250 MB: a 32nd
        ({}, 8192, 0, GB, LEAST_LONGEST),
        ({"context": 1024}, 8192, 0, 32 * GB, 1024),
        ({"context": 100}, 8192, 0, GB, 100),
        ({}, 1000, 0, 32 * GB, 496),  # half of a small cache, in whole blocks
        ({}, 8192, 300, GB, 300),
        ({}, 8192, 3000, GB, 3000),  # the operator may allow more than the memory suggests,
        ({}, 8192, 9999, GB, 4096),  # but not more than half of the cache
        ({"context": 1024}, 8192, 3000, GB, 1024),
    ],
)
def test_the_smallest_bound_decides(
    changes: dict[str, int], capacity: int, asked: int, memory: int, longest: int
) -> None:
    assert longest_run(replace(CONFIG, **changes), capacity, asked, memory) == longest


def test_without_a_memory_the_machine_s_counts() -> None:
    assert LEAST_LONGEST <= longest_run(CONFIG, 8192) <= 2048
