"""kill -9, again and again: nothing that was announced is ever lost.

KVSCOPE_DURABILITY_TIMES says how often (8; 4 while sharing, and 2 for each signal that ends a server),
KVSCOPE_DURABILITY_MODEL names a real model instead of the fake: `default`, or anything that --model takes.
"""

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psutil
import pytest
import requests

from kvscope.app.settings import DEFAULT_SERVICE
from kvscope.app.store.manifest import canonical, name_of, unlinked
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore, parts_table, sessions_table, tokens_table
from kvscope.app.store.values import origins_table, values_table
from kvscope.model.log.frames import from_stream, header
from tests.support.integrity import damage_of
from tests.support.live_server import FAKE, ROOT, LiveServer, Serve, check_interrupted, closed_log, engine_of, gone
from tests.support.room import Follower, Presenter
from tests.support.stored import count, run_of
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

TIMES = int(os.environ.get("KVSCOPE_DURABILITY_TIMES", "8"))
CUT_SHORT = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)
"""What a request ends with whose server dies, before its answer or in the middle of it."""
SHARINGS = int(os.environ.get("KVSCOPE_DURABILITY_TIMES", "4"))
ENDINGS = int(os.environ.get("KVSCOPE_DURABILITY_TIMES", "2"))
MODEL = os.environ.get("KVSCOPE_DURABILITY_MODEL")
SEEDED = {"max_new_tokens": 32, "strategy": "sample", "temperature": 1.5, "top_k": 50}
OPEN_FIELDS = ("step", "layer", "head", "query", "key", "view")

pytestmark = [pytest.mark.durability, pytest.mark.timeout(1800)]


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


def test_a_run_whose_engine_was_killed_continues_once_somebody_asks_for_it(serve: Serve) -> None:
    server, chance = start(serve), random.Random(2)
    run, viewer = watch_some(server, chance)
    engine_of(server).kill()
    seen = viewer.wait_for_close()
    viewer.leave()
    check_interrupted(seen, [])
    eventually(lambda: server.get("readyz").ok, 300)
    assert "\nkvscope_runs_open 0\n" in server.get("metrics").text
    assert len(server.get(f"api/runs/{run}/family").json()["runs"]) == 1

    headers = [header(frame) for frame in seen]
    chosen = [each.data["token"]["id"] for each in headers if each.kind == "step"]
    last = len(headers[0].data["tokens"]) + len(chosen) - 1
    answer = server.post(f"api/runs/{run}/fork", {"position": last, "token": chosen[-1]})
    assert answer.status_code == 201
    continued = [header(frame) for frame in server.finished(answer.json()["id"])]
    assert continued[0].data["parent"]["run"] == run
    assert [each.data["token"]["id"] for each in continued if each.kind == "step"][: len(chosen)] == chosen
    assert continued[-1].data["reason"] in ("length", "eos")
    assert continued[-1].data["steps"] > len(chosen)


def chosen(frames: list[bytes]) -> list[int]:
    """The tokens that a run chose."""
    return [each.data["token"]["id"] for each in map(header, frames) if each.kind == "step"]


def test_texts_after_kill_9_of_the_engine_are_those_of_runs_alone(serve: Serve) -> None:
    """Three runs at once, with seeds, are interrupted at some moment; each continues in the next engine."""
    server, chance = start(serve), random.Random(4)
    asked = [
        {"prompt": f"{prompt} is", "seed": seed, **SEEDED} for seed, prompt in enumerate(("The sky", "My name", "It"))
    ]
    alone = [chosen(server.finished(server.start_run(**each))) for each in asked]
    continued = 0
    for _ in range(TIMES):
        runs = [server.start_run(**each) for each in asked]
        viewer = Viewer(server.url)
        viewer.watch(runs[-1])
        viewer.wait_for(chance.randint(2, 16))
        engine_of(server).kill()
        texts = [chosen(server.finished(run)) for run in runs]
        viewer.leave()
        eventually(lambda: server.get("readyz").ok, 300)
        for number, text in enumerate(texts):
            if 0 < len(text) < len(alone[number]):
                opened = header(server.frames(runs[number])[0]).data
                at = {"position": len(opened["tokens"]) + len(text) - 1, "token": text[-1]}
                runs[number] = server.post(f"api/runs/{runs[number]}/fork", at).json()["id"]
                continued += 1
            elif not text:
                runs[number] = server.start_run(**asked[number])
        for run, expected in zip(runs, alone, strict=True):
            text = chosen(server.finished(run))
            # The fake's branches end four steps later.
            assert text == (expected if MODEL else expected[: len(text)])
    assert continued


def test_kill_9_of_the_server(serve: Serve) -> None:
    server, chance = start(serve), random.Random(2)
    kept: dict[str, list[bytes]] = {}
    for _ in range(TIMES):
        run, viewer = watch_some(server, chance)
        engine = engine_of(server)
        server.kill()
        eventually(lambda engine=engine: gone(engine))
        viewer.client.wait()
        server = start(serve, server.port)
        kept[run] = server.finished(run)
        check_interrupted(kept[run], viewer.frames)
    for run, frames in kept.items():
        eventually(lambda: server.get("healthz").ok)
        assert server.frames(run) == frames


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_that_ends_the_server(serve: Serve, tmp_path: Path, number: signal.Signals) -> None:
    """Sent to all its processes, as a terminal does, in odd rounds. Nothing is lost, left open or left running."""
    port, chance = 0, random.Random(number)
    for round_ in range(ENDINGS):
        server = start(serve, port)
        run, viewer = watch_some(server, chance)
        ours = psutil.Process(server.process.pid).children(recursive=True)
        if round_ % 2:
            os.killpg(server.process.pid, number)
        server.kill(number)
        assert all(map(gone, ours))
        viewer.client.wait()
        check_interrupted(closed_log(tmp_path / "data", run), viewer.frames)
        port = server.port


