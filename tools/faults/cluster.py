"""`python -m tools.faults.cluster`: kills processes of a cluster again and again, at random moments of a run.

The victims are the web process that leads, one that follows, their database, and, with engines in a Ray cluster, an
engine or its node. Prints how many frames were lost that viewers at both web processes had, how many sessions were lost
and runs left open, and how long it took until a run could be started again.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import sqlalchemy as sa

from kvscope.app.store.run_tables import runs_table
from kvscope.model.log.frames import from_stream
from tests.support.live_server import LiveServer
from tests.support.postgres import Cluster, made_database, started_cluster
from tests.support.ray_cluster import add_node, engines_in_ray, ray_cluster
from tests.support.viewer import Viewer
from tests.support.waiting import eventually
from tests.support.web_processes import WebProcesses, is_ready, kill, web_processes, worker_of

VICTIMS = ("leader", "worker", "follower", "database", "engine", "node")
IN_RAY = ("engine", "node")
"""Victims for which the engines are in a Ray cluster of two nodes and a head."""
RAY = ("--engines", "2", "--engine-resources", "num_cpus=0,engine=1")
TOKENS = 200
LONGEST_S = 120.0


@dataclass
class Figures:
    """Figures of the rounds with one victim. `seen`: frames that viewers had."""

    seen: int = 0
    lost: int = 0
    sessions: int = 0
    sessions_lost: int = 0
    left_open: int = 0
    recovered_s: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        times = sorted(self.recovered_s)
        return (
            f"{len(times)} rounds; of {self.seen:,} frames seen {self.lost} lost or different; of {self.sessions} "
            f"sessions {self.sessions_lost} lost; {self.left_open} runs left open; a run starts again after "
            f"{statistics.median(times):.1f} s (median), {times[-1]:.1f} s (longest)"
        )


class Trial:
    """Two web processes, and the sessions stored before."""

    def __init__(
        self, postgres: Cluster, database: str, processes: WebProcesses, chance: random.Random, ray: Any = None
    ) -> None:
        self._postgres, self._database = postgres, database
        self._processes, self._chance, self._ray = processes, chance, ray
        self._processes.start_two()
        self._sessions: dict[str, bytes] = {}

    def round(self, victim: str, figures: Figures) -> None:
        """Kills the victim at a random moment of a run, waits until all processes are ready, and compares."""
        self._save_a_session()
        leader, follower = self._by_role()
        run = self._chance.choice((leader, follower)).start_run(max_new_tokens=TOKENS)
        viewers = [Viewer(server.url) for server in (leader, follower)]
        for viewer in viewers:
            viewer.watch(run)
        viewers[1].wait_for(self._chance.randint(4, TOKENS))
        began = time.monotonic()
        self._strike(victim, leader, follower)
        try:
            eventually(lambda: any(self._starts(server) for server in (leader, follower)), LONGEST_S)
        except AssertionError:
            states = [server.get("readyz").text[:300] for server in (leader, follower)]
            raise AssertionError("\n".join(["No run starts again.", *states])) from None
        figures.recovered_s.append(time.monotonic() - began)
        for name, server in self._processes.servers.items():
            if server.process.poll() is not None:
                self._processes.start(name)
        servers = list(self._processes.servers.values())
        for server in servers:
            eventually(lambda server=server: is_ready(server), LONGEST_S)
            eventually(lambda server=server: server.get(f"api/runs/{run}").json()["status"] == "closed", LONGEST_S)
        for viewer in viewers:
            with suppress(Exception):  # its server may have been killed
                viewer.leave()
        for server in servers:
            stored = server.frames(run)
            for viewer in viewers:
                figures.seen += len(viewer.frames)
                figures.lost += sum(
                    number >= len(stored) or stored[number] != frame for number, frame in enumerate(viewer.frames)
                )
        figures.sessions += len(self._sessions)
        figures.sessions_lost += sum(self._read(session) != frames for session, frames in self._sessions.items())
        figures.left_open += self._open_runs()

    def _strike(self, victim: str, leader: LiveServer, follower: LiveServer) -> None:
        match victim:
            case "leader":
                kill(leader)
            case "worker":
                worker_of(leader).kill()
            case "follower":
                kill(follower)
            case "engine":
                self._chance.choice(engines_in_ray()).kill()
            case "node":
                self._ray.remove_node(self._chance.choice(list(self._ray.worker_nodes)), allow_graceful=False)
                add_node(self._ray, engine=2)
            case _:
                self._postgres.kill()
                self._postgres.start()

    def _by_role(self) -> tuple[LiveServer, LiveServer]:
        """Returns the server that leads, which has an engine, and the other one."""
        servers = sorted(self._processes.servers.values(), key=lambda server: -len(worker_of(server).children()))
        return servers[0], servers[1]

    def _starts(self, server: LiveServer) -> bool:
        with suppress(requests.RequestException):
            return server.post("api/runs", {"prompt": "abc", "max_new_tokens": 1}).status_code == 201
        return False

    def _save_a_session(self) -> None:
        server = self._chance.choice(list(self._processes.servers.values()))
        run = server.start_run(max_new_tokens=2)
        server.finished(run)
        session = server.post(f"api/runs/{run}/share", {"title": run}).json()["id"]
        self._sessions[session] = b"".join(from_stream(server.get(f"api/sessions/{session}/frames").content))

    def _read(self, session: str) -> bytes:
        server = self._chance.choice(list(self._processes.servers.values()))
        return b"".join(from_stream(server.get(f"api/sessions/{session}/frames").content))

    def _open_runs(self) -> int:
        """Returns the number of open runs, once those have ended that only tested whether a run starts."""
        engine = sa.create_engine(self._database.replace("postgresql:", "postgresql+psycopg:"))
        query = sa.select(sa.func.count()).select_from(runs_table).where(~runs_table.c.closed)

        def count() -> int:
            with engine.connect() as connection:
                return connection.scalar(query) or 0

        with suppress(AssertionError):
            eventually(lambda: count() == 0, 10, every_s=0.1)
        left = count()
        engine.dispose()
        return left


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.cluster", description=__doc__)
    parser.add_argument("victims", nargs="*", metavar="victim", help=f"of {', '.join(VICTIMS)}; all by default")
    parser.add_argument("--rounds", type=int, default=20, help="with each")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    bad = False
    for victim in asked.victims or VICTIMS:
        figures = trial(victim, asked.rounds, random.Random(asked.seed))
        print(f"{victim}: {figures}", flush=True)
        bad |= bool(figures.lost or figures.sessions_lost or figures.left_open)
    return int(bad)


def trial(victim: str, rounds: int, chance: random.Random) -> Figures:
    """Runs that many rounds on a new database."""
    figures = Figures()
    with (
        tempfile.TemporaryDirectory() as folder,
        ray_cluster(2, 2) if victim in IN_RAY else nullcontext() as ray,
        started_cluster() as postgres,
        made_database(postgres.url) as database,
        web_processes(Path(folder), database, *(("--ray", ray.address, *RAY) if ray else ())) as processes,
    ):
        tried = Trial(postgres, database, processes, chance, ray)
        for _ in range(rounds):
            tried.round(victim, figures)
    return figures


if __name__ == "__main__":
    sys.exit(main())
