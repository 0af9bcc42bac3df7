"""Native code for what torch runs slowly on a CPU: compiled once on each machine, compared with torch at each start."""

from __future__ import annotations

from ctypes import CDLL
from pathlib import Path

from kvscope.model.compiler import Unavailable
from kvscope.model.kv_cache import KVCache
from kvscope.model.native.comparison import compare_blocks, compare_products
from kvscope.model.native.implemented import implements
from kvscope.model.native.library import load
from kvscope.model.native.products import products
from kvscope.model.native.steps import NativeSteps
from kvscope.model.transformer import Transformer

__all__ = ["Native", "Unavailable"]


class Native:
    """What is made of the functions of `library`. Raises Unavailable where they give other values than torch does."""

    def __init__(self, library: CDLL):
        self._library, self.products = library, products(library)
        compare_products(self.products)
        compare_blocks(library)

    @classmethod
    def from_folder(cls, folder: Path) -> Native:
        """Over code from `folder`, or compiled and stored there. Raises Unavailable."""
        return cls(load(folder))

    def steps(self, transformer: Transformer, cache: KVCache) -> NativeSteps | None:
        """Decode steps, where the transformer's blocks are such as the native code has."""
        return NativeSteps(self._library, transformer, cache) if implements(transformer, cache) else None
