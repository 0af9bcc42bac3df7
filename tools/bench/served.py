"""A server to measure: which model it has, and what its processes use."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import requests

from kvscope.app.settings import DEFAULT_SERVICE
from kvscope.model.log.frames import header
from tests.support.live_server import ROOT, LiveServer, engine_of
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

LOADING_S, RUN_S = 600.0, 300.0
MODELS: dict[str, tuple[str, str | None]] = {
    "real": (DEFAULT_SERVICE, None),
    "tiny": ("tests.support.tiny_service:load_service", "endless"),
}
"""By name: what loads the model, and the value of `--model`. The tiny one waits 30 ms before each step."""
UNLIMITED = ("--proxy", "127.0.0.1", "--max-disk", "0", "--runs-per-minute", "0", "--bytes-per-minute", "0")
TEXT = re.sub(r"[^\w\s.,:]", "", (ROOT / "docs" / "operating.md").read_text("utf-8"))
SAMPLE = 500
"""Characters of `TEXT` from which the length of a token is estimated."""


@dataclass(frozen=True, slots=True)
class Person:
    """A client on another machine, alone at its address, as a trusted proxy names it."""

    number: int

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each of its requests."""
        address = f"198.51.{self.number // 250}.{1 + self.number % 250}"
        return {"X-Forwarded-For": address, "X-KVScope-Client": f"client-of-the-bench-{self.number:06}"}


class Arrivals(Viewer):
    """A viewer that stores the time, kind and size of each frame that comes."""

    def __init__(self, url: str) -> None:
        self.came: list[tuple[float, str, int]] = []
        super().__init__(url)

    def take(self, payload: bytes) -> None:
        """Stores it."""
        self.came.append((time.perf_counter(), header(payload).kind, len(payload)))
        super().take(payload)

    def steps(self) -> list[float]:
        """Returns the times when steps came."""
        return [at for at, kind, _ in self.came if kind == "step"]


class Served:
    """A running server, and its processes."""

    def __init__(self, server: LiveServer) -> None:
        self.url, self.server = server.url, server
        web = engine_of(server).parent()
        assert web is not None
        self._web: psutil.Process = web
        self._chars_each: float | None = None

    def web_s(self) -> float:
        """Returns the processor time that the web process has used so far."""
        times = self._web.cpu_times()
        return float(times.user + times.system)

    def start(self, person: Person, prompt: str, tokens: int) -> str:
        """Starts a run; returns its id."""
        return str(self.ask(person, prompt, tokens).json()["id"])

    def ask(self, person: Person, prompt: str, tokens: int) -> requests.Response:
        """Requests a run, which starts or is queued."""
        body = {"prompt": prompt, "max_new_tokens": tokens, "reuse": False}
        response = requests.post(f"{self.url}api/runs", json=body, headers=person.headers, timeout=RUN_S)
        response.raise_for_status()
        return response

    def status(self, run: str, person: Person = Person(0)) -> dict[str, Any]:
        """Returns the status of a run, or its place in the queue."""
        response = requests.get(f"{self.url}api/runs/{run}", headers=person.headers, timeout=60)
        response.raise_for_status()
        return dict(response.json())

    def wait_for_end(self, run: str, every_s: float = 0.25) -> None:
        """Waits until a run is closed."""
        eventually(lambda: self.status(run)["status"] == "closed", RUN_S, every_s)

    def prompt_of(self, tokens: int) -> str:
        """Returns a text of about that many tokens. It is prose, since the text decides how well attention weights
        compress.
        """
        if self._chars_each is None:
            run = self.start(Person(0), TEXT[:SAMPLE], 1)
            self.wait_for_end(run)
            self._chars_each = SAMPLE / int(self.status(run)["prompt_tokens"])
        return TEXT[: max(1, round(tokens * self._chars_each))]


@contextmanager
def serving(model: str, folder: Path, options: Sequence[str] = ()) -> Iterator[Served]:
    """Yields a server with that model, ready and warm."""
    service, name = MODELS[model]
    folder.mkdir(parents=True)
    server = LiveServer(folder / "data", name, service=service, options=(*UNLIMITED, *options))
    try:
        eventually(lambda: server.get("readyz").ok, LOADING_S, 0.2)
        server.finished(server.start_run(max_new_tokens=8))
        yield Served(server)
    finally:
        server.close()


def timed(act: Callable[[], object]) -> float:
    """Returns the seconds that a call takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
