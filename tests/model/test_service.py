from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import tokenizers
import torch
from tokenizers import models

from kvscope.model import service as service_module
from kvscope.model.api import (
    MAX_PROMPT_CHARS,
    BeamRequest,
    Caching,
    ForkRequest,
    Frame,
    Progress,
    Refused,
    RunRequest,
    Sampling,
    TakeUpRequest,
    TwinRequest,
)
from kvscope.model.checkpoint import Tokenizer
from kvscope.model.checkpoint.tokenizer import Extras
from kvscope.model.companding import decompand
from kvscope.model.compiled.graph import GraphedSteps
from kvscope.model.engine.engine import Engine
from kvscope.model.hooks import observing
from kvscope.model.log import frames
from kvscope.model.log.archive import Archive
from kvscope.model.log.check import LogCheck
from kvscope.model.service import ModelService, pick_device
from tests.support.tiny import ARCHS, check_cache, greedy, random_weights, shared_model, tiny_checkpoint
from tests.support.tiny_runs import TEXT, finish, request, run_to_end, service


def wordy_service() -> ModelService:
    """Its one word takes much room in a log: 500 backslashes. What is no word counts as text and not as a token."""
    inner = tokenizers.Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    inner.add_tokens(["\\" * 500])
    tokenizer = Tokenizer(inner, Extras({}, None, ()), str.encode)
    return ModelService(replace(tiny_checkpoint(), tokenizer=tokenizer), "cpu")


def longest_start(made: ModelService) -> list[Frame]:
    """The start of the run whose `open` frame is as large as any that is taken."""
    taken, refused = 0, MAX_PROMPT_CHARS - 6000
    while taken + 1 < refused:
        quotes = (taken + refused) // 2
        try:
            made.start(request(prompt="\\" * 6000 + '"' * quotes))
        except Refused:
            refused = quotes
        else:
            taken = quotes
            made.control("a", "stop")
            made.advance()
    return made.start(request(prompt="\\" * 6000 + '"' * taken))


def kinds(log: list[Frame]) -> str:
    """A log's kinds by their first letters."""
    return "".join(frame.kind[0] for frame in log)


def datas(log: list[Frame], kind: str) -> list[dict[str, Any]]:
    return [frames.header(frame.payload).data for frame in log if frame.kind == kind]


def chosen(log: list[Frame]) -> list[int]:
    return [data["token"]["id"] for data in datas(log, "step")]


def encoded(text: str = TEXT) -> list[int]:
    return tiny_checkpoint().tokenizer.encode(text)


def fork_of(log: list[Frame], step: int, token: int, run: str = "fork") -> ForkRequest:
    """As the web process makes it: the log up to the step that chose the token replaced."""
    end = next(place for place, frame in enumerate(log) if frame.kind == "step" and frame.step == step) + 1
    shared = tuple(frame.payload for frame in log[:end])
    return ForkRequest(run, log[0].run, len(datas(log, "open")[0]["tokens"]) + step, token, shared)


