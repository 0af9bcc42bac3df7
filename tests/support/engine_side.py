"""The web process's side of an engine, without HTTP."""

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

    def close(self) -> None:
        self.scheduler.close()
        self.pool.close()
        self.log.close()


Started = Callable[..., EngineSide]


def closed(log: RunLog, run: str) -> str:
    """Why the run ended, once it has."""
    eventually(lambda: (head := log.head(run)) and head.closed)
    closing = log.closing(run)
    assert closing is not None
    return str(closing["reason"])
