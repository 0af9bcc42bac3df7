"""What a task asks for can be reached, and is not so where its step begins."""

import json
from pathlib import Path

import pytest

from kvscope.app.learn.conditions import hold_already, holds, wrong
from kvscope.app.learn.picture import pictures

COUNTS = {"steps": 16, "layers": 30, "heads": 9, "positions": 26, "vocab": 49152}
STAGE = pictures()["/"].reported


def why(**conditions: object) -> list[str]:
    bounds = {name: each if isinstance(each, dict) else {"equals": each} for name, each in conditions.items()}
    return list(wrong(bounds, STAGE, COUNTS))


@pytest.mark.parametrize(
    "conditions",
    [
        {"view": "tokens", "temperature": {"at_most": 0.1}},
        {"temperature": {"above": 1.95}},
        {"temperature": {"above": 0.5, "below": 0.6}},
        {"layer": 29, "head": {"one_of": [4, 5]}},
        {"key": {"differs_from": ""}},
        {"step": "15"},
        {"playing": True},
        {"branched_at": {"differs_from": ""}},
        {"prompt": {"differs_from": "What?"}},
        {"top_k": {"at_least": 1, "at_most": 5}},
        # A run of the reader's own may be longer, and have settings that no slider has.
        {"prompt": {"differs_from": "What?"}, "step": {"at_least": 20}, "temperature": 3},
    ],
)
def test_what_a_reader_can_do_may_be_asked_for(conditions: dict[str, object]) -> None:
    assert why(**conditions) == []


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"temperatur": {"below": 0.5}}, "the page has no state temperatur; did you mean temperature?"),
        ({"code": True}, "the page has no state code"),
        ({"view": "tokenz"}, "view is never tokenz; it is one of model, block"),
        ({"view": {"differs_from": "tokenz"}}, "view is never tokenz"),
        ({"view": {"above": 3}}, "view is never above 3"),
        ({"temperature": {"below": 0.01}}, "temperature is never below 0.01; it is from 0.1 to 2 in steps of 0.05"),
        ({"temperature": {"below": 0.1}}, "temperature is never below 0.1"),
        ({"temperature": 0.123}, "temperature is never 0.123"),
        ({"temperature": {"above": 1, "below": 0.5}}, "temperature is never above 1 and below 0.5"),
        ({"step": 16}, "step is never 16; it is a whole number from 0 to 15"),
        ({"step": 2.5}, "step is never 2.5"),
        ({"head": {"one_of": [8, 9]}}, "head is never 9; it is a whole number from 0 to 8"),
        ({"playing": "often"}, "playing is never often; it is true or false"),
        ({"prompt": {"above": "a"}}, "prompt is a text, which is never above a"),
    ],
)
def test_what_nobody_can_do_is_named_with_what_is_possible(conditions: dict[str, object], said: str) -> None:
    assert [each[: len(said)] for each in why(**conditions)] == [said]


def test_conditions_that_hold_for_certain_leave_nothing_to_do() -> None:
    known = {"view": "tokens", "temperature": 0.2, "key": None}
    assert hold_already({"view": {"equals": "tokens"}, "temperature": {"below": 0.5}}, known)
    assert not hold_already({"view": {"equals": "tokens"}, "layer": {"equals": 3}}, known)
    assert not hold_already({"key": {"differs_from": ""}}, known)


def test_conditions_mean_the_same_as_on_the_page() -> None:
    """tests/static/learn/player/conditions.test.js reads the same cases."""
    cases = json.loads((Path(__file__).parents[2] / "fixtures" / "conditions.json").read_text())
    for bounds, value, is_so in cases:
        assert holds(bounds, value) is is_so, (bounds, value)
