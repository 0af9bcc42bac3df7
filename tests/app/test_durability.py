"""kill -9, again and again: nothing that was announced is ever lost.

KVSCOPE_DURABILITY_TIMES says how often (20), KVSCOPE_DURABILITY_MODEL names a real model instead of the fake:
`default`, or anything that --model takes.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest

from app.settings import DEFAULT_SERVICE
from model.frames import header
from tests.app.conftest import FAKE, LiveServer, eventually
from tests.app.test_server import check_interrupted, engine_of
from tests.app.viewer import Viewer

TIMES = int(os.environ.get("KVSCOPE_DURABILITY_TIMES", "20"))
MODEL = os.environ.get("KVSCOPE_DURABILITY_MODEL")

pytestmark = [pytest.mark.durability, pytest.mark.timeout(1800)]
Serve = Callable[..., LiveServer]


def start(serve: Serve, port: int = 0) -> LiveServer:
    """A server with the fake, or the model that the environment names."""
    if MODEL is None:
        return serve("delay=0.01,bytes=20000", port, service=FAKE)
    return serve(None if MODEL == "default" else MODEL, port, service=DEFAULT_SERVICE)


def watch_some(server: LiveServer, chance: random.Random) -> tuple[str, Viewer]:
    """A run that is being watched, at some moment of its decode."""
    run = server.start_run(prompt="Once upon a time", max_new_tokens=200)
    viewer = Viewer(server.url)
    viewer.watch(run)
    viewer.wait_for(chance.randint(4, 60))
    return run, viewer


def test_kill_9_of_the_engine(serve: Serve) -> None:
    server, chance = start(serve), random.Random(1)
    for _ in range(TIMES):
        run, viewer = watch_some(server, chance)
        engine_of(server).kill()
        seen = viewer.wait_for_close()
        viewer.leave()
        check_interrupted(seen, [])
        assert server.frames(run) == seen
        following = server.finished(server.start_run(prompt="Next", max_new_tokens=2))
        assert header(following[-1]).data["reason"] in ("length", "eos")


def test_kill_9_of_the_server(serve: Serve) -> None:
    server, chance = start(serve), random.Random(2)
    kept: dict[str, list[bytes]] = {}
    for _ in range(TIMES):
        run, viewer = watch_some(server, chance)
        server.kill()
        viewer.client.wait()
        server = start(serve, server.port)
        kept[run] = server.finished(run)
        check_interrupted(kept[run], viewer.frames)
    for run, frames in kept.items():
        eventually(lambda: server.get("healthz").ok)
        assert server.frames(run) == frames
