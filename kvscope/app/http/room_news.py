"""Sends followers what changes in their rooms.

Each web process looks in the database at the rooms of its own followers. So one path serves one process and several,
and a room continues when the process that leads is replaced.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from kvscope.app.http.rooms import described, open_room
from kvscope.app.store.rooms import Rooms
from kvscope.app.store.rounds import Rounds

LOOK_S = 0.1
REPORT_S = 2.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Follower:
    """A page that follows a room. `seq`: of the newest state that it got; `presents`: it does not count."""

    code: str
    seq: int
    presents: bool


class RoomNews:
    """The followers of this process. `send` queues a room's state for one of them. It returns False when the queue is
    full, and raises KeyError when the follower has left.
    """

    def __init__(self, rooms: Rooms, send: Callable[[str, dict[str, Any]], bool]) -> None:
        self._rooms, self._send = rooms, send
        self._process = secrets.token_hex(8)
        self._lock = Lock()
        self._followers: dict[str, Follower] = {}
        self._reported: dict[str, int] = {}
        self._rounds = [
            Rounds("rooms", self.look, LOOK_S, log.error),
            Rounds("followers of rooms", self.report, REPORT_S, log.error),
        ]

    def start(self) -> None:
        """Starts to send changes, and to count followers."""
        for rounds in self._rounds:
            rounds.start()

    def close(self) -> None:
        """Stops both."""
        for rounds in reversed(self._rounds):
            rounds.close()

    def follow(self, follower: str, code: str, *, presents: bool) -> dict[str, Any]:
        """Adds a follower. Returns the room's state. Raises Problem for an unknown room, and StoreError."""
        room = open_room(self._rooms, code)
        with self._lock:
            self._followers[follower] = Follower(code, room.seq, presents)
        return described(room)

    def leave(self, follower: str) -> None:
        """Removes a follower."""
        with self._lock:
            self._followers.pop(follower, None)

    def look(self) -> None:
        """Sends each follower its room's state if it has an older one; {code, ended} after the room's end. Raises
        StoreError.

        A follower with a full queue gets the newest state later.
        """
        with self._lock:
            followers = list(self._followers.items())
        if not followers:
            return
        rooms = {room.code: room for room in self._rooms.rooms({follower.code for _, follower in followers})}
        states = {code: described(room) for code, room in rooms.items()}
        for id, follower in followers:
            room = rooms.get(follower.code)
            if room is not None and room.seq <= follower.seq:
                continue
            try:
                sent = self._send(id, states.get(follower.code, {"code": follower.code, "ended": True}))
            except KeyError:
                self.leave(id)
                continue
            if room is None:
                self.leave(id)
            elif sent:
                follower.seq = room.seq

    def report(self) -> None:
        """Stores how many follow each room through this process. Raises StoreError."""
        numbers: dict[str, int] = {}
        with self._lock:
            for follower in self._followers.values():
                numbers[follower.code] = numbers.get(follower.code, 0) + (not follower.presents)
        if numbers or self._reported:
            self._rooms.report(self._process, numbers)
            self._reported = numbers
