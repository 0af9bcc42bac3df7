"""A choice that somebody adds to a declaration alone is not taken for one of those that are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from kvscope.model import config as model_config
from kvscope.model.activations.effects import count_of
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.eviction import staying
from kvscope.model.engine.records import CloseRecord
from kvscope.model.engine.sampling import choose
from kvscope.model.log import frames
from kvscope.model.log.reader import LogReader
from kvscope.model.rope import frequencies
from kvscope.model.settings import Sampling
from kvscope.model.transformer import Transformer
from tests.support.tiny import GREEDY, tiny_config, tiny_engine
from tests.support.tiny_runs import request, service

NEW: Any = "new"


def choose_by_a_new_strategy() -> None:
    sampling = Sampling.model_construct(**{**GREEDY.model_dump(), "strategy": NEW})
    choose(Distribution(torch.randn(8)), sampling, 0)


USES: dict[str, Callable[[], object]] = {
    "strategy": choose_by_a_new_strategy,
    "policy": lambda: staying(NEW, 8),
    "effects": lambda: count_of(NEW, tiny_config(), [1, 2]),
    "rope": lambda: frequencies(1e4, 8, {"rope_type": NEW}),
}


@pytest.mark.parametrize("use", USES)
def test_it_is_refused_where_it_is_used(use: str) -> None:
    with pytest.raises((AssertionError, ValueError), match=NEW):
        USES[use]()


def test_a_run_with_a_new_way_of_caching_fails() -> None:
    engine = tiny_engine()
    engine.admit("run", [1, 2, 3], GREEDY, 2, caching=NEW)
    assert [record.reason for record in engine.advance() if isinstance(record, CloseRecord)] == ["failed"]


@pytest.mark.parametrize("name", ["norm", "mlp", "positions"])
def test_a_model_with_a_new_part_is_not_built(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(model_config._CHOICES, name, (NEW,))
    with pytest.raises((AssertionError, KeyError), match=NEW):
        Transformer(tiny_config(**{name: NEW}))


def test_a_new_kind_of_frame_is_not_read_as_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "KINDS", (*frames.KINDS, NEW))
    (opened,) = service().start(request())
    frame = frames.encode(opened.run, 1, NEW, {})
    with pytest.raises(frames.BadFrame, match=NEW):
        LogReader([opened.payload, frame.payload])
