"""From the answer that names it until it is deleted, a run, a study or a workload is never unknown, whatever it goes
through: in line, opening, running, paused, given way, in line again, closed, forgotten.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Event, Thread
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kvscope.app.settings import Settings
from tests.support.live_server import FAKE
from tests.support.over_http import bearer, finished, started
from tests.support.waiting import eventually

KINDS = ("run", "fork", "twin", "beam", "workload")
DOINGS = ("pause", "resume", "step", "somebody comes", "stop")
OPEN = ("running", "paused", "queued")
AFTER: dict[str, set[str]] = {
    "in line": {"in line", *OPEN, "closed", "unknown"},
    **{state: {*OPEN, "closed", "unknown"} for state in OPEN},
    "closed": {"closed", "unknown"},
    "unknown": {"unknown"},
}
"""What a reader may be told after what it was told before."""


@pytest.fixture(scope="module")
def base(app: Flask) -> str:
    """What is branched off and studied."""
    return finished(app.test_client(), max_new_tokens=6)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """One place, and each action between engine, log and scheduler takes a moment, so that readers come in between."""
    folder = tmp_path_factory.mktemp("app")
    one_place = {"max_open_runs": 1, "max_waiting_by_client": 64}
    app = started(Settings(data_dir=folder / "data", service=FAKE, recordings_dir=folder, **one_place))
    parts = app.extensions["kvscope"]
    with pytest.MonkeyPatch.context() as patch:
        for owner, names in (
            (parts.engine, ("call",)),
            (parts.runs, ("append", "own", "delete", "close_run", "made_from")),
            (parts.scheduler, ("_begin", "_evict", "_stop_evicted")),
        ):
            for name in names:
                patch.setattr(owner, name, slowly(getattr(owner, name)))
        yield app
    parts.close()


def slowly(work: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(0.002)
        try:
            return work(*arguments, **options)
        finally:
            time.sleep(0.002)

    return slow


@dataclass
class Reader:
    """Asks for a run without a pause."""

    app: Flask
    run: str
    told: list[str] = field(default_factory=list)
    other: list[tuple[str, int, str]] = field(default_factory=list)
    over: Event = field(default_factory=Event)

    def read(self) -> None:
        client = FlaskClient(self.app)  # not one that checks each answer against the contract: that would take long
        while not self.over.is_set():
            answer = client.get(f"/api/runs/{self.run}")
            self.told.append(self._state(answer))
            if self.told[-1] not in ("in line", "unknown"):
                frames = client.get(f"/api/runs/{self.run}/frames?after=9999")
                if frames.status_code not in (200, 404):
                    self.other.append(("frames", frames.status_code, frames.text))
            time.sleep(0.0005)  # or this thread would keep the interpreter from those that store the run

    def _state(self, answer: Any) -> str:
        match answer.status_code:
            case 200:
                return str(answer.json["status"])
            case 202:
                return "in line"
            case 404:
                return "unknown"
        self.other.append(("status", answer.status_code, answer.text))
        return self.told[-1]


def take_the_place(client: FlaskClient) -> str:
    """A run that has it: whoever came in the example before may still be beginning, neither in line nor open."""
    run = str(client.post("/api/runs", json={"prompt": "a b c", "max_new_tokens": 256}).json["id"])
    eventually(lambda: client.get(f"/api/runs/{run}").json["status"] == "running")
    return run


def ask_for(client: FlaskClient, kind: str, base: str) -> dict[str, Any]:
    """Something that stands in line, for another has the only place."""
    late = {"prompt": "abc", "max_new_tokens": 8, "arrives_ms": 1000}
    path, body = {
        "run": ("/api/runs", {"prompt": "abc", "max_new_tokens": 256}),
        "fork": (f"/api/runs/{base}/fork", {"position": 5, "token": 7}),
        "twin": (f"/api/runs/{base}/twin", {"cache": "none"}),
        "beam": (f"/api/runs/{base}/beam", {"step": 1, "beams": 2, "length": 32}),
        "workload": ("/api/workloads", {"requests": [late], "rounds": [{}]}),
    }[kind]
    answer = client.post(path, json=body)
    assert answer.status_code == 202, answer.text
    return answer.json


def do(client: FlaskClient, doing: str, run: str) -> None:
    if doing == "somebody comes":
        assert client.post("/api/runs", json={"prompt": "z", "max_new_tokens": 2}).status_code in (201, 202)
    else:
        client.post(f"/api/runs/{run}/control", json={"action": doing})


@settings(max_examples=4, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(KINDS), st.lists(st.sampled_from(DOINGS), max_size=5))
@example("run", ["pause", "somebody comes", "resume", "stop"])
@example("run", ["pause", "somebody comes", "step", "stop"])
@example("run", ["somebody comes", "pause"])
@example("fork", ["pause", "somebody comes"])
@example("twin", ["pause", "resume"])
@example("beam", ["stop"])
@example("workload", ["somebody comes", "stop"])
def test_a_reader_has_an_answer_at_every_instant(app: Flask, base: str, kind: str, doings: list[str]) -> None:
    client, parts = app.test_client(), app.extensions["kvscope"]
    blocker = take_the_place(client)
    asked = ask_for(client, kind, base)
    reader = Reader(app, asked["id"])
    thread = Thread(target=reader.read)
    thread.start()
    try:
        eventually(lambda: reader.told)
        client.post(f"/api/runs/{blocker}/control", json={"action": "stop"})
        eventually(lambda: reader.told[-1] != "in line")
        for doing in doings:
            do(client, doing, asked["id"])
        assert "unknown" not in reader.told
        deleted = client.delete(f"/api/runs/{asked['id']}", headers=bearer(asked["delete_token"]))
        assert deleted.status_code == 204
        eventually(lambda: reader.told[-1] == "unknown")
    finally:
        reader.over.set()
        thread.join()
    eventually(lambda: not parts.scheduler.waiting and not parts.runs.open_runs())
    assert reader.other == []
    assert all(later in AFTER[earlier] for earlier, later in pairwise(reader.told))
