from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from kvscope.model.api import ReadmitRequest, RunRequest
from kvscope.model.log import frames
from kvscope.model.service import ModelService, limits
from kvscope.model.service import service as service_module
from kvscope.model.settings import MAX_PROMPT_CHARS, Ask, Sampling, ServingSettings
from tests.support.changed_logs import checked
from tests.support.loaded import loaded
from tests.support.refused import refusal, refused
from tests.support.tiny import ARCHS, check_cache, greedy, random_weights, shared_model
from tests.support.tiny_files import write_folder, write_tokenizer
from tests.support.tiny_runs import (
    TEXT,
    chosen,
    datas,
    encoded,
    finish,
    kinds,
    payloads,
    request,
    run_to_end,
    service,
    what_twins_need,
    wordy_service,
    workload_request,
)


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

    def test_a_chat_prompt_is_wrapped_in_the_models_template(self) -> None:
        made = service()
        data = datas(made.start(request(chat=True)), "open")[0]
        assert data["prompt"] == TEXT
        shown = "".join(token["text"] for token in data["tokens"])
        assert shown == f"<|im_start|>user\n{TEXT}<|im_end|>\n<|im_start|>"
        assert data["tokens"][0]["special"]

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
        held = made.info["weights"]["held"]
        assert made.info == usual.info | told | {"weights": made.info["weights"]}
        assert held["bfloat16"] == 2 * matrices
        assert sum(held.values()) == made.info["weight_bytes"]
        assert made.engine.cache.pool.dtype == torch.float32
        assert made.max_positions == usual.max_positions
        stored = {weight.data_ptr(): weight.nbytes for weight in made.engine.transformer.parameters()}
        assert sum(stored.values()) == made.info["weight_bytes"]  # nothing is held twice


ROOM = 512 - len(encoded())
"""Most new tokens after the usual prompt: the model's context is 512."""


class TestRefusals:
    @pytest.mark.parametrize(
        ("asked", "field", "limit", "status"),
        [
            (request(prompt=""), "prompt", None, 422),
            (request(prompt="x" * (MAX_PROMPT_CHARS + 1)), "prompt", MAX_PROMPT_CHARS, 413),
            (request(prompt="x" * 512), "prompt", 511, 413),
            (request(prompt="x" * 511, max_new_tokens=2), "max_new_tokens", 1, 422),
            (request(max_new_tokens=0), "max_new_tokens", ROOM, 422),
            (request(max_new_tokens=ROOM + 1), "max_new_tokens", ROOM, 422),
        ],
    )
    def test_what_is_out_of_range_is_named_with_its_limit(
        self, asked: RunRequest, field: str, limit: int | None, status: int
    ) -> None:
        made = service()
        error = refusal(made.start, asked)
        assert (error.field, error.limit, error.status) == (field, limit, status)
        assert str(error).endswith(".")
        assert not made.busy
        assert chosen(run_to_end(made, request())) == greedy(shared_model(), encoded(), 6)

    def test_the_longest_prompt_and_answer_are_taken(self) -> None:
        made = service()
        made.start(request("long", "x" * 511, max_new_tokens=1))
        made.start(request("many", max_new_tokens=ROOM))
        log = finish(made)
        assert {data["reason"] for data in datas(log, "close")} == {"length"}

    def test_a_prompt_whose_log_would_not_fit_a_frame_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "LARGEST_OPENING", 65_024)
        made = wordy_service()
        error = refusal(made.start, request(prompt="\\" * 8000))
        assert (error.field, error.status, "limit is 65,024" in str(error)) == ("prompt", 413, True)
        assert not made.engine.scheduler.runs
        assert len(made.start(request(prompt="\\" * 2000))) == 1

    def test_a_full_cache_refuses_for_now_and_harms_nobody(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service_module, "CAPACITY_POSITIONS", 96)
        made = service()
        assert made.max_positions == 48
        log = made.start(request("a", max_new_tokens=30))
        for _ in range(2):
            assert refused(made.start, request("b", max_new_tokens=20)) == ("run", 429)
        log += finish(made)
        assert chosen(log) == greedy(shared_model(), encoded(), 30)
        assert chosen(run_to_end(made, request("b", max_new_tokens=20))) == chosen(log)[:20]


