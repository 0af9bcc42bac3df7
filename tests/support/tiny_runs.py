"""Runs of a tiny model, from their request to their end."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tokenizers
from tokenizers import models

from kvscope.model.api import Caching, ForkRequest, Frame, RunRequest, TwinRequest, WorkloadRequest
from kvscope.model.checkpoint import Tokenizer
from kvscope.model.checkpoint.tokenizer import Extras
from kvscope.model.log import frames
from kvscope.model.service import ModelService
from kvscope.model.settings import Ask, ServingSettings, Workload
from tests.support.tiny import tiny_checkpoint

TEXT = "The cat sat."


def service(**options: Any) -> ModelService:
    return ModelService(tiny_checkpoint(**options), "cpu")


def request(run: str = "a", prompt: str = TEXT, **options: Any) -> RunRequest:
    return RunRequest(run, prompt, **{"max_new_tokens": 6, **options})


def workload_request(run: str, system: str, asks: Sequence[Ask], rounds: Sequence[ServingSettings]) -> WorkloadRequest:
    return WorkloadRequest(run, Workload(system=system, requests=list(asks), rounds=list(rounds)))


def finish(made: ModelService) -> list[Frame]:
    found: list[Frame] = []
    while made.busy:
        found += made.advance()
    return found


def run_to_end(made: ModelService, asked: RunRequest) -> list[Frame]:
    return made.start(asked) + finish(made)


def kinds(log: list[Frame]) -> str:
    """A log's kinds by their first letters."""
    return "".join(frame.kind[0] for frame in log)


def datas(log: list[Frame], kind: str) -> list[dict[str, Any]]:
    return [frames.header(frame.payload).data for frame in log if frame.kind == kind]


def chosen(log: list[Frame]) -> list[int]:
    return [data["token"]["id"] for data in datas(log, "step")]


def payloads(log: list[Frame], kinds: Sequence[str] | None = None) -> list[bytes]:
    """Of all frames, or of those of some kinds."""
    return [frame.payload for frame in log if kinds is None or frame.kind in kinds]


def what_twins_need(log: list[Frame]) -> tuple[bytes, ...]:
    """The `open` and `step` frames, which a web process sends for a twin of a run or to take it up again."""
    return tuple(payloads(log, ("open", "step")))


def upto_step(log: list[Frame], step: int) -> tuple[bytes, ...]:
    end = next(at for at, frame in enumerate(log) if frame.kind == "step" and frame.step == step)
    return tuple(payloads(log[: end + 1]))


def fork_of(log: list[Frame], step: int, token: int, run: str = "fork") -> ForkRequest:
    """As the web process makes it: the log up to the step that chose the token replaced."""
    position = len(datas(log, "open")[0]["tokens"]) + step
    return ForkRequest(run, log[0].run, position, token, upto_step(log, step))


def twin_of(log: list[Frame], caching: Caching, run: str = "twin") -> TwinRequest:
    return TwinRequest(run, log[0].run, caching, what_twins_need(log))


def encoded(text: str = TEXT) -> list[int]:
    return tiny_checkpoint().tokenizer.encode(text)


def wordy_service() -> ModelService:
    """Its one word takes much room in a log: 500 backslashes. What is no word counts as text and not as a token."""
    inner = tokenizers.Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    inner.add_tokens(["\\" * 500])
    tokenizer = Tokenizer(inner, Extras({}, None, ()), str.encode)
    return ModelService(replace(tiny_checkpoint(), tokenizer=tokenizer), "cpu")
