"""The lines beside which shapes stand are those of the files, and the shapes those of the hook points."""

from __future__ import annotations

from functools import partial
from importlib import resources

import pytest
import torch
from torch import Tensor

from kvscope.model.engine.engine import Engine
from kvscope.model.source.listing import FILES, listing, named_of
from kvscope.model.source.record import Facts
from kvscope.model.source.step import StepLines, step_lines
from tests.support.tiny import GREEDY, SAMPLED, prompt, tiny_engine

LAYER = 1
STEPS = {"prefill": (0, 11), "decode": (11, 12)}
"""First new row and rows."""


@pytest.fixture(params=["llama", "qwen3", "gpt2"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return tiny_engine(request.param)


def seen_in(engine: Engine, ids: list[int], first: int) -> dict[str, Tensor]:
    """What passes the hook points of a layer and those around the layers, by their names on a line."""
    seen: dict[str, Tensor] = {}
    own = [
        name for name in engine.runner.points if not name.startswith("blocks.") or name.startswith(f"blocks.{LAYER}.")
    ]
    observers = {name: partial(seen.__setitem__, name.removeprefix(f"blocks.{LAYER}.")) for name in own}
    with engine.replay(ids, first, observers):
        return seen


def hooked(step: StepLines) -> dict[str, Facts]:
    return {fact.of: fact for found in step.lines.values() for facts in found.values() for fact in facts if fact.hook}


@pytest.mark.parametrize("phase", STEPS)
def test_every_hook_point_has_a_line_that_ran_with_the_shape_that_passed_it(engine: Engine, phase: str) -> None:
    first, count = STEPS[phase]
    ids = prompt(count)
    expected = seen_in(engine, ids, first)
    found = hooked(step_lines(engine, ids, first, LAYER, GREEDY))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == Facts.of_tensor(name, value, hook=True)
    assert found["attn.scores"].shape[-2:] == (count - first, count)


@pytest.mark.parametrize("phase", STEPS)
def test_a_line_is_where_its_hook_point_is_called(engine: Engine, phase: str) -> None:
    first, count = STEPS[phase]
    step = step_lines(engine, prompt(count), first, LAYER, GREEDY)
    for path, found in step.lines.items():
        lines = resources.files("kvscope.model").joinpath(path).read_text("utf-8").split("\n")
        for number, facts in found.items():
            assert number in step.ran[path]
            for fact in facts:
                word = fact.of.split(".")[-1].split("[")[0]
                assert (f"self.{word}(" if fact.hook else word) in lines[number - 1]


def test_keys_and_values_are_written_for_the_new_row_and_read_for_all() -> None:
    step = step_lines(tiny_engine(), prompt(12), 11, LAYER, GREEDY)
    lines = resources.files("kvscope.model").joinpath("transformer.py").read_text("utf-8").split("\n")
    (written,) = [facts for line, facts in step.lines["transformer.py"].items() if "cache.write(" in lines[line - 1]]
    (read,) = [facts for line, facts in step.lines["transformer.py"].items() if "cache.read(" in lines[line - 1]]
    assert [(fact.of, fact.shape, fact.bytes) for fact in written] == [("k", (1, 2, 8), 64), ("v", (1, 2, 8), 64)]
    assert [(fact.of, fact.shape, fact.bytes) for fact in read] == [("k", (2, 12, 8), 768), ("v", (2, 12, 8), 768)]
    assert [fact.shape for facts in step.lines["kv_cache.py"].values() for fact in facts if fact.of == ""] == [
        (2, 12, 8)
    ] * 2


def test_only_lines_of_this_model_ran() -> None:
    """A model without norms of each head passes over them."""
    ran = {
        arch: step_lines(tiny_engine(arch), prompt(4), 0, LAYER, GREEDY).ran["transformer.py"]
        for arch in ("llama", "qwen3")
    }
    lines = named_of("transformer.py").functions
    (statement,) = [each for function in lines for each in function.statements if "attn.q_raw" in each.hooks]
    assert statement.first in ran["qwen3"]
    assert statement.first not in ran["llama"]


def test_the_choice_is_that_of_the_runs_settings() -> None:
    greedy, sampled = (step_lines(tiny_engine(), prompt(4), 0, LAYER, each) for each in (GREEDY, SAMPLED))
    path = "engine/sampling.py"
    assert {fact.of for facts in sampled.lines[path].values() for fact in facts} >= {"order", "probs", "cumulative"}
    assert "order" not in {fact.of for facts in greedy.lines[path].values() for fact in facts}


def test_of_a_prompt_in_several_passes_the_last_is_shown() -> None:
    engine = tiny_engine(prefill_chunk=8)
    step = step_lines(engine, prompt(20), 0, LAYER, GREEDY)
    assert (step.rows, step.passes) == (4, 3)
    assert hooked(step)["resid_in"].shape == (4, 32)
    assert hooked(step)["attn.weights"].shape[-2:] == (4, 20)


def test_nothing_of_it_stays_in_the_cache_or_changes_what_is_computed() -> None:
    engine = tiny_engine()
    free = engine.cache.free_blocks
    before = seen_in(engine, prompt(9), 8)
    step_lines(engine, prompt(9), 8, LAYER, GREEDY)
    after = seen_in(engine, prompt(9), 8)
    assert engine.cache.free_blocks == free
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_the_listing_is_the_installed_source() -> None:
    for file in listing()["files"]:
        text = "\n".join("".join(part[0] for part in line) for line in file["lines"]) + "\n"
        assert text == resources.files("kvscope").joinpath(file["path"]).read_text("utf-8")
    assert [file["path"] for file in listing()["files"]] == [f"model/{path}" for path in FILES]


def test_names_in_the_listing_are_those_of_the_hook_points_and_a_few_more(engine: Engine) -> None:
    names = {
        name for file in listing()["files"] for line in file["lines"] for part in line for name in (part[2:] or [[]])[0]
    }
    points = {point.removeprefix("blocks.0.") for point in engine.runner.points if not point.startswith("blocks.1.")}
    assert points <= names
    of_other_models = {"attn.q_raw", "attn.k_raw", "attn.raw_change", "mlp.gate", "mlp.raw_change"}
    of_other_models |= {"mlp.probabilities", "mlp.chosen", "mlp.shares"}
    assert names - points - of_other_models == {"cache.k", "cache.v", "tokens", "logits", "choice"}
