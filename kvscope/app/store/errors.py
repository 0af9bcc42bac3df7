"""Exceptions of the database that code outside this folder gets."""

from __future__ import annotations


class StoreError(Exception):
    """The database cannot be opened, read or written; the message is one readable sentence."""


class Lost(StoreError):
    """The database's file was deleted or replaced while it was in use. The server must be restarted."""


class Fenced(StoreError):
    """Another web process leads; this one must not write."""


class Deleted(Exception):
    """The session with this id was deleted by the person who shared it."""

    def __init__(self, session: str) -> None:
        super().__init__(f"The session {session!r} was deleted by the person who shared it.")


class Damaged(Exception):
    """A part of a session differs from what was saved; `part` is "manifest", "parts[seq]" or "values[…]"."""

    def __init__(self, session: str, part: str) -> None:
        super().__init__(f"The session {session!r} is damaged: {part} differs from what was saved.")
        self.part = part
