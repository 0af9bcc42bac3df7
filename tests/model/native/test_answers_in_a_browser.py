"""The browser's engine answers questions about a run as the server does, from the same weights."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import safetensors.numpy

from kvscope.model.api import ChangedRun, EffectOf, ValuesRequest
from kvscope.model.log import frames
from kvscope.model.native import Native
from kvscope.model.service import ModelService
from kvscope.model.service.loading import load_service
from kvscope.model.settings import Change
from tests.support.grouped import checkpoint_of, write_grouped
from tests.support.node import answer_of
from tests.support.wasm import packed_files

SCRIPT = Path(__file__).parents[2] / "static" / "engine" / "answers" / "answers.js"
IDS = [84, 107, 104, 35, 102, 100, 119, 35, 118, 100, 119, 49, 13]
PROMPT = 9
TYPES = {"F32": "<f4", "F16": "<f2", "I32": "<i4", "U8": "u1"}
CHANGES: tuple[dict[str, Any], ...] = (
    {"site": "token", "op": "scale", "position": 2, "factor": 0.5},
    {"site": "head", "op": "mean", "layer": 0, "head": 1},
    {"site": "mlp", "op": "zero", "layer": 1, "from_step": 1},
    {"site": "k", "op": "patch", "layer": 1, "head": 1, "source": "abcdefghi"},
    {"site": "layer", "op": "steer", "layer": 0, "factor": 2.0, "source": "cats", "away": "dogs!"},
    {"site": "v", "op": "scale", "layer": 0, "head": 0, "factor": -1.0, "position": 4},
    {"site": "residual", "op": "scale", "layer": 1, "factor": 1.25, "from_step": 2},
    {"site": "attention", "op": "mean", "layer": 1},
)
TEXTS = ("a", " a", " cat", "cat", " dogs!", "dogs!", "cats", "abcdefghi", "A prompt.")


@dataclass(frozen=True)
class Both:
    """The same model in this process and, by paths, for the browser's engine."""

    service: ModelService
    files: dict[str, str]
    ids: list[int]
    prompt: int

    def answers(self, asked: list[tuple[str, dict[str, Any]]], changes: tuple[dict[str, Any], ...] = ()) -> list[Any]:
        """What the browser's engine answers, in one process."""
        tokenizer = self.service.tokenizer
        log = {
            "ids": self.ids,
            "prompt": self.prompt,
            "chat": False,
            "changes": changes,
            "steps": [
                {"firstQuery": 0, "queries": self.prompt},
                *({"firstQuery": at, "queries": 1} for at in range(self.prompt, len(self.ids) - 1)),
            ],
        }
        answers: list[Any] = answer_of(
            SCRIPT,
            {
                **self.files,
                "info": self.service.info,
                "limits": {
                    "prompt_tokens": self.service.most_tokens,
                    "new_tokens": 256,
                    "positions": self.service.max_positions,
                },
                "tokens": [tokenizer.token(token) for token in range(self.service.info["vocab"])],
                "encodings": {text: tokenizer.encode(text) for text in TEXTS},
                "asked": [{"question": name, "log": log, "parameters": each} for name, each in asked],
            },
        )
        return answers

    def before(self, step: int) -> list[int]:
        return self.ids[: self.prompt + step]


