"""gunicorn's two processes and their signals: every signal that ends one of them ends the server, cleanly.

gunicorn's own way with SIGHUP, SIGTTIN and SIGUSR2 is to start a second worker beside the first: two servers on one
database.
"""

from __future__ import annotations

import signal
from typing import NoReturn

from gunicorn.arbiter import Arbiter
from gunicorn.workers.gthread import ThreadWorker

ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


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


class Worker(ThreadWorker):  # type: ignore[misc]
    """The child, which serves. A signal lets its loop end; `worker_exit` then closes the parts, once."""

    def init_signals(self) -> None:
        """No handler raises: a second signal must not cut off what the first began."""
        outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        super().init_signals()
        for number in ENDING:
            signal.signal(number, self.handle_exit)
        signal.signal(signal.SIGHUP, signal.SIG_IGN if outlives else self.handle_exit)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
