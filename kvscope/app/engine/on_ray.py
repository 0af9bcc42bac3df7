"""Runs an engine as an actor of a Ray cluster, on a machine that has the resources it needs.

The local process is a relay between the web process's pipe and the actor. Ray ends a driver process whose node or
cluster is lost. The relay is the driver, so it ends like an engine that dies, and the supervisor starts it again. Ray
ends the actor when the relay ends, for any reason.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Event, Thread, Timer
from typing import Any

from kvscope.app import rate_limited_log
from kvscope.app.engine.messages import Beat, LoadFailed, Loading, Placed
from kvscope.app.engine.process import EngineSpec, Sender, receive, serve
from kvscope.app.engine.vitals import BEAT_S
from kvscope.model.api import Progress

MISSING = "Ray is not installed. Install it with: pip install 'kvscope[cluster]'."
NO_CLUSTER = "No Ray cluster answers at {address}. Start one with `ray start --head`, or correct --ray."
NO_HEAD = (
    "What answers at {address} is not the head of a Ray cluster. --ray takes host:port as `ray start --head` prints "
    "it, usually port 6379, or auto; 8265 is the dashboard."
)
SAME_EVERYWHERE = "Install the same version on all machines of the cluster."
NOT_THERE = f"A machine of the Ray cluster cannot run KVScope. {SAME_EVERYWHERE}"
OWN_RESOURCES = ("num_cpus", "num_gpus", "memory")
"""Resources that every Ray cluster has."""
KNOCK_S, LOOK_S = 5.0, 2.0
SETTINGS, FRAME_HEAD_BYTES = 4, 9
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, SETTINGS, 0, 0, 0, 0, 0))
"""The first bytes of a gRPC client; a server answers with a frame of its settings (RFC 9113, 3.4)."""
SILENT_S = 10.0
CONNECT_S = 30.0
"""After this time without a connection the relay ends, and the supervisor starts another: if a node was just lost, Ray
may wait for it for ever."""
MOST_WAITING = 64
"""The most messages that wait for the web process. At this number the engine waits, as for a full pipe."""

Send = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, and the resources that an engine takes of one of its machines.

    `address`: host:port of its head node, or auto for the cluster that this machine belongs to. `resources`:
    `num_cpus`, `num_gpus`, and names that the cluster defines.
    """

    address: str
    resources: dict[str, float] = field(default_factory=dict)


class EngineActor:
    """Runs `serve` in the cluster, with two queues in place of the pipe."""

    def __init__(self) -> None:
        self._to_engine: SimpleQueue[Any] = SimpleQueue()
        self._from_engine: SimpleQueue[Any] = SimpleQueue()

    def where(self) -> tuple[str, str]:
        """Returns the name of the actor's machine, and the version of KVScope there."""
        return socket.gethostname(), version("kvscope")

    def tell(self, message: Any) -> None:
        """Takes a message from the web process."""
        self._to_engine.put(message)

    def messages(self, spec: EngineSpec) -> Iterator[Any]:
        """Serves, and yields the engine's messages until it ends."""
        Thread(target=self._serve, args=(spec,), name="serve", daemon=True).start()
        while (message := self._from_engine.get()) is not None:
            yield message

    def _serve(self, spec: EngineSpec) -> None:
        try:
            serve(self, spec)
        finally:
            self._from_engine.put(None)

    def send(self, message: Any) -> None:
        """Takes a message from the engine (a method of `Channel`)."""
        self._from_engine.put(message)

    def recv(self) -> Any:
        """Waits for the next message to the engine, and returns it (a method of `Channel`)."""
        return self._to_engine.get()


def relay(connection: Connection, spec: EngineSpec, cluster: Cluster) -> None:
    """Runs the engine in the cluster until the other end of `connection` closes, or the engine is lost."""
    rate_limited_log.install()
    with suppress(PermissionError):
        os.setsid()
    to_engine: SimpleQueue[Any] = SimpleQueue()
    Thread(target=receive, args=(connection, to_engine.put), name="receive", daemon=True).start()
    send = Sender(connection)
    try:
        with _beating(send):
            actor = placed(send, cluster)
    except NotPlaced as why:
        send(LoadFailed(str(why)))
        return
    _pass_on(send, actor, replace(spec, folder=None, processors=()), to_engine)


class NotPlaced(Exception):
    """The cluster cannot run the engine; the message says why and what to do."""


