"""Encodes and decodes the frames of a run's log. docs/frames.md describes the format.

A frame is a safetensors buffer (https://huggingface.co/docs/safetensors) whose `__metadata__` has the log's own keys.
This module imports neither torch nor a web framework, and no numpy for a reader of `data` alone.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from kvscope.model.api import Frame
from kvscope.model.log.untrusted import DTYPES

if TYPE_CHECKING:
    from mmap import mmap

    import numpy as np

VERSION = "2"
"""Version of the log's format, the only one that KVScope reads and writes. A change of model.log.schema needs a new
version, unless all logs of the current one still match it."""
KINDS = ("open", "layer", "step", "beams", "asked", "pass", "round", "close")
VALUES = "values"
"""Kind of the frames that store exact values with a saved session; no log has them."""
NAMES = ("F32", "I32", "F16", "U8")
"""The dtypes of a log's tensors, in the order of a safetensors buffer."""
ORDER = tuple(DTYPES[name] for name in NAMES)
"""The same by their numpy names."""
MAX_FRAME_BYTES = 65_536
"""Largest size of a log's frame, other than `open`."""
MAX_OPENING_BYTES = 524_288
"""Largest size of an `open` frame, which has all tokens of the prompt."""


class BadFrame(ValueError):
    """The bytes are not a frame of this schema; the message says why."""


@dataclass(frozen=True, slots=True)
class Header:
    """A frame's kind, number, run and data, read without its tensors."""

    kind: str
    seq: int
    run: str
    data: dict[str, Any]


def encode(
    run: str,
    seq: int,
    kind: str,
    data: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray] | None = None,
    **encoded: bytes,
) -> Frame:
    """Returns a frame. `encoded`: further fields of its `data`, already as JSON.

    Raises ValueError for an unknown kind and for `data` that is not JSON, such as NaN.
    """
    if kind not in (*KINDS, VALUES):
        raise ValueError(f"unknown frame kind {kind!r}")
    return Frame(run, seq, kind, _step(data), serialize(tensors or {}, _described(run, seq, kind, data, **encoded)))


def header(payload: bytes) -> Header:
    """Returns the kind, seq, run and data of a frame. Raises BadFrame."""
    metadata = _metadata(payload)
    try:
        head = Header(metadata["kind"], int(metadata["seq"]), metadata["run"], _json_object(metadata["data"]))
        _step(head.data)
    except (KeyError, ValueError, TypeError) as error:
        raise BadFrame(f"frame metadata is incomplete: {error}") from None
    if head.kind not in (*KINDS, VALUES):
        raise BadFrame(f"unknown frame kind {head.kind!r}")
    return head


def tensors(payload: bytes) -> dict[str, np.ndarray]:
    """Returns the frame's tensors by name. Raises BadFrame."""
    import safetensors
    import safetensors.numpy

    try:
        return safetensors.numpy.load(payload)
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        raise BadFrame(f"not a safetensors buffer: {error}") from None


def octets(payload: bytes, name: str) -> tuple[tuple[int, ...], memoryview]:
    """Returns the shape and the values, row by row, of a U8 tensor, without numpy. Raises BadFrame."""
    described = raw_header(payload).get(name)
    if not isinstance(described, dict):
        raise BadFrame(f"no tensor {name}")
    try:
        shape, (start, end) = tuple(described["shape"]), described["data_offsets"]
        (length,) = struct.unpack_from("<Q", payload)
        values = memoryview(payload)[8 + length + start : 8 + length + end]
        is_complete = described["dtype"] == "U8" and len(values) == math.prod(shape)
    except (KeyError, TypeError, ValueError) as error:
        raise BadFrame(f"{name} is not described: {error}") from None
    if not is_complete:
        raise BadFrame(f"{name} is not the U8 tensor that was meant")
    return shape, values


def frame(payload: bytes) -> Frame:
    """Returns the payload with its index fields. Raises BadFrame."""
    head = header(payload)
    return Frame(head.run, head.seq, head.kind, _step(head.data), payload)


def relabel(payload: bytes, run: str, seq: int, changes: Mapping[str, Any] | None = None) -> Frame:
    """Returns the frame for another run's log: `changes` replace fields of its data, its tensors stay the same.

    Raises BadFrame.
    """
    described, head = raw_header(payload), header(payload)
    data = {**head.data, **(changes or {})}
    metadata = _described(run, seq, head.kind, data)
    (length,) = struct.unpack_from("<Q", payload)
    return Frame(run, seq, head.kind, _step(data), _with_header(described, metadata, memoryview(payload)[8 + length :]))


def only_qkv(payload: bytes) -> bytes:
    """Returns a `values` frame of the level "block" reduced to the level "qkv". Raises BadFrame."""
    head, stored = header(payload), tensors(payload)
    data = {**head.data, "level": "qkv"}
    return encode(head.run, head.seq, head.kind, data, {name: stored[name] for name in ("q", "k", "v")}).payload


def token_ids(payloads: Iterable[bytes]) -> list[int]:
    """Returns the ids of the run's tokens, prompt first, from its `open` and `step` frames in log order."""
    ids: list[int] = []
    for payload in payloads:
        head = header(payload)
        if head.kind == "open":
            ids += [token["id"] for token in head.data["tokens"]]
        elif head.kind == "step":
            ids.append(head.data["token"]["id"])
    return ids


