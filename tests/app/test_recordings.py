"""The recorded runs that ship with the project, as they lie in the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import Settings
from model import frames as codec

SHIPPED = sorted(Settings().recordings_dir.glob("*.safetensors"))


@pytest.fixture(params=SHIPPED, ids=lambda path: path.stem)
def log(request: pytest.FixtureRequest) -> list[bytes]:
    path: Path = request.param
    return [frame.payload for frame in codec.split(path.read_bytes())]


def test_there_are_some() -> None:
    assert SHIPPED


def test_a_recording_is_a_whole_run(log: list[bytes]) -> None:
    headers = [codec.header(payload) for payload in log]
    assert [header.seq for header in headers] == list(range(len(log)))
    assert (headers[0].kind, headers[-1].kind) == ("open", "close")
    assert headers[-1].data["steps"] == sum(header.kind == "step" for header in headers)
    assert max(map(len, log)) <= codec.MAX_FRAME_BYTES


def test_a_recording_has_the_length_of_every_q_row(log: list[bytes]) -> None:
    model = codec.header(log[0]).data["model"]
    layers = [payload for payload in log if codec.header(payload).kind == "layer"]
    assert layers
    for payload in layers:
        tensors = codec.tensors(payload)
        assert codec.header(payload).data["first_head"] == 0
        assert tensors["q_norm"].shape == tensors["attention"].shape[:3]
        assert tensors["q_norm"].shape[1] == model["heads"]
        assert (tensors["q_norm"] > 0).all()


def test_a_recording_has_the_time_of_every_layer(log: list[bytes]) -> None:
    model = codec.header(log[0]).data["model"]
    for ms in (codec.header(payload).data["ms"] for payload in log if codec.header(payload).kind == "step"):
        assert len(ms["layers"]) == model["layers"]
        assert all(layer > 0 for layer in ms["layers"])
        assert sum(ms["layers"]) < ms["forward"]
