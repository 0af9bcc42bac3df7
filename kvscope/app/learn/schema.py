"""The schema of a lesson file: its front matter, and the blocks `step`, `predict` and `do`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_WORDS = 60
"""Most words of a step's prose."""
Text = Annotated[str, Field(min_length=1, max_length=400)]
Value = str | int | float | bool
"""A value, or a text with expressions in braces."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Front(Strict):
    """The front matter, between the two lines `---` at the beginning."""

    title: Text = Field(description="a question or a short statement")
    minutes: int = Field(ge=1, le=60, description="how long the lesson takes")
    ideas: list[Annotated[str, Field(pattern=r"^C[0-9]{1,2}$")]] = Field([], description="ids of the ideas it shows")
    needs: list[str] = Field([], description="ids of lessons that come before it")
    introduces: list[str] = Field([], description="ids of the glossary's terms that it explains")
    run: str | None = Field(None, description="the recording that its numbers are computed from; none: no run")


class Bounds(Strict):
    """A condition on one value of the page's state."""

    above: Value | None = None
    below: Value | None = None
    at_least: Value | None = None
    at_most: Value | None = None
    one_of: list[Value] | None = None
    differs_from: Value | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Bounds:
        if not self.model_fields_set:
            raise ValueError(f"a condition needs one of {', '.join(type(self).model_fields)}")
        return self


Conditions = dict[str, Value | Bounds]
"""Conditions on the page's state: a value or bounds by field."""


class Claim(Strict):
    """What the step's prose assumes about the run."""

    holds: Text = Field(description="an expression that is true or false")
    otherwise: Text = Field(description="shown where it is false: what is so on this run")


class StepBlock(Strict):
    """The address that the step shows, and what it assumes."""

    at: str | None = Field(None, max_length=400, description="an address of KVScope; none: as the step before")
    lit: list[str] = Field([], description="names of parts of the picture that are lit when the step begins")
    claims: list[Claim] = []


class Asked(Strict):
    hints: list[Text] = Field([], max_length=3, description="up to three, each says more than the one before")


class Choice(Strict):
    """One of the choices of a question."""

    text: Text
    why: Text | None = Field(None, description="why it is wrong, shown in it once it is chosen")
    shows: str | None = Field(None, max_length=400, description="the address that shows why")


class Predict(Asked):
    """A question to answer before the answer is visible. It has one of `number`, `answer` and `cell`."""

    ask: Text
    number: Value | None = Field(None, description="the right number")
    unit: str = ""
    within: float = Field(0, ge=0, description="share of the right number by which an answer may differ: 0.1 is 10 %")
    choices: list[Text | Choice] = Field([], max_length=6, description="texts, or choices with reasons")
    answer: Value | None = Field(None, description="the right one of the choices")
    cell: Conditions | None = Field(None, description="the state of the page once the right place is clicked")
    shows: str | None = Field(None, max_length=400, description="the address that shows the answer")
    because: Text = Field(description="one or two sentences, shown with the answer")

    @model_validator(mode="after")
    def _asks_for_one(self) -> Predict:
        answers = [name for name in ("number", "answer", "cell") if getattr(self, name) is not None]
        if len(answers) != 1:
            raise ValueError("a prediction has exactly one of number, answer (with choices) and cell")
        if (self.answer is not None) != (len(self.choices) > 1):
            raise ValueError("answer and at least two choices belong together")
        return self


class Do(Asked):
    """A task. It is done when the page's state meets `check`."""

    task: Text
    check: Conditions
    done: Text = Field(description="one or two sentences, shown once it is done")


BLOCKS: dict[Literal["step", "predict", "do"], type[Strict]] = {"step": StepBlock, "predict": Predict, "do": Do}
