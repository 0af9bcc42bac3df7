"""Read the header of a GGUF file: its metadata, and the position of each tensor.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The `gguf` library has a reader too, but it makes
several NumPy views for every vocabulary entry (seconds for a model that loads in half a second) and does not bound the
lengths it reads, so a corrupted file can make it loop for ever. Enumerations and block sizes come from the library.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType

_SCALARS = {
    GGUFValueType.UINT8: "B",
    GGUFValueType.INT8: "b",
    GGUFValueType.UINT16: "H",
    GGUFValueType.INT16: "h",
    GGUFValueType.UINT32: "I",
    GGUFValueType.INT32: "i",
    GGUFValueType.FLOAT32: "f",
    GGUFValueType.BOOL: "?",
    GGUFValueType.UINT64: "Q",
    GGUFValueType.INT64: "q",
    GGUFValueType.FLOAT64: "d",
}
_PLAIN = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}
VERSIONS = (2, 3)
_MAX_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32


Data = mmap.mmap | bytes


class Malformed(ValueError):
    """The bytes are not a whole GGUF file. The message completes the sentence "<file> …"."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor. `shape`: in row-major order (GGUF stores it reversed); `start`: in bytes from the beginning of
    `data`, its file.
    """

    name: str
    kind: GGMLQuantizationType
    shape: tuple[int, ...]
    start: int
    bytes: int
    data: Data = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Header:
    """`metadata` by key, as Python values; `tensors` by name. Every tensor lies inside the file."""

    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]

    @property
    def stored(self) -> dict[str, int]:
        """Bytes of the tensors by format: "float32", "4-bit groups" and so on."""
        total: Counter[str] = Counter()
        for info in self.tensors.values():
            total[format_of(info.kind)] += info.bytes
        return dict(total)


def format_of(kind: GGMLQuantizationType) -> str:
    """Names a GGML type as "float32" or "4-bit groups". Names of quantized types contain their bits: Q4_1, MXFP4."""
    if kind.name in _PLAIN:
        return _PLAIN[kind.name]
    bits = re.search(r"[1-9]", kind.name)
    return f"{bits[0]}-bit groups" if bits else kind.name


def mapped(path: Path) -> mmap.mmap:
    """Maps the file's bytes read-only until the last reference is deleted. Raises OSError; and Malformed if empty."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise Malformed("is empty")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def read_header(data: mmap.mmap | bytes) -> Header:
    """Parses and checks the header. Raises Malformed."""
    cursor = _Cursor(data)
    if data[:4] != b"GGUF":
        raise Malformed("is not a GGUF file: it does not begin with the letters GGUF")
    cursor.at = 4
    version = cursor.scalar("I")
    if int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS:
        raise Malformed("is big-endian: it must be converted to little-endian")
    if version not in VERSIONS:
        raise Malformed(f"has GGUF version {version}; versions 2 and 3, little-endian, can be read")
    tensor_count, key_count = cursor.scalar("Q"), cursor.scalar("Q")
    metadata: dict[str, Any] = {}
    for _ in range(key_count):
        key = cursor.string()
        if key in metadata:
            raise Malformed(f"is corrupted: it sets {key} twice")
        metadata[key] = cursor.value(cursor.value_type())
    described = [cursor.tensor() for _ in range(tensor_count)]
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise Malformed(f"is corrupted: its general.alignment is {alignment!r}, not a power of two")
    data_start = -(-cursor.at // alignment) * alignment
    tensors: dict[str, TensorInfo] = {}
    free = 0
    for name, kind, shape, offset in described:
        if name in tensors:
            raise Malformed(f"is corrupted: it lists the tensor {name!r} twice")
        if offset != free:
            # Tensors follow each other without a gap: another offset points to other bytes.
            raise Malformed(f"is corrupted: it has the tensor {name!r} at byte {offset:,} of its data, not at {free:,}")
        tensors[name] = _located(name, kind, shape, data_start + offset, data)
        free = -(-(offset + tensors[name].bytes) // alignment) * alignment
    return Header(metadata, tensors)


def _located(name: str, kind: GGMLQuantizationType, shape: tuple[int, ...], start: int, data: Data) -> TensorInfo:
    elements_per_block, bytes_per_block = GGML_QUANT_SIZES[kind]
    if shape[-1] % elements_per_block:
        raise Malformed(
            f"is corrupted: a row of {name!r} has {shape[-1]} elements, not whole blocks of {elements_per_block}"
        )
    elements = 1
    for length in shape:
        elements *= length
    size = elements // elements_per_block * bytes_per_block
    if start + size > len(data):
        raise Malformed(f"is truncated: the tensor {name!r} ends at byte {start + size:,}, the file at {len(data):,}")
    return TensorInfo(name, kind, shape, start, size, data)


class _Cursor:
    """A position in the header; every read is checked against the end of the file."""

    def __init__(self, data: mmap.mmap | bytes):
        self.data, self.at, self.end = data, 0, len(data)

    def take(self, size: int) -> int:
        """Advances by `size` bytes; returns where they begin."""
        start = self.at
        if size > self.end - start:
            raise Malformed(
                f"is truncated: its header needs {size:,} bytes at byte {start:,}, the file ends at {self.end:,}"
            )
        self.at = start + size
        return start

    def scalar(self, code: str) -> Any:
        return struct.unpack_from("<" + code, self.data, self.take(struct.calcsize("<" + code)))[0]

    def string(self) -> str:
        size = self.scalar("Q")
        start = self.take(size)
        try:
            return self.data[start : start + size].decode("utf-8")
        except UnicodeDecodeError:
            raise Malformed(f"is corrupted: the text at byte {start:,} is not UTF-8") from None

    def value_type(self) -> GGUFValueType:
        code = self.scalar("I")
        try:
            return GGUFValueType(code)
        except ValueError:
            raise Malformed(f"is corrupted: unknown value type {code} at byte {self.at:,}") from None

    def value(self, kind: GGUFValueType) -> Any:
        if kind == GGUFValueType.STRING:
            return self.string()
        if kind != GGUFValueType.ARRAY:
            return self.scalar(_SCALARS[kind])
        item = self.value_type()
        count = self.scalar("Q")
        if item == GGUFValueType.STRING:
            return [self.string() for _ in range(count)]
        if item == GGUFValueType.ARRAY:
            raise Malformed(f"has an array of arrays at byte {self.at:,}, which no model supported here has")
        code = _SCALARS[item]
        start = self.take(count * struct.calcsize("<" + code))
        return list(struct.unpack_from(f"<{count}{code}", self.data, start))

    def tensor(self) -> tuple[str, GGMLQuantizationType, tuple[int, ...], int]:
        name = self.string()
        dimensions = self.scalar("I")
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise Malformed(f"is corrupted: the tensor {name!r} has {dimensions} dimensions")
        shape = tuple(reversed([self.scalar("Q") for _ in range(dimensions)]))
        code = self.scalar("I")
        try:
            kind = GGMLQuantizationType(code)
        except ValueError:
            raise Malformed(f"stores the tensor {name!r} in an unknown type, number {code}") from None
        return name, kind, shape, self.scalar("Q")
