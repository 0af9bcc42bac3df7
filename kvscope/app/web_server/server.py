"""Serves the application with gunicorn: one worker process, a thread per connection.

There is one worker because the engine, and the threads that wait for frames, belong to one process. There are threads
because simple-websocket sends a message with one `send`, which only a blocking socket completes.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TypeVar

from flask import Flask
from gunicorn.app.base import BaseApplication

from kvscope.app import create_app, rate_limited_log
from kvscope.app.factory import report
from kvscope.app.settings import Settings
from kvscope.app.store.database import held
from kvscope.app.store.errors import StoreError
from kvscope.app.web_server.arbiter import OneWorker
from kvscope.app.web_server.worker import Limits, Worker
from kvscope.app.web_server.worker_log import WorkerLog

SPARE_THREADS = 100
"""Threads in addition to one for each viewer's socket."""
SPARE_THREADS_PER_ADDRESS = 50
CONNECTIONS_PER_VIEWER = 4
"""A browser opens up to six connections for a moment, and keeps one while it shows a run."""
GRACE_S = 1
"""How long requests may still take when the server ends. Viewers' sockets never end by themselves."""
CLOSING_S = 15
"""How long the worker may take to end the engine and close its runs. Then it is killed."""
TAKE_OVER_S = 2.0
"""How long to wait for the port and the data folder of a server that was just killed."""
AGAIN_S = 1.0
"""How often to try a database that does not answer."""
OPEN_FILES = 10_240
ANY_ADDRESS = ("0.0.0.0", "::")
PR_SET_PDEATHSIG = 1
DEPARTED = (errno.EBADF, errno.ECONNRESET, errno.ENOTCONN, errno.EPIPE)
"""Errors of a socket whose other end has closed the connection."""


T = TypeVar("T")

log = logging.getLogger(__name__)


class CannotServe(Exception):
    """The server cannot start; the message is one readable sentence."""


class Server(BaseApplication):  # type: ignore[misc]
    """gunicorn with the application of `create_app`. It takes over a bound socket, `descriptor`."""

    def __init__(self, settings: Settings, descriptor: int, url: str) -> None:
        self._settings, self._descriptor, self._url = settings, descriptor, url
        self.limits = Limits(
            CONNECTIONS_PER_VIEWER * settings.max_viewers_per_address,
            settings.max_viewers_per_address + SPARE_THREADS_PER_ADDRESS,
            settings.proxies,
        )
        super().__init__()

    def load_config(self) -> None:
        """Sets gunicorn's settings."""
        values = {
            "bind": f"fd://{self._descriptor}",
            "worker_class": Worker,
            "workers": 1,
            "threads": self._settings.max_viewers + SPARE_THREADS,
            "worker_connections": CONNECTIONS_PER_VIEWER * (self._settings.max_viewers + SPARE_THREADS),
            "timeout": 0,
            "graceful_timeout": CLOSING_S,
            "loglevel": "error",
            "logger_class": WorkerLog,
            "control_socket_disable": True,
            "http_parser": "python",  # the tested one, even if the faster one is installed
            "forwarded_allow_ips": "",  # app/http/hosts.py decides which proxies are trusted
            "post_fork": self._prepare,
            "post_worker_init": self._announce,
            "worker_exit": self._leave,
        }
        for name, value in values.items():
            self.cfg.set(name, value)

    def run(self) -> None:
        """Serves until a signal ends it."""
        OneWorker(self).run()

    def load(self) -> Flask:
        """Makes the application in the worker, and starts its engine."""
        rate_limited_log.install()
        threading.excepthook = pass_over_departures
        app = self._application()
        app.extensions["kvscope"].start()
        return app

    def _application(self) -> Flask:
        """Makes the app. In a cluster, waits for a database that does not answer; otherwise raises StoreError."""
        reported = False
        while True:
            try:
                return create_app(self._settings)
            except StoreError as error:
                if not self._settings.cluster:
                    raise
                if not reported:
                    report(str(error))
                reported = True
                time.sleep(AGAIN_S)

    def _announce(self, worker: Any) -> None:
        """Prints the URL once the first worker answers it."""
        if worker.age > 1:
            return
        print(self._url, flush=True)
        for line in openness(self._settings, self._url):
            report(line)
        if self._settings.open_browser:
            threading.Thread(target=webbrowser.open, args=(self._url,), name="browser", daemon=True).start()

    @staticmethod
    def _prepare(_arbiter: Any, worker: Any) -> None:
        """Sets up the new worker process. It gets GRACE_S for requests at the end; the parent waits CLOSING_S for it.

        On Linux it ends at once if its parent is killed, which frees the port and the data folder. On other systems
        gunicorn notices that within a second.
        """
        worker.cfg.set("graceful_timeout", GRACE_S)
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    @staticmethod
    def _leave(_arbiter: Any, worker: Any) -> None:
        """Closes the application, then ends the process without waiting for the threads of viewers' sockets."""
        if isinstance(worker.wsgi, Flask):
            worker.wsgi.extensions["kvscope"].close()
        sys.stderr.flush()
        os._exit(0)