class TestLog:
    def test_a_run_from_its_prompt_to_its_end(self) -> None:
        made = service()
        log = run_to_end(made, request())
        assert kinds(log) == "o" + "ls" * 6 + "c"
        assert [frame.seq for frame in log] == list(range(len(log)))
        assert {frame.run for frame in log} == {"a"}
        assert chosen(log) == greedy(shared_model(), encoded(), 6)
        assert datas(log, "close") == [{"reason": "length", "error": None, "steps": 6}]
        assert frames.token_ids(frame.payload for frame in log) == encoded() + chosen(log)
        assert not made.busy
        assert made.advance() == []

    def test_its_frames_are_small_and_survive_a_file(self) -> None:
        log = run_to_end(service(), request(prompt="x" * 300, max_new_tokens=12))
        assert max(len(frame.payload) for frame in log) <= frames.MAX_FRAME_BYTES
        assert frames.split(frames.join(frame.payload for frame in log)) == log

    def test_runs_side_by_side_have_logs_of_their_own(self) -> None:
        made = service()
        alone = {run: run_to_end(service(), request(run, run * 9, max_new_tokens=4)) for run in "abc"}
        log = [frame for run in "abc" for frame in made.start(request(run, run * 9, max_new_tokens=4))]
        log += finish(made)
        for run in "abc":
            mine = [frame for frame in log if frame.run == run]
            assert [frame.seq for frame in mine] == list(range(len(mine)))
            assert (kinds(mine), chosen(mine)) == (kinds(alone[run]), chosen(alone[run]))
        assert {data["batch"] for data in datas(log, "step")} == {3}

    def test_a_seed_decides_the_tokens(self) -> None:
        settings = [Sampling("sample", 2.0, seed=seed) for seed in (5, 5, 6)]
        logs = [run_to_end(service(), request(sampling=sampling)) for sampling in settings]
        assert chosen(logs[0]) == chosen(logs[1]) != chosen(logs[2])

    def test_a_chat_prompt_is_wrapped_in_the_models_template(self) -> None:
        made = service()
        data = datas(made.start(request(chat=True)), "open")[0]
        assert data["prompt"] == TEXT
        shown = "".join(token["text"] for token in data["tokens"])
        assert shown == f"<|im_start|>user\n{TEXT}<|im_end|>\n<|im_start|>"
        assert data["tokens"][0]["special"]

    def test_an_end_token_closes_the_log(self) -> None:
        end = greedy(shared_model(), encoded(), 1)[0]
        log = run_to_end(service(eos=(end,)), request())
        assert kinds(log) == "olsc"
        assert datas(log, "close")[0]["reason"] == "eos"

    def test_info_is_counted_off_the_checkpoint(self) -> None:
        info = service().info
        parameters = 259 * 32 + 2 * (32 + 64 * 32 + 32 * 32 + 32 + 96 * 32 + 32 * 48) + 32
        assert (info["parameters"], info["weight_bytes"]) == (parameters, 4 * parameters)
        assert (info["name"], info["arch"], info["vocab"], info["device"]) == ("tiny", "llama", 259, "cpu")
        assert (info["dtype"], info["element_bytes"], info["weight_dtype"]) == ("float32", 4, "float32")

    @pytest.mark.parametrize("arch", ARCHS)
    def test_weights_in_bfloat16_are_described_as_they_are_kept(self, arch: str) -> None:
        made, usual = service(arch=arch, dtype=torch.bfloat16), service(arch=arch)
        matrices = sum(
            weight.numel()
            for name, weight in random_weights(made.engine.transformer.config).items()
            if weight.dim() == 2 and name != "positions.weight"
        )
        told = {"weight_dtype": "bfloat16", "weight_bytes": usual.info["weight_bytes"] - 2 * matrices}
        assert made.info == usual.info | told
        assert made.engine.cache.pool.dtype == torch.float32
        assert made.max_positions == usual.max_positions
        stored = {weight.data_ptr(): weight.nbytes for weight in made.engine.transformer.parameters()}
        assert sum(stored.values()) == made.info["weight_bytes"]  # nothing is held twice


