from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
import torch

from kvscope.model.api import BeamRequest, Frame, Keeping, Policy, Refused, TwinRequest
from kvscope.model.log import frames
from kvscope.model.log.archive import Archive
from kvscope.model.service import ModelService, limits
from kvscope.model.service import service as service_module
from kvscope.model.settings import MAX_PROMPT_CHARS, Sampling
from tests.support.changed_logs import checked
from tests.support.refused import refusal, refused
from tests.support.tiny import check_cache, forget_all, greedy, shared_model, tiny_checkpoint
from tests.support.tiny_runs import (
    chosen,
    datas,
    encoded,
    finish,
    fork_of,
    kinds,
    payloads,
    request,
    run_to_end,
    service,
    twin_of,
    wordy_service,
)


@pytest.fixture
def small_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds of `open` frames that a prompt of 8,192 characters can reach."""
    monkeypatch.setattr(frames, "MAX_OPENING_BYTES", 65_536)
    monkeypatch.setattr(limits, "LARGEST_OPENING", 65_536 - 512)


def longest_start(made: ModelService) -> list[Frame]:
    """The start of the run whose `open` frame is as large as any that is taken."""

    def start(quotes: int) -> list[Frame]:
        return made.start(request(prompt="\\" * 6000 + '"' * quotes))

    def is_refused(quotes: int) -> bool:
        try:
            start(quotes)
        except Refused:
            return True
        made.control("a", "stop")
        return not made.advance()

    return start(bisect_left(range(MAX_PROMPT_CHARS - 6000), True, key=is_refused) - 1)


@pytest.fixture(scope="module")
def made() -> ModelService:
    return service()


@pytest.fixture(scope="module")
def parent(made: ModelService) -> list[Frame]:
    """A run of 8 steps that has ended."""
    return run_to_end(made, request(max_new_tokens=8))


def another_model() -> ModelService:
    return ModelService(replace(tiny_checkpoint(), sha256="1" * 64), "cpu")


class TestFork:
    def test_its_log_is_its_parents_with_the_forced_token_and_goes_on(
        self, made: ModelService, parent: list[Frame]
    ) -> None:
        token = (chosen(parent)[2] + 1) % 259
        log = made.fork(fork_of(parent, 2, token))
        shared = list(log)
        assert {frame.run for frame in log} == {"fork"}
        log += finish(made)
        assert kinds(log) == kinds(parent)
        assert [frame.seq for frame in log] == list(range(len(log)))
        assert chosen(log)[:3] == [*chosen(parent)[:2], token]
        assert chosen(log)[3:] == greedy(shared_model(), [*encoded(), *chosen(log)[:3]], 5)

        opened, was = datas(log, "open")[0], datas(parent, "open")[0]
        recomputed = {"rows": 0, "ms": opened["parent"]["recomputed"]["ms"], "held": True}
        begins = {"run": "a", "position": len(encoded()) + 2, "token": token, "recomputed": recomputed}
        assert opened["parent"] == begins
        assert datetime.fromisoformat(opened["created"]) >= datetime.fromisoformat(was["created"])
        assert {**opened, "parent": None, "created": ""} == {**was, "created": ""}
        for mine, theirs in zip(shared, parent, strict=False):
            np.testing.assert_equal(frames.tensors(mine.payload), frames.tensors(theirs.payload))
        check_cache(made.engine)

    def test_the_forced_token_says_so_with_its_raw_probability(self, made: ModelService, parent: list[Frame]) -> None:
        stored = frames.tensors(parent[2].payload)
        log_z = datas(parent, "step")[0]["log_z"]
        for place in (3, 255):
            token = int(stored["top_ids"][place])
            forced = datas(made.fork(fork_of(parent, 0, token, f"fork{place}")), "step")[0]["token"]
            assert (forced["id"], forced["forced"]) == (token, True)
            assert forced["raw_prob"] == pytest.approx(np.exp(stored["top_logits"][place] - log_z), rel=1e-5)
        unlisted = next(token for token in range(259) if token not in stored["top_ids"])
        forced = datas(made.fork(fork_of(parent, 0, unlisted)), "step")[0]["token"]
        assert forced["raw_prob"] is None
        finish(made)

    def test_with_the_token_of_its_parent_it_continues_what_another_engine_began(self) -> None:
        parent = run_to_end(service(), request(max_new_tokens=8))
        made = service()
        log = made.fork(fork_of(parent, 2, chosen(parent)[2]))
        opened = datas(log, "open")[0]
        recomputed = opened["parent"]["recomputed"]
        assert (recomputed["rows"], recomputed["held"]) == (len(encoded()) + 2, False)
        assert recomputed["ms"] > 0
        assert not any(step["token"].get("forced") for step in datas(log, "step"))
        log += finish(made)
        assert chosen(log) == chosen(parent)
        check_cache(made.engine)

    def test_a_run_as_long_as_any_that_is_taken_has_forks_that_can_be_read_from_a_file(
        self, small_openings: None
    ) -> None:
        made = wordy_service()
        log = longest_start(made) + finish(made)
        assert len(log[0].payload) > 64_500
        for generation in range(3):
            log = made.fork(fork_of(log, generation, 33 + generation, f"{generation}".zfill(64))) + finish(made)
            assert datas(log, "open")[0]["parent"]["run"] == ("a" if not generation else f"{generation - 1}".zfill(64))
            checked(list(Archive(memoryview(frames.join(payloads(log)))).frames()))

    def test_a_log_without_room_for_a_forks_first_frame_is_refused_in_a_sentence(self, small_openings: None) -> None:
        """Older logs may fill theirs to the last byte."""
        made = wordy_service()
        log = longest_start(made) + finish(made)
        opened = datas(log, "open")[0]
        longer = opened["prompt"] + "x" * (frames.MAX_OPENING_BYTES - len(log[0].payload))
        log[0] = frames.relabel(log[0].payload, "a", 0, {"prompt": longer})
        assert len(log[0].payload) == frames.MAX_OPENING_BYTES
        for derive in (
            lambda: made.fork(fork_of(log, 2, 33)),
            lambda: made.twin(twin_of(log, "none")),
            lambda: made.beam(BeamRequest("beam", "a", 0, 1, 1, [0], log[0].payload)),
        ):
            error = refusal(derive)
            assert (error.field, error.status) == ("run", 409)
            assert re.search(r"first frame .* the limit is 65,536\.$", str(error))
        assert not made.busy
        check_cache(made.engine)

    def test_what_cannot_be_forked_is_refused_and_leaves_nothing(self) -> None:
        made = service(eos=(5,))
        parent = run_to_end(made, request())
        good = fork_of(parent, 2, 33)
        other_places = [replace(good, position=position) for position in (good.position + 1, 3)]
        for asked in (*other_places, replace(good, token=5), fork_of(parent, 5, 33)):
            assert refusal(made.fork, asked).field == "position"
        for token in (259, -1):
            assert refusal(made.fork, replace(good, token=token)).field == "token"
        assert not made.busy
        check_cache(made.engine)
        assert refused(another_model().fork, good) == ("model", 409)


class TestTwin:
    @pytest.mark.parametrize("sampling", [Sampling(), Sampling(strategy="sample", temperature=2.0, top_k=90, seed=9)])
    def test_without_a_cache_it_writes_the_same_and_says_what_that_took(self, sampling: Sampling) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=8, sampling=sampling))
        log = made.twin(twin_of(parent, "none")) + finish(made)
        assert kinds(log) == "o" + "s" * 8 + "c"
        assert [frame.seq for frame in log] == list(range(len(log)))
        assert {frame.run for frame in log} == {"twin"}
        assert chosen(log) == chosen(parent)
        prompt = len(encoded())
        assert [step["rows_computed"] for step in datas(log, "step")] == list(range(prompt, prompt + 8))
        assert [step["rows_computed"] for step in datas(parent, "step")] == [prompt, *[1] * 7]
        for mine, theirs in zip(datas(log, "step"), datas(parent, "step"), strict=True):
            assert mine["filters"] == pytest.approx(theirs["filters"], rel=1e-4)
        assert set(frames.tensors(log[1].payload)) == {"top_ids", "top_logits", "tail_counts"}
        opened, was = datas(log, "open")[0], datas(parent, "open")[0]
        assert opened["study"] == {"kind": "twin", "of": "a", "cache": "none"}
        assert was["study"] is None
        assert {**opened, "study": None, "created": "", "prefix": was["prefix"]} == {**was, "created": ""}

    @pytest.mark.parametrize("end", ["stopped", "eos"])
    def test_it_takes_as_many_steps_as_its_run_took(self, end: str) -> None:
        made = service(eos=(greedy(shared_model(), encoded(), 4)[3],) if end == "eos" else ())
        parent = made.start(request(max_new_tokens=50))
        for _ in range(4):
            parent += made.advance()
        if end == "stopped":
            made.control("a", "stop")
        parent += finish(made)
        log = made.twin(twin_of(parent, "none")) + finish(made)
        assert chosen(log) == chosen(parent)
        assert datas(log, "close")[0]["reason"] == ("length" if end == "stopped" else "eos")
        assert datas(log, "open")[0]["limits"]["max_new_tokens"] == len(chosen(parent)) <= 4

    def test_the_twin_of_a_fork_is_given_the_token_the_fork_was_given(
        self, made: ModelService, parent: list[Frame]
    ) -> None:
        fork = made.fork(fork_of(parent, 2, 33)) + finish(made)
        log = made.twin(twin_of(fork, "none")) + finish(made)
        assert chosen(log) == chosen(fork)
        assert chosen(log)[2] == 33
        assert [step["token"].get("forced", False) for step in datas(log, "step")] == [step == 2 for step in range(8)]
        opened = datas(log, "open")[0]
        assert (opened["parent"], opened["study"]["of"]) == (None, "fork")

    def test_what_cannot_be_twinned_is_refused_and_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 96)
        made = service()
        parent = run_to_end(made, request(max_new_tokens=30))
        made.start(request("b", max_new_tokens=30))
        assert refused(made.twin, twin_of(parent, "none")) == ("run", 429)
        assert refused(another_model().twin, twin_of(parent, "none")) == ("model", 409)
        finish(made)
        check_cache(made.engine)


class TestKeeping:
    """Twins that keep some positions alone."""

    @staticmethod
    def asked(log: list[Frame], policy: Policy, budget: int, *, given: bool = True) -> TwinRequest:
        return replace(twin_of(log, "kept"), keeping=Keeping(policy, budget, given))

    @pytest.mark.parametrize("policy", ["window", "sinks", "heavy"])
    def test_its_log_says_what_stays_and_how_each_step_differs(
        self, made: ModelService, parent: list[Frame], policy: Policy
    ) -> None:
        log = made.twin(self.asked(parent, policy, 6)) + finish(made)
        assert kinds(log) == "o" + "s" * 8 + "c"
        study = {"kind": "twin", "of": "a", "cache": policy, "budget": 6, "tokens": "given"}
        assert datas(log, "open")[0]["study"] == study
        assert chosen(log) == chosen(parent)
        for number, (frame, data) in enumerate(zip(log[1:-1], datas(log, "step"), strict=True)):
            kept = np.unpackbits(frames.tensors(frame.payload)["kept"], axis=-1, bitorder="little")
            assert kept.shape[:2] == ((2, 2) if policy == "heavy" else (1, 1))
            assert (kept.sum(-1) == 6).all()
            assert kept[..., len(encoded()) + number - 1].all()
            assert not kept[..., len(encoded()) + number :].any()
            assert data["kv"]["positions"] == 6
            assert data["own"].keys() == {"id", "text", "bytes", "special", "prob", "raw_prob"}
        assert datas(log, "step")[0]["kl"] == 0
        assert all(data["kl"] > 0 for data in datas(log, "step")[1:])
        check_cache(made.engine)

    def test_with_its_own_tokens_it_goes_on_by_its_own_choices(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=12))
        given = made.twin(self.asked(parent, "window", 2)) + finish(made)
        own = [step["own"]["id"] for step in datas(given, "step")]
        parting = next(step for step, token in enumerate(own) if token != chosen(parent)[step])
        free = made.twin(replace(self.asked(parent, "window", 2, given=False), run="free")) + finish(made)
        assert chosen(free)[: parting + 1] == own[: parting + 1]
        assert not {"own", "kl"} & set(datas(free, "step")[parting])
        assert datas(free, "open")[0]["study"]["tokens"] == "own"

    def test_a_run_that_is_no_longer_in_the_cache_is_computed_again_for_the_comparison(
        self, made: ModelService, parent: list[Frame]
    ) -> None:
        kl = [step["kl"] for step in datas(made.twin(self.asked(parent, "sinks", 6)) + finish(made), "step")]
        forget_all(made.engine)
        again = made.twin(self.asked(parent, "sinks", 6)) + finish(made)
        assert [step["kl"] for step in datas(again, "step")] == pytest.approx(kl, abs=1e-6)
        check_cache(made.engine)

    @pytest.mark.parametrize("budget", [0, -1, 20])
    def test_a_budget_beyond_the_run_is_refused(self, made: ModelService, parent: list[Frame], budget: int) -> None:
        error = refusal(made.twin, self.asked(parent, "window", budget))
        assert (error.field, "it must be from 1 to 19" in str(error), made.busy) == ("budget", True, False)

    def test_a_model_with_a_shorter_window_and_one_with_too_many_heads_are_refused(self) -> None:
        window = service(arch="mistral")
        parent = run_to_end(window, request())
        assert "read only the newest 9 positions" in str(refusal(window.twin, self.asked(parent, "sinks", 6)))
        wide = service(layers=40, heads=64, kv_heads=64, context=1024)
        long = run_to_end(wide, request(prompt="x" * 200, max_new_tokens=1))
        error = refusal(wide.twin, self.asked(long, "heavy", 6))
        assert (error.field, "Choose window or sinks" in str(error)) == ("cache", True)
        assert kinds(wide.twin(self.asked(long, "sinks", 6)) + finish(wide)) == "osc"


class TestBeam:
    @staticmethod
    def search_of(log: list[Frame], step: int, **options: int) -> BeamRequest:
        ids = encoded() + chosen(log)[:step]
        sizes = {"beams": 3, "length": 4, **options}
        return BeamRequest("beam", log[0].run, step, ids=ids, opening=log[0].payload, **sizes)

    def test_its_log_is_a_frame_per_depth(self, made: ModelService, parent: list[Frame]) -> None:
        log = made.beam(self.search_of(parent, 3)) + finish(made)
        assert kinds(log) == "obbbbc"
        assert [frame.seq for frame in log] == list(range(6))
        opened = datas(log, "open")[0]
        assert opened["study"] == {"kind": "beam", "of": "a", "step": 3, "beams": 3, "length": 4}
        assert (opened["tokens"], opened["parent"]) == (datas(parent, "open")[0]["tokens"], None)
        depths = datas(log, "beams")
        assert [depth["depth"] for depth in depths] == [1, 2, 3, 4]
        assert [depth["rows_computed"] for depth in depths] == [1, 3, 3, 3]
        assert depths[0]["nodes"][0]["token"]["id"] == chosen(parent)[3]
        assert datas(log, "close") == [{"reason": "length", "error": None, "steps": 0}]
        assert frames.split(frames.join(frame.payload for frame in log)) == log
        check_cache(made.engine)

    def test_the_largest_search_fits_its_frames(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=1))
        log = made.beam(self.search_of(parent, 0, beams=8, length=32)) + finish(made)
        assert kinds(log) == "o" + "b" * 32 + "c"
        assert max(len(frame.payload) for frame in log) <= frames.MAX_FRAME_BYTES

    def test_it_takes_orders_like_any_run(self, made: ModelService, parent: list[Frame]) -> None:
        log = made.beam(self.search_of(parent, 2))
        assert made.control("beam", "pause") == "paused"
        assert not made.busy
        made.control("beam", "step")
        log += finish(made)
        assert made.control("beam", "stop") == "closed"
        log += finish(made)
        assert kinds(log) == "obc"
        assert datas(log, "close")[0]["reason"] == "stopped"
        assert refused(made.control, "beam", "resume") == ("run", 409)

    def test_what_is_out_of_bounds_is_named(self, made: ModelService, parent: list[Frame]) -> None:
        for field, value, limit in (("beams", 0, 8), ("beams", 9, 8), ("length", 0, 32), ("length", 33, 32)):
            error = refusal(made.beam, self.search_of(parent, 1, **{field: value}))
            assert (error.field, error.limit) == (field, limit)
        assert not made.busy

    def test_near_the_end_of_the_context_that_bounds_the_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 256)
        made = service()
        parent = run_to_end(made, request(prompt="x" * 100, max_new_tokens=28))
        ids = encoded("x" * 100) + chosen(parent)[:20]
        asked = BeamRequest("beam", "a", 20, 1, 8, ids, parent[0].payload)
        for much, field, limit in ((replace(asked, length=9), "length", 8), (replace(asked, beams=2), "beams", 1)):
            error = refusal(made.beam, much)
            assert (error.field, error.limit) == (field, limit)
        assert kinds(made.beam(asked) + finish(made)) == "o" + "b" * 8 + "c"

    def test_a_full_cache_refuses_for_now_and_another_model_for_good(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 256)
        made = service()
        parent = run_to_end(made, request())
        made.start(request("b", "x" * 90, max_new_tokens=30))
        assert refused(made.beam, self.search_of(parent, 2)) == ("run", 429)
        assert refused(another_model().beam, self.search_of(parent, 2)) == ("model", 409)
        finish(made)
        check_cache(made.engine)


def test_a_run_goes_on_only_over_weights_that_are_kept_as_its_own_were() -> None:
    log = run_to_end(service(), request())
    rounded = service(dtype=torch.bfloat16)
    said = str(refusal(rounded.fork, fork_of(log, 0, 33)))
    assert "computed by tiny; this server has loaded tiny in bfloat16" in said
    kept = run_to_end(rounded, request())
    said = str(refusal(service().fork, fork_of(kept, 0, 33)))
    assert "computed by tiny in bfloat16; this server has loaded tiny" in said
