"""Random schedules of runs with native code: each run's logits and text are those that it has alone, bit for bit.

KVSCOPE_SCHEDULES says how many schedules of each model (2).
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from gguf import GGMLQuantizationType as Kind

from kvscope.model.engine.changes import Changes, Edit
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import Record, StepRecord, TokenRecord
from kvscope.model.engine.run import Recorded
from kvscope.model.kv_cache import CacheFull
from kvscope.model.native import Native
from kvscope.model.settings import Drafting, Kept, Sampling
from kvscope.model.transformer import Transformer
from tests.support.grouped import grouped_weights
from tests.support.native_models import CHANGED, MODELS
from tests.support.tiny import advance_all, check_cache, prompt, tiny_config

SCHEDULES = int(os.environ.get("KVSCOPE_SCHEDULES", "2"))
TURNS = 40
CAPACITY = 640
BY_NATIVE = Changes("native", (CHANGED[1], CHANGED[3]))
BY_MODULES = Changes("modules", (Edit("blocks.0.attn.normed", 0, None, 0.0),))
"""A change that native code does not have. Torch computes such a run: its bits depend on the division of its prompt."""


@dataclass
class Asked:
    """A run. `free`: options that its text must not depend on."""

    ids: list[int]
    sampling: Sampling
    new: int
    prompt_length: int
    recorded: Recorded = "rows"
    changes: Changes | None = None
    options: dict[str, Any] = field(default_factory=dict)
    free: dict[str, Any] = field(default_factory=dict)
    chunk: int | None = None
    """Most tokens of a pass, which its text must not depend on; None: as the engine divides prompts."""

    def begin(self, engine: Engine, key: str, *, alone: bool = False) -> None:
        if self.prompt_length < len(self.ids):
            engine.fork(key, list(self.ids), self.prompt_length, self.sampling, self.new, self.changes)
        else:
            options = self.options if alone else self.options | self.free
            options = {"recorded": self.recorded, "changes": self.changes, **options}
            engine.admit(key, list(self.ids), self.sampling, self.new, **options)
            engine.scheduler.runs[key].chunk = None if alone else self.chunk


class Schedule:
    """A schedule over one engine, drawn from `seed`. `texts` and `logits` of each run, in order of its steps."""

    def __init__(self, engine: Engine, seed: int):
        self.engine, self.chance = engine, random.Random(seed)
        self.asked: dict[str, Asked] = {}
        self.records: dict[str, list[Record]] = {}

    def run(self) -> None:
        for _ in range(TURNS):
            torch.set_num_threads(self.chance.randint(1, 3))
            act = self.chance.choice(
                (self.admit, self.admit, self.fork, self.preempt, self.pause, self.look, self.search)
            )
            try:
                act()
            except CacheFull:
                self.forget()
            for _ in range(self.chance.randint(0, 3)):
                self.advance()
        while any(run.paused for run in self.engine.scheduler.runs.values()) or self.engine.busy:
            self.go_on()
            self.advance()

    def advance(self) -> None:
        for record in self.engine.advance():
            if record.run in self.asked:
                self.records[record.run].append(record)

    def admit(self) -> None:
        chance = self.chance
        ids = prompt(48, chance.randint(0, 2))[: chance.randint(1, 48)] + prompt(
            chance.randint(0, 4), chance.randint(3, 5)
        )
        sampled = Sampling(strategy="sample", temperature=1.5, top_k=50, seed=chance.randint(0, 9))
        asked = Asked(ids, chance.choice((Sampling(), sampled)), chance.randint(1, 24), len(ids))
        asked.chunk = chance.choice((None, 1, 3, 7, 16))
        match chance.choice(("draft", "no cache", "changed", "by modules", "drops rows", "", "", "")):
            case "draft":
                asked.recorded = "tokens"
                asked.free["draft"] = Drafting(tokens=chance.randint(1, 5), layers=chance.randint(0, 2))
            case "no cache":
                asked.options["caching"] = "none"
            case "changed":
                asked.changes = BY_NATIVE
            case "by modules":
                asked.changes = BY_MODULES
            case "drops rows":
                asked.recorded = "steps"
                asked.options["keeping"] = Kept(sinks=1, heavy=chance.randint(0, 4), recent=chance.randint(2, 9))
        self.begin(asked)

    def fork(self) -> None:
        parents = [
            run
            for run in self.engine.scheduler.runs.values()
            if run.key in self.asked and run.step > 1 and not run.keeping
        ]
        if parents:
            parent = self.chance.choice(parents)
            ids = parent.ids[: self.chance.randint(parent.prompt_length + 1, len(parent.ids))]
            new = len(ids) - parent.prompt_length + self.chance.randint(1, 12)
            self.begin(Asked(ids, parent.sampling, new, parent.prompt_length, changes=parent.changes))

    def begin(self, asked: Asked) -> None:
        key = str(len(self.asked))
        asked.begin(self.engine, key)
        self.asked[key], self.records[key] = asked, []

    def preempt(self) -> None:
        runs = [run for run in self.engine.scheduler.runs.values() if not run.paused and run.caching == "kept"]
        if runs:
            self.engine.preempt(self.chance.choice(runs).key)

    def pause(self) -> None:
        if self.engine.scheduler.runs:
            self.chance.choice(list(self.engine.scheduler.runs.values())).paused = True
        self.go_on()

    def go_on(self) -> None:
        """Continues one paused run."""
        paused = [run for run in self.engine.scheduler.runs.values() if run.paused]
        if paused:
            run = self.chance.choice(paused)
            if run.sequence.length or run.caching == "none":
                run.paused = False
            else:
                self.engine.resume(run.key, list(self.engine.scheduler.runs))

    def look(self) -> None:
        """A question about some run, of which rows stay in the cache."""
        if self.asked:
            asked = self.chance.choice(list(self.asked.values()))
            names = self.chance.sample(list(self.engine.runner.points), 3)
            observers = {name: lambda value: None for name in names}
            first, alike = self.chance.randint(0, len(asked.ids) - 1), self.chance.random() < 0.3
            engine = self.engine.under(asked.changes)
            with engine.replay(list(asked.ids), first, observers, keep=not alike, alike=alike):
                pass

    def search(self) -> None:
        self.engine.search(
            f"search {len(self.asked)} {self.chance.random()}", prompt(20, self.chance.randint(0, 2)), 3, 6
        )

    def forget(self) -> None:
        for key in list(self.engine.scheduler.kept):
            self.engine.scheduler.forget(key)


def model_of(name: str, native: Native) -> Transformer:
    changes = dict(MODELS[name])
    kind = changes.pop("kind", Kind.Q4_1)
    config = tiny_config(**{"d_mlp": 64, **changes})
    return Transformer.from_weights(config, grouped_weights(config, kind), products=native.products)


def native_engine(model: Transformer, native: Native) -> Engine:
    engine = Engine(model, capacity=CAPACITY, reserve=64, prefill_chunk=16)
    engine.runner.steps = native.steps(model, engine.cache)
    assert engine.runner.steps is not None
    return engine


def text(records: list[Record]) -> list[int]:
    chosen = []
    for record in records:
        if isinstance(record, TokenRecord):
            chosen.append(record.token)
        elif isinstance(record, StepRecord):
            chosen.append(record.choice.token)
    return chosen


def logits(records: list[Record]) -> list[dict[int, float]]:
    """By step, the logits of the best tokens. A dictionary: equal logits may be in any order."""
    best = [record.candidates for record in records if isinstance(record, StepRecord)]
    return [dict(zip(each.ids.tolist(), each.logits.tolist(), strict=True)) for each in best]


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen3", "gpt2", "groups of 8 bits"])
def test_the_logits_and_text_of_a_run_are_those_that_it_has_alone(name: str, native: Native) -> None:
    model = model_of(name, native)
    for seed in range(SCHEDULES):
        schedule = Schedule(native_engine(model, native), seed)
        schedule.run()
        check_cache(schedule.engine)
        for key, asked in schedule.asked.items():
            if asked.changes is BY_MODULES:
                continue
            alone = native_engine(model, native)
            asked.begin(alone, key, alone=True)
            records = advance_all(alone)
            assert text(schedule.records[key]) == text(records), (seed, key, asked)
            assert logits(schedule.records[key]) == logits(records), (seed, key, asked)