def to_stream(payloads: Iterable[bytes]) -> Iterator[bytes]:
    """Yields a frame stream in chunks, one for each frame: its length (u32, little-endian), then the frame."""
    for payload in payloads:
        yield struct.pack("<I", len(payload)) + payload


def from_stream(data: bytes | mmap) -> Iterator[bytes]:
    """Yields the frames of a stream. Raises BadFrame if it ends inside a frame."""
    at = 0
    while at < len(data):
        if at + 4 > len(data):
            raise BadFrame("the stream ends inside a length")
        (length,) = struct.unpack_from("<I", data, at)
        at += 4
        if at + length > len(data):
            raise BadFrame("the stream ends inside a frame")
        yield data[at : at + length]
        at += length


def join(payloads: Iterable[bytes], about: Mapping[str, str] | None = None, values: Iterable[bytes] = ()) -> bytes:
    """Returns one safetensors file of a run's frames and its `values` frames, with `about` in its metadata.

    Raises BadFrame.
    """
    joined: dict[str, np.ndarray] = {}
    metadata = {**(about or {}), "v": VERSION}
    for payload in chain(payloads, values):
        head, fields = header(payload), _metadata(payload)
        key = values_key(head.data["step"], head.data["layer"]) if head.kind == VALUES else f"{head.seq:06d}"
        metadata["run"] = head.run
        metadata[key] = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        joined.update({f"{key}.{name}": tensor for name, tensor in tensors(payload).items()})
    return serialize(joined, metadata)


def values_key(step: int, layer: int) -> str:
    """Returns the key of a `values` frame in a joined file."""
    return f"values-{step:06d}-{layer:04d}"


def split(session: bytes) -> list[Frame]:
    """Returns the log's frames of a joined file, in order. Raises BadFrame."""
    metadata = _metadata(session)
    by_frame: dict[str, dict[str, np.ndarray]] = {}
    for name, tensor in tensors(session).items():
        key, _, part = name.partition(".")
        by_frame.setdefault(key, {})[part] = tensor
    result = []
    for key in sorted((entry for entry in metadata if entry.isdecimal()), key=int):
        fields = _strings(_json_object(metadata[key]))
        result.append(frame(serialize(by_frame.get(key, {}), fields)))
    return result


def raw_header(payload: bytes) -> dict[str, Any]:
    """Returns the JSON header of a safetensors buffer. Raises BadFrame."""
    try:
        (length,) = struct.unpack_from("<Q", payload)
        if length > len(payload) - 8:
            raise BadFrame("the header is longer than the buffer")
    except struct.error as error:
        raise BadFrame(f"not a safetensors buffer: {error}") from None
    return _json_object(payload[8 : 8 + length])


def _metadata(payload: bytes) -> dict[str, str]:
    """Returns the `__metadata__` of a frame or a joined file. Raises BadFrame, also for another format version."""
    metadata = _strings(raw_header(payload).get("__metadata__", {}))
    if reason := foreign_version(metadata):
        raise BadFrame(f"the log {reason}")
    return metadata


def foreign_version(metadata: Mapping[str, str]) -> str | None:
    """Returns why a frame or file with this metadata cannot be read, as the predicate of a sentence; None if it can."""
    version = metadata.get("v")
    if version is None:
        return "is not from KVScope: it has no format version"
    if version != VERSION:
        return f"has the format version {version[:20]}; this KVScope reads and writes version {VERSION} alone"
    return None


def _strings(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
        raise BadFrame("metadata must be strings")
    return value


def _json_object(text: str | bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadFrame(f"not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise BadFrame("a JSON object is expected")
    return parsed


def _described(run: str, seq: int, kind: str, data: Mapping[str, Any], **encoded: bytes) -> dict[str, str]:
    """Returns the metadata of a frame. Raises ValueError for a value that JSON does not have."""
    text = to_json(data)
    if b"NaN" in text or b"Infinity" in text:
        json.dumps(data, allow_nan=False)  # raises ValueError, unless these are words of a text
    for name, value in encoded.items():
        text = b'%b,"%b":%b}' % (text[:-1], name.encode(), value)
    return {"v": VERSION, "kind": kind, "seq": str(seq), "run": run, "data": text.decode()}


def _step(data: Mapping[str, Any]) -> int:
    """Returns the step of a frame; -1 for `open` and `close`."""
    return int(data.get("step", -1))


def serialize(arrays: Mapping[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    """Returns a safetensors buffer whose bytes depend only on its content; the library orders metadata at random.

    Tensors are in the library's order: by dtype, then by name. The library's `save` would take three times as long.
    """
    described: dict[str, Any] = {}
    body: list[bytes] = []
    end = 0
    for order, name, array in sorted((ORDER.index(array.dtype.str), name, array) for name, array in arrays.items()):
        start, end = end, end + array.nbytes
        described[name] = {"dtype": NAMES[order], "shape": array.shape, "data_offsets": (start, end)}
        body.append(array.tobytes())
    return _with_header(described, metadata, *body)


def _with_header(described: Mapping[str, Any], metadata: Mapping[str, str], *body: bytes | memoryview) -> bytes:
    """Returns the safetensors buffer of `body` with this metadata; `described` says where each tensor is in it."""
    described = {**described, "__metadata__": dict(sorted(metadata.items()))}
    head = to_json(dict(sorted(described.items())))
    head += b" " * (-len(head) % 8)
    return b"".join((struct.pack("<Q", len(head)), head, *body))