class TestControl:
    def test_pause_step_and_resume(self) -> None:
        made = service()
        log = made.start(request()) + made.advance()
        assert made.control("a", "pause") == "paused"
        assert not made.busy
        assert [made.control("a", "step"), made.control("a", "step")] == ["paused", "paused"]
        log += finish(made)
        assert len(datas(log, "step")) == 3
        assert made.control("a", "resume") == "running"
        log += finish(made)
        assert kinds(log) == "o" + "ls" * 6 + "c"
        assert chosen(log) == greedy(shared_model(), encoded(), 6)

    def test_stop_closes_the_log_with_the_next_frames(self) -> None:
        made = service()
        log = made.start(request()) + made.start(request("b")) + made.advance()
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
            assert refused(made.control, run, action) == ("run", 409)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_run_that_was_set_aside_goes_on_as_if_nothing_had_been(steps: int) -> None:
    sampling = Sampling(strategy="sample", temperature=1.5, top_k=40, top_p=0.9, seed=3)
    whole = run_to_end(service(), request(sampling=sampling))
    made = service()
    log = made.start(request(sampling=sampling))
    for _ in range(steps):
        log += made.advance()
    assert "is running" in str(refusal(made.evict_run, "a"))
    made.control("a", "pause")
    made.evict_run("a")
    assert not made.busy
    assert "has ended" in str(refusal(made.control, "a", "resume"))
    run_to_end(made, request("other", prompt="Something else, in between.", max_new_tokens=3))
    made.readmit(ReadmitRequest("a", len(log), what_twins_need(log)))
    assert made.control("a", "resume") == "running"
    log += finish(made)
    assert frames.token_ids(f.payload for f in log) == frames.token_ids(f.payload for f in whole)
    checked(payloads(log))
    check_cache(made.engine)


def test_only_a_run_between_two_steps_is_set_aside() -> None:
    made = service()
    made.engine.scheduler.prefill_chunk = 4
    made.start(request())
    made.advance()
    made.control("a", "pause")
    for run in ("a", "nobody"):  # in the middle of its prompt, and none
        assert "middle of a step" in str(refusal(made.evict_run, run))
    made.control("a", "resume")
    assert finish(made)[-1].kind == "close"


class TestTokensWithoutARow:
    """A tokenizer may have more tokens than the model's embedding has rows."""

    @pytest.fixture
    def service(self, tmp_path: Path) -> ModelService:
        write_folder(tmp_path, "llama")
        write_tokenizer(tmp_path, ["<extra>"])
        return ModelService(loaded(tmp_path), "cpu")

    def test_such_a_token_is_refused_wherever_text_becomes_ids(self, service: ModelService) -> None:
        workload = workload_request(
            "w", "", (Ask(prompt="a", max_new_tokens=4), Ask(prompt="b<extra>", max_new_tokens=4)), (ServingSettings(),)
        )
        asks: list[tuple[Callable[[], object], str]] = [
            (lambda: service.start(RunRequest("r", "a<extra>b")), "prompt"),
            (lambda: service.start(RunRequest("r", "a<extra>b", chat=True)), "prompt"),
            (lambda: service.tokens("a<extra>b", False), "prompt"),
            (lambda: service.candidates([3, 4], "<extra>"), "text"),
            (lambda: service.workload(workload), "requests[1].prompt"),
        ]
        for ask, field in asks:
            error = refusal(ask)
            assert error.field == field
            assert re.search("'<extra>'.*embedding table has 263 rows", str(error))
        assert not service.busy
