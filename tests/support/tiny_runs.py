"""Runs of a tiny model, from their request to their end."""

from __future__ import annotations

from typing import Any

from kvscope.model.api import (
    Frame,
    RunRequest,
)
from kvscope.model.service import ModelService
from tests.support.tiny import tiny_checkpoint

TEXT = "The cat sat."


def service(**options: Any) -> ModelService:
    return ModelService(tiny_checkpoint(**options), "cpu")


def request(run: str = "a", prompt: str = TEXT, **options: Any) -> RunRequest:
    return RunRequest(run, prompt, **{"max_new_tokens": 6, **options})


def finish(made: ModelService) -> list[Frame]:
    found: list[Frame] = []
    while made.busy:
        found += made.advance()
    return found


def run_to_end(made: ModelService, asked: RunRequest) -> list[Frame]:
    return made.start(asked) + finish(made)
