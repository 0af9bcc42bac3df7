from __future__ import annotations

import json
import re
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kvscope.model.api import Frame
from kvscope.model.log import frames
from kvscope.model.log.frames import (
    KINDS,
    VERSION,
    BadFrame,
    encode,
    frame,
    from_stream,
    header,
    join,
    relabel,
    split,
    tensors,
    to_stream,
)
from tests.support.recorded import ROOT

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
DATA = st.dictionaries(TEXT.filter(lambda name: name != "step"), JSON, max_size=4)
ARRAYS = st.sampled_from([np.uint8, np.float16, np.int32, np.float32]).flatmap(
    lambda dtype: arrays(dtype, array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
)
TENSORS = st.dictionaries(st.sampled_from(["attention", "k_norm", "top_ids", "a.b", "é"]), ARRAYS, max_size=4)
NAMED = st.dictionaries(TEXT.filter(lambda name: name != "__metadata__"), ARRAYS, max_size=6)
LOGS = st.lists(st.tuples(st.sampled_from(KINDS), DATA, TENSORS), max_size=6)


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(
        (a[name].dtype, a[name].shape, a[name].tobytes()) == (b[name].dtype, b[name].shape, b[name].tobytes())
        for name in a
    )


@settings(max_examples=150)
@given(
    NAMED, st.dictionaries(TEXT, TEXT, max_size=3), st.sampled_from(["as it is", "transposed", "reversed", "strided"])
)
def test_a_buffer_is_what_the_library_saves_with_its_header_in_order(
    named: dict[str, np.ndarray], metadata: dict[str, str], lie: str
) -> None:
    """The library's own header has the metadata in a random order."""
    views = {
        "as it is": lambda array: array,
        "transposed": lambda array: array.T,
        "reversed": lambda array: array[::-1],
        "strided": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    }
    lying = {name: views[lie](array) for name, array in named.items()}
    # The library reads memory as it lies, whatever the strides say.
    saved = safetensors.numpy.save({name: np.ascontiguousarray(array) for name, array in lying.items()})
    (length,) = struct.unpack_from("<Q", saved)
    described = {**json.loads(saved[8 : 8 + length]), "__metadata__": dict(sorted(metadata.items()))}
    head = json.dumps(dict(sorted(described.items())), ensure_ascii=False, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    buffer = frames.serialize(lying, metadata)
    assert buffer == struct.pack("<Q", len(head)) + head + saved[8 + length :]
    assert same(safetensors.numpy.load(buffer), lying)


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int8, np.bool_, ">f4"])
def test_an_array_that_no_frame_may_have_is_not_written(dtype: Any) -> None:
    with pytest.raises(ValueError, match="not in"):
        frames.serialize({"a": np.zeros(2, dtype)}, {})


def a_log() -> list[Frame]:
    rng = np.random.default_rng(0)
    return [
        encode("r1", 0, "open", {"tokens": [{"id": 5}, {"id": 6}], "prompt": 'quote " é 🎉 \\'}),
        encode("r1", 1, "layer", {"step": 0}, {"attention": rng.integers(0, 255, (2, 3, 4, 5), np.uint8)}),
        encode("r1", 2, "step", {"step": 0, "token": {"id": 7}}, {"top_ids": np.arange(4, dtype=np.int32)}),
        encode("r1", 3, "close", {"reason": "eos"}),
    ]


def payloads() -> list[bytes]:
    return [made.payload for made in a_log()]


@settings(max_examples=50)
@given(TEXT, st.integers(0, 10**7), st.sampled_from(KINDS), DATA, TENSORS, st.none() | st.integers(0, 300))
def test_a_frame_gives_back_what_it_was_made_of(
    run: str, seq: int, kind: str, data: dict[str, Any], arrays: dict[str, np.ndarray], step: int | None
) -> None:
    if step is not None:
        data = {**data, "step": step}
    made = encode(run, seq, kind, data, arrays)
    assert frame(made.payload) == made
    assert (made.run, made.seq, made.kind, made.step) == (run, seq, kind, -1 if step is None else step)
    assert header(made.payload) == frames.Header(kind, seq, run, data)
    assert same(tensors(made.payload), arrays)
    assert encode(run, seq, kind, data, dict(reversed(arrays.items()))).payload == made.payload


def test_any_safetensors_reader_opens_a_frame() -> None:
    payload = payloads()[1]
    assert safetensors.numpy.load(payload)["attention"].shape == (2, 3, 4, 5)
    (length,) = struct.unpack_from("<Q", payload)
    assert length % 8 == 0


@settings(max_examples=25)
@given(LOGS)
def test_a_log_joined_and_split_is_byte_identical(log: list[tuple[str, dict[str, Any], dict[str, np.ndarray]]]) -> None:
    made = [encode("r", seq, *parts) for seq, parts in enumerate(log)]
    session = join(frame.payload for frame in made)
    assert split(session) == made
    assert join(frame.payload for frame in split(session)) == session


