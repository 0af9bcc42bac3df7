"""gunicorn's log."""

from __future__ import annotations

from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger

from kvscope.app.rate_limited_log import RateLimitedFilter

GUESS = " Perhaps out of memory?"


class WorkerLog(Logger):  # type: ignore[misc]
    """gunicorn's logger with a rate limit. It leaves out gunicorn's guess that a killed process ran out of memory:
    gunicorn knows the signal, not who sent it.
    """

    def setup(self, cfg: Config) -> None:
        """Sets up the log with gunicorn's settings."""
        super().setup(cfg)
        self.error_log.filters[:] = [RateLimitedFilter()]

    def error(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Logs an error."""
        super().error(msg.removesuffix(GUESS), *args, **kwargs)
