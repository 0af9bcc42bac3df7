"""A library of which any function computes otherwise than torch is refused when it is loaded."""

from __future__ import annotations

from ctypes import CDLL, c_float
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kvscope.model.compiler import Unavailable
from kvscope.model.native import Native, library
from kvscope.model.native.library import FUNCTIONS
from kvscope.model.native.steps import VALUES


@pytest.mark.parametrize("off", [1e-2, float("nan")])
@pytest.mark.parametrize("value", VALUES)
def test_a_block_of_which_one_value_is_wrong_is_refused(value: str, off: float, native: Native) -> None:
    right = native._library.block

    def wrong(block: Any, step: Any, rows: int, keys: int, values: int, buffer: int) -> None:
        right(block, step, rows, keys, values, buffer)
        if value != "qk" or block.q_norm:
            numbers = (c_float * (getattr(step, value) + 1)).from_address(buffer)
            numbers[getattr(step, value)] += off * 100

    with pytest.raises(Unavailable, match=r"^its block is not torch's: "):
        Native(cast(CDLL, SimpleNamespace(product=native._library.product, block=wrong)))


@pytest.mark.parametrize("stored", ["K", "V"])
def test_a_block_that_stores_something_else_is_refused(stored: str, native: Native) -> None:
    right = native._library.block

    def wrong(block: Any, step: Any, rows: int, keys: int, values: int, buffer: int) -> None:
        right(block, step, rows, keys, values, buffer)
        (c_float * 1).from_address(keys if stored == "K" else values)[0] += 1

    with pytest.raises(Unavailable, match=f"not torch's: {stored}$"):
        Native(cast(CDLL, SimpleNamespace(product=native._library.product, block=wrong)))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("const float factor = 1.0f / sqrtf(Dh);", "const float factor = 2.0f / sqrtf(Dh);"),
        ("if (visible && !visible[k]) weights[k] = 0;", ""),
        ("i % both < b->heads ? b->q_norm : b->k_norm", "b->q_norm"),
    ],
    ids=["the scale", "the mask", "a norm"],
)
def test_a_block_with_one_line_wrong_is_refused(
    right: str, wrong: str, native: Native, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = library.SOURCE.read_text("utf-8")
    assert source.count(right) == 1
    (tmp_path / "kernels.c").write_text(source.replace(right, wrong))
    monkeypatch.setattr(library, "SOURCE", tmp_path / "kernels.c")
    with pytest.raises(Unavailable, match=r"^its block is not torch's: "):
        Native.from_folder(tmp_path / "native")


def test_every_function_that_a_library_has_to_have_is_compared(native: Native) -> None:
    """One that somebody adds has to be broken here too."""
    assert set(FUNCTIONS) == {"product", "block"}  # tests/model/native/test_products.py, and here
    called = set()

    def counted(name: str) -> Any:
        right = getattr(native._library, name)

        def call(*given: Any) -> None:
            called.add(name)
            right(*given)

        return call

    Native(cast(CDLL, SimpleNamespace(**{name: counted(name) for name in FUNCTIONS})))
    assert called == set(FUNCTIONS)
