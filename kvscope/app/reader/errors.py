"""What the reader says when it cannot do what was asked."""

from __future__ import annotations


class CannotRead(Exception):
    """It cannot be opened, or cannot be had of this run; the message is one readable sentence."""


class NotThere(CannotRead, IndexError):
    """The run does not have that step, layer, head or value; the message names what it has."""
