"""A process that follows answers what the database tells, and forwards everything else as it came."""

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from flask import Flask, Response, request
from flask.testing import FlaskClient

from kvscope.app.http import forwarding, hosts
from kvscope.app.http.access import READS, STARTS, TELLS, declare
from kvscope.app.store.cluster.lead import Lead
from tests.support.over_http import problem


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


class Following:
    """What a Member says that follows whoever is at this address."""

    def __init__(self, address: str | None) -> None:
        self.leads = False
        self.lead = None if address is None else Lead(1, "kvscope x", address, "a secret", 0)


@contextmanager
def leader() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server, and what it is asked."""
    asked: list[dict[str, Any]] = []

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        size = int(environ.get("CONTENT_LENGTH") or 0)
        asked.append({**environ, "body": environ["wsgi.input"].read(size)})
        start_response("418 I'm a Teapot", [("X-Own", "1"), ("Content-Encoding", "br"), ("Location", "/elsewhere")])
        return [b"not ", b"brotli"]

    with make_server("127.0.0.1", 0, answer, handler_class=Quiet) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def follower(address: str | None) -> FlaskClient:
    """An application with a route of each kind."""
    app, member = Flask("follower", static_folder=None), Following(address)

    @app.get("/here")
    @declare(READS)
    def here() -> str:
        return f"here, for {request.remote_addr}"

    @app.get("/elsewhere")
    @declare(TELLS)
    def elsewhere() -> str:
        raise AssertionError("the leader answers this")

    @app.post("/start/<path:name>")
    @declare(STARTS)
    def start(name: str) -> str:
        raise AssertionError(f"the leader answers this, not {name}")

    forwarding.init_app(app, member)  # type: ignore[arg-type]
    hosts.init_app(app, ["kv.example"], ["10.0.0.1"], lambda secret: secret == "a secret")
    return app.test_client()


def test_what_is_declared_everywhere_and_what_is_unknown_is_answered_here() -> None:
    client = follower(None)
    assert client.get("/here").text == "here, for 127.0.0.1"
    assert client.get("/nowhere").status_code == 404
    assert client.post("/here").status_code == 405


def test_everything_else_is_the_leaders_as_it_came() -> None:
    with leader() as (address, asked):
        answer = follower(address).post(
            "/start/a%20b/%C3%A9?x=1&y=%20",
            data=b"body",
            headers={"X-KVScope-Client": "me", "Connection": "close", "Accept-Encoding": "br"},
            content_type="text/plain",
        )
        assert (answer.status_code, answer.data) == (418, b"not brotli")
        assert (answer.headers["X-Own"], answer.headers["Content-Encoding"]) == ("1", "br")
        assert answer.headers["Location"] == "/elsewhere"
    (said,) = asked
    assert (said["REQUEST_METHOD"], said["PATH_INFO"], said["QUERY_STRING"]) == ("POST", "/start/a b/Ã©", "x=1&y=%20")
    assert (said["body"], said["CONTENT_TYPE"], said["HTTP_ACCEPT_ENCODING"]) == (b"body", "text/plain", "br")
    assert (said["HTTP_X_KVSCOPE_CLIENT"], said["HTTP_X_KVSCOPE_PEER"]) == ("me", "a secret")


@pytest.mark.parametrize(("address", "believed"), [("10.0.0.1", "192.0.2.7"), ("10.0.0.2", "10.0.0.2")])
def test_the_leader_hears_who_asks_as_far_as_that_is_believed(address: str, believed: str) -> None:
    claims = {"X-Forwarded-For": "192.0.2.7", "X-KVScope-Visitor": "x"}
    with leader() as (place, asked):
        follower(place).get("/elsewhere", headers=claims, environ_base={"REMOTE_ADDR": address})
    assert asked[0]["HTTP_X_FORWARDED_FOR"] == believed
    assert asked[0]["HTTP_X_FORWARDED_HOST"] == "localhost"
    assert asked[0]["HTTP_X_FORWARDED_PROTO"] == "http"


def test_where_nobody_leads_or_the_leader_is_gone_it_is_asked_for_again_later() -> None:
    with leader() as (gone, _):
        pass
    for address in (None, gone):
        answer: Response = follower(address).post("/start/x", data=b"y")  # type: ignore[assignment]
        assert "takes over" in problem(answer, 503)["detail"]
        assert answer.headers["Retry-After"]


def test_what_was_forwarded_once_is_not_forwarded_again() -> None:
    """Two processes may each believe that the other one leads."""
    with leader() as (address, asked):
        problem(follower(address).get("/elsewhere", headers={"X-KVScope-Peer": "a secret"}), 503)
    assert asked == []


def test_an_answer_that_breaks_off_does_not_end_as_if_it_were_whole() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of it")
            connection.close()

        thread = Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(ConnectionResetError):
            _ = follower(f"http://127.0.0.1:{listener.getsockname()[1]}").get("/elsewhere").data
        thread.join()


def test_answers_that_nobody_reads_leave_room_for_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "FREE_S", 0.0)
    with leader() as (address, _):
        client, unread = follower(address), []
        for _ in range(forwarding.AT_ONCE + 30):
            unread.append(client.get("/elsewhere", environ_base={"REMOTE_ADDR": "192.0.2.1"}, buffered=False))
        assert {answer.status_code for answer in unread} == {418, 503}
        other = client.get("/elsewhere", environ_base={"REMOTE_ADDR": "192.0.2.2"})
        assert other.status_code == 418
        for answer in unread:
            answer.close()
        assert client.get("/elsewhere", environ_base={"REMOTE_ADDR": "192.0.2.1"}).status_code == 418
