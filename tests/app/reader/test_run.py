"""What a run gives is what its log has, and what it does not have is named."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kvscope
from kvscope.model.log.frames import encode, header, join, split, tensors
from tests.support.recorded import ROOT


@pytest.fixture
def run(capital: Path) -> kvscope.Run:
    return kvscope.open(capital)


def test_it_tells_the_prompt_the_tokens_and_the_text(run: kvscope.Run) -> None:
    assert run.prompt == "What is the capital of France?"
    assert (run.prompt_length, len(run.steps), len(run.tokens)) == (37, 8, 45)
    assert run.tokens[29] == kvscope.Token(4649, " France", b" France", False)
    assert run.tokens[0].special
    assert [token.text for token in run.tokens[37:43]] == ["The", " capital", " of", " France", " is", " Paris"]
    assert run.text == "The capital of France is Paris."
    assert run.model["name"] == "SmolLM2-135M-Instruct"
    assert [step["phase"] for step in run.steps] == ["prefill", *["decode"] * 7]
    assert (run.title, run.level) == ("A question, the answer, and the decision to stop", "qkv")
    assert run.notes[0]["text"].startswith("The question has 7 tokens")


def test_a_changed_run_has_its_changes_and_another_has_none(run: kvscope.Run, capital: Path, tmp_path: Path) -> None:
    assert run.changes == []
    change = {"site": "mlp", "op": "zero", "layer": 3, "head": None, "position": None, "from_step": 0, "factor": 1.0}
    change |= {"source": None, "away": None}
    first, *others = split(capital.read_bytes())
    opening = header(first.payload)
    told = {**opening.data, "changed": {"of": "original", "changes": [change]}}
    changed = encode(opening.run, 0, "open", told).payload
    file = tmp_path / "changed.safetensors"
    file.write_bytes(join([changed, *(frame.payload for frame in others)]))
    assert kvscope.open(file).changes == [change]


def test_text_is_whole_though_its_letters_are_spread_over_tokens(small: Path) -> None:
    run = kvscope.open(small)
    assert "\ufffd" in {token.text for token in run.tokens}
    assert b"".join(token.raw for token in run.tokens[: run.prompt_length]).decode() == run.prompt


def test_attention_is_that_of_the_frames(run: kvscope.Run, capital: Path) -> None:
    parts = [frame.payload for frame in split(capital.read_bytes()) if frame.kind == "layer"]
    assert parts
    for payload in parts:
        data, stored = header(payload).data, tensors(payload)["attention"]
        layers, heads, queries, keys = stored.shape
        for layer in {0, layers - 1}:
            for head in {0, heads - 1}:
                weights = run.attention(data["step"], data["first_layer"] + layer, data["first_head"] + head)
                rows = data["first_query"] - run.positions(data["step"]).start
                part = weights[rows : rows + queries, :keys]
                assert part.dtype == np.float32
                assert np.abs(part - (stored[layer, head] / 255) ** 2).max() < 1e-6


def test_exact_values_are_those_stored(with_values: Path) -> None:
    run = kvscope.open(with_values)
    values = run.values(3, 1)
    assert set(values) == {"q", "k", "v"}
    assert values["q"].shape == (run.model["heads"], 1, run.model["head_dim"])
    assert (values["k"] == np.float32(3.01)).all()


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda run: run.attention(8, 0, 0), "step is 8; the log has 0 to 7."),
        (lambda run: run.positions(8), "step is 8; the log has 0 to 7."),
        (lambda run: run.values(0, 0), "No exact values of step 0 in layer 0 are stored here."),
        (lambda run: run.figure("attention", head=-2), "head is -2; the log has 0 to 8."),
    ],
)
def test_what_it_does_not_have_is_named_with_what_it_has(
    run: kvscope.Run, ask: Callable[[kvscope.Run], object], said: str
) -> None:
    with pytest.raises(kvscope.NotThere) as caught:
        ask(run)
    assert str(caught.value) == said
    assert isinstance(caught.value, IndexError)
    assert isinstance(caught.value, kvscope.CannotRead)


def test_it_opens_where_whoever_shared_it_chose(run: kvscope.Run, kept_plain: kvscope.Run) -> None:
    assert run.opening() == (5, 23, 4)
    step, layer, head = kept_plain.opening()
    assert step == 0
    shown = kept_plain.attention(0, layer, head)
    assert shown[3:, 1:-2].max() > 0.5, "a head that looks far away, not at the first token"


@pytest.fixture
def kept_plain(capital: Path, tmp_path: Path) -> kvscope.Run:
    """The run as `kvscope run` writes it: without a word about where to look."""
    path = tmp_path / "plain.safetensors"
    path.write_bytes(join(frame.payload for frame in split(capital.read_bytes())))
    return kvscope.open(path)


def test_the_documented_example_runs(capital: Path) -> None:
    document = (ROOT / "docs" / "frames.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", document, re.DOTALL)
    *lines, last = example.replace("session.safetensors", str(capital)).strip().splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    assert eval(last, names) == (range(39, 40), (1, 40), " capital")


def test_every_member_is_documented() -> None:
    document = (ROOT / "docs" / "frames.md").read_text("utf-8").split("## Read in Python")[1]
    named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", document))
    members = {name for name in vars(kvscope.Run) if not name.startswith("_")} | {"log"}
    assert members <= named