def test_kill_9_while_sharing(serve: Serve, tmp_path: Path) -> None:
    """A session is whole or absent wherever the blow falls, and there for good once its link was given."""
    server, chance = start(serve), random.Random(3)
    run = server.start_run(prompt="Once upon a time", max_new_tokens=200)
    frames = [unlinked(payload) for payload in server.finished(run)]
    assert server.get("gallery").ok
    recorded = parts_stored(tmp_path / "data")
    began = time.monotonic()
    kept = {server.post(f"api/runs/{run}/share", {"title": "timed"}).json()["id"]}
    takes = time.monotonic() - began
    for number in range(SHARINGS):
        words = {"title": f"round {number}", "notes": [], "open": dict.fromkeys(OPEN_FIELDS)}
        session = name_of(canonical(words), frames)[:12]
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(server.post, f"api/runs/{run}/share", {"title": words["title"]})
            time.sleep(chance.uniform(0, 2 * takes))
            server.kill()
        server = start(serve, server.port)
        if answer.exception() is None:
            assert answer.result().json()["id"] == session
            kept.add(session)
        else:
            assert isinstance(answer.exception(), CUT_SHORT)
        if server.get(f"api/sessions/{session}").ok:
            kept.add(session)
    for session in kept:
        assert list(from_stream(server.get(f"api/sessions/{session}/frames").content)) == frames
    assert parts_stored(tmp_path / "data") == recorded | dict.fromkeys(kept, len(frames))


def parts_stored(data: Path) -> dict[str, int]:
    """How many parts each session has in the database."""
    with closing(sqlite3.connect(data / "runs.sqlite")) as database:
        return dict(database.execute("SELECT session, count(*) FROM session_parts GROUP BY session"))


SHARE_AND_DIE = """
import os, signal, sys
from pathlib import Path
import sqlalchemy as sa
from kvscope.app.store.runs import RunLog
from kvscope.app.store.value_parts import Values, describe
from kvscope.app.store.manifest import unlinked
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log.frames import encode

made = [encode("a", step, "values", {"step": step, "layer": 0, "level": "qkv"}).payload for step in range(2)]
values = Values("qkv", [describe(payload) for payload in made], lambda: iter(made))
words = {"title": "", "notes": [], "open": {}}

def share(left):
    def die_in_time(*_):
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    log = RunLog(Path(sys.argv[1]), sys.argv[2] or None)
    for point in ("before_cursor_execute", "after_cursor_execute", "commit"):
        sa.event.listen(log.engine, point, die_in_time)
    return SessionStore(log).keep(words, lambda: map(unlinked, log.all_frames("a")), values, "origin")[0]

for asked in sys.stdin:
    if (child := os.fork()) == 0:
        print("whole", share(int(asked)), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] == signal.SIGKILL:
        print("killed", flush=True)
"""
"""Of itself it only forks: each child shares the run, and dies at the point that it is told."""


def test_kill_9_at_every_statement_of_sharing(tmp_path: Path, database: str | None) -> None:
    log = RunLog(tmp_path, database)
    log.append(run_of("a", 2))
    frames = [unlinked(payload) for payload in log.all_frames("a")]
    store = SessionStore(log)
    tables = (sessions_table, parts_table, values_table, origins_table, tokens_table)
    command = [sys.executable, "-c", SHARE_AND_DIE, str(tmp_path), database or ""]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as forks:
        for point in itertools.count():
            print(point, file=forks.stdin, flush=True)
            said = forks.stdout.readline().split()
            if said != ["killed"]:
                break
            assert [count(store, table) for table in tables] == [0] * len(tables)
        forks.stdin.close()
    assert point > 2 * (len(frames) + 2)
    assert said[0] == "whole"
    assert [count(store, table) for table in tables] == [1, len(frames), 2, 1, 1]
    assert len(list(store.values(said[1], layer=0))) == 2
    assert damage_of(store, said[1]) == []
    assert list(store.all_frames(said[1])) == frames
    log.close()


def test_kill_9_of_the_server_ends_no_room_and_no_vote(serve: Serve) -> None:
    server = start(serve)
    presenter = Presenter(server)
    question = {"text": "Which is larger?", "kind": "choice", "choices": ["K", "V"]}
    for round_number in range(TIMES):
        page = Follower(server, presenter.code)
        presenter.show(server, f"/memory#{round_number}")
        page.wait_for_address(f"/memory#{round_number}")
        number = presenter.ask(server, "PUT", "/question", question).json()["question"]["number"]
        vote = {"question": number, "answer": "K", "voter": "0" * 32}
        assert presenter.ask(server, "PUT", "/answer", vote).status_code == 204
        server.kill()
        page.client.wait()
        server = start(serve, server.port)
        again = Follower(server, presenter.code)
        assert again.address == f"/memory#{round_number}"
        revealed = presenter.ask(server, "POST", "/question/reveal").json()["question"]
        assert revealed["rounds"] == [{"counts": {"K": 1}, "others": 0}]
        again.leave()
