"""Attacks on a room by strangers with scripts. Its presenter and a follower elsewhere must notice nothing."""

from __future__ import annotations

import random
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import requests
import socketio.exceptions

from kvscope.app.store.rooms import ALPHABET, CODE_CHARS
from tests.support.live_server import LiveServer
from tests.support.room import Follower, Presenter
from tests.support.viewer import Viewer
from tests.support.waiting import eventually
from tools.faults.strangers import OTHER, STRANGER, Result, said_by, together

MANY, FORGED = 10_000, 500
LATEST_S = 1.0
MEGABYTES = 5_000_000
CHOICE = {"text": "Which is larger?", "kind": "choice", "choices": ["K", "V"]}
HOSTILE = ("<img src=x onerror=alert(1)>", "\u202eevil", "a\x00b", "", "x" * 100_000, 7, None, ["K"], {"K": 1})


@contextmanager
def beside_a_room(server: LiveServer, presenter: Presenter) -> Iterator[list[float]]:
    """Shows places inside the context, one after the other; the list gets the seconds until the follower has each."""
    follower = Follower(server, presenter.code, said_by(OTHER))
    delays: list[float] = []

    def show(over: Any) -> None:
        while not over.is_set():
            address, began = f"/memory#{len(delays)}", time.monotonic()
            presenter.show(server, address)
            with suppress(AssertionError):
                follower.wait_for_address(address)
            delays.append(time.monotonic() - began)
            over.wait(0.1)

    with together([show]):
        yield delays
    follower.leave()


def result(words: str, delays: list[float], held: bool) -> Result:
    """Returns the outcome, with what the follower noticed."""
    worst = max(delays)
    return Result(f"{words}; the follower after {worst:.2f} s at most", held and worst <= LATEST_S)


def a_code() -> str:
    """Returns a random code."""
    return "".join(random.choices(ALPHABET, k=CODE_CHARS))


def codes(server: LiveServer) -> Result:
    """Guesses codes, by socket and over HTTP, under invented names."""
    statuses: Counter[int] = Counter()
    presenter = Presenter(server)
    stranger = Viewer(server.url, headers=said_by(STRANGER))

    def answer(_: int) -> None:
        headers = said_by(STRANGER, secrets.token_hex(16))
        body = {"question": 1, "answer": "K", "voter": "0" * 32}
        address = f"{server.url}api/rooms/{a_code()}/answer"
        statuses[requests.put(address, json=body, headers=headers, timeout=60).status_code] += 1

    with beside_a_room(server, presenter) as delays:
        for _ in range(MANY // 2):
            said = stranger.call("follow", {"room": a_code(), "client": secrets.token_hex(16)})
            statuses[said["error"]["status"] if "error" in said else 200] += 1
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(answer, range(MANY // 2)))
    stranger.leave()
    return result(f"{dict(sorted(statuses.items()))}", delays, statuses.keys() <= {404, 429})


def presenters(server: LiveServer) -> Result:
    """Changes a room without its secret, with another room's, and with invented ones."""
    presenter, other = Presenter(server), Presenter(server)
    statuses: Counter[int] = Counter()
    forged = ["", presenter.code, other.room["secret"], *(secrets.token_urlsafe(24) for _ in range(FORGED - 3))]
    calls = [
        ("PUT", "/place", {"address": "/"}),
        ("PUT", "/question", CHOICE),
        ("POST", "/question/reveal", None),
        ("DELETE", "", None),
    ]
    with beside_a_room(server, presenter) as delays:
        for number, secret in enumerate(forged):
            method, what, body = calls[number % len(calls)]
            headers = said_by(STRANGER) | {"Authorization": f"Bearer {secret}"}
            address = f"{server.url}api/rooms/{presenter.code}{what}"
            statuses[requests.request(method, address, json=body, headers=headers, timeout=60).status_code] += 1
    return result(f"{dict(sorted(statuses.items()))}", delays, statuses.keys() <= {401, 403})


def joins(server: LiveServer) -> Result:
    """Opens as many connections as one address may have, and joins a room again and again from each."""
    presenter, refused, viewers = Presenter(server), 0, list[Viewer]()
    with beside_a_room(server, presenter) as delays:
        for _ in range(300):
            try:
                viewers.append(Viewer(server.url, headers=said_by(STRANGER)))
            except socketio.exceptions.ConnectionError:
                refused += 1
        statuses: Counter[int] = Counter()
        for number in range(MANY):
            said = viewers[number % len(viewers)].call(
                "follow", {"room": presenter.code, "client": secrets.token_hex(16)}
            )
            statuses[said["error"]["status"] if "error" in said else 200] += 1
    for viewer in viewers:
        viewer.leave()
    eventually(lambda: presenter.followers(server) <= 1, 20)
    words = f"{len(viewers)} connections, {refused} refused; joins {dict(sorted(statuses.items()))}"
    return result(words, delays, refused > 0)


def answers(server: LiveServer) -> Result:
    """Votes under invented ids and with hostile texts; then the follower votes."""
    presenter = Presenter(server)
    number = presenter.ask(server, "PUT", "/question", CHOICE).json()["question"]["number"]
    address = f"{server.url}api/rooms/{presenter.code}/answer"
    statuses: Counter[int] = Counter()

    def vote(each: int) -> None:
        answer: Any = HOSTILE[each % len(HOSTILE)] if each % 20 == 0 else "V"
        body = {"question": number, "answer": answer, "voter": secrets.token_hex(16)}
        headers = said_by(STRANGER, secrets.token_hex(16))
        statuses[requests.put(address, json=body, headers=headers, timeout=60).status_code] += 1

    with beside_a_room(server, presenter) as delays, ThreadPoolExecutor(8) as pool:
        list(pool.map(vote, range(MANY)))
    mine = {"question": number, "answer": "K", "voter": "0" * 32}
    status = requests.put(address, json=mine, headers=said_by(OTHER), timeout=60).status_code
    (counted,) = presenter.ask(server, "POST", "/question/reveal").json()["question"]["rounds"]
    words = f"{dict(sorted(statuses.items()))}; the follower's vote {status}; {counted['counts']}"
    return result(words, delays, status == 204 and counted["counts"].get("K") == 1 and counted["others"] == 0)


def questions(server: LiveServer) -> Result:
    """Sends questions and answers of megabytes, as the presenter of another room too."""
    presenter, other = Presenter(server), Presenter(server)
    giant = "x" * MEGABYTES
    statuses: Counter[int] = Counter()
    with beside_a_room(server, presenter) as delays:
        for _ in range(5):
            asked = (
                {**CHOICE, "text": giant},
                {**CHOICE, "choices": ["K"] * 100_000},
                {"text": "?", "kind": "token", "choices": [giant]},
            )
            statuses.update(other.ask(server, "PUT", "/question", body).status_code for body in asked)
            statuses[other.show(server, f"/{giant}").status_code] += 1
            vote = {"question": 1, "answer": giant, "voter": "0" * 32}
            statuses[other.ask(server, "PUT", "/answer", vote).status_code] += 1
    return result(f"{dict(sorted(statuses.items()))}", delays, statuses.keys() <= {413, 422})
