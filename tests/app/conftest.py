"""An application with the fake model, in this process or as a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app import create_app
from kvscope.app.settings import Settings
from kvscope.model.log import frames as codec
from tests.app.http.contract import ContractClient
from tests.support.postgres import cluster, database, postgresql
from tests.support.waiting import eventually

__all__ = ["cluster", "database", "postgresql"]
ROOT = Path(__file__).resolve().parents[2]
FAKE = "tests.support.fake_service:load_service"


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    """Whatever a test starts, it ends: no thread of ours outlives it."""
    before = set(threading.enumerate())
    yield
    ours = ("watch-", "supervisor", "expiry")
    eventually(lambda: not [t for t in set(threading.enumerate()) - before if t.name.startswith(ours)], 15)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", service=FAKE, recordings_dir=tmp_path / "recordings", max_open_runs=4)


def started(settings: Settings, ready: bool = True) -> Flask:
    """An application with its engine started and, if asked for, loaded."""
    app = create_app(settings)
    app.test_client_class = ContractClient
    app.extensions["kvscope"].start()
    if ready:
        eventually(lambda: app.extensions["kvscope"].engine.readiness.state == "ready")
    return app


@pytest.fixture
def make_app() -> Iterator[Callable[..., Flask]]:
    """Makes started applications and closes them."""
    made: list[Flask] = []

    def make(settings: Settings, *, ready: bool = True) -> Flask:
        made.append(started(settings, ready))
        return made[-1]

    yield make
    for app in made:
        app.extensions["kvscope"].close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """One application for the tests of a module that leave it as it was."""
    folder = tmp_path_factory.mktemp("app")
    app = started(Settings(data_dir=folder / "data", service=FAKE, recordings_dir=folder))
    yield app
    app.extensions["kvscope"].close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


class LiveServer:
    """`python -m app` in a process group of its own, so that nothing of it can be left."""

    def __init__(
        self,
        data: Path,
        model: str | None,
        port: int = 0,
        service: str = FAKE,
        preexec: Callable[[], None] | None = None,
    ) -> None:
        options = ["--port", str(port), "--data", str(data), "--service", service]
        options += ["--model", model] if model is not None else []
        self._errors = (data.parent / "stderr").open("a+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kvscope", *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
            preexec_fn=preexec,  # limits of the child alone
        )
        assert self.process.stdout is not None
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
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., LiveServer]]:
    """Starts real servers, all on the same data folder."""
    servers: list[LiveServer] = []

    def start(model: str | None = "delay=0.01", port: int = 0, **options: Any) -> LiveServer:
        servers.append(LiveServer(tmp_path / "data", model, port, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
        assert "Traceback" not in server.errors
