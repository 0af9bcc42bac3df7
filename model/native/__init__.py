"""Native code for what torch runs slowly on a CPU: compiled once on each machine, compared with torch at each start."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import CDLL
from pathlib import Path

import torch

from kvscope.model.compiler import Unavailable
from kvscope.model.grouped import Bits, Groups
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import plain_product
from kvscope.model.native.implemented import implements
from kvscope.model.native.library import load
from kvscope.model.native.products import products
from kvscope.model.native.steps import NativeSteps
from kvscope.model.transformer import Transformer

__all__ = ["Native", "Unavailable"]

CLOSE = 1e-5
"""How far a native product may be from torch's, in parts of the largest number."""


class Native:
    """What is made of the functions of `library`. Raises Unavailable where they give other values than torch does."""

    def __init__(self, library: CDLL):
        self._library, self.products = library, products(library)
        self._compare()

    @classmethod
    def from_folder(cls, folder: Path) -> Native:
        """Over code from `folder`, or compiled and stored there. Raises Unavailable."""
        return cls(load(folder))

    def steps(self, transformer: Transformer, cache: KVCache) -> NativeSteps | None:
        """Decode steps, where the transformer's blocks are such as the native code has."""
        return NativeSteps(self._library, transformer, cache) if implements(transformer, cache) else None

    def _compare(self) -> None:
        """Products with all kinds of groups, of few rows and of many."""
        drawn = torch.Generator().manual_seed(0)
        for weight in _weights(drawn):
            for count in (1, 2, 5, 8, 40):
                rows, bias = (torch.randn(*shape, generator=drawn) for shape in ((count, weight.inputs), (37,)))
                expected = plain_product((weight,), bias)(rows)
                off = (self.products((weight,), bias)(rows) - expected).abs().max()
                if not off <= CLOSE * expected.abs().max():
                    raise Unavailable(f"its products with {weight.format} are not torch's")


def _weights(drawn: torch.Generator) -> Iterator[Groups]:
    """A weight [37, 96] of each kind of groups."""
    kinds: list[tuple[Bits, int, bool, torch.dtype]] = [
        (4, 32, True, torch.float16),
        (4, 32, False, torch.float16),
        (4, 32, True, torch.float32),
        (8, 32, False, torch.float16),
        (8, 32, True, torch.float16),
        (8, 32, True, torch.float32),
        (8, 16, False, torch.float32),
    ]
    for bits, size, minimum, dtype in kinds:
        q = torch.randint(256, (37, 96 // size, size * bits // 8), generator=drawn).to(torch.uint8)
        d, m = torch.randn(2, 37, 96 // size, generator=drawn).to(dtype)
        yield Groups.of(q, d, m if minimum else None, bits)