def test_a_session_names_its_tensors_by_frame() -> None:
    session = join(payloads(), {"session": "{}"})
    assert set(safetensors.numpy.load(session)) == {"000001.attention", "000002.top_ids"}
    metadata = frames.raw_header(session)["__metadata__"]
    assert (metadata["v"], metadata["run"], metadata["session"]) == (VERSION, "r1", "{}")
    assert json.loads(metadata["000002"])["kind"] == "step"


@given(st.lists(st.binary(max_size=40), max_size=6), st.integers(0, 60))
def test_a_stream_gives_back_its_frames_and_refuses_a_cut_one(parts: list[bytes], cut: int) -> None:
    stream = b"".join(to_stream(parts))
    assert list(from_stream(stream)) == parts
    ends = {sum(4 + len(part) for part in parts[:count]) for count in range(len(parts) + 1)}
    if cut < len(stream) and cut not in ends:
        with pytest.raises(BadFrame, match="the stream ends inside"):
            list(from_stream(stream[:cut]))


def test_relabel_changes_the_log_a_frame_is_of_and_nothing_else() -> None:
    old = payloads()[2]
    new = relabel(old, "r2", 9, {"token": {"id": 8, "forced": True}})
    assert (new.run, new.seq, new.kind, new.step) == ("r2", 9, "step", 0)
    assert header(new.payload).data == {"step": 0, "token": {"id": 8, "forced": True}}
    assert same(tensors(new.payload), tensors(old))
    assert relabel(old, "r1", 2).payload == old


def test_what_a_frame_cannot_have_is_refused() -> None:
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            encode("r", 0, "open", {"x": bad})
    with pytest.raises(ValueError, match="unknown frame kind 'opne'"):
        encode("r", 0, "opne", {})


def buffer(metadata: Any) -> bytes:
    head = json.dumps({"__metadata__": metadata}).encode()
    return struct.pack("<Q", len(head)) + head


GOOD = {"v": VERSION, "kind": "open", "seq": "0", "run": "r", "data": "{}"}


@pytest.mark.parametrize("version", ["0", "1", "3", "2.0", "", "x" * 100])
def test_another_version_is_refused_with_both_versions(version: str) -> None:
    frame_of_it = buffer({**GOOD, "v": version})
    for read in (lambda: header(frame_of_it), lambda: split(buffer({"v": version, "000000": json.dumps(GOOD)}))):
        with pytest.raises(BadFrame) as refused:
            read()
        assert f"version {version[:20]};" in str(refused.value)
        assert f"version {VERSION} alone" in str(refused.value)


def test_a_frame_without_a_version_is_not_one_of_kvscope() -> None:
    with pytest.raises(BadFrame, match="not from KVScope"):
        header(buffer({name: value for name, value in GOOD.items() if name != "v"}))


@pytest.mark.parametrize(
    "fields",
    [
        [],
        {**GOOD, "seq": 0},
        {**GOOD, "seq": "first"},
        {**GOOD, "kind": "opne"},
        {**GOOD, "data": "[]"},
        {**GOOD, "data": "{"},
        {**GOOD, "data": '{"step": "last"}'},
        {**GOOD, "data": '{"step": null}'},
        {**GOOD, "data": "[" * 100_000},
        {name: value for name, value in GOOD.items() if name != "run"},
    ],
)
def test_metadata_that_is_not_a_frames_is_refused(fields: Any) -> None:
    assert header(buffer(GOOD)).kind == "open"
    with pytest.raises(BadFrame):
        header(buffer(fields))
    with pytest.raises(BadFrame):
        split(buffer({"v": VERSION, "run": "r", "000000": json.dumps(fields)}))


def read_everything(data: bytes) -> None:
    for read in (header, frame, tensors, split, lambda payload: join([payload])):
        with suppress(BadFrame):
            read(data)


@pytest.mark.parametrize("source", [payloads()[1], join(payloads())], ids=["frame", "session"])
def test_truncated_input_is_refused_wherever_it_ends(source: bytes) -> None:
    for end in [*range(0, len(source), 7), len(source) - 1]:
        with pytest.raises(BadFrame):
            tensors(source[:end])
        with pytest.raises(BadFrame):
            split(source[:end])


@settings(max_examples=100)
@given(st.data())
def test_damaged_input_is_read_or_refused(data: st.DataObject) -> None:
    source = bytearray(data.draw(st.sampled_from([payloads()[1], payloads()[3], join(payloads())])))
    for _ in range(data.draw(st.integers(1, 4))):
        source[data.draw(st.integers(0, len(source) - 1))] = data.draw(st.integers(0, 255))
    read_everything(bytes(source))


@given(st.binary(max_size=100))
def test_bytes_that_are_no_frame_are_refused(data: bytes) -> None:
    with pytest.raises(BadFrame):
        header(data)
    read_everything(data)


def test_the_page_reads_the_same_version() -> None:
    script = (ROOT / "kvscope" / "static" / "shared" / "log" / "frames.js").read_text()
    assert re.findall(r'^export const VERSION = "(.+)";$', script, re.MULTILINE) == [VERSION]
