"""A packed model computes in WebAssembly what the modules compute: the engine in a visitor's browser, run in Node."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from torch import Tensor

import hatch_build
from kvscope.model.engine.changes import Changes, Changing, Edit
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.experts import NO_EXPERT
from kvscope.model.engine.runner import Pass
from kvscope.model.kv_cache import Sequence
from kvscope.model.linear import plain_product
from kvscope.model.native.packed import pack
from kvscope.model.native.steps import CAPTURED, _edit, parts_of
from kvscope.model.transformer import Transformer
from tests.support.grouped import grouped_weights
from tests.support.native_models import CHANGED, MODELS
from tests.support.node import answer_of
from tests.support.tiny import prompt, tiny_config

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tests" / "static" / "engine" / "native" / "passes-answer.js"
WITH_EXPERTS: dict[str, dict[str, Any]] = {
    "experts": {"arch": "qwen3_moe"},
    "experts of 32": {"arch": "qwen3_moe", "d_expert": 32, "experts_chosen": 3, "shares_normalized": False},
}
VOCAB = 600
"""More than the tokens that a frame lists, so that the others are counted."""
POSITIONS = 64
CHUNKS = (7, 12, 1, 1)
"""Rows of a text's passes."""
Answer = dict[str, Any]


@pytest.fixture(scope="session")
def wasm() -> Path:
    """The engine of these sources. Without one the test is skipped, or failed where CI=true."""
    hatch_build.compile_engine(ROOT)
    path = ROOT / hatch_build.ENGINE
    if not path.is_file():
        why = "there is no engine for browsers: install KVScope again"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return path


@cache
def model(name: str) -> Transformer:
    changes = {"d_mlp": 64, **{**MODELS, **WITH_EXPERTS}[name]}
    kind = changes.pop("kind", Kind.Q4_1)
    config = tiny_config(**{"vocab": VOCAB, **changes})
    weights = grouped_weights(config, kind)
    return Transformer.from_weights(config, weights, products=lambda weight, bias: plain_product(weight, bias))


class InNode:
    """The packed model, and what Node is asked to compute with it."""

    def __init__(self, transformer: Transformer, wasm: Path, folder: Path):
        packed = pack(transformer)
        (folder / "packed.json").write_text(json.dumps(packed.description))
        (folder / "packed.bin").write_bytes(b"".join(packed.pieces()))
        self._asked = {"wasm": str(wasm), "folder": str(folder), "positions": POSITIONS, "table": [5, 20]}

    def answer(self, passes: list[dict[str, Any]], read: list[list[int]], **others: Any) -> Answer:
        return cast(Answer, answer_of(SCRIPT, {**self._asked, "passes": passes, "read": read, **others}))


@pytest.fixture
def in_node(request: pytest.FixtureRequest, wasm: Path, tmp_path: Path) -> InNode:
    return InNode(model(request.param), wasm, tmp_path)


def alike(actual: Any, expected: Any, what: str) -> None:
    expected = torch.as_tensor(expected).float()
    actual = torch.as_tensor(actual, dtype=torch.float32).view(expected.shape)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=2e-5, msg=lambda text: f"{what}: {text}")


