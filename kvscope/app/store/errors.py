"""Exceptions of the database that code outside this folder gets."""

from __future__ import annotations


class StoreError(Exception):
    """The database cannot be opened, read or written; the message is one readable sentence."""


class Lost(StoreError):
    """The database's file was deleted or replaced while it was in use. The server must be restarted."""


class Fenced(StoreError):
    """Another web process leads; this one must not write."""
