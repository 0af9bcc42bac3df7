"""A room on a real server: its presenter, and followers that read it over Socket.IO."""

from collections.abc import Mapping
from typing import Any

import requests

from tests.support.live_server import LiveServer
from tests.support.over_http import bearer
from tests.support.viewer import Viewer
from tests.support.waiting import eventually


class Presenter:
    """Opens a room through a server, and shows places through any."""

    def __init__(self, server: LiveServer) -> None:
        self.room: dict[str, Any] = server.post("api/rooms", {"address": "/"}).json()
        self._headers = bearer(self.room["secret"])

    @property
    def code(self) -> str:
        return str(self.room["code"])

    def show(self, server: LiveServer, address: str) -> requests.Response:
        return self.ask(server, "PUT", "/place", {"address": address})

    def ask(self, server: LiveServer, method: str, what: str, body: dict[str, Any] | None = None) -> requests.Response:
        address = f"{server.url}api/rooms/{self.code}{what}"
        return requests.request(method, address, json=body, headers=self._headers, timeout=30)

    def followers(self, server: LiveServer) -> int:
        return int(self.ask(server, "GET", "/attendance").json()["followers"])


class Follower(Viewer):
    """Follows a room from when it is made. `states`: what it was sent, first the answer to `follow`."""

    def __init__(self, server: LiveServer, code: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(server.url, headers=headers)
        self.states: list[dict[str, Any]] = []
        self.client.on("room", self.states.append)
        self.states.insert(0, self.call("follow", {"room": code})["room"])

    @property
    def address(self) -> str:
        return str(self.states[-1]["place"]["address"])

    def wait_for_address(self, address: str) -> None:
        eventually(lambda: self.address == address, 20)
