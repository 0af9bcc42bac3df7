"""Exceptions of the reader."""

from __future__ import annotations


class CannotRead(Exception):
    """A run cannot be opened, or does not have what was requested; the message is one readable sentence."""


class NotThere(CannotRead, IndexError):
    """The run does not have this step, layer, head or value; the message names what it has."""


class CannotRun(ValueError):
    """A run, or a value of it, cannot be computed; the message names the argument and what it may be."""
