"""Whatever comes in by Socket.IO is answered or ended with a sentence, and none of it leaves a trace in the log."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
import websocket

from kvscope.app.http import socket_guard
from kvscope.app.http.socket_guard import MOST_UNREADABLE
from kvscope.app.http.websocket import MAX_MESSAGE_BYTES
from tests.support.live_server import LiveServer, Serve, live
from tests.support.local_viewer import LocalViewer
from tests.support.over_http import NewClient
from tests.support.viewer import Viewer

pytestmark = pytest.mark.processes

RUN = "RUN"
REFUSED_EVENTS = [
    ("watch", [1, 2, 3]),
    ("watch", []),
    ("watch", [{"run": RUN, "after": 10**20}]),
    ("watch", [{"run": RUN, "after": -(10**20)}]),
    ("watch", [{"run": RUN, "after": True}]),
    ("watch", [{"run": "\ud800"}]),
    ("watch", [{"run": "\u0000"}]),
    ("unwatch", [None, None]),
    ("nope", [1]),
    ("frame", [{}]),
]
UNREADABLE = ["4", "49", "4a", "42", "42[]", "42{}", "42[null]", "42[[1]]", "42" + "[" * 5000, "44{}", "4\x00"]
UNREADABLE += ['4599999999999-["x"]', '451-["watch",{"_placeholder":true,"num":0}]', "461-1[]", '42["connect"]', "b!!!"]
NO_PACKETS = ["", "9", "x", "0", "6", "\ud7ff", "4" + "[" * 9000, "4" + "x" * 20_000]
NOT_POLLED = ["9", "x", "0", "2probe", "6", "\x1e\x1e", "4" + "[" * 9000, b"\xff\xfe", "4\x1e" * 40]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live(tmp_path_factory.mktemp("server")) as server:
        yield server
    assert server.errors == ""


@contextmanager
def joined(server: LiveServer) -> Iterator[Any]:
    """A raw socket that has joined the namespace."""
    url = server.url.replace("http", "ws") + "socket.io/?EIO=4&transport=websocket"
    raw = websocket.create_connection(url, timeout=30)
    try:
        raw.recv()
        raw.send("40")
        raw.recv()
        yield raw
    finally:
        raw.shutdown()


def test_messages_that_make_no_sense_are_refused_and_the_next_is_served(server: LiveServer) -> None:
    run = server.start_run(max_new_tokens=2)
    with joined(server) as raw:
        for event, said in REFUSED_EVENTS:
            named = json.dumps([event, *said]).replace(RUN, run)
            raw.send(f"421{named}")
            (answer,) = json.loads(raw.recv().removeprefix("431"))
            assert 400 <= answer["error"]["status"] < 500, named
    viewer = Viewer(server.url)
    viewer.watch(run)
    viewer.wait_for_close()
    viewer.leave()


def test_what_is_no_message_is_told_so_and_after_a_while_the_socket_ends(server: LiveServer) -> None:
    for message in UNREADABLE:
        with joined(server) as raw:
            for _ in range(MOST_UNREADABLE):
                raw.send(message)
                event, body = json.loads(raw.recv().removeprefix("42"))
                assert (event, body["error"]["status"]) == ("problem", 400), message
            assert raw.recv() in ("", "1"), message


def test_what_is_no_packet_ends_the_socket_with_the_reason(server: LiveServer) -> None:
    for message in NO_PACKETS:
        with joined(server) as raw:
            raw.send(message)
            code, data = raw.recv_data()
            assert code == websocket.ABNF.OPCODE_CLOSE, message
            assert int.from_bytes(data[:2], "big") in (1002, 1009), message


def test_a_polling_client_that_says_what_is_no_packet_is_refused_at_once(server: LiveServer) -> None:
    url = f"{server.url}socket.io/?EIO=4&transport=polling"
    session = json.loads(requests.get(url, timeout=30).text[1:])["sid"]
    for body in NOT_POLLED:
        refused = requests.post(f"{url}&sid={session}", data=body, timeout=30)
        assert (refused.status_code, refused.json()["status"]) == (400, 400), body
    long = requests.post(f"{url}&sid={session}", data="4" + "x" * MAX_MESSAGE_BYTES, timeout=30)
    assert long.status_code == 413
    assert requests.post(f"{url}&sid={session}", data="40", timeout=30).text == "OK"


def test_one_address_has_its_own_cap_below_that_of_all(serve: Serve) -> None:
    server = serve(options=["--max-viewers", "5", "--max-viewers-per-address", "3", "--proxy", "127.0.0.1"])
    url = f"{server.url}socket.io/?EIO=4&transport=polling"

    def statuses(address: str, count: int) -> list[int]:
        headers = {"X-Forwarded-For": address}
        return [requests.get(url, headers=headers, timeout=30).status_code for _ in range(count)]

    assert statuses("192.0.2.1", 5) == [200, 200, 200, 429, 429]
    assert statuses("192.0.2.2", 3) == [200, 200, 503]
    refused = requests.get(url, headers={"X-Forwarded-For": "192.0.2.1"}, timeout=30)
    assert (refused.json()["limit"], refused.headers["Retry-After"]) == (5, "30")


def test_a_handshake_that_is_not_finished_in_time_is_ended_though_nobody_else_comes(serve: Serve) -> None:
    server = serve(options=["--max-viewers", "2"])
    url = f"{server.url}socket.io/?EIO=4&transport=polling"
    session = json.loads(requests.get(url, timeout=30).text[1:])["sid"]
    assert requests.post(f"{url}&sid={session}", data="40", timeout=30).text == "OK"
    began = time.monotonic()
    late = json.loads(requests.get(url, timeout=30).text[1:])["sid"]  # never joins
    assert requests.get(url, timeout=30).status_code == 503
    ended = requests.get(f"{url}&sid={late}", timeout=60)  # waits for what comes, which without an end would be a ping
    assert ended.text.startswith("1")
    assert time.monotonic() - began >= socket_guard.JOINING_S
    assert requests.get(url, timeout=30).status_code == 200
    assert requests.post(f"{url}&sid={session}", data='420["watch",{}]', timeout=30).text == "OK"


def test_an_acknowledgement_never_comes_between_the_two_packets_of_a_frame(new_client: NewClient) -> None:
    app = new_client().application
    server = app.extensions["socketio"].server
    viewer = LocalViewer(app)
    (session,) = app.extensions["kvscope"].live._guard._sessions.values()
    asking = threading.Thread(target=viewer.say, args=['21["nope",{}]'])
    with session.lock:
        server.emit("frame", b"bytes", to=session.viewer)
        queue = list(viewer.socket.queue.queue)
        asking.start()
        asking.join(0.3)  # longer than an acknowledgement takes if nothing stops it
        assert list(viewer.socket.queue.queue) == queue
    asking.join()
    packets = [packet.data for packet in viewer.socket.queue.queue]
    assert [said if isinstance(said, bytes) else said[:2] for said in packets] == ["51", b"bytes", "31"]
