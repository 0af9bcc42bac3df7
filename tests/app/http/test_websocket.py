"""Engine.IO's websocket: closing, compression, and the place in the library through which it is served."""

import json
import socket
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Event, Request, TextMessage
from wsproto.extensions import PerMessageDeflate
from wsproto.utilities import LocalProtocolError

from kvscope.app.http.websocket import WebSocket, serve_websockets
from tests.support.live_server import LiveServer, Serve

ELSEWHERE = "203.0.113.7"


def handshake(server: LiveServer, headers: list[tuple[bytes, bytes]]) -> list[Event]:
    """Offer to take compressed frames, as browsers do; what the server answers, and its first message."""
    host = urlsplit(server.url).netloc
    client = WSConnection(ConnectionType.CLIENT)
    path = "/socket.io/?EIO=4&transport=websocket"
    asked = Request(host=host, target=path, extensions=[PerMessageDeflate()], extra_headers=headers)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(client.send(asked))
        events: list[Event] = []
        while not any(isinstance(event, TextMessage) and event.message_finished for event in events):
            client.receive_data(connection.recv(65536))
            events += client.events()
    return events


@pytest.mark.processes
def test_a_browsers_offer_is_taken_up_for_viewers_elsewhere_only(serve: Serve) -> None:
    server = serve()
    for headers, extensions in (([], []), ([(b"X-Forwarded-For", ELSEWHERE.encode())], ["permessage-deflate"])):
        accepted, opening = handshake(server, headers)
        assert isinstance(accepted, AcceptConnection)
        assert [extension.name for extension in accepted.extensions] == extensions
        assert isinstance(opening, TextMessage)
        assert json.loads(opening.data[1:])["sid"]


class Closing:
    """A websocket that the client is closing at this moment."""

    def close(self, *_: object) -> None:
        raise LocalProtocolError("cannot be sent in state ConnectionState.LOCAL_CLOSING")

    def receive(self) -> str:
        return "9"


def test_a_socket_that_both_sides_close_at_once_is_closed() -> None:
    socket = WebSocket(lambda _: None, None)
    socket._socket = Closing()
    assert socket.wait() is None
    socket.close()


@pytest.mark.parametrize("engine", [SimpleNamespace(), SimpleNamespace(_async={}), SimpleNamespace(_async=None)])
def test_an_engine_io_that_keeps_its_websocket_class_elsewhere_is_refused_by_its_version(engine: Any) -> None:
    with pytest.raises(RuntimeError, match=r"^python-engineio \d+\.\d+\.\d+ has no Server\._async"):
        serve_websockets(engine)
