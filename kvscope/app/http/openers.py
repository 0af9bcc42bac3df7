"""Limits how many rooms are open from one address, so that one stranger cannot take all that the server allows."""

from __future__ import annotations

from threading import Lock

from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import Visitor
from kvscope.app.store.rooms import Rooms

MOST_PER_ADDRESS = 40
RETRY_S = 600


class Openers:
    """The addresses that opened rooms, in the memory of the process that leads. This machine has no limit."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._lock = Lock()
        self._addresses: dict[str, str] = {}
        """By the room's code."""

    def check(self, visitor: Visitor) -> None:
        """Raises Problem if the address has its most rooms, and StoreError."""
        if visitor.is_here:
            return
        with self._lock:
            mine = [code for code, address in self._addresses.items() if address == visitor.address]
            still_open = {room.code for room in self._rooms.rooms(mine)}
            for code in mine:
                if code not in still_open:
                    del self._addresses[code]
        if len(still_open) >= MOST_PER_ADDRESS:
            sentence = "As many rooms are open from your address as this server allows. End one, or try again later."
            raise Problem(429, sentence, field="room", limit=MOST_PER_ADDRESS, retry_after=RETRY_S)

    def add(self, visitor: Visitor, code: str) -> None:
        """Stores who opened a room."""
        with self._lock:
            self._addresses[code] = visitor.address
