"""The real model behind a gate: it loads once the file named as the model is there."""

import time
from collections.abc import Callable
from pathlib import Path

from kvscope.model import service
from kvscope.model.api import Progress, Service, WeightDtype


def load_service(
    model: str | None,
    device: str,
    dtype: WeightDtype,
    progress: Callable[[Progress], None],
    compiled: bool = False,
    max_tokens: int = 0,
) -> Service:
    """Like kvscope.model.service.load_service, of the default model."""
    progress(Progress("loading", 1, 4, "Waiting at the gate"))
    while not Path(model).exists():
        time.sleep(0.05)
    return service.load_service(None, device, dtype, progress, compiled, max_tokens)
