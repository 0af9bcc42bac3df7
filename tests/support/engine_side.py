"""The web process's side of an engine, without HTTP."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvscope.app.engine.calls import Calls
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.queue import Place, Requester
from kvscope.app.engine.run_scheduler import RunScheduler
from kvscope.app.engine.supervisor import Supervisor
from kvscope.app.store.runs import RunLog
from kvscope.model.api import RunRequest
from tests.support.waiting import eventually


@dataclass(frozen=True)
class EngineSide:
    """Its parts, on a log of their own."""

    log: RunLog
    pool: Pool
    scheduler: RunScheduler

    @property
    def calls(self) -> Calls:
        """Those of its first engine, as is the next."""
        return self.pool.engines[0].calls

    @property
    def supervisor(self) -> Supervisor:
        return self.pool.engines[0].supervisor

    def start(self, run: str, prompt: str = "abc", client: str = "", address: str = "", **fields: Any) -> Place | None:
        """Start a run, of a client of its own unless one is named; where it stands in line, None where it has begun."""
        return self.scheduler.start(RunRequest(run, prompt, **fields), Requester(client or run, address or run)).waits

    def wait_for_steps(self, run: str) -> None:
        """Until some steps of the run are stored."""
        eventually(lambda: (head := self.log.head(run)) and head.steps > 3)

    def kill_engine(self) -> None:
        """kill -9 of its first engine."""
        os.kill(self.supervisor.pid or 0, signal.SIGKILL)

    def chosen(self, run: str) -> list[int]:
        """The run's tokens so far."""
        return [token for _, token in self.log.chosen(run)]

    def computes(self, run: str = "next") -> bool:
        """Whether a run can be started and ends as it should."""
        self.start(run, max_new_tokens=2)
        return closed(self.log, run) == "length"

    def close(self) -> None:
        self.scheduler.close()
        self.pool.close()
        self.log.close()


Started = Callable[..., EngineSide]


def closed(log: RunLog, run: str) -> str:
    """Why the run ended, once it has."""
    eventually(lambda: (head := log.head(run)) and head.closed)
    return log.closing(run)["reason"]
