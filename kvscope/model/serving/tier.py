"""Memory below the blocks of a round: the rows of evicted blocks are stored there, and copied back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import IO, Protocol, assert_never

import torch
from torch import Tensor

from kvscope.model.settings import Tier as TierKind

ROWS_AXIS = 3
"""Of the rows of a block, [layers, 2, Hkv, 16, Dh]."""


MOST_BYTES = 1 << 30
"""Of a tier. When it is full, blocks that are evicted are lost."""


class Tier(Protocol):
    """Rows of blocks by the name of their content (model.block_pool). `put` and `get` raise OSError."""

    def has(self, name: bytes) -> bool:
        """Returns whether the rows of this block are stored."""

    def put(self, name: bytes, rows: Tensor) -> None:
        """Stores the rows of a block that it does not have, [layers, 2, Hkv, 16, Dh]."""

    def get(self, names: Sequence[bytes]) -> Tensor:
        """Returns the rows of blocks, [layers, 2, Hkv, 16·names, Dh]."""

    def close(self) -> None:
        """Frees what is stored."""


class MemoryTier:
    """A `Tier` in the memory of the host."""

    def __init__(self) -> None:
        self._rows: dict[bytes, Tensor] = {}

    def has(self, name: bytes) -> bool:
        return name in self._rows

    def put(self, name: bytes, rows: Tensor) -> None:
        self._rows[name] = rows.to("cpu", copy=True)

    def get(self, names: Sequence[bytes]) -> Tensor:
        return torch.cat([self._rows[name] for name in names], dim=ROWS_AXIS)

    def close(self) -> None:
        self._rows.clear()


class FileTier:
    """A `Tier` in a file without a name. What is stored is written to the disk, and read from there: the system's cache
    of the file is dropped, where it can be (`posix_fadvise`).
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places: dict[bytes, int] = {}
        self._end = 0
        self._like: Tensor | None = None

    def has(self, name: bytes) -> bool:
        return name in self._places

    def put(self, name: bytes, rows: Tensor) -> None:
        self._like = self._like if self._like is not None else torch.empty_like(rows, device="cpu")
        content = rows.cpu().contiguous().numpy().tobytes()
        self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        number, place = self._file.fileno(), self._end
        if os.pwrite(number, content, place) != len(content):
            raise OSError("the file did not take all rows of a block")
        os.fsync(number)
        _forget_cached(number, place, len(content))
        self._places[name], self._end = place, place + len(content)

    def get(self, names: Sequence[bytes]) -> Tensor:
        assert self._like is not None
        assert self._file is not None
        number = self._file.fileno()
        return torch.cat([_read(number, self._places[name], self._like) for name in names], dim=ROWS_AXIS)

    def close(self) -> None:
        if self._file:
            self._file.close()


def _read(number: int, place: int, like: Tensor) -> Tensor:
    content = bytearray(os.pread(number, like.nbytes, place))
    if len(content) != like.nbytes:
        raise OSError("the file does not have all rows of a block")
    _forget_cached(number, place, like.nbytes)
    return torch.frombuffer(content, dtype=like.dtype).view_as(like)


def _forget_cached(number: int, place: int, count: int) -> None:
    advise: Callable[[int, int, int, int], None] | None = getattr(os, "posix_fadvise", None)
    if advise is not None:
        advise(number, place, count, os.POSIX_FADV_DONTNEED)


def tier_of(kind: TierKind) -> Tier | None:
    """Returns an empty tier; None for "none"."""
    match kind:
        case "none":
            return None
        case "memory":
            return MemoryTier()
        case "file":
            return FileTier()
        case unknown:
            assert_never(unknown)
