"""Engines in a Ray cluster: they are placed, lost and placed again; what keeps one from being placed is said."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from threading import Thread
from typing import Any

import pytest

from kvscope.app.engine import on_ray
from kvscope.app.engine.messages import LoadFailed
from kvscope.app.engine.on_ray import Cluster, EngineActor
from kvscope.app.engine.pool import Pool
from kvscope.app.engine.process import EngineSpec
from kvscope.app.settings import Settings
from kvscope.app.store.runs import RunLog
from kvscope.model.log.frames import header
from tests.support.command import command
from tests.support.engine_side import Started, closed
from tests.support.live_server import FAKE
from tests.support.ray_cluster import add_node, engines_in_ray, ray_cluster
from tests.support.waiting import eventually

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]
ONE = (("num_cpus", 0.0), ("engine", 1.0))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(nodes=2, engines_per_node=2) as started:
        yield started


def test_runs_are_computed_in_the_cluster_and_an_actor_that_dies_comes_back(cluster: Any, engine_side: Started) -> None:
    side = engine_side(engines=2, ray=cluster.address, engine_resources=ONE, model="delay=0.02")
    assert {engine.supervisor.machine for engine in side.pool.engines} == {socket.gethostname()}
    for run in "ab":
        side.start(run, max_new_tokens=40)
    for run in "ab":
        assert closed(side.log, run) == "length"
        assert [header(payload).seq for payload in side.log.all_frames(run)] == list(range(82))
    for run in "cd":
        side.start(run, max_new_tokens=256)
    eventually(lambda: all((head := side.log.head(run)) and head.steps > 3 for run in "cd"))
    engines_in_ray()[0].send_signal(signal.SIGKILL)
    eventually(lambda: any((head := side.log.head(run)) and head.closed for run in "cd"))
    assert sorted(closed(side.log, run) for run in "cd") == ["interrupted", "length"]
    eventually(lambda: all(engine.state == "ready" for engine in side.pool.engines), 150)
    assert side.computes()


def test_an_actor_ends_with_its_relay(cluster: Any, engine_side: Started) -> None:
    side = engine_side(ray=cluster.address, engine_resources=ONE)
    assert side.supervisor.pid is not None
    side.pool.close()
    eventually(lambda: not engines_in_ray())


def test_an_engine_on_a_lost_node_is_placed_on_another(cluster: Any, engine_side: Started) -> None:
    lost = add_node(cluster, engine=1)
    side = engine_side(ray=cluster.address, engine_resources=ONE, model="delay=0.02")
    side.start("a", max_new_tokens=256)
    side.wait_for_steps("a")
    for node in (lost, *cluster.worker_nodes):
        if any(each.ppid() == node.all_processes["raylet"][0].process.pid for each in engines_in_ray()):
            cluster.remove_node(node, allow_graceful=False)
            break
    assert closed(side.log, "a") == "interrupted"
    eventually(lambda: side.supervisor.readiness.state == "ready", 150)
    assert side.computes()


def test_a_cluster_without_room_is_waited_for(cluster: Any, settings: Settings) -> None:
    mine = replace(settings, ray=cluster.address, engine_resources=(("num_cpus", 0.0), ("no-such-thing", 1.0)))
    with RunLog(mine.data_dir) as log, closing(Pool(log, mine, lambda _line: None)) as pool:
        pool.start()
        eventually(lambda: "no-such-thing=1 free" in pool.readiness.message)


@pytest.mark.parametrize(
    ("address", "says"),
    [("127.0.0.1:1", "No Ray cluster answers at 127.0.0.1:1."), ("nowhere.invalid:6379", "No Ray cluster answers at")],
)
def test_a_cluster_that_does_not_answer_is_named_with_the_remedy(address: str, says: str) -> None:
    with pytest.raises(on_ray.NotPlaced) as caught:
        on_ray.placed(lambda _message: None, Cluster(address))
    assert says in str(caught.value)
    assert "ray start --head" in str(caught.value)


DASHBOARD = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("answer", [DASHBOARD, b"", b"\x15\x03\x01\0\x02\x02", b"-ERR unknown command\r\n", None])
def test_what_is_no_head_of_a_cluster_is_named_with_the_form_of_an_address(
    monkeypatch: pytest.MonkeyPatch, answer: bytes | None
) -> None:
    """`None`: it never answers."""
    monkeypatch.setattr(on_ray, "KNOCK_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                if answer is None:
                    connection.recv(1)
                else:
                    connection.sendall(answer)

        Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(on_ray.NotPlaced, match="host:port") as caught:
            on_ray.placed(lambda _message: None, Cluster(address))
    assert address in str(caught.value)


READABLE = ["auto", "10.0.0.7:6379", "ray-head.default.svc:6379", "[fd00::7]:6379"]
SCHEMES = ["ray://10.0.0.7:10001", "http://10.0.0.7:8265", "https://10.0.0.7:8265/", "grpc://10.0.0.7:6379"]
PORTS = ["10.0.0.7", "10.0.0.7:6379/", "10.0.0.7:", ":6379", "10.0.0.7:0", "10.0.0.7:65536", "10.0.0.7:port"]
OTHERS = ["fd00::7:6379", "10.0.0.7:6379,10.0.0.8:6379", "10.0.0.7:6379 ", "", "local", "AUTO"]


@pytest.mark.parametrize("address", [*READABLE, *SCHEMES, *PORTS, *OTHERS])
def test_an_address_is_host_and_port_or_auto(address: str) -> None:
    result = command("--ray", address, "models")
    assert (result.exit_code == 0) is (address in READABLE), result.output
    assert address in READABLE or "host:port" in result.output


def test_without_ray_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(on_ray.NotPlaced, match=r"kvscope\[cluster\]"):
        on_ray.placed(lambda _message: None, Cluster("127.0.0.1:1"))


def test_an_actor_serves_over_its_queues_and_ends_when_the_model_cannot_be_had() -> None:
    actor = EngineActor()
    assert actor.where() == (socket.gethostname(), version("kvscope"))
    before = os.environ.copy()
    said = list(actor.messages(EngineSpec(FAKE, "refused", "cpu", "float32")))
    os.environ.clear()
    os.environ.update(before)
    assert any(isinstance(message, LoadFailed) and "truncated" in message.message for message in said)
