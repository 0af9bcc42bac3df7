"""gunicorn's parent process: every signal that ends it ends the server, cleanly (the worker: worker.py).

gunicorn's own way with SIGHUP, SIGTTIN and SIGUSR2 is to start a second worker beside the first: two servers on one
database.
"""

from __future__ import annotations

import signal
from typing import NoReturn

from gunicorn.arbiter import Arbiter


class OneWorker(Arbiter):  # type: ignore[misc]
    """The parent: keeps one worker, and starts another only once that one is gone."""

    def init_signals(self) -> None:
        """A SIGHUP ends the server, since that is what a closed terminal says, unless it was started to outlive it
        (nohup).
        """
        outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        super().init_signals()
        if outlives:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def handle_hup(self) -> NoReturn:
        """End the server."""
        raise StopIteration

    handle_int = handle_quit = handle_term = handle_hup

    def handle_ttin(self) -> None:
        """Nothing: there is one worker, and its settings are those of the start."""

    handle_ttou = handle_usr1 = handle_usr2 = handle_winch = handle_ttin
