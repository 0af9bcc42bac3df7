"""A library of which any function computes otherwise than torch is refused when it is loaded."""

from __future__ import annotations

import shutil
from ctypes import CDLL, c_float, c_uint16
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kvscope.model.compiler import Unavailable
from kvscope.model.native import Native, library
from kvscope.model.native.library import FUNCTIONS
from kvscope.model.native.steps import CAPTURED, VALUES

COMPARED = [value for value in VALUES if value not in ("expert", "scratch")]


def with_step(native: Native, wrong: Any) -> CDLL:
    """The library with another `step`, which is called with the structures."""

    def step(model: Any, each: Any, threads: int) -> None:
        native._library.step(model, each, threads)
        wrong(model._obj, each._obj)

    return cast(CDLL, SimpleNamespace(product=native._library.product, step=step))


def add(address: int, index: int, number: float) -> None:
    numbers = (c_float * (index + 1)).from_address(address)
    numbers[index] += number


@pytest.mark.parametrize("off", [1.0, float("nan")])
@pytest.mark.parametrize("value", COMPARED)
def test_a_step_of_which_one_value_is_wrong_is_refused(value: str, off: float, native: Native) -> None:
    after = VALUES[VALUES.index(value) + 1]

    def wrong(model: Any, each: Any) -> None:
        start = getattr(each, value)
        if getattr(each, after) > start:  # not every model has every value
            add(each.buffer, start, 100 * off)
            add(each.buffer, getattr(each, after) - 1, 100 * off)

    with pytest.raises(Unavailable, match=r"^its step is not torch's: "):
        Native(with_step(native, wrong))


@pytest.mark.parametrize("value", ["keys", "values", "logits", "final", "input"])
def test_a_step_that_writes_something_else_is_refused(value: str, native: Native) -> None:
    def wrong(model: Any, each: Any) -> None:
        add(getattr(model.layers[0] if value in ("keys", "values") else each, value), 0, 100)

    with pytest.raises(Unavailable, match=r"^its step is not torch's: "):
        Native(with_step(native, wrong))


@pytest.mark.parametrize("value", CAPTURED)
def test_a_step_that_captures_something_else_is_refused(value: str, native: Native) -> None:
    def wrong(model: Any, each: Any) -> None:
        if each.with_head:  # after the last layer
            (c_uint16 * 1).from_address(getattr(each.sequences[0], value))[0] ^= 0x4040

    with pytest.raises(Unavailable, match=r"^its step is not torch's: "):
        Native(with_step(native, wrong))


@pytest.mark.parametrize("value", ["sum", "weighted", "largest"])
def test_a_step_with_another_distribution_is_refused(value: str, native: Native) -> None:
    def wrong(model: Any, each: Any) -> None:
        setattr(each.summaries[0], value, getattr(each.summaries[0], value) * 1.1 + 1)

    with pytest.raises(Unavailable, match=f"not torch's: {value.replace('sum', 'total')}"):
        Native(with_step(native, wrong))


@pytest.mark.parametrize(
    ("file", "right", "wrong"),
    [
        ("layer.h", "scores[k] = sum * m->score_scale;", "scores[k] = 2 * sum * m->score_scale;"),
        ("layer.h", "end = s->keys - s->queries + q + 1;", "end = s->keys;"),
        ("layer.h", "head < m->heads ? &l->q_norm : &l->k_norm", "&l->q_norm"),
        ("layer.h", "norm_rows(me, &l->attn_post,", "norm_rows(me, &l->attn_norm,"),
        ("layer.h", "m->gelu, from,", "0, from,"),
        ("layer.h", "to[i] *= m->embedding_scale", "to[i] *= 1"),
        ("layer.h", "p->positions[row] * 2 * Dh", "(p->positions[row] + 1) * 2 * Dh"),
        ("layer.h", "end > l->window ? end - l->window : 0", "0 ? end - l->window : 0"),
        ("layer.h", "mean /= width;", "mean = 0;"),
        ("products.h", "out[i] += l->bias[i % l->outputs]", "out[i] += 0"),
    ],
    ids=["scale", "mask", "norm of K", "post norm", "GELU", "embedding", "rotation", "window", "LayerNorm", "bias"],
)
def test_a_step_with_one_line_wrong_is_refused(
    file: str, right: str, wrong: str, native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in library.SOURCE.parent.glob("*.[ch]"):
        shutil.copy(path, tmp_path)
    source = (tmp_path / file).read_text("utf-8")
    assert source.count(right) == 1
    (tmp_path / file).write_text(source.replace(right, wrong))
    monkeypatch.setattr(library, "SOURCE", tmp_path / "kernels.c")
    monkeypatch.setattr(library, "OPTIONS", [option.replace("-O3", "-O1") for option in library.OPTIONS])
    with pytest.raises(Unavailable, match=r"^its (step|products with 4-bit groups) (is|are) not torch's"):
        Native.from_folder(tmp_path / "native")


def test_every_function_that_a_library_has_to_have_is_compared(native: Native) -> None:
    """One that somebody adds has to be broken here too."""
    assert set(FUNCTIONS) == {"product", "step"}  # tests/model/native/test_products.py, and here
    called = set()

    def counted(name: str) -> Any:
        right = getattr(native._library, name)

        def call(*given: Any) -> None:
            called.add(name)
            right(*given)

        return call

    Native(cast(CDLL, SimpleNamespace(**{name: counted(name) for name in FUNCTIONS})))
    assert called == set(FUNCTIONS)
