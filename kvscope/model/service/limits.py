"""Limits of requests. Each function raises `Refused` with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kvscope.model.api import MAX_COMPARED, Frame, Refused
from kvscope.model.kv_cache import CacheFull
from kvscope.model.log.derived import LARGEST_OPENING
from kvscope.model.pieces import Interrupted
from kvscope.model.settings import MAX_PROMPT_CHARS


def not_too_long(prompt: str) -> None:
    if len(prompt) > MAX_PROMPT_CHARS:
        message = f"The prompt has {len(prompt):,} characters; the limit is {MAX_PROMPT_CHARS:,}."
        raise Refused("prompt", message, limit=MAX_PROMPT_CHARS, status=413)


def fits_the_log(opening: Frame, field: str, what: str) -> None:
    if len(opening.payload) > LARGEST_OPENING:
        message = f"{what} {len(opening.payload):,} bytes in the log; the limit is {LARGEST_OPENING:,}."
        raise Refused(field, message, limit=LARGEST_OPENING, status=413)


def within(field: str, value: int, low: int, high: int, condition: str = "") -> None:
    if not low <= value <= high:
        raise Refused(field, f"{field} is {value}; {condition}it must be from {low} to {high}.", limit=high)


def among(field: str, value: int, count: int) -> None:
    """Refuses a `value` outside 0 to `count` − 1."""
    within(field, value, 0, count - 1)


def few_enough(ids: list[int]) -> None:
    """Refuses too many positions for questions that compute all of them again while other runs wait."""
    if len(ids) > MAX_COMPARED:
        message = (
            f"The run has {len(ids):,} positions; at most {MAX_COMPARED} can be computed again, since other runs wait."
        )
        raise Refused("run", message, limit=MAX_COMPARED)


@contextmanager
def alone(busy: bool, why: str = "Other runs are being computed. Try again when they have ended.") -> Iterator[None]:
    """Refuses a measurement while runs are computed, or if one continues before it ends. Raises Refused."""
    try:
        if busy:
            raise Interrupted
        yield
    except Interrupted:
        raise Refused("run", why, status=409) from None


@contextmanager
def refusing_when_full() -> Iterator[None]:
    try:
        yield
    except CacheFull as full:
        message = f"The KV cache has no room for this now: {full}. Try again when a run has ended."
        raise Refused("run", message, status=429) from None
