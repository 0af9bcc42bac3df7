"""Real web processes that share a PostgreSQL, each with the fake model and a data folder of its own."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import requests

from tests.support.live_server import FAKE, LiveServer
from tests.support.waiting import eventually

MODEL = "delay=0.01,bytes=20000"


class WebProcesses:
    """Those that were started, by name, in the order of their start; the first one leads first."""

    def __init__(self, folder: Path, database: str, options: Sequence[str] = (), model: str = MODEL) -> None:
        self._folder, self._model = folder, model
        self._options = ["--database", database, "--cluster", *options]
        self.servers: dict[str, LiveServer] = {}

    def start(self, name: str) -> LiveServer:
        """Start one, or start it again on the port that it had."""
        former = self.servers.get(name)
        port = former.port if former is not None else 0
        if former is not None:
            former.close()
        (self._folder / name).mkdir(exist_ok=True)
        self.servers[name] = LiveServer(
            self._folder / name / "data", self._model, port, service=FAKE, options=self._options
        )
        assert self.servers[name].url, self.servers[name].errors
        return self.servers[name]

    def start_two(self) -> tuple[LiveServer, LiveServer]:
        """One that leads and one that follows, both ready."""
        first = self.start("a")
        eventually(lambda: first.get("readyz").ok, 60)
        second = self.start("b")
        eventually(lambda: second.get("readyz").ok, 60)
        return first, second

    def close(self) -> None:
        for server in self.servers.values():
            with suppress(ProcessLookupError):
                os.killpg(server.process.pid, signal.SIGCONT)
            server.close()

    @property
    def errors(self) -> str:
        return "".join(server.errors for server in self.servers.values())


@contextmanager
def web_processes(folder: Path, database: str, *options: str, model: str = MODEL) -> Iterator[WebProcesses]:
    """None yet; all are ended afterwards, and none may have failed in a way that it did not expect."""
    processes = WebProcesses(folder, database, options, model)
    try:
        yield processes
    finally:
        processes.close()
    assert "Traceback" not in processes.errors, processes.errors


def worker_of(server: LiveServer) -> psutil.Process:
    """The process that answers requests; the engine, where there is one, is a child of it."""
    return eventually(lambda: next(iter(psutil.Process(server.process.pid).children()), None))


def kill(server: LiveServer) -> None:
    """kill -9 of the server and whatever it started, as a machine that loses its power."""
    with suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait(15)


def stop(process: psutil.Process) -> list[psutil.Process]:
    """Suspend a process and what it started; them."""
    stopped = [process, *process.children(recursive=True)]
    for each in stopped:
        each.suspend()
    return stopped


def is_ready(server: LiveServer) -> bool:
    """Whether a run can be started there, also while the server is being started."""
    with suppress(requests.RequestException):
        return server.get("readyz").ok
    return False
