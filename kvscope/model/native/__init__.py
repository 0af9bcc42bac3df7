"""Native code for operations that torch runs slowly on a CPU: compiled once per machine or brought by the wheel,
and checked at each start.
"""

from __future__ import annotations

from ctypes import CDLL
from pathlib import Path

from kvscope.model.compiler import Unavailable
from kvscope.model.kv_cache import KVCache
from kvscope.model.native.comparison import compare_products, compare_steps
from kvscope.model.native.implemented import implements
from kvscope.model.native.library import load, load_prebuilt
from kvscope.model.native.products import products
from kvscope.model.native.steps import NativeSteps
from kvscope.model.transformer import Transformer

__all__ = ["Native", "Unavailable"]


class Native:
    """Products and decode steps by `library`. Raises Unavailable if its values differ from torch's.

    `not_compiled`: why the library is the installation's and not one compiled here, or "".
    """

    def __init__(self, library: CDLL, not_compiled: str = ""):
        self._library, self.products, self.not_compiled = library, products(library), not_compiled
        compare_products(self.products)
        compare_steps(library)

    @classmethod
    def from_folder(cls, folder: Path) -> Native:
        """Loads the code from `folder`, or compiles it and stores it there, or else loads what the installation brings.
        Raises Unavailable.
        """
        try:
            return cls(load(folder))
        except Unavailable as why:
            library = load_prebuilt()
            if library is None:
                raise
            return cls(library, str(why))

    def steps(self, transformer: Transformer, cache: KVCache) -> NativeSteps | None:
        """Returns native decode steps; None if the native code does not implement the transformer's blocks."""
        return NativeSteps(self._library, transformer, cache) if implements(transformer, cache) else None
