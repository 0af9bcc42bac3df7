"""gunicorn's parent process. A signal ends the whole server, and never starts a second worker.

By default, gunicorn starts a second worker beside the first on SIGHUP, SIGTTIN and SIGUSR2. Then two servers would
write to one database. The worker itself is in worker.py.
"""

from __future__ import annotations

import signal
from typing import NoReturn

from gunicorn.arbiter import Arbiter


class OneWorker(Arbiter):  # type: ignore[misc]
    """Keeps one worker running, and starts another only after that one has ended."""

    def init_signals(self) -> None:
        """Lets SIGHUP, which a closed terminal sends, end the server. It stays ignored if it was ignored at the start,
        as under nohup.
        """
        outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        super().init_signals()
        if outlives:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def handle_hup(self) -> NoReturn:
        """Ends the server."""
        raise StopIteration

    handle_int = handle_quit = handle_term = handle_hup

    def handle_ttin(self) -> None:
        """Does nothing: there is always one worker, with the settings of the start."""

    handle_ttou = handle_usr1 = handle_usr2 = handle_winch = handle_ttin
