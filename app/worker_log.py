"""What gunicorn writes to the log."""

from __future__ import annotations

from typing import Any

from gunicorn.glogging import Logger

GUESS = " Perhaps out of memory?"


class WorkerLog(Logger):  # type: ignore[misc]
    """gunicorn's own, but for its guess at why a process was killed: it knows the signal, and not who sent it."""

    def error(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Log an error."""
        super().error(msg.removesuffix(GUESS), *args, **kwargs)
