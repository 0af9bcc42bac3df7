"""Standard error stays short whatever strangers do: a line of each kind in a minute, which says how many more came."""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import NamedTuple

MINUTE_S = 60.0
MOST_KINDS = 100
"""That are remembered. When so many were written in a minute, no other one is."""


class Kind(NamedTuple):
    """A place in the code, what is said there before its arguments are put in, and where what went wrong did."""

    place: str
    said: str
    fault: str


class Sparing(logging.Filter):
    """Lets a record through unless one of its kind went a minute before it, and says how many it kept back since."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._let: dict[Kind, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is to be written."""
        kind, now = kind_of(record), time.monotonic()
        with self._lock:
            at, kept_back = self._let.get(kind, (-MINUTE_S, 0))
            if now < at + MINUTE_S:
                self._let[kind] = at, kept_back + 1
                return False
            if len(self._let) >= MOST_KINDS:
                self._let = {each: let for each, let in self._let.items() if now < let[0] + MINUTE_S}
            if len(self._let) >= MOST_KINDS:
                return False
            self._let[kind] = now, 0
        if kept_back:
            record.msg, record.args = (
                f"{record.getMessage()} ({kept_back:,} similar ones suppressed before)",
                (),
            )
        return True


def kind_of(record: logging.LogRecord) -> Kind:
    """What a record has in common with others of its kind."""
    error = record.exc_info[1] if record.exc_info else None
    at = error.__traceback__ if error is not None else None
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    fault = f"{type(error).__name__} {at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at is not None else ""
    return Kind(f"{record.pathname}:{record.lineno}", str(record.msg), fault)


def install() -> None:
    """Write this process's log to standard error, sparingly."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("kvscope: %(message)s"))
    handler.addFilter(Sparing())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
