"""What is asked of a run beside its steps is answered the same by native code as by torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from kvscope.model.native import Native
from kvscope.model.native.steps import NativeSteps
from kvscope.model.service import ModelService
from tests.support.grouped import checkpoint_of, write_grouped
from tests.support.tiny import check_cache
from tests.support.tiny_runs import chosen, request, run_to_end

IDS = [5, 40, 7, 99, 7, 200, 12, 31, 40, 8]


@pytest.fixture(scope="module", params=["llama", "qwen3", "gpt2"])
def pair(request: pytest.FixtureRequest, native: Native, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Of the same file: with native code, and with torch's alone."""
    path: Path = tmp_path_factory.mktemp(request.param) / "a.gguf"
    write_grouped(path, request.param)
    fast = ModelService(checkpoint_of(path, grouped=True), "cpu", native)
    plain = ModelService(checkpoint_of(path, grouped=False), "cpu")
    assert isinstance(fast.engine.runner.steps, NativeSteps)
    return fast, plain


def alike(found: Any, expected: Any) -> None:
    """But for what the order of sums in float32 makes of numbers."""
    if isinstance(expected, bytes):
        found, expected = safetensors.numpy.load(found), safetensors.numpy.load(expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            alike(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            alike(one, other)
    elif isinstance(expected, np.ndarray | float):
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("head", (IDS, 9, 1, 2)),
        ("head", (IDS, 0, 0, 0)),
        ("block", (IDS, 1, 9)),
        ("shards", (IDS, 1, 9, 2)),
        ("contributions", (IDS, 1, 9)),
        ("candidates", (IDS, "a")),
        ("lens", (IDS, 7)),
        ("mask", (IDS,)),
        ("losses", (IDS,)),
        ("algebra", (IDS, 1, 1)),
        ("smaller", (IDS, 3, "float32", 2)),
        ("smaller", (IDS, 3, "int8", 1)),
        ("embedding", (7,)),
        ("weights", (1, "attn.q", 3)),
        ("weights", (0, "mlp.down", 31)),
        ("matrix", (1, "attn.v")),
    ],
    ids=str,
)
def test_the_answers_are_the_same(name: str, asked: tuple[Any, ...], pair: tuple[ModelService, ModelService]) -> None:
    alike(*(getattr(made, name)(*asked) for made in pair))
    check_cache(pair[0].engine)


def test_a_step_with_the_cache_is_the_step_without_it(pair: tuple[ModelService, ModelService]) -> None:
    for each in pair[0].operations(IDS, 1)["operations"]:
        if each["cached"]:
            assert each["new"]["largest"] < 1e-4 < each["new"]["size"]


def test_a_timed_step_reads_what_is_held_with_the_cache_and_without(pair: tuple[ModelService, ModelService]) -> None:
    fast, plain = pair
    for cached in (True, False):
        assert "float32" not in fast.timing(IDS, cached)["weights_read"]
        assert set(plain.timing(IDS, cached)["weights_read"]) == {"float32"}


def test_runs_choose_the_same(pair: tuple[ModelService, ModelService]) -> None:
    texts = [chosen(run_to_end(made, request(prompt="The cat", max_new_tokens=12))) for made in pair]
    assert len(texts[0]) == 12
    assert texts[0] == texts[1]
