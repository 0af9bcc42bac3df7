from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kvscope.model.engine.candidates import TAIL_BINS, TOP, candidates


def test_the_best_are_exact_and_in_order() -> None:
    logits = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    found = candidates(logits)
    order = torch.argsort(logits, descending=True)[:TOP]
    assert found.ids.tolist() == order.tolist()
    assert found.logits.tolist() == logits[order].tolist()
    assert (found.ids.dtype, found.logits.dtype, found.tail_counts.dtype) == (np.int32, np.float32, np.int32)


def test_the_tail_is_a_histogram_of_the_others() -> None:
    logits = torch.randn(5000, generator=torch.Generator().manual_seed(0))
    found = candidates(logits)
    rest = np.delete(logits.numpy(), found.ids)
    expected, _ = np.histogram(rest, TAIL_BINS, (found.tail_low, found.tail_high))
    assert found.tail_low == rest.min()
    assert found.tail_high == found.logits[-1]
    assert found.tail_size == 5000 - TOP
    # A value on the edge of two bins may fall to either side.
    assert np.abs(expected - found.tail_counts).sum() <= 4


def test_with_both_the_partition_sum_is_known_at_any_temperature() -> None:
    logits = torch.randn(20_000, generator=torch.Generator().manual_seed(1)).mul_(3)
    found = candidates(logits)
    width = (found.tail_high - found.tail_low) / TAIL_BINS
    centres = found.tail_low + width * (np.arange(TAIL_BINS) + 0.5)
    for temperature in (0.3, 1.0, 5.0):
        top = np.exp(found.logits.astype(float) / temperature).sum()
        tail = (found.tail_counts * np.exp(centres / temperature)).sum()
        exact = float(torch.exp(logits.double() / temperature).sum())
        assert top + tail == pytest.approx(exact, rel=0.01)


def test_a_tail_of_equals_is_counted() -> None:
    found = candidates(torch.full((1000,), 2.5))
    assert len(set(found.ids.tolist())) == TOP
    assert (found.tail_size, found.tail_low, found.tail_high) == (1000 - TOP, 2.5, 2.5)
    assert found.tail_counts[-1] == 1000 - TOP


@settings(max_examples=60)
@given(arrays(np.float32, st.integers(1, 900), elements=st.floats(-1e6, 1e6, width=32)))
def test_every_logit_is_counted_once(logits: np.ndarray) -> None:
    found = candidates(torch.from_numpy(logits))
    assert len(found.ids) + found.tail_size == len(logits)
    assert (np.diff(found.logits) <= 0).all()
    assert (found.tail_counts >= 0).all()
    if found.tail_size:
        assert found.tail_low <= found.tail_high == found.logits[-1]


@pytest.mark.parametrize("width", [1e-45, 1e-38, 1.0, 3e38])
def test_logits_may_be_as_near_and_as_far_as_float32_allows(width: float) -> None:
    logits = torch.tensor([-width, 0.0, width]).repeat(300)
    found = candidates(logits)
    assert found.logits.tolist() == [float(logits.max())] * TOP
    assert (found.tail_counts >= 0).all()
    assert found.tail_size == len(logits) - TOP
