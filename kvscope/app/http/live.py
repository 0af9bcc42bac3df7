"""Socket.IO: sends the frames of watched runs as they are stored.

A watch is a reader of the log with a cursor of its own. Viewers that are live, late, or back after a lost network are
one path: read what follows the cursor, wait at the end. The log is the queue, so a slow viewer costs no memory.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock, Thread
from typing import Any

import socketio
from flask import Flask, request
from flask_socketio import ConnectionRefusedError, SocketIO

from kvscope.app.http.access import CONNECTS, FOLLOWS, Access, declare, declared
from kvscope.app.http.origins import is_own_origin
from kvscope.app.http.problems import Problem, fault, not_stored, unknown
from kvscope.app.http.requests import MAX_SEQ
from kvscope.app.http.socket_guard import MAX_MESSAGE_BYTES, NAMESPACE, SocketGuard, TextPacket
from kvscope.app.store.errors import StoreError
from kvscope.app.store.rounds import Rounds
from kvscope.app.store.runs import RunLog

MAX_QUEUED_PACKETS = 12
"""Packets that may wait in one viewer's send queue. A frame is two: the event and its bytes. Engine.IO's Python client
takes at most 16 in one polling response, and a ping and acknowledgements may come between."""
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.001, 0.02
"""Between two looks whether a full queue has room again: each time twice as long (docs/measurements.md)."""
WAIT_S = 10.0
READ_AGAIN_S = 1.0
"""How long after the log could not be read it is tried again."""
MAX_WATCHES = 8
LOOK_S = 1.0
"""How often handshakes are looked at."""

log = logging.getLogger(__name__)


class Watch:
    """One viewer's reading of one run, in a thread of its own, until the run's end or `stop`.

    `send` queues a frame for the viewer; it returns False when the queue has no room. `tell` says to the
    viewer that the log cannot be read. Both raise KeyError when the viewer is gone.
    """

    def __init__(
        self, runs: RunLog, run: str, after: int, send: Callable[[bytes], bool], tell: Callable[[StoreError], None]
    ) -> None:
        self._runs, self._run, self._after, self._send, self._tell = runs, run, after, send, tell
        self._lock = Lock()
        self._stopped = Event()

    def start(self, at_end: Callable[[], None]) -> None:
        """Begin sending; `at_end` is called once nothing more will be sent."""
        Thread(target=self._pump, args=(at_end,), name=f"watch-{self._run}", daemon=True).start()

    def stop(self) -> None:
        """After this returns, nothing more is sent."""
        with self._lock:
            self._stopped.set()
        self._runs.wake(self._run)

    def _pump(self, at_end: Callable[[], None]) -> None:
        try:
            self._follow()
        except KeyError:
            log.debug("the viewer of %s is gone", self._run)
        finally:
            at_end()

    def _follow(self) -> None:
        """Read to the run's end, through any failures to read the log; the viewer gets one message for each."""
        told = False
        while not self._stopped.is_set():
            try:
                page = self._runs.frames(self._run, self._after)
                head = self._runs.head(self._run) if not page else None
            except StoreError as error:
                with self._lock:
                    if not told and not self._stopped.is_set():
                        self._tell(error)
                told = True
                self._stopped.wait(READ_AGAIN_S)
                continue
            told = False
            for payload in page:
                if not self._deliver(payload):
                    return
                self._after += 1
            if not page:
                if head is None or (head.closed and head.last_seq <= self._after):
                    return
                self._runs.wait(self._run, self._after, WAIT_S)

    def _deliver(self, payload: bytes) -> bool:
        """Send a frame as soon as there is room for it; False when the watch was stopped instead."""
        pause = SHORTEST_PAUSE_S
        while True:
            with self._lock:
                if self._stopped.is_set():
                    return False
                if self._send(payload):
                    return True
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)


@dataclass(frozen=True, slots=True)
class Viewer:
    """One socket: its watches by run, and the runs that it began to watch last and has not left, even if they have
    ended.
    """

    watches: dict[str, Watch] = field(default_factory=dict)
    seen: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_WATCHES))


