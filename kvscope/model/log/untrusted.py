"""Reads JSON and safetensors buffers from untrusted sources and checks every number before its use.

No function allocates memory by a size that the input states, and no library reads the input before this module.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import numpy as np

MAX_HEADER_BYTES = 32 * 1024 * 1024
MOST_MARKS, MOST_DEPTH = 4_000_000, 64
"""Limits of JSON: characters that can begin a value (an element written in two bytes takes 50 bytes of memory), and
levels of nesting."""
MAX_DIMENSIONS = 4
DTYPES = {"U8": "|u1", "F16": "<f2", "F32": "<f4", "I32": "<i4"}
"""The types that frames use, by their numpy names; the last character is the number of bytes of an element."""


HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""Matches half of a surrogate pair, escaped or not."""


class BadFile(ValueError):
    """The input has a fault; the message is a sentence that says where."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where} {reason}.")
        self.where = where


@dataclass(frozen=True, slots=True)
class Tensor:
    """Type, shape and place of a tensor: `begin` and `end` are bytes from the start of the buffer."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The metadata and tensors that a safetensors buffer's header lists."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, Tensor]


def read_json(text: bytes | str, where: str) -> Any:
    """Parses JSON (RFC 8259). Raises BadFile, also for a name twice in an object, NaN or half of a surrogate pair."""
    if marks(text) > MOST_MARKS:
        raise BadFile(where, f"has more than {MOST_MARKS} values")
    try:
        text = text if isinstance(text, str) else text.decode()
        value = json.loads(text, object_pairs_hook=_members, parse_constant=_no_constant)
        if HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise BadFile(where, "is not text in UTF-8") from None
    except RecursionError:
        raise BadFile(where, "is nested too deeply") from None
    except ValueError as error:
        raise BadFile(where, f"is not JSON: {error}") from None
    if _deeper_than(value, MOST_DEPTH):
        raise BadFile(where, "is nested too deeply")
    return value


def marks(text: bytes | str) -> int:
    """Counts commas and opening brackets in unparsed JSON, also inside strings; it has at most one more values."""
    each = (",", "[", "{") if isinstance(text, str) else (b",", b"[", b"{")
    return sum(map(text.count, each))  # type: ignore[arg-type]


def _deeper_than(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            each
            for outer in level
            if isinstance(outer, (dict, list))
            for each in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return bool(level)


def layout(buffer: Sequence[int] | bytes | memoryview, where: str, most_header_bytes: int = MAX_HEADER_BYTES) -> Layout:
    """Returns the layout of a safetensors buffer. Raises BadFile unless its tensors fill it without gaps."""
    if len(buffer) < 8:
        raise BadFile(where, "is not a safetensors buffer: it is truncated")
    (length,) = struct.unpack("<Q", bytes(buffer[:8]))
    if length > most_header_bytes:
        raise BadFile(where, f"has a header of {length} bytes; at most {most_header_bytes} are allowed")
    start = 8 + length
    if start > len(buffer):
        raise BadFile(where, "is truncated: its header is longer than the whole file")
    header = read_json(bytes(buffer[8:start]), f"The header of {where[:1].lower()}{where[1:]}")
    if not isinstance(header, dict):
        raise BadFile(where, "has a header that is not a JSON object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise BadFile(where, "has metadata that is not text")
    tensors = {name: _tensor(entry, f"{where}: tensor {name[:80]!r}", start) for name, entry in header.items()}
    at = start
    for name, tensor in sorted(tensors.items(), key=lambda entry: (entry[1].begin, entry[1].end)):
        if tensor.begin != at:
            fault = "overlaps the one before it" if tensor.begin < at else "leaves a gap before it"
            raise BadFile(f"{where}: tensor {name[:80]!r}", fault)
        at = tensor.end
    if at != len(buffer):
        raise BadFile(where, f"is {len(buffer)} bytes long, but its tensors end at byte {at}")
    return Layout(metadata, tensors)


def array(buffer: bytes | memoryview, tensor: Tensor) -> np.ndarray:
    """Returns a tensor of `buffer` as a view, without a copy."""
    import numpy as np

    values: np.ndarray = np.frombuffer(memoryview(buffer)[tensor.begin : tensor.end], DTYPES[tensor.dtype])
    return values.reshape(tensor.shape)


def _tensor(entry: Any, where: str, start: int) -> Tensor:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise BadFile(where, "is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise BadFile(where, f"has the type {str(dtype)[:20]!r}; it must be one of {', '.join(DTYPES)}")
    if not _naturals(shape) or len(shape) > MAX_DIMENSIONS or 0 in shape:
        raise BadFile(where, f"has a shape that is not at most {MAX_DIMENSIONS} whole numbers above 0")
    if not _naturals(offsets) or len(offsets) != 2:
        raise BadFile(where, "has data_offsets that are not two whole numbers")
    if offsets[1] - offsets[0] != prod(shape) * int(DTYPES[dtype][-1]):
        raise BadFile(where, "does not have as many bytes as its shape and type need")
    return Tensor(dtype, tuple(shape), start + offsets[0], start + offsets[1])


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(entry) is int and entry >= 0 for entry in value)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a name twice")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
