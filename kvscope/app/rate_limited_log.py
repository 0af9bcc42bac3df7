"""Limits the log on standard error to one record of each kind per minute, so that no client can fill it."""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import NamedTuple

MINUTE_S = 60.0
MOST_KINDS = 100
"""Kinds of records written per minute. Records of any further kind are dropped."""


class Kind(NamedTuple):
    """Where a record was logged, its message before formatting, and where its exception was raised."""

    place: str
    message: str
    fault: str


class RateLimitedFilter(logging.Filter):
    """Passes one record of each kind per minute; the next one passed states how many were suppressed."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._passed: dict[Kind, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether the record is written."""
        kind, now = kind_of(record), time.monotonic()
        with self._lock:
            at, suppressed = self._passed.get(kind, (-MINUTE_S, 0))
            if now < at + MINUTE_S:
                self._passed[kind] = at, suppressed + 1
                return False
            if len(self._passed) >= MOST_KINDS:
                self._passed = {each: passed for each, passed in self._passed.items() if now < passed[0] + MINUTE_S}
            if len(self._passed) >= MOST_KINDS:
                return False
            self._passed[kind] = now, 0
        if suppressed:
            record.msg, record.args = (
                f"{record.getMessage()} ({suppressed:,} similar ones suppressed before)",
                (),
            )
        return True


def kind_of(record: logging.LogRecord) -> Kind:
    """Returns the kind of a record."""
    error = record.exc_info[1] if record.exc_info else None
    at = error.__traceback__ if error is not None else None
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    fault = f"{type(error).__name__} {at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at is not None else ""
    return Kind(f"{record.pathname}:{record.lineno}", str(record.msg), fault)


def install() -> None:
    """Writes this process's log to standard error, through a RateLimitedFilter."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("kvscope: %(message)s"))
    handler.addFilter(RateLimitedFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