@contextmanager
def _beating(send: Send) -> Iterator[None]:
    """Sends beats while the relay waits for the cluster; later the engine sends them."""
    over = Event()

    def beat() -> None:
        while not over.wait(BEAT_S):
            send(Beat())

    thread = Thread(target=beat, name="beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def placed(send: Send, cluster: Cluster) -> Any:
    """Returns the actor when it runs on a machine. Raises NotPlaced."""
    try:
        import ray
        from ray.exceptions import RayError
    except ImportError:
        raise NotPlaced(MISSING) from None
    send(_waiting(f"Connecting to the Ray cluster at {cluster.address}"))
    try:
        _check_address(cluster.address)
        late = Timer(CONNECT_S, os._exit, (0,))
        late.daemon = True
        late.start()
        ray.init(cluster.address, namespace="kvscope", logging_level=logging.ERROR, log_to_driver=False)
        late.cancel()
    except OSError:  # includes ConnectionError, which Ray raises
        raise NotPlaced(NO_CLUSTER.format(address=cluster.address)) from None
    except (RuntimeError, ValueError) as error:  # Ray raises these for different versions or a bad address
        raise NotPlaced(f"The Ray cluster at {cluster.address} cannot be used: {_first_line(error)}") from None
    groups = {"to_engine": 1, "from_engine": 1}  # a thread each; calls of one group stay in order
    actor_class = ray.remote(concurrency_groups=groups)(EngineActor)  # type: ignore[call-overload]
    actor = actor_class.options(**_options(cluster.resources)).remote()
    where, needs = actor.where.remote(), ", ".join(f"{name}={amount:g}" for name, amount in cluster.resources.items())
    while not ray.wait([where], timeout=LOOK_S)[0]:
        send(_waiting(f"Waiting for a machine of the Ray cluster with {needs} free"))
    try:
        machine, theirs = ray.get(where)
    except RayError as error:
        raise NotPlaced(f"{NOT_THERE} Ray says: {_first_line(error)}") from None
    if theirs != (ours := version("kvscope")):
        raise NotPlaced(f"{machine} has KVScope {theirs}, and this server is {ours}. {SAME_EVERYWHERE}")
    send(Placed(machine))
    return actor


def _check_address(address: str) -> None:
    """Raises OSError if nothing listens, which Ray reports only after more than 30 s; raises NotPlaced if the listener
    is no gRPC server, for which Ray would wait.
    """
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdecimal()):
        return
    with socket.create_connection((host.strip("[]"), int(port)), KNOCK_S) as connection:
        if os.environ.get("RAY_USE_TLS", "0") != "0":
            return
        try:
            connection.sendall(HTTP2_PREFACE)
            answer = connection.makefile("rb").read(FRAME_HEAD_BYTES)
        except OSError:
            answer = b""
    if len(answer) < FRAME_HEAD_BYTES or answer[3] != SETTINGS:
        raise NotPlaced(NO_HEAD.format(address=address))


def _pass_on(send: Send, actor: Any, spec: EngineSpec, to_engine: SimpleQueue[Any]) -> None:
    """Passes messages on in both directions, until the engine ends or is lost."""
    import ray
    from ray.exceptions import RayError

    def tell() -> None:
        while True:
            actor.tell.options(concurrency_group="to_engine").remote(to_engine.get())

    Thread(target=tell, name="tell", daemon=True).start()
    # Ray has no public option that limits how far a generator may be ahead of its reader.
    messages = actor.messages.options(
        concurrency_group="from_engine", num_returns="streaming", _generator_backpressure_num_objects=MOST_WAITING
    )
    silent = _Silence()
    with suppress(RayError):
        for reference in messages.remote(spec):
            message = ray.get(reference)
            with silent.not_counted():
                send(message)


class _Silence:
    """Ends the relay if the engine, which beats every second, sends nothing for `SILENT_S`. Ray may take minutes to
    report that a node was lost, and the supervisor sees only that the relay lives.
    """

    def __init__(self) -> None:
        self._heard, self._counted = time.monotonic(), True
        Thread(target=self._watch, name="silence", daemon=True).start()

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """Counts no silence while the web process takes a message of the engine."""
        self._counted = False
        try:
            yield
        finally:
            self._heard, self._counted = time.monotonic(), True

    def _watch(self) -> None:
        while not self._counted or time.monotonic() - self._heard < SILENT_S:
            time.sleep(BEAT_S)
        os._exit(0)


def _options(resources: dict[str, float]) -> dict[str, Any]:
    """Returns options for Ray: its own resources by name, and the cluster's resources as one mapping."""
    own = {name: resources[name] for name in OWN_RESOURCES if name in resources}
    defined = {name: amount for name, amount in resources.items() if name not in OWN_RESOURCES}
    return {**own, "resources": defined, "max_restarts": 0}  # the supervisor restarts it, on any machine with room


def _waiting(message: str) -> Loading:
    return Loading(Progress("loading", 0, 0, message))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