class TestRefusals:
    @pytest.mark.parametrize(
        ("asked", "field", "limit", "status"),
        [
            (request(prompt=""), "prompt", None, 422),
            (request(prompt="x" * (MAX_PROMPT_CHARS + 1)), "prompt", MAX_PROMPT_CHARS, 413),
            (request(prompt="x" * 512), "prompt", 511, 413),
            (request(prompt="x" * 511, max_new_tokens=2), "max_new_tokens", 1, 422),
            (request(max_new_tokens=0), "max_new_tokens", 256, 422),
            (request(max_new_tokens=257), "max_new_tokens", 256, 422),
        ],
    )
    def test_what_is_out_of_range_is_named_with_its_limit(
        self, asked: RunRequest, field: str, limit: int | None, status: int
    ) -> None:
        made = service()
        with pytest.raises(Refused) as refused:
            made.start(asked)
        assert (refused.value.field, refused.value.limit, refused.value.status) == (field, limit, status)
        assert str(refused.value).endswith(".")
        assert not made.busy
        assert chosen(run_to_end(made, request())) == greedy(shared_model(), encoded(), 6)

    def test_the_longest_prompt_and_answer_are_taken(self) -> None:
        made = service()
        made.start(request("long", "x" * 511, max_new_tokens=1))
        made.start(request("many", max_new_tokens=256))
        log = finish(made)
        assert {data["reason"] for data in datas(log, "close")} == {"length"}

    def test_a_prompt_whose_log_would_not_fit_a_frame_is_refused(self) -> None:
        made = wordy_service()
        with pytest.raises(Refused, match="limit is 65,024") as refused:
            made.start(request(prompt="\\" * 8000))
        assert (refused.value.field, refused.value.status) == ("prompt", 413)
        assert not made.engine.scheduler.runs
        assert len(made.start(request(prompt="\\" * 2000))) == 1

    def test_a_full_cache_refuses_for_now_and_harms_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 96)
        made = service()
        assert made.max_positions == 48
        log = made.start(request("a", max_new_tokens=30))
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                made.start(request("b", max_new_tokens=20))
            assert (refused.value.field, refused.value.status) == ("run", 429)
        log += finish(made)
        assert chosen(log) == greedy(shared_model(), encoded(), 30)
        assert chosen(run_to_end(made, request("b", max_new_tokens=20))) == chosen(log)[:20]

    @pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:²", "cuda:99", "cpu:0", ""])
    def test_a_device_that_is_not_there_is_named(self, device: str) -> None:
        with pytest.raises(Refused, match="device is") as refused:
            pick_device(device)
        assert refused.value.field == "device"


class TestControl:
    def test_pause_step_and_resume(self) -> None:
        made = service()
        log = made.start(request())
        log += made.advance()
        assert made.control("a", "pause") == "paused"
        assert not made.busy
        assert made.control("a", "step") == "paused"
        assert made.control("a", "step") == "paused"
        log += finish(made)
        assert len(datas(log, "step")) == 3
        assert made.control("a", "resume") == "running"
        log += finish(made)
        assert kinds(log) == "o" + "ls" * 6 + "c"
        assert chosen(log) == greedy(shared_model(), encoded(), 6)

    def test_a_step_of_a_running_run_pauses_it_after_one_more(self) -> None:
        made = service()
        log = made.start(request())
        assert made.control("a", "step") == "paused"
        log += finish(made)
        assert kinds(log) == "ols"

    def test_a_pause_takes_back_steps_not_yet_taken(self) -> None:
        made = service()
        made.start(request())
        made.control("a", "step")
        made.control("a", "pause")
        assert not made.busy

    def test_stop_closes_the_log_with_the_next_frames(self) -> None:
        made = service()
        log = made.start(request()) + made.start(request("b"))
        log += made.advance()
        made.control("b", "pause")
        assert made.control("a", "stop") == "closed"
        assert made.busy
        log += finish(made)
        mine = [frame for frame in log if frame.run == "a"]
        assert kinds(mine) == "olsc"
        assert datas(mine, "close") == [{"reason": "stopped", "error": None, "steps": 1}]
        assert [frame.seq for frame in mine] == [0, 1, 2, 3]

    @pytest.mark.parametrize("action", ["pause", "resume", "step", "stop"])
    def test_a_run_that_is_over_or_unknown_takes_no_orders(self, action: str) -> None:
        made = service()
        run_to_end(made, request())
        for run in ("a", "nobody"):
            with pytest.raises(Refused) as refused:
                made.control(run, action)
            assert (refused.value.field, refused.value.status) == ("run", 409)

    def test_an_unknown_order_changes_nothing(self) -> None:
        made = service()
        made.start(request())
        with pytest.raises(Refused, match="'halt'"):
            made.control("a", "halt")
        assert made.busy

    def test_a_run_that_fails_says_so_in_its_log_and_the_next_works(self) -> None:
        def fail(value: object) -> None:
            raise RuntimeError("out of memory")

        made = service()
        log = made.start(request())
        log += made.advance()
        with observing(made.engine.runner.points, {"final": fail}):
            log += made.advance()
        assert kinds(log) == "olsc"
        assert datas(log, "close") == [{"reason": "failed", "error": "The model failed: out of memory", "steps": 1}]
        assert not made.busy
        assert chosen(run_to_end(made, request("b"))) == greedy(shared_model(), encoded(), 6)


