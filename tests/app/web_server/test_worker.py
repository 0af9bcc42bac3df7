"""Clients that begin something and stop: they are let go with a sentence, and nobody else waits for them."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest
import requests

from kvscope.app.web_server.arriving import HEAD_S
from tests.support.live_server import LiveServer, live
from tests.support.viewer import Viewer
from tests.support.waiting import eventually
from tools.load.floods import HALF_BODY, HALF_HEAD, flood, opened, threads_of

pytestmark = pytest.mark.processes

MANY = 300
MOST_THREADS = 40
"""Those of a server that does nothing are about a dozen."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    options = ["--max-viewers", "60", "--max-viewers-per-address", "50"]
    with live(tmp_path_factory.mktemp("server"), options=options) as server:
        yield server
    assert server.errors == ""


def answer(sock: socket.socket) -> tuple[int, dict[str, object]]:
    """Status and problem document of all that the server says before it ends the connection; no browser takes it for
    anything else.
    """
    said = b""
    while data := sock.recv(65536):
        said += data
    head, _, body = said.partition(b"\r\n\r\n")
    assert b"x-content-type-options: nosniff" in head.lower(), head
    assert b"content-security-policy: default-src 'none'" in head.lower(), head
    assert b"content-type: application/problem+json" in head.lower(), head
    assert int(head.lower().split(b"content-length: ")[1].split()[0]) == len(body)
    return int(head.split()[1]), json.loads(body)


ODD_LENGTH = HALF_BODY.replace(b"Content-Length: ", b"Content-Length: " + b"0" * 24)


@pytest.mark.parametrize(
    "first", [HALF_HEAD, HALF_BODY, ODD_LENGTH], ids=["half heads", "half bodies", "half bodies with an odd length"]
)
def test_more_halves_than_one_address_may_have_take_no_thread_and_no_place_from_the_page(
    server: LiveServer, first: bytes
) -> None:
    with flood(server.port, MANY, first):
        for _ in range(5):
            assert server.get("").status_code == 200
        run = server.start_run(max_new_tokens=2)
        assert server.finished(run)
        assert threads_of(server.process.pid) < MOST_THREADS


def test_half_a_request_is_told_that_it_is_late(server: LiveServer) -> None:
    began = time.monotonic()
    with ExitStack() as held:
        head = held.enter_context(opened(server.port, HALF_HEAD))
        body = held.enter_context(opened(server.port, HALF_BODY))
        silent = held.enter_context(opened(server.port, b""))
        for sock in (head, body, silent):
            sock.settimeout(60)
        assert silent.recv(1) == b""
        assert answer(head)[0] == 408
        assert time.monotonic() - began >= HEAD_S
        status, problem = answer(body)
        assert (status, problem["detail"]) == (408, "The request did not arrive in time.")


def test_a_connection_is_kept_for_the_next_request_also_when_that_came_with_the_one_before(server: LiveServer) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with opened(server.port, one + one + last[:20]) as sock:
        sock.settimeout(60)
        said = sock.recv(65536)
        while said.count(b"200 OK") < 2:
            said += sock.recv(65536)
        sock.sendall(last[20:])
        while data := sock.recv(65536):
            said += data
        assert said.count(b"HTTP/1.1 200 OK") == 3


def test_a_large_body_that_is_not_wanted_is_refused_though_nobody_reads_it(server: LiveServer) -> None:
    for size in (100_000, 3_000_000):
        unwanted = requests.post(f"{server.url}api/sessions", data=b"x" * size, timeout=60)
        assert unwanted.status_code == 415
    json_body = {"Content-Type": "application/json"}
    long = requests.post(f"{server.url}api/runs", data=b"x" * 3_000_000, timeout=60, headers=json_body)
    assert long.status_code == 413


def test_a_head_without_an_end_is_refused(server: LiveServer) -> None:
    with opened(server.port, b"GET / HTTP/1.1\r\nX: " + b"x" * 40_000) as sock:
        sock.settimeout(60)
        assert answer(sock)[0] == 431


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b"<script>alert(1)</script>\r\n\r\n", 400),
        (b"GET /<script> HTTP/9.9\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n<b>: x\r\n\r\n", 400),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: braille\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n", 417),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: localhost\n\n", 400),
    ],
)
def test_what_is_no_http_is_told_so_in_a_problem(server: LiveServer, said: bytes, status: int) -> None:
    with opened(server.port, said) as sock:
        sock.settimeout(60)
        found, problem = answer(sock)
        assert (found, problem["status"]) == (status, status)


def test_files_that_are_sent_slowly_leave_room_for_others(server: LiveServer) -> None:
    head = b"POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
    head += b"Content-Length: 30000000\r\n\r\n"
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(opened(server.port, head))
        eventually(lambda: refused(server.port, head) == 429)
        assert server.get("").status_code == 200


def refused(port: int, head: bytes) -> int:
    with opened(port, head) as sock:
        sock.settimeout(1)
        try:
            return answer(sock)[0]
        except TimeoutError:
            return 0


def test_a_viewer_that_left_leaves_nothing_open(server: LiveServer) -> None:
    worker = psutil.Process(server.process.pid).children()[0]
    run = server.start_run(max_new_tokens=2)

    def visit() -> None:
        viewer = Viewer(server.url)
        viewer.watch(run)
        viewer.wait_for_close()
        viewer.leave()

    visit()
    before = worker.num_fds()
    for _ in range(10):
        visit()
    eventually(lambda: worker.num_fds() <= before, 30)
