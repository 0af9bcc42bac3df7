"""Who comes in the busiest period, and what they do; and when each of them does it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from pydantic import Field

from kvscope.app.bodies import check
from kvscope.app.plan.errors import CannotPlan
from kvscope.model.api import Refused
from kvscope.model.settings import MAX_NEW_TOKENS, MAX_PROMPT_TOKENS, Settings

SPREAD = 0.5
"""Standard deviation of the logarithm of prompt lengths around their mean."""
ARRIVING = 5
"""A class comes within so many times the seconds in which its runs start together."""
MOST_RUNS = 200_000
"""In one simulated period."""


class Scenario(Settings):
    """The busiest period of a day. Everything is assumed, not measured: who plans for people knows them better."""

    people: int = Field(default=40, ge=1, le=100_000_000, description="People, or visits of a public page.")
    present_percent: int = Field(default=100, ge=1, le=100, description="How many of them come in the busiest period.")
    minutes: int = Field(default=45, ge=1, le=1440, description="Length of the busiest period.")
    running_percent: int = Field(default=100, ge=0, le=100, description="How many of those who come start runs.")
    runs_each: int = Field(default=6, ge=1, le=1000, description="Runs of each of those in the period.")
    tokens: int = Field(default=48, ge=1, le=MAX_NEW_TOKENS, description="Tokens that a run generates.")
    prompt_tokens: int = Field(default=40, ge=1, le=MAX_PROMPT_TOKENS, description="Mean length of a prompt.")
    together_percent: int = Field(default=0, ge=0, le=100, description="Runs that start when all are asked to.")
    together_s: int = Field(default=20, ge=1, le=3600, description="Seconds within which those start.")
    people_per_address: int = Field(default=1, ge=1, le=100_000_000, description="People who share one address.")
    shown: int = Field(default=0, ge=0, le=100, description="Runs that one person starts and everyone watches.")
    reads_each: int = Field(default=1, ge=0, le=1000, description="Stored runs that each opens.")
    periods: int = Field(default=1, ge=1, le=1000, description="Days' runs and visits, in periods as busy as this one.")
    kept_days: int = Field(default=90, ge=1, le=36_500, description="Days that runs are kept.")

    @property
    def present(self) -> int:
        """People in the busiest period."""
        return max(1, round(self.people * self.present_percent / 100))

    @property
    def runs(self) -> int:
        """Runs in the busiest period."""
        return round(self.present * self.running_percent / 100) * self.runs_each + self.shown

    @property
    def period_s(self) -> float:
        """The length of the period."""
        return 60.0 * self.minutes


CLASS = Scenario(together_percent=50, people_per_address=40, periods=6)
SCENARIOS: dict[str, tuple[str, Scenario]] = {
    "class": ("a class of 40", CLASS),
    "lecture": (
        "a lecture of 500",
        Scenario(
            people=500,
            minutes=90,
            runs_each=2,
            together_percent=75,
            together_s=30,
            people_per_address=500,
            shown=6,
            periods=2,
        ),
    ),
    "course": (
        "a course of 10,000",
        Scenario(people=10_000, present_percent=10, minutes=60, runs_each=5, reads_each=3, periods=6),
    ),
    "demo": (
        "a public demo with 1,000,000 visits a day",
        Scenario(people=1_000_000, present_percent=8, minutes=60, running_percent=10, runs_each=1, periods=12),
    ),
}


def changed(scenario: Scenario, changes: dict[str, int]) -> Scenario:
    """The scenario with other members. Raises CannotPlan."""
    try:
        new = check(Scenario, scenario.model_dump() | changes)
    except Refused as refused:
        option = f"--{refused.field.replace('_', '-')}"
        raise CannotPlan(refused.message.replace(refused.field, option, 1)) from None
    if not 1 <= new.runs <= MOST_RUNS:
        raise CannotPlan(f"The busiest period has {new.runs:,} runs; it must have from 1 to {MOST_RUNS:,}.")
    return new


@dataclass(frozen=True, slots=True)
class Arrival:
    """A run that somebody asks for, `at_s` seconds after the beginning. `everyone`: all who are there watch it."""

    at_s: float
    client: str
    address: str
    prompt_tokens: int
    new_tokens: int
    everyone: bool = False


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody opens a page and reads stored runs of so many bytes each."""

    at_s: float
    reads: int
    read_bytes: float


def arrivals(scenario: Scenario, random: Random) -> list[Arrival]:
    """The runs of the period, in order of time."""
    return sorted(_arrivals(scenario, random), key=lambda arrival: arrival.at_s)


def visits(scenario: Scenario, read_bytes: float, random: Random) -> list[Visit]:
    """One of each person who comes, in order of time. Who acts together comes together too."""
    within = min(scenario.period_s, ARRIVING * scenario.together_s if scenario.together_percent else math.inf)
    times = sorted(random.uniform(0, within) for _ in range(scenario.present))
    return [Visit(at_s, scenario.reads_each, read_bytes) for at_s in times]


def _arrivals(scenario: Scenario, random: Random) -> Iterator[Arrival]:
    moments = [random.uniform(0, max(0.0, scenario.period_s - scenario.together_s)) for _ in range(scenario.runs_each)]
    running = round(scenario.present * scenario.running_percent / 100)
    for person in range(running):
        for moment in moments:
            together = random.random() * 100 < scenario.together_percent
            at_s = moment + random.uniform(0, scenario.together_s) if together else random.uniform(0, scenario.period_s)
            yield _run(scenario, at_s, person, random)
    for number in range(scenario.shown):
        at_s = scenario.period_s * (number + random.random()) / scenario.shown
        yield Arrival(at_s, "who shows", "address 0", scenario.prompt_tokens, scenario.tokens, everyone=True)


def _run(scenario: Scenario, at_s: float, person: int, random: Random) -> Arrival:
    drawn = random.lognormvariate(math.log(scenario.prompt_tokens) - SPREAD**2 / 2, SPREAD)
    prompt = min(max(1, round(drawn)), MAX_PROMPT_TOKENS)
    address = f"address {person // scenario.people_per_address}"
    return Arrival(at_s, f"client {person}", address, prompt, scenario.tokens)
