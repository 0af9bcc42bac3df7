"""Multiplies with weights in groups, by `product` of kernels.c."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL, POINTER, Structure, c_int32, c_int64, c_void_p
from typing import Any

from torch import Tensor, float32

from kvscope.model.grouped import Groups
from kvscope.model.linear import GroupedWeight, Product, Products


class Weight(Structure):
    """`struct weight`."""

    _fields_ = (
        *((name, c_void_p) for name in ("q", "d", "m")),
        *((name, c_int64) for name in ("panels", "groups", "outputs")),
        *((name, c_int32) for name in ("bits", "size", "wide")),
    )


class Linear(Structure):
    """`struct linear`."""

    _fields_ = (("parts", POINTER(Weight)), ("count", c_int64), ("outputs", c_int64), ("bias", c_void_p))


def products(library: CDLL) -> Products:
    """Returns `product` of the library as `model.linear.Products`, for float32 rows on the CPU."""
    multiply = function(library.product, POINTER(Linear), c_void_p, c_int64, c_void_p)

    def product_with(weight: GroupedWeight, bias: Tensor | None) -> Product:
        native, outputs = linear(weight, bias), sum(part.outputs for part in weight)

        def product(rows: Tensor, tensors: Any = (weight, bias)) -> Tensor:  # `native` points to these tensors
            rows = rows.contiguous()
            T = rows.shape[0]
            out = rows.new_empty(T, outputs)
            multiply(native, rows.data_ptr(), T, out.data_ptr())
            return out

        return product

    return product_with


def linear(weight: GroupedWeight, bias: Tensor | None) -> Linear:
    """Returns a `struct linear`. It points to these tensors: the caller must keep references to them."""
    parts = (Weight * len(weight))(*map(_weight, weight))
    return Linear(parts, len(parts), sum(part.outputs for part in weight), pointer(bias))


def _weight(part: Groups) -> Weight:
    panels, groups = part.q.shape[:2]
    return Weight(
        *(pointer(part.q), pointer(part.d), pointer(part.m)),
        *(panels, groups, part.outputs),
        *(part.bits, part.size, part.d.dtype == float32),
    )


def pointer(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def function(symbol: Any, *arguments: type) -> Callable[..., None]:
    """Declares a function of the library with these arguments and no result, and returns it."""
    symbol.argtypes, symbol.restype = arguments, None
    called: Callable[..., None] = symbol
    return called
