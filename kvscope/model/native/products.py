"""Multiplies with weights in any format, by `product` of kernels.c."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL, POINTER, Structure, c_int32, c_int64, c_void_p
from typing import Any

import torch
from torch import Tensor, float32

from kvscope.model.grouped import Groups
from kvscope.model.linear import GroupedWeight, Product, Products

KINDS = {"4-bit groups": 0, "8-bit groups": 1, "bfloat16": 2, "float16": 3, "float32": 4}
"""`enum kind`, by `Groups.format`."""


class Weight(Structure):
    """`struct weight`."""

    _fields_ = (
        *((name, c_void_p) for name in ("q", "d", "m")),
        *((name, c_int64) for name in ("panels", "groups", "outputs")),
        *((name, c_int32) for name in ("kind", "size", "wide")),
    )


class Linear(Structure):
    """`struct linear`."""

    _fields_ = (("parts", POINTER(Weight)), ("count", c_int64), ("outputs", c_int64), ("bias", c_void_p))


def products(library: CDLL) -> Products:
    """Returns `product` of the library as `model.linear.Products`, for float32 rows on the CPU."""
    multiply = function(library.product, POINTER(Linear), c_void_p, c_int64, c_void_p, c_void_p, c_int64)

    def product_with(weight: GroupedWeight, bias: Tensor | None) -> Product:
        native, outputs = linear(weight, bias), sum(part.outputs for part in weight)
        groups = max(part.q.shape[1] for part in weight)

        def product(rows: Tensor, tensors: Any = (weight, bias)) -> Tensor:  # `native` points to these tensors
            rows = rows.contiguous()
            T = rows.shape[0]
            out, sums = rows.new_empty(T, outputs), rows.new_empty(T, groups)
            multiply(native, rows.data_ptr(), T, sums.data_ptr(), out.data_ptr(), torch.get_num_threads())
            return out

        return product

    return product_with


def linear(weight: GroupedWeight, bias: Tensor | None) -> Linear:
    """Returns a `struct linear`. It points to these tensors: the caller must keep references to them."""
    parts = (Weight * len(weight))(*map(native_weight, weight))
    return Linear(parts, len(parts), sum(part.outputs for part in weight), pointer(bias))


def native_weight(part: Groups) -> Weight:
    """Returns a `struct weight`, which points to the part's tensors."""
    panels, groups = part.q.shape[:2]
    return Weight(
        *(pointer(part.q), pointer(part.d), pointer(part.m)),
        *(panels, groups, part.outputs),
        *(KINDS[part.format], part.size, part.d is not None and part.d.dtype == float32),
    )


def pointer(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def function(symbol: Any, *arguments: type) -> Callable[..., None]:
    """Declares a function of the library with these arguments and no result, and returns it."""
    symbol.argtypes, symbol.restype = arguments, None
    called: Callable[..., None] = symbol
    return called