def chunks(ids: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Yields the first position and the ids of each of a text's passes."""
    first = 0
    for count in CHUNKS:
        yield first, ids[first : first + count]
        first += count


def halves(bits: list[int]) -> np.ndarray:
    return np.array(bits, np.uint16).view(np.float16)


def compare_shown(answer: Answer, done: Pass, what: str) -> None:
    """Compares what a frame shows, and what a step needs of the logits."""
    (captured,) = done.captured
    for field, name in CAPTURED.items():
        expected, actual = getattr(captured, name), answer["captured"][field]
        if field == "attention":
            difference = np.array(actual, int) - expected.astype(int).ravel()
            assert np.abs(difference).max() <= 1, f"{what}: attention"
        else:
            np.testing.assert_allclose(halves(actual), expected.ravel(), rtol=2e-3, err_msg=f"{what}: {name}")
    for summary, distribution in zip(answer["summaries"], done.distributions, strict=True):
        expected = distribution.summary
        assert (summary["finite"], summary["best"]) == (True, expected.best)
        for name in ("largest", "total", "weighted"):
            assert summary[name] == pytest.approx(getattr(expected, name), rel=1e-4), f"{what}: {name}"
        candidates = distribution.candidates
        alike(summary["top"], candidates.logits, f"{what}: the best logits")
        alike(distribution.logits[summary["ids"]], summary["top"], f"{what}: the best tokens")
        assert sum(summary["counts"]) == VOCAB - len(candidates.ids)
        assert np.abs(np.array(summary["counts"]) - candidates.tail_counts).sum() <= 4  # at the bounds of bins
        assert summary["smallest"] == pytest.approx(candidates.tail_low, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "in_node"), [(name, name) for name in {**MODELS, **WITH_EXPERTS}], indirect=["in_node"]
)
def test_webassembly_computes_what_the_modules_compute(name: str, in_node: InNode) -> None:
    """Two texts by turns, in prefill of several passes and in decode."""
    transformer = model(name)
    config = transformer.config
    engine = Engine(transformer, capacity=256)
    texts = [prompt(sum(CHUNKS), seed=seed, vocab=VOCAB) for seed in (1, 2)]
    sequences = [Sequence() for _ in texts]
    slots = [list(range(sum(CHUNKS))), list(range(POSITIONS - 1, POSITIONS - 1 - sum(CHUNKS), -1))]
    places = [
        (text, first, ids) for both in zip(*map(chunks, texts), strict=True) for text, (first, ids) in enumerate(both)
    ]
    points = list(parts_of(config))
    passes = [
        {
            "ids": ids,
            "slots": slots[text][: first + len(ids)],
            "capture": True,
            "outs": [*range(len(ids))],
            "points": points,
        }
        for text, first, ids in places
    ]
    answer = in_node.answer(passes, slots)
    for (text, first, ids), actual in zip(places, answer["passes"], strict=True):
        what = f"{name}, text {text}, row {first}"
        seen: dict[str, list[Tensor]] = {each: [] for each in engine.runner.points}
        entry = engine.scheduler.entry(sequences[text], ids, outputs=len(ids))
        done = engine.runner.run([entry], {each: seen[each].append for each in seen}, capture=True)
        alike(actual["logits"], done.logits, f"{what}: logits")
        alike(actual["final"], seen["final"][0], f"{what}: final")
        for layer in range(config.layers):
            for point in points:
                if values := seen.get(f"blocks.{layer}.{point}"):
                    alike(actual["values"][layer][point], values[0], f"{what}: {point} of layer {layer}")
        if config.experts:
            shape = config.layers, len(ids), config.experts_chosen
            chosen = torch.tensor(actual["experts"]["chosen"]).view(shape)
            shares = torch.tensor(actual["experts"]["shares"]).view(shape)
            for layer in range(config.layers):
                none = torch.full(shape[1:], NO_EXPERT), torch.zeros(shape[1:])
                routed = (seen[f"blocks.{layer}.mlp.{each}"][0] for each in ("chosen", "shares"))
                expected, weights = routed if config.has_experts(layer) else none
                assert torch.equal(chosen[layer], expected.to(chosen.dtype)), what
                alike(shares[layer], weights, f"{what}: shares")
        compare_shown(actual, done, what)
    for sequence, stored in zip(sequences, answer["caches"], strict=True):
        expected = engine.cache.read_all(engine.cache.slots(sequence)).flatten(0, 1)
        for index, pool in enumerate(expected):
            seen_rows = config.window if config.has_window(index // 2) and config.window else len(texts[0])
            actual_pool = torch.tensor(stored[index]).view(pool.shape)
            alike(actual_pool[:, -seen_rows:].tolist(), pool[:, -seen_rows:], f"{name}: K and V {index}")
    alike(answer["table"], transformer.embed.groups.rows(torch.arange(5, 25)), "rows of the embedding")  # type: ignore[union-attr]


FAMILIES = ("llama", "gemma3", "gpt2", "groups of 8 bits", "experts")


@pytest.mark.parametrize("in_node", FAMILIES, indirect=True)
def test_the_bits_of_a_row_do_not_depend_on_the_division_into_passes(in_node: InNode) -> None:
    ids = prompt(24, vocab=VOCAB)
    passes = []
    for counts in ([24], [1] * 24, [2, 3, 4, 15], [23, 1], [5, 19]):
        ends = np.cumsum(counts).tolist()
        for count, end in zip(counts, ends, strict=True):
            passes.append({"ids": ids[end - count : end], "slots": [*range(end)], "outs": [*range(count)]})
    answers = iter(in_node.answer(passes, [])["passes"])
    whole = next(answers)
    for _ in range(4):
        logits: list[float] = []
        while len(logits) < len(whole["logits"]):
            logits += next(answers)["logits"]
        assert logits == whole["logits"]


@pytest.mark.parametrize("in_node", FAMILIES, indirect=True)
def test_values_are_the_same_whoever_looks_and_whatever_is_captured(in_node: InNode) -> None:
    of = {"ids": prompt(9, vocab=VOCAB), "slots": [*range(9)], "outs": [3, 8]}
    looks: list[dict[str, Any]] = [{}, {"points": ["resid_out"]}, {"capture": True}, {"outs": []}, {}]
    plain, seen, captured, none, again = in_node.answer([{**of, **each} for each in looks], [])["passes"]
    assert plain["logits"] == seen["logits"] == captured["logits"] == again["logits"]
    assert none["logits"] == []


@pytest.mark.parametrize("in_node", FAMILIES, indirect=True)
def test_a_pass_can_begin_and_end_at_any_layer(in_node: InNode) -> None:
    of = {
        "ids": prompt(9, vocab=VOCAB),
        "slots": [*range(9)],
        "outs": [8],
        "points": ["resid_in", "resid_out", "attn.k_rot"],
    }
    whole, first, rest, head = in_node.answer(
        [
            of,
            {**of, "end": 1},
            {**of, "start": 1, "entering": [0, 0, "resid_out"]},
            {**of, "start": 2, "entering": [0, 1, "resid_out"]},  # no layer, only the head
        ],
        [],
    )["passes"]
    layers = whole["values"]
    assert layers[1]["resid_in"] == layers[0]["resid_out"]
    assert first["values"] == layers[:1]
    assert rest["values"] == layers[1:]
    if len(layers) == 2:
        assert rest["logits"] == head["logits"] == whole["logits"]
        assert head["values"] == []


@pytest.mark.parametrize("in_node", ["llama"], indirect=True)
def test_a_row_can_be_computed_at_any_position(in_node: InNode) -> None:
    at = {"ids": [7], "slots": [0], "points": ["attn.k", "attn.k_rot"], "end": 1}
    first, later = (
        in_node.answer([{**at, "position": position}], [])["passes"][0]["values"][0] for position in (0, 40)
    )
    assert first["attn.k"] == later["attn.k"] == first["attn.k_rot"] != later["attn.k_rot"]


@pytest.mark.parametrize("in_node", ["llama"], indirect=True)
def test_changes_are_those_of_the_modules(in_node: InNode) -> None:
    transformer = model("llama")
    engine = Engine(transformer, capacity=256)
    ids = prompt(8, vocab=VOCAB)
    passes, expected = [], []
    for number, edit in enumerate(CHANGED):
        changes = Changes(number, (edit, CHANGED[1]))
        entry = engine.scheduler.entry(Sequence(), ids, outputs=len(ids), changes=changes)
        expected.append(engine.runner.run([entry]).logits)
        edits = [described(transformer, *each) for each in Changing([(range(8), changes)]).edits]
        passes.append({"ids": ids, "slots": [*range(8)], "outs": [*range(8)], "edits": edits})
    for edit, actual, logits in zip(CHANGED, in_node.answer(passes, [])["passes"], expected, strict=True):
        torch.testing.assert_close(
            torch.tensor(actual["logits"]).view(logits.shape), logits, rtol=1e-4, atol=1e-4, msg=edit.point
        )


def described(transformer: Transformer, rows: slice, positions: range, edit: Edit) -> dict[str, Any]:
    """An edit as `compute` takes it."""
    native = _edit(transformer.config, rows, positions, edit)
    fields = {name: getattr(native, name) for name, *_ in native._fields_ if name != "add"}
    if edit.add is None:
        return fields
    added = edit.add if edit.add.dim() == 1 else edit.add[positions.start : positions.stop]
    return {**fields, "rows": added.flatten().tolist()}


@pytest.mark.parametrize("in_node", ["llama"], indirect=True)
def test_copied_rows_are_in_the_cache_of_every_layer(in_node: InNode) -> None:
    of = {"ids": prompt(9, vocab=VOCAB), "slots": [*range(9)]}
    rows, others = in_node.answer([of], [[*range(2, 7)], [*range(32, 37)]], copied=[2, 32, 5])["caches"]
    assert rows == others
    assert any(rows[0])


@pytest.mark.parametrize("in_node", ["llama"], indirect=True)
def test_memory_grows_only_for_passes_larger_than_all_before(in_node: InNode) -> None:
    large, small = ({"ids": prompt(count, vocab=VOCAB), "slots": [*range(count)]} for count in (30, 3))
    once, often = (in_node.answer(passes, [])["memory"] for passes in ([large], [large, small, large, small, small]))
    assert once == often
