"""A real server with the fake model."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import requests

from kvscope.model.log import frames as codec
from kvscope.model.log.frames import header
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]


FAKE = "tests.support.fake_service:load_service"


class LiveServer:
    """`python -m app` in a process group of its own, so that nothing of it can be left."""

    def __init__(
        self,
        data: Path,
        model: str | None,
        port: int = 0,
        service: str = FAKE,
        preexec: Callable[[], None] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.data = data
        command = [*options, "--port", str(port), "--data", str(data), "--service", service]
        command += ["--model", model] if model is not None else []
        self._errors = (data.parent / "stderr").open("a+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kvscope", *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
            preexec_fn=preexec,  # limits of the child alone
        )
        self.url = self.process.stdout.readline().strip()

    @property
    def errors(self) -> str:
        """What the server wrote to standard error so far."""
        return Path(self._errors.name).read_text("utf-8")

    @property
    def port(self) -> int:
        return int(self.url.rstrip("/").rpartition(":")[2])

    def get(self, path: str) -> requests.Response:
        return requests.get(self.url + path, timeout=30)

    def post(self, path: str, body: dict[str, Any]) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=30)

    def start_run(self, **fields: Any) -> str:
        """Start a run once the model is ready; its id."""
        eventually(lambda: self.get("readyz").ok, 120)
        response = self.post("api/runs", {"prompt": "abc", **fields})
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    def engines_ready(self) -> int:
        """How many engines take runs."""
        engines = self.get("api/engines").json()["engines"]
        return sum(engine["state"] == "ready" and not engine["draining"] for engine in engines)

    def frames(self, run: str, after: int = -1) -> list[bytes]:
        """What is stored now."""
        return list(codec.from_stream(self.get(f"api/runs/{run}/frames?after={after}").content))

    def finished(self, run: str) -> list[bytes]:
        """All frames, once the run is closed."""
        eventually(lambda: self.get(f"api/runs/{run}").json()["status"] == "closed", 120)
        return self.frames(run)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the serving process a signal and wait for its end."""
        self.process.send_signal(number)
        self.process.wait(15)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill(signal.SIGTERM)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.stdout.close()
        self._errors.close()


Serve = Callable[..., LiveServer]
"""Starts servers, all on the same data folder."""


@contextmanager
def live(folder: Path, model: str | None = "delay=0.01", **options: Any) -> Iterator[LiveServer]:
    """A server that is ready for runs, ended afterwards."""
    server = LiveServer(folder / "data", model, **options)
    try:
        eventually(lambda: server.get("readyz").ok, 120)
        yield server
    finally:
        server.close()


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def engine_of(server: LiveServer) -> psutil.Process:
    """The engine process: the spawned child that is not multiprocessing's resource tracker."""

    def find() -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):  # one of them has just ended
            return [
                child
                for child in psutil.Process(server.process.pid).children(recursive=True)
                if "spawn_main" in " ".join(child.cmdline())
            ]
        return []

    found: list[psutil.Process] = eventually(find)
    return found[0]


def check_interrupted(frames: list[bytes], seen: list[bytes]) -> None:
    """The log keeps everything that was seen and ends with a `close` that says so."""
    assert frames[: len(seen)] == seen
    last = header(frames[-1])
    assert (last.kind, last.data["reason"]) == ("close", "interrupted")
    assert last.data["steps"] == sum(header(frame).kind == "step" for frame in frames)
    assert [header(frame).seq for frame in frames] == list(range(len(frames)))


def closed_log(data: Path, run: str) -> list[bytes]:
    """What an ended server left of a run, read without its help: no run is open."""
    with closing(sqlite3.connect(data / "runs.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM runs WHERE NOT closed").fetchone() == (0,)
        frames = database.execute("SELECT payload FROM frames WHERE run = ? ORDER BY seq", (run,))
        return [payload for (payload,) in frames]
