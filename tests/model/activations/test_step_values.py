"""Values stored of each step are the engine's, and the page makes of them what the engine answers."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import safetensors.numpy

from kvscope.model.activations.step_values import OF_BLOCK, step_values
from kvscope.model.api import Frame, ValueLevel, ValuesRequest, value_bytes
from kvscope.model.log import frames
from kvscope.model.service import ModelService
from tests.page_tools import node
from tests.support.refused import refusal
from tests.support.tiny import ARCHS, check_cache
from tests.support.tiny_runs import chosen, encoded, finish, kinds, run_to_end, service
from tests.support.tiny_runs import request as text_request

ROOT = Path(__file__).resolve().parents[3]
WEIGHTS_AGREE = 2e-6
ROUNDED = 2**-10
"""F16 keeps 11 bits; a sum or a product of two rounded numbers is off by as much again."""


def asked(log: list[Frame], step: int, level: ValueLevel = "qkv", run: str = "saved") -> ValuesRequest:
    """As the web process makes it from a log."""
    opened = frames.header(log[0].payload).data
    ids = frames.token_ids(frame.payload for frame in log)
    end = len(opened["tokens"]) + step
    return ValuesRequest(run, step, ids[:end], 0 if step == 0 else end - 1, ids[end], level)


def all_values(made: ModelService, log: list[Frame], level: ValueLevel) -> list[list[Frame]]:
    """Of every step, by layer."""
    steps = sum(frame.kind == "step" for frame in log)
    return [made.values(asked(log, step, level)) for step in range(steps)]


@pytest.fixture(scope="module", params=ARCHS)
def recorded(request: pytest.FixtureRequest) -> tuple[ModelService, list[Frame]]:
    """A run of each kind of model."""
    made = service(arch=request.param)
    return made, run_to_end(made, text_request())


def page_answers(questions: list[dict[str, Any]]) -> list[dict[str, np.ndarray]]:
    script = str(ROOT / "tests/static/shared/log/stored-answers.js")
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([*node(), script], input=lines, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        {name: np.array(each["data"], np.float32).reshape(each["shape"]) for name, each in answer.items()}
        for answer in answers
    ]


def in_base64(payloads: Sequence[Frame]) -> list[str]:
    return [base64.b64encode(frame.payload).decode() for frame in payloads]


def test_the_page_makes_every_head_of_every_step_from_q_k_and_v(recorded: tuple[ModelService, list[Frame]]) -> None:
    made, log = recorded
    stored = all_values(made, log, "qkv")
    places = [(step, layer, head) for step in (0, 1, 5) for layer in (0, 1) for head in range(4)]
    found = page_answers(
        [
            {"frames": in_base64([each[layer] for each in stored[: step + 1]]), "answer": "head", "of": head}
            for step, layer, head in places
        ]
    )
    for (step, layer, head), answer in zip(places, found, strict=True):
        want = asked(log, step)
        exact = safetensors.numpy.load(made.head(want.ids, want.first_query, layer, head))
        assert answer.keys() == exact.keys()
        for name, values in exact.items():
            assert answer[name].shape == values.shape
            np.testing.assert_allclose(answer[name], values, rtol=2e-5, atol=2e-5, err_msg=f"{step} {name}")
        np.testing.assert_allclose(answer["weights"], exact["weights"], rtol=0, atol=WEIGHTS_AGREE)


def test_the_page_makes_every_value_of_a_block_within_16_bits(recorded: tuple[ModelService, list[Frame]]) -> None:
    made, log = recorded
    stored = all_values(made, log, "block")
    places = [(layer, position) for layer in (0, 1) for position in (0, 7, 11, 12, 16)]
    found = page_answers(
        [
            {"frames": in_base64([each[layer] for each in stored]), "answer": "block", "of": position}
            for layer, position in places
        ]
    )
    ids = frames.token_ids(frame.payload for frame in log)
    arrays = [frames.tensors(frame.payload) for layers in stored for frame in layers]
    numbers = sum(array.nbytes for each in arrays for name, array in each.items() if name != "rope")
    assert value_bytes(made.info, len(ids) - 1, "block") == numbers, "the size that was told before"
    exactly = {"attn.q", "attn.k", "attn.v", "attn.q_rot", "attn.k_rot", "attn.scores", "attn.weights", "attn.mixed"}
    for (layer, position), answer in zip(places, found, strict=True):
        exact = safetensors.numpy.load(made.block(ids, layer, position))
        # Before a norm of their own, q, k and changes cannot be made of what is stored.
        assert answer.keys() == exact.keys() - {"attn.q_raw", "attn.k_raw", "attn.raw_change", "mlp.raw_change"}
        for name in answer:
            values = exact[name]
            assert answer[name].shape == values.shape, name
            if name in exactly or name.startswith("cache."):
                np.testing.assert_allclose(answer[name], values, rtol=2e-5, atol=2e-5, err_msg=name)
            else:
                error = np.abs(answer[name] - values).max() / np.abs(values).max()
                assert error < ROUNDED, (name, error)


def test_frames_say_what_they_hold(recorded: tuple[ModelService, list[Frame]]) -> None:
    made, log = recorded
    info, config = made.info, made.engine.transformer.config
    for step, level in ((0, "qkv"), (0, "block"), (3, "qkv"), (3, "block")):
        want = asked(log, step, "block" if level == "block" else "qkv")
        rows = len(want.ids) - want.first_query
        found = made.values(want)
        assert [frame.seq for frame in found] == [step * 2, step * 2 + 1]
        for layer, frame in enumerate(found):
            head, arrays = frames.header(frame.payload), frames.tensors(frame.payload)
            assert (head.kind, head.run) == ("values", "saved")
            shown = [head.data[name] for name in ("step", "layer", "level", "first_query", "window")]
            assert shown == [step, layer, level, want.first_query, (config.windows or [None, None])[layer]]
            assert head.data.get("score_width", config.head_dim) == (config.score_width or config.head_dim)
            assert head.data.get("activation", "silu" if config.gated else "gelu_tanh") == config.activation
            assert arrays["q"].shape == (info["heads"], rows, info["head_dim"])
            assert arrays["k"].shape == arrays["v"].shape == (info["kv_heads"], rows, info["head_dim"])
            assert {arrays[name].dtype for name in "qkv"} == {np.dtype(np.float32)}
            points = set(OF_BLOCK) - (set() if config.gated else {"mlp.gate"})
            expected = points | ({"rope"} if config.positions == "rotary" else set()) if level == "block" else set()
            assert set(arrays) - set("qkv") == expected
            assert {arrays[name].dtype for name in expected - {"rope"}} <= {np.dtype(np.float16)}
        assert "lens" not in frames.header(found[0].payload).data
        kept, lens = frames.header(found[-1].payload).data["lens"], made.lens(want.ids, want.token)
        assert kept["token"] == lens["token"]
        for mine, theirs in zip(kept["layers"], lens["layers"], strict=True):
            assert mine["top"][0]["id"] == theirs["top"][0]["id"]
            assert mine["chosen"]["rank"] == theirs["chosen"]["rank"]


def test_what_16_bits_cannot_hold_keeps_32() -> None:
    made = service()
    made.engine.transformer.embed.weight.data *= 1e6
    layers, _ = step_values(made.engine, [5, 6, 7], 0, "block", 8)
    assert layers[0]["resid_in"].dtype == np.float32
    assert layers[0]["attn.normed"].dtype == np.float16
    assert np.isfinite(layers[0]["resid_in"]).all()


def test_steps_one_after_another_compute_each_row_once() -> None:
    """Also of a run that the cache has forgotten, such as a recorded one."""
    log = run_to_end(service(), text_request())
    made = service()
    with patch.object(made.engine.runner, "run", side_effect=made.engine.runner.run) as run:
        all_values(made, log, "qkv")
    fed = [entry.count for call in run.call_args_list for entry in call.args[0]]
    assert fed == [len(encoded()), 1, 1, 1, 1, 1]
    check_cache(made.engine)
    assert made.engine.cache.free_blocks < made.engine.cache.blocks
    assert len(made.engine.scheduler.kept) == 1


def test_values_leave_running_runs_as_they_are() -> None:
    made, alone = service(), service()
    log = run_to_end(made, text_request("a"))
    started = made.start(text_request("b", "Another one."))
    other = made.advance()
    for step in range(6):
        made.values(asked(log, step, "block"))
        other += made.advance()
    other += finish(made)
    expected = run_to_end(alone, text_request("b", "Another one."))
    assert kinds(started + other) == kinds(expected)
    assert chosen(started + other) == chosen(expected)
    check_cache(made.engine)


def test_what_is_not_there_is_refused() -> None:
    made = service()
    log = run_to_end(made, text_request())
    good = asked(log, 1)
    for bad, field in (
        (replace(good, first_query=len(good.ids)), "first_query"),
        (replace(good, token=-1), "token"),
        (replace(good, ids=good.ids * 200), "step"),
    ):
        assert refusal(made.values, bad).field == field