@pytest.fixture(scope="module", params=["llama", "qwen2", "qwen3", "gpt2"])
def both(request: pytest.FixtureRequest, native: Native, tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp(request.param)
    write_grouped(folder / "a.gguf", request.param)
    service = ModelService(checkpoint_of(folder / "a.gguf", grouped=True), "cpu", native)
    return Both(service, packed_files(service.engine.transformer, folder), IDS, PROMPT)


OF_LOGITS = 5e-4
"""How much logits near 10 of two right implementations in float32 may differ, after many layers of random weights."""


def arrays(tensors: dict[str, Any]) -> dict[str, np.ndarray]:
    return {
        name: np.frombuffer(b64decode(each["data"]), TYPES[each["dtype"]]).reshape(each["shape"])
        for name, each in tensors.items()
    }


def alike(answer: Any, expected: Any, largest: float = 1e-4, where: str = "") -> None:
    """Compares with the server's answer. Numbers may differ by `largest`, or by that share of a tensor's largest."""
    if isinstance(expected, bytes):
        answer, expected = arrays(answer["tensors"]), safetensors.numpy.load(expected)
    if isinstance(expected, dict):
        assert answer.keys() == expected.keys(), where
        for key in expected:
            alike(answer[key], expected[key], largest, f"{where}.{key}")
    elif isinstance(expected, list | tuple):
        assert len(answer) == len(expected), where
        for number, (one, other) in enumerate(zip(answer, expected, strict=True)):
            alike(one, other, largest, f"{where}[{number}]")
    elif isinstance(expected, np.ndarray) and expected.dtype == np.uint8:
        assert np.abs(answer.astype(int) - expected).max() <= 1, where
    elif isinstance(expected, np.ndarray | float):
        np.testing.assert_allclose(answer, expected, 0, largest * max(1, np.abs(expected).max()), err_msg=where)
    else:
        assert answer == expected, where


def questions(both: Both, changes: ChangedRun | None = None) -> list[tuple[str, dict[str, Any], Any]]:
    """Questions about the run, with their parameters and what the server answers."""
    before, layers = both.before, both.service.info["layers"]

    def asked(name: str, *arguments: Any) -> Any:
        if changes is None:
            return getattr(both.service, name)(*arguments)
        return both.service.of_changed(changes, name, *arguments)

    def token(step: int) -> int:
        return both.ids[both.prompt + step]

    last = layers - 1
    return [
        ("head", {"step": 0, "layer": 0, "head": 2}, asked("head", before(0), 0, 0, 2)),
        ("head", {"step": 0, "layer": last, "head": 3}, asked("head", before(0), 0, last, 3)),
        ("head", {"step": 3, "layer": last, "head": 0}, asked("head", before(3), both.prompt + 2, last, 0)),
        ("block", {"step": 0, "layer": last, "position": 0}, asked("block", before(0), last, 0)),
        ("block", {"step": 0, "layer": 0, "position": 5}, asked("block", before(0), 0, 5)),
        ("block", {"step": 2, "layer": last, "position": 10}, asked("block", before(2), last, 10)),
        ("contributions", {"step": 0, "layer": 0, "position": 5}, asked("contributions", before(0), 0, 5)),
        ("contributions", {"step": 2, "layer": last, "position": 10}, asked("contributions", before(2), last, 10)),
        ("algebra", {"step": 2, "layer": last, "head": 1}, asked("algebra", before(2), last, 1)),
        ("lens", {"step": 0}, asked("lens", before(0), token(0))),
        ("lens", {"step": 2}, asked("lens", before(2), token(2))),
        ("candidates", {"step": 1, "text": "a"}, asked("candidates", before(1), "a")),
        ("candidates", {"step": 1, "text": "cat"}, asked("candidates", before(1), "cat")),
        ("losses", {}, asked("losses", before(0))),
    ]


@pytest.mark.parametrize("changed", [False, True], ids=["", "changed"])
def test_questions_about_a_run_have_the_servers_answers(both: Both, changed: bool) -> None:
    changes = CHANGES if changed else ()
    run = ChangedRun(tuple(IDS[:PROMPT]), False, tuple(Change(**each) for each in CHANGES)) if changed else None
    expected = questions(both, run)
    for answer, (name, parameters, own) in zip(
        both.answers([each[:2] for each in expected], changes), expected, strict=True
    ):
        alike(answer if isinstance(own, bytes) else answer["value"], own, where=f"{name} {parameters}")


@pytest.mark.parametrize("changed", [False, True], ids=["", "changed"])
def test_parts_that_are_off_have_the_same_effects(both: Both, changed: bool) -> None:
    run = ChangedRun(tuple(IDS[:PROMPT]), False, tuple(Change(**each) for each in CHANGES)) if changed else None
    kinds: tuple[Any, ...] = ("heads", "attention", "mlp", "layers", "tokens")
    answers = both.answers([("effects", {"step": 2, "of": of}) for of in kinds], CHANGES if changed else ())
    for of, answer in zip(kinds, answers, strict=True):
        same_effects(both, of, answer["value"], run)


def same_effects(both: Both, of: Any, answer: dict[str, Any], run: ChangedRun | None = None) -> None:
    """Compares the first effects, as many as the browser computed in the time of an answer."""
    arguments = (both.before(2), both.ids[both.prompt + 2], of, 0)
    expected = both.service.effects(*arguments) if run is None else both.service.of_changed(run, "effects", *arguments)
    count = len(answer["effects"])
    assert 1 <= count <= expected["count"] == answer["count"]
    while len(expected["effects"]) < count:
        expected["effects"] += both.service.effects(*arguments[:3], len(expected["effects"]))["effects"]
    alike(answer["base"], expected["base"], OF_LOGITS, where=of)
    alike(answer["effects"], expected["effects"][:count], OF_LOGITS, where=of)


@pytest.mark.parametrize("level", ["qkv", "block"])
def test_stored_values_are_the_servers(both: Both, level: Any) -> None:
    for step in (0, 2):
        first = 0 if step == 0 else PROMPT + step - 1
        request = ValuesRequest("a", step, both.before(step), first, IDS[PROMPT + step], level)
        expected = both.service.values(request)
        (answer,) = both.answers([("values", {"run": "a", "step": step, "level": level})])
        for frame, payload in zip(expected, map(b64decode, answer["value"]), strict=True):
            own, other = frames.header(payload), frames.header(frame.payload)
            assert (own.kind, own.seq, own.run) == (other.kind, other.seq, other.run)
            alike(own.data, other.data)
            tensors, others = frames.tensors(payload), frames.tensors(frame.payload)
            assert {name: each.dtype for name, each in tensors.items()} == {
                name: each.dtype for name, each in others.items()
            }
            alike(tensors, others, 1e-3)


def test_a_token_alone_at_two_positions_differs_as_on_the_server(both: Both) -> None:
    asked = [(layer, head, at, other) for layer in (0, 1) for head in (0, 3) for at, other in ((2, 9), (5, 5))]
    names = ("layer", "head", "position", "other")
    answers = both.answers([("positions", dict(zip(names, each, strict=True))) for each in asked])
    for answer, (layer, head, at, other) in zip(answers, asked, strict=True):
        alike(answer["value"], both.service.positions(IDS[at], at, other, layer, head))


def test_a_step_with_the_cache_has_the_operations_of_one_without(both: Both) -> None:
    (answer,) = both.answers([("operations", {"step": 2, "layer": 1})])
    expected = both.service.operations(both.before(2), 1)["operations"]
    operations = answer["value"]["operations"]
    assert [(each["name"], each["cached"]) for each in operations] == [
        (each["name"], each["cached"]) for each in expected
    ]
    for operation, own in zip(operations, expected, strict=True):
        for rows in ("old", "new"):
            alike(operation[rows]["size"], own[rows]["size"], where=own["name"])
            assert operation[rows]["largest"] <= 1e-4 * max(1, own[rows]["size"])


def test_weights_are_those_that_the_server_reads(both: Both) -> None:
    gated = ["mlp.gate"] if both.service.info["gated"] else []
    norms = ["attn.q_norm", "attn.k_norm"] if both.service.info["qk_norm"] else []
    rope = ["attn.rope"] if both.service.info["positions"] == "rotary" else []
    matrices = ["attn.q", "attn.k", "attn.v", "attn.out", "mlp.up", "mlp.down", *gated]
    rows = [(1, of, index) for of in (*matrices, "attn.norm", "mlp.norm", *norms, *rope) for index in (0, 3)]
    answers = both.answers([("weights", {"layer": layer, "of": of, "index": at}) for layer, of, at in rows])
    for answer, row in zip(answers, rows, strict=True):
        alike(answer, both.service.weights(*row), 1e-6, where=str(row))
    for of, answer in zip(matrices, both.answers([("matrix", {"layer": 0, "of": of}) for of in matrices]), strict=True):
        alike(answer, both.service.matrix(0, of), 1e-6, where=of)


def test_the_vocabulary_is_the_servers(both: Both) -> None:
    service, words = both.service, ["cat", "dogs!", "a"]
    embedding, tokens, beside, token = both.answers(
        [
            ("embedding", {"token": 69}),
            ("tokens", {"prompt": "abcdefghi", "chat": False}),
            ("words", {"words": words}),
            ("token", {"token": 70}),
        ]
    )
    alike(embedding["value"], service.embedding(69))
    # Each says what it has measured itself: here nothing.
    unmeasured = {"row_ms": None, "step_ms": None}
    assert tokens["value"] == {**service.tokens("abcdefghi", False), **unmeasured}
    alike(beside["value"], service.words(words))
    assert token["value"] == service.tokenizer.token(70)


REFUSED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("head", {"step": 4, "layer": 0, "head": 0}, "step is 4; it must be from 0 to 3."),
    ("head", {"step": 0, "layer": 2, "head": 0}, "layer is 2; it must be from 0 to 1."),
    ("head", {"step": 0, "layer": 0}, "head is missing."),
    ("block", {"step": 0, "layer": 0, "position": PROMPT}, f"position is {PROMPT}; it must be from 0 to {PROMPT - 1}."),
    ("algebra", {"step": 0, "layer": 0, "head": 0}, "step is 0; it must be from 1 to 3."),
    ("effects", {"step": 0, "of": "heads", "first": 8}, "first is 8; it must be from 0 to 7."),
    (
        *("effects", {"step": 0, "of": "words"}),
        f'of is "words"; it must be one of {", ".join(get_args(EffectOf))}.',
    ),
    ("candidates", {"step": 0, "text": ""}, "text is empty; it must have at least one character."),
    ("weights", {"layer": 0, "of": "attn.q", "index": 32}, "index is 32; it must be from 0 to 31."),
    ("matrix", {"layer": 0, "of": "attn.norm"}, "of is attn.norm, a vector; only a matrix can be drawn."),
    ("weights", {"layer": 0, "of": "attn.z", "index": 0}, "This model has no attn.z."),
    ("embedding", {"token": 263}, "token is 263; it must be from 0 to 262."),
    ("words", {"words": ["a"]}, "words must be a list of 2 to 8 items."),
)