class TestFork:
    def test_its_log_is_its_parents_with_the_forced_token_and_goes_on(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=8))
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
        assert opened["parent"] == {"run": "a", "position": len(encoded()) + 2, "token": token}
        assert datetime.fromisoformat(opened["created"]) >= datetime.fromisoformat(was["created"])
        assert {**opened, "parent": None, "created": ""} == {**was, "created": ""}
        for mine, theirs in zip(shared, parent, strict=False):
            assert safetensors.numpy.load(mine.payload).keys() == safetensors.numpy.load(theirs.payload).keys()
            for name, values in frames.tensors(theirs.payload).items():
                assert np.array_equal(values, frames.tensors(mine.payload)[name])
        check_cache(made.engine)

    def test_the_forced_token_says_so_with_its_raw_probability(self) -> None:
        made = service()
        parent = run_to_end(made, request())
        stored = frames.tensors(parent[2].payload)
        for place in (3, 255):
            token = int(stored["top_ids"][place])
            forced = datas(made.fork(fork_of(parent, 0, token, f"fork{place}")), "step")[0]["token"]
            assert (forced["id"], forced["forced"]) == (token, True)
            log_z = datas(parent, "step")[0]["log_z"]
            assert forced["raw_prob"] == pytest.approx(np.exp(stored["top_logits"][place] - log_z), rel=1e-5)
        unlisted = next(token for token in range(259) if token not in stored["top_ids"])
        forced = datas(made.fork(fork_of(parent, 0, unlisted)), "step")[0]["token"]
        assert forced["raw_prob"] is None

    def test_a_running_and_a_paused_parent_can_be_forked_and_a_fork_too(self) -> None:
        made = service()
        log = made.start(request(max_new_tokens=12))
        for _ in range(4):
            log += made.advance()
        made.control("a", "pause")
        first = made.fork(fork_of(log, 1, 33, "first"))
        first += finish(made)
        second = made.fork(fork_of(first, 5, 44, "second"))
        second += finish(made)
        made.control("a", "resume")
        log += finish(made)
        assert chosen(log) == greedy(shared_model(), encoded(), 12)
        text = [*encoded(), chosen(log)[0], 33]
        assert chosen(first)[2:] == greedy(shared_model(), text, 10)
        text += [*chosen(first)[2:5], 44]
        assert chosen(second)[6:] == greedy(shared_model(), text, 6)
        assert datas(second, "open")[0]["parent"]["run"] == "first"

    def test_a_sampled_fork_with_the_same_token_repeats_its_parent(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=20, sampling=Sampling("sample", 2.0, seed=9)))
        log = made.fork(fork_of(parent, 7, chosen(parent)[7])) + finish(made)
        assert chosen(log) == chosen(parent)

    def test_a_run_as_long_as_any_that_is_taken_has_forks_that_can_be_read_from_a_file(self) -> None:
        made = wordy_service()
        log = longest_start(made) + finish(made)
        assert len(log[0].payload) > 64_500
        for generation in range(3):
            log = made.fork(fork_of(log, generation, 33 + generation, f"{generation}".zfill(64))) + finish(made)
            check = LogCheck()
            for payload in Archive(memoryview(frames.join(frame.payload for frame in log))).frames():
                check.take(payload)
            check.finish()

    def test_a_log_without_room_for_a_forks_first_frame_is_refused_in_a_sentence(self) -> None:
        """Older logs may fill theirs to the last byte."""
        made = wordy_service()
        log = longest_start(made) + finish(made)
        opened = datas(log, "open")[0]
        longer = opened["prompt"] + "x" * (frames.MAX_FRAME_BYTES - len(log[0].payload))
        log[0] = frames.relabel(log[0].payload, "a", 0, {"prompt": longer})
        assert len(log[0].payload) == frames.MAX_FRAME_BYTES
        for derive in (
            lambda: made.fork(fork_of(log, 2, 33)),
            lambda: made.twin(twin_of(log, "none")),
            lambda: made.beam(BeamRequest("beam", "a", 0, 1, 1, [0], log[0].payload)),
        ):
            with pytest.raises(Refused, match=r"first frame .* the limit is 65,536\.$") as refused:
                derive()
            assert (refused.value.field, refused.value.status) == ("run", 409)
        assert not made.busy
        check_cache(made.engine)

    def test_what_cannot_be_forked_is_refused_and_leaves_nothing(self) -> None:
        made = service(eos=(5,))
        parent = run_to_end(made, request())
        good = fork_of(parent, 2, 33)
        cases = {
            "position": [
                replace(good, position=good.position + 1),
                replace(good, position=3),
                replace(good, token=5),
                fork_of(parent, 5, 33),
            ],
            "token": [replace(good, token=259), replace(good, token=-1)],
        }
        for field, asked in cases.items():
            for one in asked:
                with pytest.raises(Refused) as refused:
                    made.fork(one)
                assert refused.value.field == field
        assert not made.busy
        check_cache(made.engine)
        other = ModelService(replace(tiny_checkpoint(), sha256="1" * 64), "cpu")
        with pytest.raises(Refused) as refused:
            other.fork(good)
        assert (refused.value.field, refused.value.status) == ("model", 409)

    def test_a_full_cache_refuses_a_fork_and_its_parent_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 96)
        made = service()
        log = made.start(request(max_new_tokens=30))
        log += made.advance()
        log += made.advance()
        with pytest.raises(Refused) as refused:
            made.fork(fork_of(log, 1, 33))
        assert refused.value.status == 429
        log += finish(made)
        assert chosen(log) == greedy(shared_model(), encoded(), 30)
        made.fork(fork_of(log, 1, 33))
        check_cache(made.engine)


