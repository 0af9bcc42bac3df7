"""What gunicorn writes to the log."""

from __future__ import annotations

from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

from kvscope.app.rate_limited_log import RateLimitedFilter

GUESS = " Perhaps out of memory?"


class WorkerLog(Logger):  # type: ignore[misc]
    """gunicorn's own, rate-limited, and without its guess at why a process was killed: it knows the signal, and not who
    sent it.
    """

    def setup(self, cfg: Config) -> None:
        """Set up the log from gunicorn's settings."""
        super().setup(cfg)
        self.error_log.filters[:] = [RateLimitedFilter()]

    def error(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Log an error."""
        super().error(msg.removesuffix(GUESS), *args, **kwargs)