def openness(settings: Settings, url: str) -> Iterator[str]:
    """Sentences that tell the operator who can do what. None if only this machine can reach the server."""
    if settings.token:
        yield f"Visitors need the token to start, control, share or import runs: {url}#token={settings.token}"
    if not settings.on_loopback:
        others = (
            "view"
            if settings.token
            else "start, control, share and import runs (--token requires a token for that) and view"
        )
        port = url.rstrip("/").rpartition(":")[2]
        yield f"Anyone who can reach {settings.host} port {port} can {others} runs they have a link to."


def pass_over_departures(failure: threading.ExceptHookArgs) -> None:
    """Logs the error that ended a thread, unless it only means that a viewer has closed the connection.

    Two threads serve a socket. If the reader notices first that the viewer has gone, engine.io's writer fails.
    """
    has_left = isinstance(failure.exc_value, OSError) and failure.exc_value.errno in DEPARTED
    if not (has_left and failure.thread and failure.thread.name.endswith("(writer)")):
        log.error("a thread failed", exc_info=failure.exc_value)


def serve(settings: Settings) -> None:
    """Serves until a signal ends it. Raises CannotServe, or database.StoreError."""
    place = settings.data_dir, settings.database_url
    allow_many_sockets()
    shared = settings.cluster
    with hold_folder(settings.data_dir), _listen(settings) as listener, held(*place, together=shared):
        url = _url(settings, listener)
        if shared and settings.advertise is None:
            settings = replace(settings, advertise=_reachable(settings, url))
        Server(settings, listener.detach(), url).run()


def allow_many_sockets() -> None:
    """Raises the limit of open files. Each viewer takes two, and many systems allow 1,024 by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        with suppress(ValueError, OSError):  # the system may have a lower limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def hold_folder(folder: Path) -> IO[str]:
    """Locks the data folder for this process. Another server would take its open runs for unfinished ones of a crash.

    The lock lasts until the returned file is closed. Raises CannotServe.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "server.lock").open("w")
    except OSError as error:
        raise CannotServe(f"The data folder {folder} cannot be used: {error.strerror}.") from None
    try:
        _retry(lambda: fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB), errno.EWOULDBLOCK)
    except OSError:
        lock.close()
        raise CannotServe(
            f"The data folder {folder} is in use by another KVScope. Choose another with --data."
        ) from None
    return lock


def _listen(settings: Settings) -> socket.socket:
    address = (settings.host, settings.port)
    try:
        family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        return _retry(lambda: socket.create_server(address, family=family, backlog=1024), errno.EADDRINUSE)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotServe(f"Port {settings.port} is in use. Choose another with --port.") from None
        raise CannotServe(f"Cannot listen on {settings.host} port {settings.port}: {error.strerror}.") from None


def _retry(attempt: Callable[[], T], expected: int) -> T:
    """Returns the result of `attempt`, repeated for TAKE_OVER_S while it raises OSError with errno `expected`."""
    deadline = time.monotonic() + TAKE_OVER_S
    while True:
        try:
            return attempt()
        except OSError as error:
            if error.errno != expected or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _reachable(settings: Settings, url: str) -> str:
    """Returns the URL for other machines: with this machine's name if the server listens on all addresses."""
    return url if settings.host not in ANY_ADDRESS else url.replace(_shown(settings.host), socket.gethostname(), 1)


def _url(settings: Settings, listener: socket.socket) -> str:
    return f"http://{_shown(settings.host)}:{listener.getsockname()[1]}/"


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
