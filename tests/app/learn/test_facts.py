"""Chances of candidates: of the raw logits, and under the run's own settings."""

import copy

import pytest
import torch

from kvscope.app.learn.compute import Computer, NotComputed
from kvscope.app.learn.facts import FORMATS, Facts, facts_of
from kvscope.app.learn.report import worked_out
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.sampling import choose
from kvscope.model.settings import Sampling
from tests.support.lessons import animal


def sampled(settings: Sampling) -> tuple[Facts, torch.Tensor]:
    """The facts of a run of one step whose vocabulary is the candidates of a recorded step, chosen by the engine's own
    sampler; and the probabilities that it chose from.
    """
    recorded = animal()
    logits = torch.from_numpy(recorded.top_logits(0).copy())
    choice = choose(Distribution(logits), settings, 0)
    run = copy.copy(recorded)
    run.open = {**recorded.open, "sampling": settings.model_dump()}
    run.steps = [
        {
            **recorded.steps[0],
            "log_z": choice.log_z,
            "filters": {"kept_top_p": choice.kept_top_p},
            "token": {**recorded.steps[0]["token"], "prob": choice.prob, "raw_prob": choice.raw_prob},
        }
    ]
    kept = torch.softmax(logits.double() / settings.temperature, dim=0)[: choice.kept_top_p]
    return facts_of(run, worked_out), torch.cat([kept / kept.sum(), torch.zeros(len(logits) - len(kept))])


@pytest.mark.parametrize(
    "settings",
    [
        Sampling(strategy="sample", temperature=0.7, top_k=20, top_p=0.9, seed=3),
        Sampling(strategy="sample", temperature=2.0),
        Sampling(strategy="sample", temperature=0.05, top_k=2),
    ],
)
def test_a_sampled_chance_is_after_temperature_and_both_filters(settings: Sampling) -> None:
    facts, probabilities = sampled(settings)
    chances = [facts.functions["sampled_chance"](0, rank) for rank in range(len(probabilities))]
    assert chances == pytest.approx(probabilities.tolist(), rel=1e-5, abs=1e-12)


def test_a_chance_is_of_the_raw_logits_whatever_the_settings(facts: Facts) -> None:
    value = Computer(facts).value
    assert value("chance(3, 0)") == pytest.approx(animal().steps[3]["token"]["raw_prob"])
    assert value("chance(3, 0) / chance(3, 5)") == pytest.approx(value("exp(logit(3, 0) - logit(3, 5))"))


def test_greedy_chooses_the_largest_logit_for_certain(facts: Facts) -> None:
    value = Computer(facts).value
    assert [value(f"sampled_chance(3, {rank})") for rank in range(3)] == [1, 0, 0]


def test_nothing_is_said_of_the_filters_of_a_token_that_was_set() -> None:
    run = copy.copy(animal())
    run.open = {**run.open, "sampling": {"strategy": "sample", "temperature": 1.0}}
    run.steps = [{**run.steps[0], "token": {**run.steps[0]["token"], "forced": True}}]
    with pytest.raises(NotComputed, match="was set, not chosen"):
        Computer(facts_of(run, worked_out)).value("sampled_chance(0, 0)")


@pytest.mark.parametrize(
    ("expression", "last"), [("chance(0, 256)", 255), ("logit(0, -1)", 255), ("candidate(0, 32)", 31)]
)
def test_ranks_have_an_end(facts: Facts, expression: str, last: int) -> None:
    with pytest.raises(NotComputed, match=f"it has 0 to {last}"):
        Computer(facts).value(expression)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [((0.125, 2), "0.13"), ((-0.001, 2), "0.00"), ((1234.5, 1), "1,234.5"), ((-2.5, 0), "−3"), ((1 / 3,), "0.333")],
)
def test_fixed_writes_a_number_as_the_page_does_with_commas(arguments: tuple[float, ...], text: str) -> None:
    assert FORMATS["fixed"](*arguments) == text
