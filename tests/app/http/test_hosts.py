"""By which names the server answers, and whom it believes where a request comes from."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import product
from typing import Any

import pytest
import requests
import websocket
from flask import Flask, Response, request
from flask.testing import FlaskClient

from kvscope.app.http import hosts
from kvscope.app.http.visitors import is_loopback
from kvscope.model.log.frames import header
from tests.support.live_server import LiveServer, Serve, live
from tests.support.over_http import NewClient, frames, problem

ANSWERED = ["localhost", "localhost:5000", "kv.localhost", "127.0.0.1:5000", "[::1]:5000", "192.0.2.7", "LOCALHOST."]
REFUSED = ["evil.example", "evil.example:5000", "localhost.evil.example", "127.0.0.1.evil.example", "a:b:c", "[::1"]


def test_a_loopback_name_and_every_address_are_answered_and_a_rebound_name_is_not(app: Flask) -> None:
    client = FlaskClient(app, app.response_class)  # what refuses is none of the application's, and not in the document
    for host in ANSWERED:
        assert client.get("/healthz", headers={"Host": host}).status_code == 200, host
    for host, (method, path) in product(REFUSED, (("GET", "/"), ("POST", "/api/runs"), ("GET", "/socket.io/?EIO=4"))):
        refused = client.open(path, method=method, headers={"Host": host})
        assert "--allowed-host" in problem(refused, 421, "Host")["detail"], host


def echo(names: list[str], proxies: list[str], is_peer: Callable[[str], bool] | None = None) -> FlaskClient:
    """An application that says what it takes a request for."""
    app = Flask(__name__)

    @app.get("/")
    def said() -> dict[str, Any]:
        return {"address": request.remote_addr, "host": request.host, "scheme": request.scheme}

    hosts.init_app(app, names, proxies, is_peer)
    return app.test_client()


def test_configured_names_are_answered_and_with_a_dot_all_below_one() -> None:
    client = echo(["kv.school.example", ".lab.example"], [])

    def answer(host: str) -> Response:
        return client.get("/", headers={"Host": host})

    for host in ("kv.school.example", "lab.example", "a.b.lab.example:80"):
        assert answer(host).status_code == 200, host
    for host in ("school.example", "x.kv.school.example", "notlab.example"):
        assert answer(host).status_code == 421, host


FORWARDED = {
    "Host": "127.0.0.1:5000",
    "X-Forwarded-For": "203.0.113.9, 198.51.100.4",
    "X-Forwarded-Host": "kv.school.example",
    "X-Forwarded-Proto": "https",
}


def test_a_configured_proxy_says_who_asks() -> None:
    client = echo(["kv.school.example"], ["127.0.0.0/8"])
    seen = "198.51.100.4"  # by the proxy itself; its client may claim anything
    assert client.get("/", headers=FORWARDED).json == said_of(seen, "kv.school.example", "https")


def said_of(address: str, host: str, scheme: str) -> dict[str, str]:
    return {"address": address, "host": host, "scheme": scheme}


def test_nobody_else_does() -> None:
    client = echo(["kv.school.example"], ["192.0.2.1"])
    answer = client.get("/", headers=FORWARDED, environ_base={"REMOTE_ADDR": "192.0.2.2"})
    assert answer.json == said_of("192.0.2.2", "127.0.0.1:5000", "http")


@pytest.mark.parametrize(
    ("proxies", "headers"),
    [
        ([], {"X-Forwarded-For": "127.0.0.1"}),
        ([], {"Forwarded": "for=127.0.0.1"}),
        ([], {"X-Real-IP": "127.0.0.1"}),
        ([], {"Via": "1.1 nginx"}),
        ([], {"X-Forwarded-Context": "/user/me/proxy/5000"}),
        (["192.0.2.1"], {"X-Forwarded-For": "127.0.0.1"}),
        (["127.0.0.1"], {"X-Forwarded-Proto": "https"}),
        (["127.0.0.1"], {"X-Forwarded-For": ""}),
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_what_a_proxy_on_this_machine_forwards_does_not_count_as_of_this_machine(
    proxies: list[str], headers: dict[str, str], address: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen = echo([], proxies).get("/", headers=headers, environ_base={"REMOTE_ADDR": address}).json["address"]
    assert not is_loopback(seen)
    assert "--proxy" in caplog.text


def test_without_such_a_header_it_does_and_so_does_what_a_named_proxy_asks_for_this_machine(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert echo([], []).get("/").json["address"] == "127.0.0.1"
    named = echo([], ["127.0.0.1"]).get("/", headers={"X-Forwarded-For": "127.0.0.1"})
    assert named.json["address"] == "127.0.0.1"
    assert not caplog.text


def test_behind_a_proxy_that_nobody_named_limits_count_and_strangers_share_nothing(new_client: NewClient) -> None:
    client = new_client(runs_per_minute=2)

    def ask(address: str) -> Any:
        body = {"prompt": "My secret diary", "max_new_tokens": 1}
        return client.post("/api/runs", json=body, headers={"X-Forwarded-For": address})

    started = [ask("203.0.113.5"), ask("198.51.100.7")]
    assert [answer.status_code for answer in started] == [201, 201]
    for answer in started:
        asked = header(frames(client, answer.json["id"])[0]).data["asked"]
        assert asked["owner"] == ""  # who has no owner reads and leaves nothing (model/engine)
    problem(ask("203.0.113.5"), 429)


def test_the_name_that_a_proxy_forwards_is_checked_too() -> None:
    client = echo([], ["127.0.0.1"])
    assert client.get("/", headers=FORWARDED).status_code == 421


@pytest.mark.processes
def test_a_rebound_name_gets_no_websocket_and_a_made_up_proxy_is_not_believed(serve: Serve) -> None:
    server = serve()
    socket = f"ws://127.0.0.1:{server.port}/socket.io/?EIO=4&transport=websocket"
    with pytest.raises(websocket.WebSocketBadStatusException, match="421"):
        websocket.create_connection(socket, host="evil.example", origin="http://evil.example")
    claims = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
    with pytest.raises(websocket.WebSocketBadStatusException, match="400"):
        websocket.create_connection(socket, header=claims, origin="https://evil.example")
    embed = requests.get(server.url, headers={"Host": "evil.example"}, timeout=10)
    assert embed.status_code == 421


SAID = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": "localhost:81", "X-Forwarded-Proto": "https"}


def test_another_web_process_is_believed_for_its_secret_wherever_it_is() -> None:
    client = echo([], [], lambda secret: secret == "right")
    for address in ("127.0.0.1", "198.51.100.3"):
        told = client.get("/", headers={**SAID, "X-KVScope-Peer": "right"}, environ_base={"REMOTE_ADDR": address})
        assert told.json == said_of("192.0.2.7", "localhost:81", "https")


def test_a_request_with_another_secret_is_not_answered() -> None:
    """Nor is it taken for a request of the machine that it comes from, which would be without limits."""
    client = echo([], [], lambda secret: secret == "right")
    for secret in ("", "wrong", "right ", "é"):
        refused = client.get("/", headers={**SAID, "X-KVScope-Peer": secret.encode().decode("latin-1")})
        assert refused.status_code == 503, secret
        assert refused.headers["Retry-After"]


def test_a_server_that_is_alone_passes_over_the_header() -> None:
    told = echo([], []).get("/", headers={**SAID, "X-KVScope-Peer": "right"}, environ_base={"REMOTE_ADDR": "10.0.0.9"})
    assert told.json == said_of("10.0.0.9", "localhost", "http")


@pytest.mark.parametrize(
    ("said", "scheme"),
    [
        *(("wss", "https"), ("ws", "http"), ("HTTPS", "https"), ("http, wss", "https"), ("https,http", "http")),
        *((" https ", "https"), ("ftp", "http"), ("", "http"), ("https://", "http"), ("https, ", "http")),
    ],
)
def test_the_protocol_that_a_proxy_names_is_that_of_a_page(said: str, scheme: str) -> None:
    client = echo(["kv.school.example"], ["127.0.0.1"])
    assert client.get("/", headers={**FORWARDED, "X-Forwarded-Proto": said}).json["scheme"] == scheme


@pytest.fixture(scope="module")
def behind_a_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    options = ["--proxy", "127.0.0.1", "--allowed-host", "kv.example"]
    with live(tmp_path_factory.mktemp("proxied"), options=options) as server:
        yield server
    assert "Traceback" not in server.errors


@pytest.mark.processes
@pytest.mark.parametrize(
    ("proto", "host", "origin", "opens"),
    [
        ("wss", "kv.example", "https://kv.example", True),
        ("ws", "kv.example", "http://kv.example", True),
        ("WSS", "KV.example", "https://kv.example", True),
        ("wss", "kv.example:443", "https://kv.example", True),
        ("https", "kv.example", "HTTPS://KV.example:443", True),
        ("https", "kv.example.", "https://kv.example", True),
        ("http", "kv.example:80", "http://kv.example", True),
        ("http, wss", "other.example, kv.example", "https://kv.example", True),
        ("https", "kv.example:8443", "https://kv.example:8443", True),
        ("wss", "kv.example", "http://kv.example", False),
        ("wss", "kv.example", "https://other.example", False),
        ("wss", "kv.example", "null", False),
        ("https", "kv.example:8443", "https://kv.example", False),
        ("ws", "kv.example", "https://kv.example:80", False),
        ("https", "kv.example", "https://kv.example.evil.example", False),
        ("https, http", "kv.example", "https://kv.example", False),
    ],
)
def test_a_live_connection_opens_to_the_page_of_the_address_that_the_proxy_names(
    behind_a_proxy: LiveServer, proto: str, host: str, origin: str, opens: bool
) -> None:
    socket = f"ws://127.0.0.1:{behind_a_proxy.port}/socket.io/?EIO=4&transport=websocket"
    said = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Host": host, "X-Forwarded-Proto": proto}
    with nullcontext() if opens else pytest.raises(websocket.WebSocketBadStatusException, match="400"):
        websocket.create_connection(socket, header=said, origin=origin, timeout=10).close()
