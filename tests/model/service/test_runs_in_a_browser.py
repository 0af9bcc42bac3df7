"""The browser's engine computes runs as the server does: the same tokens, and frames that say the same."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvscope.model.api import RunRequest
from kvscope.model.log import frames
from kvscope.model.log.check import LogCheck
from kvscope.model.service import ModelService
from kvscope.model.service.for_browser import load_for_browser
from kvscope.model.service.loading import load_service
from kvscope.model.settings import Sampling
from tests.support.node import answer_of
from tests.support.wasm import native_code

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]
SCRIPT = Path(__file__).parents[2] / "static" / "engine" / "runs-of.js"
PROSE = "The quick brown fox jumps over the lazy dog, and the dog does not mind. "
PROMPTS = (
    *(
        "The capital of France is",
        "def fibonacci(n):\n    if n < 2:\n        return n\n",
        "人工智能的未来是",
        "🙂👩‍👩‍👧‍👦 means",
    ),
    *(
        "a",
        " ",
        "\n\n\n",
        "ha" * 60,
        "1 2 3 4 5 6 7 8",
        "SELECT name FROM users WHERE",
        "Привет, как дела?",
        "مرحبا بالعالم",
    ),
    *(
        '{"key": [1, 2, {"a": null}]}',
        "The animal didn't cross the street because it was too",
        PROSE * 22,
        "x = 3.14159 * r ** 2",
    ),
    *("Once upon a time\tthere   was", "<|im_end|> is a token", "E=mc² and ∑ᵢ xᵢ", "To be, or not to be: that is"),
)
SAMPLED = Sampling(strategy="sample", temperature=0.9, top_k=50, top_p=0.95, seed=7)
WIDE = Sampling(strategy="sample", temperature=1.3, seed=11)
NEW_TOKENS = 12


def requests() -> list[RunRequest]:
    greedy = [RunRequest(f"greedy-{i}", text, False, NEW_TOKENS) for i, text in enumerate(PROMPTS)]
    chat = RunRequest("chat", "Name three colours.", True, NEW_TOKENS)
    drawn = [
        RunRequest(f"{name}-{i}", text, False, NEW_TOKENS, sampling)
        for name, sampling in (("sampled", SAMPLED), ("wide", WIDE))
        for i, text in enumerate(PROMPTS[:4])
    ]
    return [*greedy, chat, *drawn]


@pytest.fixture(scope="module")
def service() -> ModelService:
    return load_service(None, "cpu", "float32", lambda _: None, True)


@pytest.fixture(scope="module")
def in_the_browser(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    folder = tmp_path_factory.mktemp("engine")
    model = load_for_browser(None, native_code(), lambda _: None)
    for name, read in model.files.items():
        (folder / name).write_bytes(read())
    asked = [body(request) for request in requests()]
    answer = answer_of(SCRIPT, {"folder": str(folder), "description": model.description, "requests": asked})
    return {run: [b64decode(payload) for payload in payloads] for run, payloads in answer.items()}


def body(request: RunRequest) -> dict[str, Any]:
    settings = Sampling.model_dump(request.sampling)
    rest = {"prompt": request.prompt, "chat": request.chat, "max_new_tokens": request.max_new_tokens, "reuse": False}
    return {"run": request.run, "created": "2026-01-01T00:00:00+00:00", **rest, **settings}


def on_the_server(service: ModelService, request: RunRequest) -> list[bytes]:
    log = service.start(request)
    while service.busy:
        log += service.advance()
    return [frame.payload for frame in log]


def rows(payloads: Sequence[bytes]) -> dict[tuple[int, int, int, int], np.ndarray]:
    """Companded attention rows, by step, layer, head and query."""
    result = {}
    for payload in payloads:
        head = frames.header(payload)
        if head.kind != "layer":
            continue
        attention, data = frames.tensors(payload)["attention"], head.data
        for layer, head_rows in enumerate(attention, data["first_layer"]):
            for number, queries in enumerate(head_rows, data["first_head"]):
                for query, keys in enumerate(queries, data["first_query"]):
                    result[data["step"], layer, number, query] = keys[: query + 1].astype(int)
    return result


def lengths(payloads: Sequence[bytes]) -> dict[tuple[int, int, int], np.ndarray]:
    """Lengths of Q, K, V and the residual stream in a row of a layer, by step, layer and query."""
    result = {}
    for payload in payloads:
        head, data = frames.header(payload), frames.header(payload).data
        if head.kind != "layer" or data["first_head"] > 0:
            continue
        named = frames.tensors(payload)
        for layer in range(len(named["attention"])):
            norms = [named[name][layer] for name in ("q_norm", "k_norm", "v_norm", "residual_norm")]
            for query, row in enumerate(np.vstack(norms).T):
                result[data["step"], data["first_layer"] + layer, data["first_query"] + query] = row.astype(np.float32)
    return result


def test_every_run_has_the_tokens_of_the_server(service: ModelService, in_the_browser: dict[str, list[bytes]]) -> None:
    furthest_logit, furthest_step = 0.0, 0
    for request in requests():
        ours, theirs = in_the_browser[request.run], on_the_server(service, request)
        check = LogCheck()
        for payload in ours:
            check.take(payload)
        assert frames.token_ids(ours) == frames.token_ids(theirs), request.prompt
        for own, other in zip(steps(ours), steps(theirs), strict=True):
            assert own[0]["filters"].keys() == other[0]["filters"].keys()
            assert own[0]["token"]["prob"] == pytest.approx(other[0]["token"]["prob"], abs=1e-3)
            for name in ("kept_top_k", "kept_top_p"):
                assert own[0]["filters"][name] == pytest.approx(other[0]["filters"][name], rel=0.01)
            furthest_logit = max(furthest_logit, difference(own[1], other[1]))
        expected = rows(theirs)
        for place, keys in rows(ours).items():
            furthest_step = max(furthest_step, int(np.abs(keys - expected[place]).max()))
        their_lengths = lengths(theirs)
        for row, norms in lengths(ours).items():
            np.testing.assert_allclose(norms, their_lengths[row], rtol=2e-3, err_msg=f"{request.prompt}: {row}")
    assert furthest_logit < 1e-3
    assert furthest_step <= 1


def steps(payloads: Sequence[bytes]) -> list[tuple[dict[str, Any], dict[int, float]]]:
    """The data of each step, and its best tokens with their logits."""
    result = []
    for payload in payloads:
        head = frames.header(payload)
        if head.kind == "step":
            tensors = frames.tensors(payload)
            best = dict(zip(tensors["top_ids"].tolist(), tensors["top_logits"].tolist(), strict=True))
            result.append((head.data, best))
    return result


def difference(own: dict[int, float], other: dict[int, float]) -> float:
    return max(abs(own[token] - other[token]) for token in own.keys() & other.keys())
