"""What a question about a log becomes for the engine."""

from __future__ import annotations

from typing import Any

from kvscope.app.http.questions import QUESTIONS, Steps
from kvscope.model.api import Switching

OPENING: dict[str, Any] = {"tokens": [{"id": 7}, {"id": 8}], "chat": True, "model": {"layers": 2, "heads": 4}}
STEPS = Steps(OPENING, [(2, 9), (3, 10)], 0)


def arguments(**parameters: Any) -> tuple[Any, ...]:
    question = QUESTIONS["effects"]
    query = question.query.model_validate({"step": 1, "of": "heads", **parameters}, context=STEPS.bounds())
    return question.arguments(STEPS, query)


def test_effects_by_default_are_asked_as_before_there_was_a_choice() -> None:
    """Answers are stored under their arguments, and those of saved sessions must be found again."""
    assert arguments() == ([7, 8, 9], 10, "heads", 0)
    assert arguments(source="typed for another switch") == arguments()


def test_a_switch_or_a_foil_is_asked_with_the_runs_prompt() -> None:
    assert arguments(switch="resample", source="b")[4] == Switching("resample", "b", None, 2, True)
    assert arguments(switch="mean", source="b")[4] == Switching("mean", "", None, 2, True)
    assert arguments(foil=5)[4] == Switching("zero", "", 5, 2, True)
