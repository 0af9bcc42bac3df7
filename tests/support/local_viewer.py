"""A viewer in the server's own process: its packets go through Engine.IO's socket, without a network."""

import json
from queue import Empty
from typing import Any

from engineio.packet import MESSAGE, Packet
from engineio.socket import Socket
from flask import Flask
from werkzeug.test import create_environ


class LocalViewer:
    """Joins the application's Socket.IO server."""

    def __init__(self, app: Flask) -> None:
        engine = app.extensions["socketio"].server.eio
        self.socket = Socket(engine, engine.generate_id())
        self.received: list[str | bytes] = []
        """Socket.IO packets that the server sent and no caller took."""
        engine.sockets[self.socket.sid] = self.socket
        engine.handlers["connect"](self.socket.sid, {**create_environ(), "flask.app": app})
        self.say("0")
        assert self._packets()[0][:1] == "0"

    def say(self, packet: str) -> None:
        """Send a Socket.IO packet."""
        self.socket.receive(Packet(MESSAGE, data=packet))

    def emit(self, event: str, body: Any) -> Any:
        """Send an event and return its acknowledgement."""
        self.say(f"27{json.dumps([event, body])}")
        packets = self._packets()
        (answer,) = (said for said in packets if isinstance(said, str) and said.startswith("37"))
        self.received += [said for said in packets if said is not answer]
        return json.loads(answer[2:])[0]

    def events(self) -> list[Any]:
        """Take the events that the server sent, each as [name, body], without those that have bytes."""
        self.received += self._packets()
        events = [json.loads(said[1:]) for said in self.received if isinstance(said, str) and said[:1] == "2"]
        self.received.clear()
        return events

    def disconnect(self) -> None:
        """Leave, as when the network connection ends."""
        self.socket.close(wait=False, abort=True)

    def _packets(self) -> list[str | bytes]:
        packets: list[str | bytes] = []
        while True:
            try:
                packet = self.socket.queue.get_nowait()
            except Empty:
                return packets
            if packet is not None:
                packets.append(packet.data)