def twin_of(log: list[Frame], caching: Caching, run: str = "twin") -> TwinRequest:
    """As the web process makes it: the `open` and the `step` frames."""
    return TwinRequest(run, log[0].run, caching, tuple(f.payload for f in log if f.kind in ("open", "step")))


class TestTwin:
    @pytest.mark.parametrize("sampling", [Sampling(), Sampling("sample", 2.0, top_k=90, seed=9)])
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
        assert {**opened, "study": None, "created": ""} == {**was, "created": ""}

    def test_forgetting_it_feeds_one_row_a_step_and_writes_something_else(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=8))
        log = made.twin(twin_of(parent, "forgotten")) + finish(made)
        assert [step["rows_computed"] for step in datas(log, "step")] == [len(encoded()), *[1] * 7]
        assert chosen(log)[0] == chosen(parent)[0]
        assert chosen(log) != chosen(parent)
        assert [step["position"] for step in datas(log, "step")] == [step["position"] for step in datas(parent, "step")]

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

    def test_the_twin_of_a_fork_is_given_the_token_the_fork_was_given(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=8))
        fork = made.fork(fork_of(parent, 2, 33)) + finish(made)
        log = made.twin(twin_of(fork, "none")) + finish(made)
        assert chosen(log) == chosen(fork)
        assert chosen(log)[2] == 33
        assert [step["token"].get("forced", False) for step in datas(log, "step")] == [step == 2 for step in range(8)]
        opened = datas(log, "open")[0]
        assert (opened["parent"], opened["study"]["of"]) == (None, "fork")

    def test_it_takes_orders_like_any_run(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=8))
        log = made.twin(twin_of(parent, "none"))
        made.control("twin", "pause")
        assert not made.busy
        made.control("twin", "step")
        log += finish(made)
        made.control("twin", "stop")
        log += finish(made)
        assert kinds(log) == "osc"
        assert datas(log, "close")[0]["reason"] == "stopped"
        check_cache(made.engine)

    def test_what_cannot_be_twinned_is_refused_and_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 96)
        made = service()
        parent = run_to_end(made, request(max_new_tokens=30))
        made.start(request("b", max_new_tokens=30))
        with pytest.raises(Refused) as refused:
            made.twin(twin_of(parent, "none"))
        assert (refused.value.field, refused.value.status) == ("run", 429)
        other = ModelService(replace(tiny_checkpoint(), sha256="1" * 64), "cpu")
        with pytest.raises(Refused) as refused:
            other.twin(twin_of(parent, "none"))
        assert (refused.value.field, refused.value.status) == ("model", 409)
        finish(made)
        check_cache(made.engine)


