"""The real engine with a tiny random model, slow enough that a page sees its steps arrive one after another."""

import time
from collections.abc import Callable

import torch

from kvscope.model.api import Frame, Progress, Service, WeightDtype
from kvscope.model.service import ModelService
from tests.support.tiny import tiny_checkpoint

STEP_S = 0.03


class SlowService(ModelService):
    """A step takes at least STEP_S."""

    def advance(self) -> list[Frame]:
        time.sleep(STEP_S)
        return super().advance()


def load_service(
    model: str | None,
    device: str,
    dtype: WeightDtype,
    progress: Callable[[Progress], None],
    compiled: bool = False,
    max_tokens: int = 0,
) -> Service:
    """Like model.service.load_service. Every byte of a text is a token.

    Some runs end by a token of their own, but none of the model `endless`.
    """
    service = SlowService(
        tiny_checkpoint(eos=() if model == "endless" else (0, 17, 45, 70), dtype=getattr(torch, dtype)),
        "cpu",
        max_tokens=max_tokens,
    )
    progress(Progress("ready", 1, 1, "tiny is ready"))
    return service
