"""One engine of a server: its process and its runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from kvscope.app.engine.calls import Calls
from kvscope.app.engine.models import ServedModel
from kvscope.app.engine.on_ray import Cluster, relay
from kvscope.app.engine.process import EngineSpec, serve
from kvscope.app.engine.storing import Storing
from kvscope.app.engine.supervisor import Supervisor
from kvscope.app.settings import Settings
from kvscope.app.store.runs import RunLog

ENGINES_FOLDER = "engine"
"""Folder in the data folder for temporary files; each engine has its own folder in it."""

State = Literal["starting", "ready", "draining", "failed"]


class Engine:
    """One engine: its process, the calls to it and its runs."""

    def __init__(
        self,
        name: str,
        model: ServedModel,
        log: RunLog,
        settings: Settings,
        report: Callable[[str], None],
        slot: int,
    ) -> None:
        self.name, self.model, self.slot, self.draining = name, model, slot, False
        self.calls = Calls(settings.call_timeout_s)
        self.storing = Storing(log, self.calls, report)
        folder = settings.data_dir / ENGINES_FOLDER / name
        is_one = settings.engines == 1 and not settings.more_models
        report_line = report if is_one else lambda line: report(f"Engine {name} ({model.name}): {line}")
        work = _work(settings, model.source, slot, folder)
        self.supervisor = Supervisor(self.calls, self.storing, settings, report_line, work, folder)
        self.starting: set[str] = set()
        """Runs that calls are giving to this engine now. A set, because several threads change it at once."""

    @property
    def state(self) -> State:
        """Whether the engine takes runs, and if not, why."""
        if self.draining:
            return "draining"
        state = self.supervisor.readiness.state
        return "ready" if state == "ready" else "failed" if state == "failed" else "starting"


def _work(settings: Settings, model: str | None, slot: int, folder: Path) -> Callable[[Any], None]:
    """Returns the function that the process of the engine in `slot` of this machine runs."""
    compiled, longest = settings.compile == "auto", settings.max_tokens
    spec = EngineSpec(settings.service, model, settings.device, settings.dtype, compiled, longest, folder=folder)
    if settings.ray:
        return partial(relay, spec=spec, cluster=Cluster(settings.ray, dict(settings.engine_resources)))
    if settings.device == "auto" and settings.engines > 1:
        spec = replace(spec, device=f"auto:{slot}")
    return partial(serve, spec=replace(spec, processors=share_of(slot, settings.engines)))


def share_of(slot: int, engines: int) -> tuple[int, ...]:
    """Returns the processors for the engine in `slot`: an equal part for each of `engines` on this machine. Slots from
    `engines` on share with the first. Empty if there is one engine, or more engines than processors.
    """
    if engines == 1 or not hasattr(os, "sched_getaffinity"):
        return ()
    processors = sorted(os.sched_getaffinity(0))
    return tuple(processors[slot % engines :: engines]) if engines <= len(processors) else ()