def test_what_a_question_cannot_ask_is_refused_in_a_sentence(both: Both) -> None:
    for answer, (name, _, detail) in zip(both.answers([each[:2] for each in REFUSED]), REFUSED, strict=True):
        assert answer["problem"]["detail"] == detail, name
        assert answer["problem"]["status"] == 422


@pytest.mark.real
@pytest.mark.timeout(600)
def test_the_default_model_answers_in_a_browser_as_on_a_server(tmp_path: Path) -> None:
    service = load_service(None, "cpu", "float32", lambda _: None, compiled=True)
    ids = service.encode("The animal didn't cross the street because it was too tired. It was", False)
    both = Both(service, packed_files(service.engine.transformer, tmp_path), ids, len(ids) - 4)
    expected = questions(both)
    kinds: tuple[Any, ...] = ("heads", "layers", "tokens")
    others = (
        ("embedding", {"token": 4649}),
        *(("effects", {"step": 2, "of": of}) for of in kinds),
        ("weights", {"layer": 12, "of": "mlp.down", "index": 5}),
    )
    answers = both.answers([*(each[:2] for each in expected), *others])
    for answer, (name, parameters, own) in zip(answers, expected, strict=False):
        alike(answer if isinstance(own, bytes) else answer["value"], own, where=f"{name} {parameters}")
    embedding, *effects, row = answers[len(expected) :]
    alike(embedding["value"], service.embedding(4649))
    alike(row, service.weights(12, "mlp.down", 5), 1e-6)
    for of, answer in zip(kinds, effects, strict=True):
        same_effects(both, of, answer["value"])
