"""Sends the frames of watched runs to viewers by Socket.IO, as they are stored.

A watch reads the log with its own cursor. A viewer that is live, late, or back after a lost network takes the same
path: read the frames after the cursor, wait at the end. The log is the queue, so a slow viewer costs no memory.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock, RLock, Thread
from typing import Any

import socketio
from engineio.exceptions import SocketIsClosedError
from flask import Flask, request
from flask_socketio import ConnectionRefusedError, SocketIO

from kvscope.app.http.access import CONNECTS, FOLLOWS, FOLLOWS_ROOM, Access, declare, declared
from kvscope.app.http.limits import Limits
from kvscope.app.http.origins import is_own_origin
from kvscope.app.http.problems import Problem, fault, not_stored, unknown
from kvscope.app.http.requests import MAX_SEQ
from kvscope.app.http.room_news import RoomNews
from kvscope.app.http.socket_guard import NAMESPACE, SESSION, Session, SocketGuard, TextPacket
from kvscope.app.http.visitors import Visitor, network_of, token_of
from kvscope.app.http.websocket import MAX_MESSAGE_BYTES
from kvscope.app.store.errors import StoreError
from kvscope.app.store.rooms import Rooms
from kvscope.app.store.rounds import Rounds
from kvscope.app.store.runs import RunLog

MAX_QUEUED_PACKETS = 12
"""Packets that may wait in one viewer's send queue. A frame is two: the event and its bytes. Engine.IO's Python client
accepts at most 16 in one polling response, and a ping and acknowledgements may come between."""
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.001, 0.02
"""Pause before a full queue is checked again: each is twice as long as the one before (docs/measurements.md)."""
WAIT_S = 10.0
READ_AGAIN_S = 1.0
"""Pause after a failed read of the log."""
MAX_WATCHES = 8
LOOK_S = 1.0
"""Time between two checks for late handshakes."""

log = logging.getLogger(__name__)


class Watch:
    """One viewer's reading of one run, in its own thread, until the run's end or `stop`.

    `lock`: held while a frame is sent. `send` queues a frame for the viewer and returns False when the queue is full.
    `report` sends the viewer the reason why the log cannot be read. Both raise KeyError when the viewer has left.
    """

    def __init__(
        self,
        runs: RunLog,
        run: str,
        after: int,
        lock: RLock,
        send: Callable[[bytes], bool],
        report: Callable[[StoreError], None],
    ) -> None:
        self._runs, self._run, self._after, self._lock = runs, run, after, lock
        self._send, self._report = send, report
        self._stopped = Event()

    def start(self, at_end: Callable[[], None]) -> None:
        """Starts sending. Calls `at_end` when nothing more will be sent."""
        Thread(target=self._pump, args=(at_end,), name=f"watch-{self._run}", daemon=True).start()

    def stop(self) -> None:
        """Stops sending. Nothing is sent after this returns."""
        with self._lock:
            self._stopped.set()
        self._runs.wake(self._run)

    def _pump(self, at_end: Callable[[], None]) -> None:
        try:
            self._follow()
        except KeyError:
            log.debug("the viewer of %s has left", self._run)
        finally:
            at_end()

    def _follow(self) -> None:
        """Sends the frames up to the run's end. The viewer gets one message for each period without a readable log."""
        reported = False
        while not self._stopped.is_set():
            try:
                page = self._runs.frames(self._run, self._after)
                head = self._runs.head(self._run) if not page else None
            except StoreError as error:
                with self._lock:
                    if not reported and not self._stopped.is_set():
                        self._report(error)
                reported = True
                self._stopped.wait(READ_AGAIN_S)
                continue
            reported = False
            for payload in page:
                if not self._deliver(payload):
                    return
                self._after += 1
            if not page:
                if head is None or (head.closed and head.last_seq <= self._after):
                    return
                self._runs.wait(self._run, self._after, WAIT_S)

    def _deliver(self, payload: bytes) -> bool:
        """Sends a frame as soon as the queue has room. False when the watch was stopped first."""
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
    """One connected page. `watches`: by run. `recent`: the runs that it last began to watch, even if they have ended,
    without those that it left.
    """

    session: Session
    watches: dict[str, Watch] = field(default_factory=dict)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=MAX_WATCHES))


