"""A run is the same wherever it is opened: assembled live, from its link, embedded, from the exported page, and from
either file once it is imported elsewhere.

For a few runs of the real engine with a tiny random model, of made-up prompts and settings, what is compared is what
the page itself has assembled in its store at the end of each path, read out of the page that is open: every member of
every frame but the run's id, every attention weight, every length of Q, K, V and residual rows, every logit that was
sent, bit by bit. The page that is compared with has started the run itself and got its frames as they were made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from tests.support.pages import NewPage
from tests.support.runs import Shared, imported, share
from tests.support.server import Server
from tests.support.waiting import until

RUNS = 6
PAGE_STATE = (Path(__file__).parent / "page-state.js").read_text("utf-8")

requested = st.fixed_dictionaries(
    {
        # A prompt is a line of the page's text box: what a box makes of line ends is no matter here.
        "prompt": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1, max_size=12),
        "chat": st.booleans(),
        "max_new_tokens": st.integers(1, 24),
        "strategy": st.sampled_from(["greedy", "sample"]),
        "temperature": st.sampled_from([0.1, 0.7, 1, 2.5]),
        "top_k": st.sampled_from([0, 1, 7, 1000]),
        "top_p": st.sampled_from([0.05, 0.9, 1]),
        "seed": st.integers(0, 2**31 - 1),
    }
)


@dataclass(frozen=True, slots=True)
class Servers:
    """`origin` makes the runs and shares them; `foreign` has never heard of them."""

    origin: Server
    foreign: Server


@pytest.fixture
def servers(tiny: Server, _server: Server) -> Servers:
    return Servers(tiny, _server)


def deleted(server: Server, session: Shared) -> None:
    headers = {"Authorization": f"Bearer {session.delete_token}"}
    response = requests.delete(f"{server.url}api/sessions/{session.id}", headers=headers, timeout=60)
    assert response.status_code == 204, response.text


def assembled(page: Page, before: str | None = None) -> dict[str, Any]:
    """What the page has of the run it shows, once it has all of a run other than `before`."""
    state: dict[str, Any] = until(page, f"(before) => {PAGE_STATE}.assembled(before)", before)
    return state


def same(path: str, state: dict[str, Any], live: dict[str, Any]) -> None:
    """Two states differ in nothing but the run's id; otherwise fails with the first part that does."""
    assert set(state) == set(live)
    for part in set(live) - {"run"}:
        assert state[part] == live[part], f"{path}: {part}"


def compare_paths(page: Page, servers: Servers, live: dict[str, Any], title: str, folder: Path) -> None:
    """Share the run of the state `live` and open it in every other way."""
    origin, foreign = servers.origin, servers.foreign

    def opened(path: str, address: str) -> None:
        page.goto(address)
        same(path, assembled(page), live)
        page.goto("about:blank")  # what it shows is about to be deleted

    session = share(origin, live["run"], title=title).id
    opened("link", f"{origin.url}s/{session}")
    opened("embed", f"{origin.url}embed/{session}")
    for kind in ("html", "safetensors"):
        file = requests.get(f"{origin.url}api/sessions/{session}.{kind}", timeout=60).content
        if kind == "html":
            saved = folder / "run.html"
            saved.write_bytes(file)
            opened("file", saved.as_uri())
        again = imported(foreign, file)
        assert again.id == session
        opened(f"import of {kind}", f"{foreign.url}s/{again.id}")
        deleted(foreign, again)


@pytest.mark.timeout(900)
def test_random_runs_are_the_same_on_every_path(servers: Servers, new_page: NewPage, tmp_path: Path) -> None:
    started, elsewhere = new_page(), new_page()
    pushed: list[Any] = []
    started.on("websocket", lambda socket: socket.on("framereceived", lambda frame: pushed.append(frame)))
    started.goto(servers.origin.url)
    runs: list[str] = [assembled(started)["run"]]
    as_made: list[bool] = []

    @settings(max_examples=RUNS, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(request=requested)
    def compare(request: dict[str, Any]) -> None:
        sent = len(pushed)
        started.evaluate(f"(request) => {PAGE_STATE}.start(request)", request)
        live = assembled(started, runs[-1])
        runs.append(live["run"])
        as_made.append(len(pushed) > sent)
        assert (live["open"]["prompt"], live["open"]["chat"]) == (request["prompt"], request["chat"])
        compare_paths(elsewhere, servers, live, json.dumps(request)[:200], tmp_path)

    compare()
    assert len(set(runs)) == RUNS + 1
    assert sum(as_made) > RUNS / 2  # a run of very few tokens may be over before its page has asked for it