class TestBeam:
    @staticmethod
    def search_of(log: list[Frame], step: int, **options: int) -> BeamRequest:
        ids = encoded() + chosen(log)[:step]
        sizes = {"beams": 3, "length": 4, **options}
        return BeamRequest("beam", log[0].run, step, ids=ids, opening=log[0].payload, **sizes)

    def test_its_log_is_a_frame_per_depth(self) -> None:
        made = service()
        parent = run_to_end(made, request(max_new_tokens=8))
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

    def test_it_takes_orders_like_any_run(self) -> None:
        made = service()
        parent = run_to_end(made, request())
        log = made.beam(self.search_of(parent, 2))
        assert made.control("beam", "pause") == "paused"
        assert not made.busy
        made.control("beam", "step")
        log += finish(made)
        assert made.control("beam", "stop") == "closed"
        log += finish(made)
        assert kinds(log) == "obc"
        assert datas(log, "close")[0]["reason"] == "stopped"
        with pytest.raises(Refused):
            made.control("beam", "resume")

    @pytest.mark.parametrize(
        ("options", "field", "limit"),
        [
            ({"beams": 0}, "beams", 8),
            ({"beams": 9}, "beams", 8),
            ({"length": 0}, "length", 32),
            ({"length": 33}, "length", 32),
        ],
    )
    def test_what_is_out_of_bounds_is_named(self, options: dict[str, int], field: str, limit: int) -> None:
        made = service()
        parent = run_to_end(made, request())
        with pytest.raises(Refused) as refused:
            made.beam(self.search_of(parent, 1, **options))
        assert (refused.value.field, refused.value.limit) == (field, limit)
        assert not made.busy

    def test_near_the_end_of_the_context_that_bounds_the_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 256)
        made = service()
        parent = run_to_end(made, request(prompt="x" * 100, max_new_tokens=28))
        ids = encoded("x" * 100) + chosen(parent)[:20]
        asked = BeamRequest("beam", "a", 20, 1, 8, ids, parent[0].payload)
        for much, field, limit in ((replace(asked, length=9), "length", 8), (replace(asked, beams=2), "beams", 1)):
            with pytest.raises(Refused) as refused:
                made.beam(much)
            assert (refused.value.field, refused.value.limit) == (field, limit)
        assert kinds(made.beam(asked) + finish(made)) == "o" + "b" * 8 + "c"

    def test_a_full_cache_refuses_for_now_and_another_model_for_good(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 256)
        made = service()
        parent = run_to_end(made, request())
        made.start(request("b", "x" * 90, max_new_tokens=30))
        with pytest.raises(Refused) as refused:
            made.beam(self.search_of(parent, 2))
        assert (refused.value.field, refused.value.status) == ("run", 429)
        other = ModelService(replace(tiny_checkpoint(), sha256="1" * 64), "cpu")
        with pytest.raises(Refused) as refused:
            other.beam(self.search_of(parent, 2))
        assert (refused.value.field, refused.value.status) == ("model", 409)
        finish(made)
        check_cache(made.engine)


