"""What a presenter and the followers of a room send."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kvscope.app.bodies import Body
from kvscope.app.travel.words import SHOWN

MAX_ADDRESS_CHARS = 4000
MOST_CHOICES = 8
MOST_VOTES = 10**6
MAX_QUESTION_CHARS, MAX_ANSWER_CHARS = 400, 200
PAGE = re.compile(r"/([^/\\\s][^\\\s]*)?")
NEVER_SHOWN = re.compile(r"/\.|[#&](token|secret)=")
"""In an address that leads elsewhere than it seems to, or that would store a secret on the followers' devices."""
VOTER = re.compile("[0-9a-f]{32}")


def _page(address: str) -> str:
    if not PAGE.fullmatch(address) or NEVER_SHOWN.search(address):
        raise PydanticCustomError("not_a_page", "not a page")
    return address


def _id(voter: str) -> str:
    if not VOTER.fullmatch(voter):
        raise PydanticCustomError("not_an_id", "not an id")
    return voter


Address = Annotated[str, Field(max_length=MAX_ADDRESS_CHARS, examples=["/"]), AfterValidator(_page)]
"""Path, search and hash of a page of this server, below its own address."""
Answer = Annotated[str, Field(min_length=1, max_length=MAX_ANSWER_CHARS, pattern=f"^{SHOWN}*$")]
NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,12})?", re.ASCII)
"""An answer to a question for a number."""
Voter = Annotated[str, Field(max_length=32, examples=["0" * 32]), AfterValidator(_id)]


class Place(Body):
    """What the presenter shows."""

    address: Address = Field(description="of the shown page, below the server's own address")
    within: Address | None = Field(None, description="of the picture beside a lesson's text")
    playing: bool = False
    answered: bool = Field(False, description="whether the shown step of a lesson has its answer")


class Question(Body):
    """A question to the followers. `choice`: one of `choices`; `number`, `token`: what they type."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS, pattern=f"^{SHOWN}*$")]
    kind: Literal["choice", "number", "token"]
    choices: list[Answer] = Field([], max_length=MOST_CHOICES)

    @model_validator(mode="after")
    def _choices_of_a_choice(self) -> Self:
        different = len(set(self.choices))
        if different != len(self.choices) or (self.kind == "choice") != (different >= 2):
            raise PydanticCustomError("few_choices", "few choices", {"member": "choices"})
        return self


class Vote(Body):
    """A follower's answer. `voter`: a random id that the follower's page made, and forgets when it is closed."""

    question: Annotated[int, Field(ge=1, le=MOST_VOTES)]
    answer: Answer
    voter: Voter
