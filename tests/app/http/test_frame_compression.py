"""Who is sent compressed frames: viewers on other machines, and nobody on this one."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Event, Request, TextMessage
from wsproto.extensions import PerMessageDeflate

from tests.support.live_server import LiveServer

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
def test_a_browsers_offer_is_taken_up_for_viewers_elsewhere_only(serve: Callable[..., LiveServer]) -> None:
    server = serve()
    for headers, extensions in (([], []), ([(b"X-Forwarded-For", ELSEWHERE.encode())], ["permessage-deflate"])):
        accepted, opening = handshake(server, headers)
        assert isinstance(accepted, AcceptConnection)
        assert [extension.name for extension in accepted.extensions] == extensions
        assert isinstance(opening, TextMessage)
        assert json.loads(opening.data[1:])["sid"]