class TestExactValues:
    def test_they_agree_with_the_frames(self) -> None:
        made = service()
        log = run_to_end(made, request())
        ids = encoded() + chosen(log)
        prefill, decode = (frames.tensors(log[place].payload)["attention"] for place in (1, 5))
        exact = safetensors.numpy.load(made.head(encoded(), 0, 1, 3))
        assert np.abs(decompand(prefill[1, 3]) - exact["weights"]).max() < 0.004
        exact = safetensors.numpy.load(made.head(ids[:14], 13, 0, 2))
        assert np.abs(decompand(decode[0, 2]) - exact["weights"]).max() < 0.004

        norms = frames.tensors(log[1].payload)
        for position in (0, 7):
            block = safetensors.numpy.load(made.block(encoded(), 1, position))
            assert np.linalg.norm(block["resid_out"]) == pytest.approx(norms["residual_norm"][1, position], rel=2e-3)
            k_norm = np.linalg.norm(block["attn.k_rot"], axis=-1)
            assert k_norm == pytest.approx(norms["k_norm"][1, :, position].astype(float), rel=2e-3)

            # The cache's V at layer 1 is measured by the frame too, row by row.
            v_norms = np.linalg.norm(block["cache.v"], axis=-1)
            assert v_norms == pytest.approx(norms["v_norm"][1, :, : position + 1].astype(float), rel=2e-3)

        # Not every token is what its text is spelled with: some are bytes that make no character.
        named = datas(log, "step")[0]["top_tokens"]
        rank = next(i for i, each in enumerate(named) if made.tokenizer.encode(each["text"]) == [each["id"]])
        best = made.candidates(encoded(), named[rank]["text"])["candidates"]
        drawn = next(each for each in best if each["id"] == named[rank]["id"])
        assert (drawn["rank"], drawn["whole"]) == (rank, True)
        logit = frames.tensors(log[2].payload)["top_logits"][rank]
        assert drawn["logit"] == pytest.approx(logit, abs=1e-3)
        assert drawn["prob"] == pytest.approx(np.exp(logit - datas(log, "step")[0]["log_z"]), rel=1e-3)

        token = chosen(log)[0]
        found = made.lens(encoded(), token)
        assert found["token"]["id"] == token
        lens = found["layers"]
        assert [layer["layer"] for layer in lens] == [0, 1]
        best = lens[-1]["top"][0]
        assert lens[-1]["chosen"] == {"prob": best["prob"], "rank": 0}
        assert best["id"] == chosen(log)[0]
        assert best["prob"] == pytest.approx(datas(log, "step")[0]["token"]["raw_prob"], rel=1e-3)
        assert set(best) == {"id", "text", "bytes", "special", "prob"}

    @pytest.mark.parametrize(
        ("call", "arguments", "field", "limit"),
        [
            ("head", ([1, 2], 0, 2, 0), "layer", 1),
            ("head", ([1, 2], 0, 0, 4), "head", 3),
            ("head", ([1, 2], 2, 0, 0), "step", 1),
            ("head", ([1, 2], 0, -1, 0), "layer", 1),
            ("block", ([1, 2], 2, 0), "layer", 1),
            ("block", ([1, 2], 0, 2), "position", 1),
            ("algebra", ([1, 2], 2, 0), "layer", 1),
            ("algebra", ([1, 2], 0, 4), "head", 3),
            ("lens", ([], 0), "step", -1),
            ("lens", ([1, 2], 259), "token", 258),
        ],
    )
    def test_what_is_not_there_is_refused(self, call: str, arguments: tuple[Any, ...], field: str, limit: int) -> None:
        with pytest.raises(Refused) as refused:
            getattr(service(), call)(*arguments)
        assert (refused.value.field, refused.value.limit) == (field, limit)

    def test_a_run_can_be_looked_into_however_full_the_cache(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 256)
        made = service()
        log = made.start(request(prompt="x" * 100, max_new_tokens=28))
        log += made.advance()
        while made.engine.scheduler.runs["a"].step < 27:
            log += made.advance()
        ids = encoded("x" * 100)
        assert safetensors.numpy.load(made.head(ids, 0, 0, 0))["weights"].shape == (100, 100)
        assert kinds(log + finish(made))[-1] == "c"

    def test_more_tokens_than_the_cache_holds_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 64)
        made = service()
        with pytest.raises(Refused) as refused:
            made.lens([1] * 65, 0)
        assert refused.value.status == 429
        check_cache(made.engine)


