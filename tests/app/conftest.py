"""An application with the fake model, in this process or as a real server."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from tests.support.live_server import FAKE, LiveServer, Serve
from tests.support.over_http import NewClient, serving, started
from tests.support.postgres import cluster, database, postgresql
from tests.support.waiting import eventually

__all__ = ["cluster", "database", "postgresql"]


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    """Whatever a test starts, it ends: no thread of ours outlives it."""
    before = set(threading.enumerate())
    yield
    ours = ("watch-", "supervisor", "expiry", "budget", "scheduler", "hold")
    eventually(lambda: not [t for t in set(threading.enumerate()) - before if t.name.startswith(ours)], 15)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", service=FAKE, recordings_dir=tmp_path / "recordings", max_open_runs=4)


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


@pytest.fixture
def new_client(make_app: Callable[..., Flask], settings: Settings) -> NewClient:
    return lambda ready=True, **changes: make_app(replace(settings, **changes), ready=ready).test_client()


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """One application for all tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("app")
    with serving(Settings(data_dir=folder / "data", service=FAKE, recordings_dir=folder)) as app:
        yield app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts real servers, all on the same data folder."""
    servers: list[LiveServer] = []

    def start(model: str | None = "delay=0.01", port: int = 0, **options: Any) -> LiveServer:
        servers.append(LiveServer(tmp_path / "data", model, port, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
        assert "Traceback" not in server.errors
