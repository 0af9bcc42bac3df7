"""An engine that is stopped during a run: when its callers, its viewers and its operator learn of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from tests.support.live_server import LiveServer, engine_of
from tests.support.waiting import eventually

TIMES = 5
LONGEST_S = 120


def hung(server: LiveServer) -> Iterator[str]:
    """Yields lines with the figures, the longest of several rounds."""
    took: dict[str, list[float]] = {}
    for _ in range(TIMES):
        run = server.start_run(max_new_tokens=250)
        eventually(lambda run=run: server.get(f"api/runs/{run}").json()["steps"] > 1)
        engine = engine_of(server)
        engine.suspend()
        began = time.monotonic()

        def after(name: str, true: Callable[[], object], began: float = began) -> None:
            eventually(true, LONGEST_S)
            took.setdefault(name, []).append(time.monotonic() - began)

        caller = threading.Thread(
            target=after,
            args=("a call is answered", lambda run=run: server.get(f"api/runs/{run}/lens?step=0") is not None),
        )
        caller.start()
        after("not ready", lambda: not server.get("readyz").ok)
        after("the run is closed", lambda run=run: server.get(f"api/runs/{run}").json()["status"] == "closed")
        caller.join()
        after("ready again", lambda: server.get("readyz").ok)
    for name, seconds in took.items():
        yield f"  {name} after {max(seconds):.1f} s at most, of {TIMES}"
