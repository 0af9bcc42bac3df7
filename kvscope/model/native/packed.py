"""Packs a model as the native code reads it, for a copy of that code without this process: in a browser.

A packed model is a description, which is JSON, and the bytes of its tensors one after another. The description has the
C structure `model` of layer.h: objects by field, lists of structures, and {"at": offset} for a tensor. It also says how
the C structures are laid out and what a pass writes to its buffer, so that the reader knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ctypes import Array, Structure, c_double, c_float, c_int32, c_int64, c_void_p
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import torch
from torch import Tensor

from kvscope.model.config import ModelConfig
from kvscope.model.engine.candidates import TAIL_BINS, TOP
from kvscope.model.engine.experts import NO_EXPERT
from kvscope.model.grouped import GroupedEmbedding
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import linears
from kvscope.model.native.model import Layer, Model, NativeExperts, NativeModel, Norm, rotation_of
from kvscope.model.native.products import Linear, Weight
from kvscope.model.native.steps import (
    POINTS,
    QUARTERS,
    NativeEdit,
    NativePass,
    NativeSequence,
    NativeSummary,
    parts_of,
    pass_layout,
)
from kvscope.model.transformer import Transformer
from kvscope.model.weights import always_read, embedding_row_bytes, expert_read, weights_read

ALIGNMENT = 64
"""Each tensor begins at a multiple of so many bytes."""
NOT_PACKED = ("rotations", "keys", "values", "pool")
"""Fields that depend on the longest text and the cache: whoever uses the model fills them in."""
NUMBERS = {c_int32: "i32", c_int64: "i64", c_float: "f32", c_double: "f64", c_void_p: "pointer"}
STRUCTURES: dict[type[Structure], str] = {
    Weight: "weight",
    Linear: "linear",
    Norm: "norm",
    NativeExperts: "experts",
    Layer: "layer",
    Model: "model",
    NativeSequence: "sequence",
    NativeEdit: "edit",
    NativeSummary: "summary",
    NativePass: "pass",
}
"""The C name of each structure."""
COUNTS = {"layers": "count", "parts": "count", "gate_up": "count", "down": "count"}
"""The field that has the length of a list of structures."""


@dataclass(frozen=True, slots=True)
class Packed:
    """`description` is JSON:

    size        bytes of all tensors
    structures  by name, the fields of a C structure in order, each with its type: "i32", "i64", "f32", "f64",
                "pointer", {"structure": name}, {"list": name} for a pointer to structures, {"array": count} for
                pointers
    model       the structure `model`
    rotations   by layer, the frequencies in radians per position and the factor of cosine and sine; null without
                rotary positions
    values      by name, how many float32 a pass writes to its buffer: [of each pass, of each of its rows], in the order
                of the fields of `pass`; scores and weights take a number for each head, query and key in addition
    cost        multiply-adds of a row in all blocks, bytes of the matrices that every pass reads by format, bytes of
                an expert by format, and bytes of a token's embedding
    edits       the hook points at which a pass can be changed, by their numbers in C
    shown       how many of the best logits a summary has (`top`), bins of its histogram (`bins`), and parts of the
                logits that are counted separately (`quarters`)
    no_expert   marks rows in a layer without experts
    points      by hook point of a layer, the value that has it, its first column or head, and the one after the last
    """

    description: dict[str, Any]
    _tensors: list[tuple[int, Tensor]]

    def pieces(self) -> Iterator[bytes]:
        """Yields the bytes of the tensors, in order, with zeros between them."""
        written = 0
        for start, tensor in self._tensors:
            yield bytes(start - written)
            yield tensor.detach().contiguous().view(-1).numpy().tobytes()
            written = start + tensor.nbytes

    def read(self, start: int, end: int) -> bytes:
        """Returns the bytes from `start` to `end`, without the tensors around them."""
        content = bytearray(end - start)
        for at, tensor in self._tensors:
            first, last = max(start, at), min(end, at + tensor.nbytes)
            if first < last:
                stored = tensor.detach().contiguous().view(-1).view(torch.uint8)
                content[first - start : last - start] = stored[first - at : last - at].numpy().data
        return bytes(content)


def pack(transformer: Transformer) -> Packed:
    """Packs a transformer whose weights are in groups, as `implements` allows."""
    cache = KVCache(transformer.config, 1)
    native = NativeModel(transformer, cache)
    tensors = {tensor.data_ptr(): tensor for tensor in _tensors(transformer)}
    places: dict[int, int] = {}
    size = 0

    def place(address: int) -> dict[str, int]:
        nonlocal size
        if address not in places:
            places[address] = size
            size += -(-tensors[address].nbytes // ALIGNMENT) * ALIGNMENT
        return {"at": places[address]}

    def described(structure: Structure) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for name, kind, *_ in structure._fields_:
            if name in NOT_PACKED:
                continue
            value = getattr(structure, name)
            if isinstance(value, Structure):
                result[name] = described(value)
            elif kind is c_void_p:
                result[name] = place(value) if value else None
            elif hasattr(kind, "contents"):
                count = getattr(structure, COUNTS[name]) if name in COUNTS else 1
                result[name] = [described(value[i]) for i in range(count)] if value else None
            else:
                result[name] = value
        return result

    structure = described(native.structure)
    description = {
        "size": size,
        "structures": {name: _fields(kind) for kind, name in STRUCTURES.items()},
        "model": structure,
        "rotations": [_rotations(transformer, layer) for layer in range(transformer.config.layers)],
        "values": _values(transformer.config, native.most_groups),
        "edits": list(POINTS),
        "shown": {"top": TOP, "bins": TAIL_BINS, "quarters": QUARTERS},
        "no_expert": NO_EXPERT,
        "points": parts_of(transformer.config),
        "cost": {
            "products": transformer.block_products,
            "weights": weights_read(always_read(transformer)),
            "expert": expert_read(transformer),
            "embedding_row": embedding_row_bytes(transformer),
        },
    }
    return Packed(description, [(start, tensors[address]) for address, start in places.items()])


def _fields(structure: type[Structure]) -> list[tuple[str, Any]]:
    """Returns the fields of a C structure as `Packed` describes them."""
    fields: list[tuple[str, Any]] = []
    for name, kind, *_ in cast(Iterable[tuple[str, Any]], structure._fields_):
        if kind in NUMBERS:
            fields.append((name, NUMBERS[kind]))
        elif issubclass(kind, Structure):
            fields.append((name, {"structure": STRUCTURES[kind]}))
        elif issubclass(kind, Array):
            fields.append((name, {"array": kind._length_}))
        else:
            fields.append((name, {"list": STRUCTURES[kind._type_]}))
    return fields


def _values(config: ModelConfig, groups: int) -> dict[str, tuple[int, int]]:
    """Returns how many numbers each value of a pass has: of every pass, and of each of its rows."""
    one, two = (
        {name: prod(shape) for name, shape in pass_layout(config, groups, rows, rows, 0).shapes.items()}
        for rows in (1, 2)
    )
    return {name: (2 * one[name] - two[name], two[name] - one[name]) for name in one}


def _tensors(transformer: Transformer) -> Iterator[Tensor]:
    """Yields all tensors that the C structures can point to."""
    assert isinstance(transformer.embed, GroupedEmbedding)
    yield from transformer.parameters()
    weights = [transformer.embed.groups, *(part for each in linears(transformer) for part in each.groups)]
    for part in weights:
        yield from (tensor for tensor in (part.q, part.d, part.m) if tensor is not None)


def _rotations(transformer: Transformer, layer: int) -> dict[str, Any] | None:
    """Returns the frequencies of a layer, and the factor of their cosine and sine."""
    rotation = rotation_of(transformer, layer)
    return None if rotation is None else {"frequencies": rotation[0].tolist(), "factor": rotation[1]}