class Live:
    """The watches of all viewers."""

    def __init__(
        self, runs: RunLog, rooms: Rooms, limits: Limits, max_viewers: int, max_viewers_per_address: int
    ) -> None:
        self._runs, self._limits = runs, limits
        self._rooms = RoomNews(rooms, self._send_room)
        self._most, self._most_per_address = max_viewers, max_viewers_per_address
        self._lock = Lock()
        self._viewers: dict[str, Viewer] = {}
        self._server: socketio.Server
        self._guard: SocketGuard

    def init_app(self, app: Flask) -> None:
        """Serves Socket.IO on the application."""
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
        socket.on_event("follow", partial(self._answer, self._follow))
        socket.server.on("*", _no_such_event)
        self._guard = SocketGuard(socket.server, self._most, self._most_per_address)
        self._guard.init_app(app)
        self._handshakes = Rounds("handshakes", self._guard.end_late_handshakes, LOOK_S, log.error)

    def start(self) -> None:
        """Starts to end late handshakes, and to send what changes in rooms."""
        self._handshakes.start()
        self._rooms.start()

    def close(self) -> None:
        """Stops every watch."""
        self._rooms.close()
        self._handshakes.close()
        with self._lock:
            watches = [watch for viewer in self._viewers.values() for watch in viewer.watches.values()]
            self._viewers.clear()
        for watch in watches:
            watch.stop()

    @property
    def events(self) -> dict[str, Access]:
        """The access of each event that a client may send."""
        return declared(
            {"connect": self._connect, "watch": self._watch, "unwatch": self._unwatch, "follow": self._follow}
        )

    @property
    def viewers(self) -> int:
        """The number of connected viewers."""
        with self._lock:
            return len(self._viewers)

    def watched(self) -> set[str]:
        """Returns the runs that some viewer shows."""
        with self._lock:
            return {run for viewer in self._viewers.values() for run in viewer.recent}

    @declare(CONNECTS)
    def _connect(self, _auth: Any = None) -> None:
        session: Session = request.environ[SESSION]
        with self._lock:
            if _sid() in self._viewers:  # the client sent an event of this name
                raise ConnectionRefusedError("This socket is already connected.")
            self._viewers[_sid()] = Viewer(session)
        session.viewer = _sid()

    def _disconnect(self, _reason: Any = None) -> None:
        with self._lock:
            viewer = self._viewers.pop(_sid(), None)
            watches = list(viewer.watches.values()) if viewer else []
        self._rooms.leave(_sid())
        for watch in watches:
            watch.stop()

    def _answer(self, handler: Callable[[str, Any], dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        try:
            if len(arguments) > 1:
                raise Problem(422, "An event must have exactly one argument: a JSON object.")
            return handler(_sid(), arguments[0] if arguments else None)
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
        with self._lock:
            viewer = self._viewers.get(sid)
            if viewer is None:
                raise Problem(409, "This socket is closing.")
            if run not in viewer.watches and len(viewer.watches) >= MAX_WATCHES:
                raise Problem(
                    429, f"One viewer may watch at most {MAX_WATCHES} runs at once.", field="run", limit=MAX_WATCHES
                )
            send, report = partial(self._send, viewer.session), partial(self._report, viewer.session, run)
            watch = Watch(self._runs, run, after, viewer.session.lock, send, report)
            earlier = viewer.watches.get(run)
            viewer.watches[run] = watch
            viewer.recent.append(run)
        if earlier is not None:
            earlier.stop()
        watch.start(partial(self._forget, viewer, run, watch))
        return {"run": run, "last_seq": head.last_seq}

    @declare(FOLLOWS)
    def _unwatch(self, sid: str, body: Any) -> dict[str, Any]:
        run, watch = _run_of(body), None
        with self._lock:
            viewer = self._viewers.get(sid)
            if viewer is not None:
                watch = viewer.watches.pop(run, None)
                while run in viewer.recent:
                    viewer.recent.remove(run)
        if watch is not None:
            watch.stop()
        return {"run": run}

    @declare(FOLLOWS_ROOM)
    def _follow(self, sid: str, body: Any) -> dict[str, Any]:
        """Sends the viewer the state of one room, now and whenever it changes. {"room": null} ends that.

        `client`: the page's client token; `presents`: whether the viewer is a presenter, who
        does not count as a follower.
        """
        if not isinstance(body, dict) or not isinstance(code := body.get("room", ""), str | None):
            raise Problem(422, "room must be the code of a room, as text.", field="room")
        if code is None:
            self._rooms.leave(sid)
            return {"room": None}
        address = network_of(request.remote_addr or "")
        self._limits.take(Visitor(token_of(body.get("client")) or address, address), "reads")
        return {"room": self._rooms.follow(sid, code, presents=body.get("presents") is True)}

    def _forget(self, viewer: Viewer, run: str, watch: Watch) -> None:
        with self._lock:
            if viewer.watches.get(run) is watch:
                del viewer.watches[run]

    def _send(self, session: Session, payload: bytes) -> bool:
        """Queues a frame for a viewer. False when its queue is full. The caller holds the session's lock."""
        if self._guard.queued_packets(session) >= MAX_QUEUED_PACKETS:
            return False
        self._server.emit("frame", payload, to=session.viewer, namespace=NAMESPACE)
        return True

    def _send_room(self, sid: str, room: dict[str, Any]) -> bool:
        """Queues the state of a room for a follower. False when its queue is full. Raises KeyError when it has left."""
        with self._lock:
            session = self._viewers[sid].session
        with session.lock:
            if self._guard.queued_packets(session) >= MAX_QUEUED_PACKETS:
                return False
            try:
                self._server.emit("room", room, to=sid, namespace=NAMESPACE)
            except SocketIsClosedError:
                raise KeyError(sid) from None
        return True

    def _report(self, session: Session, run: str, error: StoreError) -> None:
        """Sends a viewer the reason why a watched run cannot be read now. The caller holds the session's lock."""
        body = {"run": run, "error": not_stored(error).document()}
        self._server.emit("problem", body, to=session.viewer, namespace=NAMESPACE)


def _errors_of(library: str) -> logging.Logger:
    """Returns a logger for a library's errors, without its warnings."""
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
