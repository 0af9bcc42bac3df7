"""Runs, forks, pauses, stops and looks inside, in any order, against passes over the whole text."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kvscope.model.api import Caching
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, StepRecord
from kvscope.model.kv_cache import CacheFull
from tests.support.tiny import GREEDY, check_cache, prompt, shared_model, whole_logits


class Storm(RuleBasedStateMachine):
    """`texts`: tokens of every run so far, its prompt's length in `prompts`; both stay when it ends.

    `others`: runs whose text is not that of the model and its cache: searches, and runs that forget.
    """

    @initialize()
    def start(self) -> None:
        self.engine = Engine(shared_model(), capacity=160, reserve=48, prefill_chunk=16)
        self.texts: dict[str, list[int]] = {}
        self.prompts: dict[str, int] = {}
        self.others: set[str] = set()
        self.ends: dict[str, CloseRecord] = {}

    @rule(
        length=st.integers(1, 40),
        seed=st.integers(0, 2),
        new=st.integers(1, 20),
        caching=st.sampled_from(["kept", "kept", "none", "forgotten"]),
    )
    def admit(self, length: int, seed: int, new: int, caching: Caching) -> None:
        key = self.next_key()
        try:
            self.engine.admit(key, prompt(length, seed), GREEDY, new, caching=caching)
        except CacheFull:
            return
        self.texts[key], self.prompts[key] = prompt(length, seed), length
        if caching == "forgotten":
            self.others.add(key)

    @rule(which=st.integers(0, 50), beams=st.integers(1, 4), length=st.integers(1, 12))
    def search(self, which: int, beams: int, length: int) -> None:
        texts = list(self.texts.values())
        context, key = texts[which % len(texts)] if texts else prompt(9), self.next_key()
        try:
            self.engine.search(key, list(context), beams, length)
        except CacheFull:
            return
        self.others.add(key)

    def next_key(self) -> str:
        return str(len(self.texts.keys() | self.others))

    @rule(which=st.integers(0, 50), back=st.integers(1, 8), token=st.integers(0, 258), new=st.integers(1, 20))
    def fork(self, which: int, back: int, token: int, new: int) -> None:
        possible = self.texts.keys() - self.others
        parents = [key for key in self.texts if key in possible and len(self.texts[key]) - back >= self.prompts[key]]
        if not parents:
            return
        parent = parents[which % len(parents)]
        text = [*self.texts[parent][:-back], token]
        steps, key = len(text) - self.prompts[parent], self.next_key()
        try:
            self.engine.fork(key, text, self.prompts[parent], GREEDY, steps + new)
        except CacheFull:
            return
        # The forced token is nobody's choice: it counts as part of the prompt whose continuation is checked.
        self.texts[key], self.prompts[key] = text, len(text)

    @rule(passes=st.integers(1, 6))
    def advance(self, passes: int) -> None:
        for _ in range(passes):
            for record in self.engine.advance():
                assert record.run not in self.ends
                if isinstance(record, StepRecord):
                    self.texts[record.run].append(record.choice.token)
                elif isinstance(record, CloseRecord):
                    self.ends[record.run] = record

    @rule(which=st.integers(0, 50), action=st.sampled_from(["pause", "resume", "step", "stop"]))
    def control(self, which: int, action: str) -> None:
        active = [*self.engine.scheduler.runs.values(), *self.engine.scheduler.searches.values()]
        if not active:
            return
        run = active[which % len(active)]
        if action == "stop":
            self.ends[run.key] = self.engine.stop(run.key)
        else:
            run.paused = action != "resume"
            run.single_steps = int(action == "step")

    @rule(which=st.integers(0, 50), rows=st.integers(1, 48))
    def look(self, which: int, rows: int) -> None:
        if not self.texts:
            return
        ids = list(self.texts.values())[which % len(self.texts)][:48]
        with self.engine.replay(ids, max(0, len(ids) - rows)) as sequence:
            assert sequence.length == len(ids)

    @invariant()
    def every_block_is_counted(self) -> None:
        if hasattr(self, "engine"):
            check_cache(self.engine)

    def teardown(self) -> None:
        if not hasattr(self, "engine"):
            return
        for run in [*self.engine.scheduler.runs.values(), *self.engine.scheduler.searches.values()]:
            run.paused = False
        while self.engine.busy:
            self.advance(1)
        assert self.ends.keys() == self.texts.keys() | self.others
        assert {end.reason for end in self.ends.values()} <= {"length", "stopped"}
        for key in self.texts.keys() - self.others:
            text = self.texts[key]
            best = whole_logits(shared_model(), text).argmax(-1).tolist()
            assert text[self.prompts[key] :] == best[self.prompts[key] - 1 : -1]
        check_cache(self.engine)


TestStorm = Storm.TestCase
TestStorm.settings = settings(max_examples=20, stateful_step_count=30)
