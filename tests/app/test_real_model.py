"""The whole server with the default model: what the frames say is what the exact values say."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from kvscope.app.settings import DEFAULT_SERVICE
from kvscope.model.log.frames import header, tensors
from kvscope.model.packaged import DEFAULT
from tests.support.live_server import LiveServer, live
from tests.support.viewer import Viewer

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live(tmp_path_factory.mktemp("real"), None, service=DEFAULT_SERVICE) as server:
        yield server


@pytest.fixture(scope="module")
def run(server: LiveServer) -> str:
    run = server.start_run(prompt="The capital of France is", max_new_tokens=6)
    server.finished(run)
    return run


def attention(frames: list[bytes], step: int) -> dict[tuple[int, int], np.ndarray]:
    """The weights of every layer and head of a step, as the frames carry them: [queries, keys]."""
    found: dict[tuple[int, int], np.ndarray] = {}
    for frame in frames:
        head = header(frame)
        if head.kind == "layer" and head.data["step"] == step:
            part = (tensors(frame)["attention"].astype(np.float32) / 255) ** 2
            for layer, of_layer in enumerate(part):
                for number, weights in enumerate(of_layer):
                    found[head.data["first_layer"] + layer, head.data["first_head"] + number] = weights
    return found


def test_the_model_has_the_parameters_that_are_listed_before_it_is_loaded(server: LiveServer, run: str) -> None:
    (offered,) = server.get("api/models").json()["models"]
    assert offered["name"] == DEFAULT.name
    assert offered["parameters"] == offered["model"]["parameters"] == DEFAULT.parameters


def test_a_viewer_from_outside_reads_the_answer(server: LiveServer, run: str) -> None:
    viewer = Viewer(server.url)
    viewer.watch(run)
    frames = viewer.wait_for_close()
    viewer.leave()
    assert "Paris" in "".join(header(frame).data["token"]["text"] for frame in frames if header(frame).kind == "step")
    assert frames == server.frames(run)


def test_the_exact_head_agrees_with_the_frames(server: LiveServer, run: str) -> None:
    for step, layer, head in ((0, 0, 0), (0, 29, 8), (3, 13, 8), (5, 29, 0)):
        response = server.get(f"api/runs/{run}/head?step={step}&layer={layer}&head={head}")
        weights = safetensors.numpy.load(response.content)["weights"]
        assert np.abs(weights - attention(server.frames(run), step)[layer, head]).max() < 0.004


def test_block_and_lens_answer(server: LiveServer, run: str) -> None:
    block = safetensors.numpy.load(server.get(f"api/runs/{run}/block?step=0&layer=3&position=2").content)
    assert all(np.isfinite(values).all() for values in block.values())
    assert block["cache.k"].shape == block["cache.v"].shape == (3, 3, 64)
    lens = server.get(f"api/runs/{run}/lens?step=0").json()
    chosen = next(header(frame) for frame in server.frames(run) if header(frame).kind == "step").data["token"]
    assert [entry["layer"] for entry in lens["layers"]] == list(range(30))
    assert lens["token"]["id"] == lens["layers"][-1]["top"][0]["id"] == chosen["id"]
    assert lens["layers"][-1]["chosen"]["rank"] == 0
    assert lens["layers"][-1]["chosen"]["prob"] == pytest.approx(chosen["raw_prob"], rel=1e-3)


def test_a_run_without_a_cache_writes_the_same_for_more_work_and_one_that_forgets_does_not(
    server: LiveServer, run: str
) -> None:
    def twin(cache: str) -> list[dict[str, Any]]:
        made = server.post(f"api/runs/{run}/twin", {"cache": cache}).json()["id"]
        return [header(frame).data for frame in server.finished(made) if header(frame).kind == "step"]

    mine = [header(frame).data for frame in server.frames(run) if header(frame).kind == "step"]
    again, forgetful = twin("none"), twin("forgotten")
    assert [step["token"]["id"] for step in again] == [step["token"]["id"] for step in mine]
    prompt = mine[0]["rows_computed"]
    assert [step["rows_computed"] for step in again] == list(range(prompt, prompt + 6))
    assert sum(step["flops"] for step in again) > 2 * sum(step["flops"] for step in mine)
    assert max(abs(a["log_z"] - b["log_z"]) for a, b in zip(again, mine, strict=True)) < 1e-3
    assert [step["token"]["id"] for step in forgetful] != [step["token"]["id"] for step in mine]
    assert [step["rows_computed"] for step in forgetful] == [prompt, *[1] * 5]


def test_the_reusable_part_of_a_decode_step_is_what_the_cache_holds(server: LiveServer, run: str) -> None:
    values = safetensors.numpy.load(server.get(f"api/runs/{run}/algebra?step=3&layer=13&head=8").content)
    for name in ("k", "v"):
        assert values[name].shape == values[f"{name}_again"].shape
        assert np.abs(values[name] - values[f"{name}_again"]).max() < 1e-3
    assert np.abs(values["output"][0] - values["output_again"][-1]).max() < 1e-3
