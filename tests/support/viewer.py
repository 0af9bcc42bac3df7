"""A viewer from outside the project: python-socketio's own client and nothing of `app`."""

import struct
from collections.abc import Mapping
from threading import Condition, Event
from typing import Any

import engineio
import socketio


class _OneByOne(engineio.Client):  # type: ignore[misc]
    """Handles messages in the order they came; the stock client gives each a thread of its own."""

    def _trigger_event(self, event: str, *arguments: Any, **options: Any) -> Any:
        return super()._trigger_event(event, *arguments, **(options | {"run_async": False}))


class _Client(socketio.Client):  # type: ignore[misc]
    def _engineio_client_class(self) -> type:
        return _OneByOne


class Viewer:
    """Watches runs over Socket.IO and keeps every frame it is sent."""

    def __init__(
        self,
        url: str,
        transports: list[str] | None = None,
        headers: Mapping[str, str] | None = None,
        path: str = "socket.io",
    ) -> None:
        self.frames: list[bytes] = []
        self._came = Condition()
        self.may_read = Event()
        self.may_read.set()
        self.client = _Client(reconnection=False, handle_sigint=False)
        self.client.on("frame", self.take)
        self.client.connect(
            url, headers=dict(headers or {}), transports=transports or ["websocket"], socketio_path=path
        )

    def watch(self, run: str, after: int = -1) -> dict[str, Any]:
        """The server's acknowledgement."""
        return self.client.call("watch", {"run": run, "after": after}, timeout=30)

    def call(self, event: str, body: Any) -> dict[str, Any]:
        return self.client.call(event, body, timeout=30)

    def wait_for(self, count: int, seconds: float = 60) -> list[bytes]:
        """The frames, once there are `count`."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.frames) >= count, seconds), (
                f"{len(self.frames)} of {count} came"
            )
            return list(self.frames)

    def wait_for_close(self, seconds: float = 60) -> list[bytes]:
        """The frames, once the last is a `close`."""
        with self._came:
            assert self._came.wait_for(lambda: bool(self.frames) and kind(self.frames[-1]) == "close", seconds)
            return list(self.frames)

    def leave(self) -> None:
        self.may_read.set()
        self.client.disconnect()

    def take(self, payload: bytes) -> None:
        """Keep a frame."""
        self.may_read.wait()
        with self._came:
            self.frames.append(payload)
            self._came.notify_all()


def kind(payload: bytes) -> str:
    """A frame's kind, found in its safetensors header by hand."""
    (length,) = struct.unpack_from("<Q", payload)
    header = payload[8 : 8 + length]
    return next(name for name in ("open", "layer", "step", "close") if f'"kind":"{name}"'.encode() in header)