class Live:
    """All watches of all viewers."""

    def __init__(self, runs: RunLog, max_viewers: int, max_viewers_per_address: int) -> None:
        self._runs = runs
        self._most, self._most_per_address = max_viewers, max_viewers_per_address
        self._lock = Lock()
        self._viewers: dict[str, Viewer] = {}
        self._server: socketio.Server | None = None
        self._guard: SocketGuard | None = None

    def init_app(self, app: Flask) -> None:
        """Serve Socket.IO on the application."""
        socket = SocketIO(
            app,
            cors_allowed_origins=is_own_origin,
            async_mode="threading",  # left unset, an installed gevent would win
            async_handlers=False,  # a viewer's watch and unwatch must not overtake each other
            manage_session=False,
            max_http_buffer_size=MAX_MESSAGE_BYTES,
            serializer=TextPacket,
            logger=_errors_of("socketio"),
            engineio_logger=_errors_of("engineio"),
        )
        self._server = socket.server
        socket.on_event("connect", self._connect)
        socket.on_event("disconnect", self._disconnect)
        socket.on_event("watch", partial(self._answer, self._watch))
        socket.on_event("unwatch", partial(self._answer, self._unwatch))
        socket.server.on("*", _no_such_event)
        self._guard = SocketGuard(socket.server, self._most, self._most_per_address)
        self._guard.init_app(app)
        self._handshakes = Rounds("handshakes", self._guard.end_the_late, LOOK_S, log.error)

    def start(self) -> None:
        """Begin to end handshakes that are late."""
        self._handshakes.start()

    def close(self) -> None:
        """Stop every watch."""
        self._handshakes.close()
        with self._lock:
            watches = [watch for viewer in self._viewers.values() for watch in viewer.watches.values()]
            self._viewers.clear()
        for watch in watches:
            watch.stop()

    @property
    def events(self) -> dict[str, Access]:
        """Who may send which, and what it costs."""
        return declared({"connect": self._connect, "watch": self._watch, "unwatch": self._unwatch})

    @property
    def viewers(self) -> int:
        """How many sockets are connected."""
        with self._lock:
            return len(self._viewers)

    def watched(self) -> set[str]:
        """The runs that are in somebody's sight."""
        with self._lock:
            return {run for viewer in self._viewers.values() for run in viewer.seen}

    @declare(CONNECTS)
    def _connect(self, _auth: Any = None) -> None:
        assert self._server is not None
        assert self._guard is not None
        self._guard.joined(self._server.manager.eio_sid_from_sid(_sid(), NAMESPACE))
        with self._lock:
            if _sid() in self._viewers:  # a client's own event of that name
                raise ConnectionRefusedError("This socket is already connected.")
            self._viewers[_sid()] = Viewer()

    def _disconnect(self, _reason: Any = None) -> None:
        with self._lock:
            viewer = self._viewers.pop(_sid(), Viewer())
            watches = list(viewer.watches.values())
        for watch in watches:
            watch.stop()

    def _answer(self, handler: Callable[[str, Any], dict[str, Any]], *said: Any) -> dict[str, Any]:
        try:
            if len(said) > 1:
                raise Problem(422, "An event must have exactly one argument: a JSON object.")
            return handler(_sid(), said[0] if said else None)
        except Problem as problem:
            return {"error": problem.document()}
        except StoreError as error:
            return {"error": not_stored(error).document()}
        except Exception:
            log.exception("handling a viewer's message failed")
            return {"error": fault().document()}

    @declare(FOLLOWS)
    def _watch(self, sid: str, body: Any) -> dict[str, Any]:
        run, after = _run_of(body), _after_of(body)
        head = self._runs.head(run)
        if head is None:
            raise unknown("run", run)
        watch = Watch(
            self._runs, run, after, lambda payload: self._send(sid, payload), lambda error: self._tell(sid, run, error)
        )
        with self._lock:
            viewer = self._viewers.get(sid)
            if viewer is None:
                raise Problem(409, "This socket is closing.")
            mine = viewer.watches
            if run not in mine and len(mine) >= MAX_WATCHES:
                raise Problem(
                    429, f"One viewer may watch at most {MAX_WATCHES} runs at once.", field="run", limit=MAX_WATCHES
                )
            earlier = mine.get(run)
            mine[run] = watch
            viewer.seen.append(run)
        if earlier is not None:
            earlier.stop()
        watch.start(lambda: self._forget(sid, run, watch))
        return {"run": run, "last_seq": head.last_seq}

    @declare(FOLLOWS)
    def _unwatch(self, sid: str, body: Any) -> dict[str, Any]:
        run = _run_of(body)
        with self._lock:
            viewer = self._viewers.get(sid, Viewer())
            watch = viewer.watches.pop(run, None)
            while run in viewer.seen:
                viewer.seen.remove(run)
        if watch is not None:
            watch.stop()
        return {"run": run}

    def _forget(self, sid: str, run: str, watch: Watch) -> None:
        with self._lock:
            mine = self._viewers.get(sid, Viewer()).watches
            if mine.get(run) is watch:
                del mine[run]

    def _send(self, sid: str, payload: bytes) -> bool:
        assert self._server is not None
        assert self._guard is not None
        session = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        with self._guard.sending(session):
            if self._server.eio.sockets[session].queue.qsize() >= MAX_QUEUED_PACKETS:
                return False
            self._server.emit("frame", payload, to=sid, namespace=NAMESPACE)
            return True

    def _tell(self, sid: str, run: str, error: StoreError) -> None:
        """Say that a watched run cannot be read; its frames go on when it can."""
        assert self._server is not None
        assert self._guard is not None
        body = {"run": run, "error": not_stored(error).document()}
        with self._guard.sending(self._server.manager.eio_sid_from_sid(sid, NAMESPACE)):
            self._server.emit("problem", body, to=sid, namespace=NAMESPACE)


def _errors_of(library: str) -> logging.Logger:
    """A logger that passes over what the library warns of."""
    logger = logging.getLogger(f"{__name__}.{library}")
    logger.setLevel(logging.ERROR)
    return logger


def _sid() -> str:
    return str(request.sid)  # type: ignore[attr-defined]  # set by Flask-SocketIO


def _run_of(body: Any) -> str:
    run = body.get("run") if isinstance(body, dict) else None
    if not isinstance(run, str):
        raise Problem(422, "run must be the id of a run, as text.", field="run")
    return run


def _after_of(body: dict[str, Any]) -> int:
    after = body.get("after", -1)
    if isinstance(after, bool) or not isinstance(after, int) or not -1 <= after <= MAX_SEQ:
        sentence = f"after must be the seq of the last frame received, from -1 to {MAX_SEQ:,}."
        raise Problem(422, sentence, field="after", limit=[-1, MAX_SEQ])
    return after


def _no_such_event(event: str, *_: Any) -> dict[str, Any]:
    return {"error": Problem(404, f"The event {event[:80]!r} is unknown.", field="event").document()}