class TestLoad:
    @pytest.mark.parametrize("options", [{}, {"arch": "gpt2", "context": 4}, {"vocab": 2}])
    def test_loading_ends_ready_and_warm(self, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        passes = []
        replay = Engine.replay

        def counted(self: Engine, ids: list[int], *rest: Any) -> Any:
            passes.append(len(ids))
            return replay(self, ids, *rest)

        monkeypatch.setattr(Engine, "replay", counted)
        monkeypatch.setattr(service_module, "load", lambda *asked: tiny_checkpoint(**options, dtype=asked[-1]))
        seen: list[Progress] = []
        made = ModelService.load("tiny", "cpu", "float32", seen.append)
        assert seen[-1] == Progress("ready", 1, 1, "tiny is ready on cpu")
        assert len(passes) == 1
        assert made.engine.cache.free_blocks == made.engine.cache.blocks

    def test_a_device_is_checked_before_anything_is_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "load", lambda *asked: pytest.fail("loaded"))
        with pytest.raises(Refused):
            ModelService.load(None, "tpu", "float32", lambda progress: None)


def taken_up(made: ModelService, log: list[Frame]) -> None:
    """A run that was set aside goes on."""
    run = log[0].run
    made.take_up(TakeUpRequest(run, len(log), tuple(f.payload for f in log if f.kind in ("open", "step"))))
    assert made.control(run, "resume") == "running"


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_run_that_was_set_aside_goes_on_as_if_nothing_had_been(steps: int) -> None:
    sampling = Sampling("sample", 1.5, 40, 0.9, 3)
    whole = run_to_end(service(), request(sampling=sampling))
    made = service()
    log = made.start(request(sampling=sampling))
    for _ in range(steps):
        log += made.advance()
    with pytest.raises(Refused, match="goes on"):
        made.set_aside("a")
    made.control("a", "pause")
    made.set_aside("a")
    assert not made.busy
    with pytest.raises(Refused, match="over"):
        made.control("a", "resume")
    run_to_end(made, request("other", prompt="Something else, in between.", max_new_tokens=3))
    taken_up(made, log)
    log += finish(made)
    assert frames.token_ids(f.payload for f in log) == frames.token_ids(f.payload for f in whole)
    check = LogCheck()
    for frame in log:
        check.take(frame.payload)
    check.finish()
    check_cache(made.engine)


def test_only_a_run_between_two_steps_is_set_aside() -> None:
    made = service()
    made.engine.scheduler.prefill_chunk = 4
    made.start(request())
    made.advance()
    made.control("a", "pause")
    for run in ("a", "nobody"):  # in the middle of its prompt, and none
        with pytest.raises(Refused, match="middle of a step"):
            made.set_aside(run)
    made.control("a", "resume")
    log = finish(made)
    assert log[-1].kind == "close"


def test_steps_that_cannot_be_compiled_are_said_so_in_a_last_line() -> None:
    said: SimpleQueue[tuple[str, bool]] = SimpleQueue()
    service().compile(lambda line, goes_on: said.put((line, goes_on)))
    assert said.get(timeout=60) == ("decode steps not compiled: the weights are not in 4-bit or 8-bit groups", False)


def test_on_a_gpu_steps_become_graphs() -> None:
    made, said = service(), SimpleQueue[tuple[str, bool]]()
    made.engine.runner.device = "cuda:0"
    made.compile(lambda line, goes_on: said.put((line, goes_on)))
    assert said.get(timeout=60) == ("decode steps as CUDA graphs", False)
    assert isinstance(made.engine.runner.compiled, GraphedSteps)


def test_steps_over_weights_in_bfloat16_are_not_compiled() -> None:
    said: SimpleQueue[tuple[str, bool]] = SimpleQueue()
    service(dtype=torch.bfloat16).compile(lambda line, goes_on: said.put((line, goes_on)))
    assert said.get(timeout=60) == ("decode steps not compiled: the weights are in bfloat16", False)


def test_a_run_goes_on_only_over_weights_that_are_kept_as_its_own_were() -> None:
    log = run_to_end(service(), request())
    rounded = service(dtype=torch.bfloat16)
    with pytest.raises(Refused, match="made by tiny, and tiny in bfloat16 is loaded"):
        rounded.fork(fork_of(log, 0, 33, "f" * 64))
    kept = run_to_end(rounded, request())
    with pytest.raises(Refused, match="made by tiny in bfloat16, and tiny is loaded"):
        service().fork(fork_of(kept, 0, 33, "f" * 64))
