"""The server as a process: start, kills, a full disk, a taken port."""

import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import requests

from kvscope.app.engine.pool import ENGINES_FOLDER
from kvscope.app.engine.process import NICENESS
from kvscope.app.web_server.server import pass_over_departures
from kvscope.model.log.frames import header
from kvscope.model.niceness import AUTOGROUP
from tests.support.live_server import FAKE, ROOT, LiveServer, Serve, check_interrupted, engine_of, gone
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes


def test_kill_9_of_the_server_interrupts_a_study_that_can_be_made_again(serve: Serve) -> None:
    server = serve("delay=0.1")  # the search goes on until the server is killed
    run = server.start_run(max_new_tokens=8)
    server.finished(run)
    search = server.post(f"api/runs/{run}/beam", {"step": 2, "beams": 2, "length": 32}).json()["id"]
    eventually(lambda: len(server.frames(search)) > 3)
    seen = server.frames(search)
    server.kill()
    restarted = serve("delay=0.001", port=server.port)
    check_interrupted(restarted.frames(search), seen)
    assert [member["id"] for member in restarted.get(f"api/runs/{search}/family").json()["runs"]] == [run, search]
    eventually(lambda: restarted.get("readyz").ok)
    twin = restarted.post(f"api/runs/{run}/twin", {"cache": "none"}).json()["id"]
    assert header(restarted.finished(twin)[-1]).data["reason"] == "length"


def test_once_it_has_loaded_the_engine_leaves_the_processor_to_whoever_shows_its_runs(serve: Serve) -> None:
    server = serve("load=5")
    engine, usual = engine_of(server), psutil.Process(server.process.pid).nice()
    assert engine.nice() == usual
    assert not server.get("readyz").ok
    server.start_run()
    threads = [os.getpriority(os.PRIO_PROCESS, thread.id) for thread in engine.threads()]
    assert len(threads) > 1
    assert set(threads) == {min(19, usual + NICENESS)}
    assert os.getsid(engine.pid) == engine.pid != os.getsid(server.process.pid)
    if AUTOGROUP.exists():
        group = AUTOGROUP.parent.parent / str(engine.pid) / AUTOGROUP.name
        assert group.read_text().endswith(f" nice {NICENESS}\n")


def test_a_server_that_is_to_outlive_its_terminal_does_and_odd_signals_and_chunks(serve: Serve) -> None:
    server = serve("delay=0.01", preexec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN) and None)
    os.killpg(server.process.pid, signal.SIGHUP)
    run = server.start_run(max_new_tokens=30)
    parent = psutil.Process(server.process.pid)
    before = parent.children()
    for number in (signal.SIGTTIN, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGTTOU):
        server.process.send_signal(number)
    assert header(server.finished(run)[-1]).data["reason"] == "length"
    assert parent.children() == before, "no second server on the database"
    send_wrong_chunks(server)


def test_it_outlives_its_engine_and_its_worker_but_takes_nothing_without_its_file(serve: Serve) -> None:
    server = serve("delay=0.01")
    server.start_run(max_new_tokens=3)
    parent, engine = psutil.Process(server.process.pid), engine_of(server)
    folder = server.data / ENGINES_FOLDER / "engine-1"
    (folder / "unpacked").mkdir()
    (folder / "unpacked" / "code").write_bytes(b"x")
    engine.kill()
    eventually(lambda: not (folder / "unpacked").exists())
    eventually(lambda: folder.is_dir() and server.get("readyz").ok)
    assert "restarting" in server.errors

    run, worker, engine = server.start_run(max_new_tokens=250), parent.children()[0], engine_of(server)
    worker.kill()
    eventually(lambda: gone(engine))
    following = eventually(lambda: _started(server))
    assert header(server.finished(following)[-1]).data["reason"] == "length"
    check_interrupted(server.frames(run), [])

    for file in server.data.glob("runs.sqlite*"):
        file.unlink()
    eventually(lambda: "was deleted or replaced" in server.errors)
    assert server.get("readyz").status_code == 503
    assert server.post("api/runs", {"prompt": "abc"}).status_code == 503
    assert server.get("healthz").ok
    server.close()
    assert not folder.exists()


def send_wrong_chunks(server: LiveServer) -> None:
    """A chunked body that is no chunk is a client's fault."""
    head = b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
    for chunk in (b"zz\r\n\r\n", b"2\r\nabcd\r\n0\r\n\r\n", b"-1\r\n\r\n", b"5;\x01\r\n{}\r\n0\r\n\r\n"):

        def answer(chunk: bytes = chunk) -> bytes:
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                client.sendall(head + b"\r\n\r\n" + chunk)
                client.shutdown(socket.SHUT_WR)
                return client.recv(100).split(b" ")[1]

        # The places of the bodies before may not have been given back yet.
        assert eventually(lambda answer=answer: (status := answer()) != b"429" and status) == b"400", chunk
    assert "Traceback" not in server.errors


def test_a_disk_that_fills_up_fails_the_run_and_leaves_the_server_whole(serve: Serve) -> None:
    def eight_megabytes_per_file() -> None:  # what ships takes four of them
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000_000, 8_000_000))

    server = serve("delay=0.01,bytes=60000", preexec=eight_megabytes_per_file)
    run = server.start_run(max_new_tokens=250)
    viewer = Viewer(server.url)
    viewer.watch(run)
    seen = viewer.wait_for_close()
    viewer.leave()
    assert header(seen[-1]).data["reason"] == "failed"
    assert "cannot be stored" in header(seen[-1]).data["error"]
    assert server.frames(run) == seen
    assert server.get("readyz").ok
    more = {"prompt": "abc" * 2500}
    eventually(lambda: server.post("api/runs", more).status_code == 503)  # some may still fit
    response = server.post("api/runs", more)
    assert response.headers["Content-Type"] == "application/problem+json"


def fails(*options: str, data: Path) -> str:
    """The one line with which the server refuses to start."""
    command = [sys.executable, "-m", "kvscope", "--data", str(data), "--service", FAKE, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_what_keeps_it_from_starting_is_named_in_a_line(serve: Serve, tmp_path: Path) -> None:
    server = serve("dead")
    eventually(lambda: server.get("readyz").json()["state"] == "restarting")
    assert server.get("").status_code == 200, "the page stays"
    assert "in use" in fails("--port", "0", data=tmp_path / "data")
    assert str(server.port) in fails("--port", str(server.port), data=tmp_path / "other")
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in fails("--port", "0", data=tmp_path / "file" / "below")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "runs.sqlite").write_bytes(b"no database" * 1000)
    assert "not a database" in fails("--port", "0", data=tmp_path / "damaged")
    assert "203.0.113.1" in fails("--host", "203.0.113.1", "--port", "0", data=tmp_path / "another")


@pytest.mark.parametrize(
    ("target", "failure", "reported"),
    [
        ("writer", OSError(errno.EBADF, "Bad file descriptor"), False),
        ("writer", OSError(errno.ENOSPC, "No space left"), True),
        ("writer", ValueError("anything else"), True),
        ("watch", OSError(errno.EBADF, "Bad file descriptor"), True),
    ],
)
def test_only_a_viewer_who_left_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, target: str, failure: Exception, reported: bool
) -> None:
    def fail() -> None:
        raise failure

    fail.__name__ = target
    monkeypatch.setattr(threading, "excepthook", pass_over_departures)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert [record.exc_info and record.exc_info[1] for record in caplog.records] == [failure] * reported


def _started(server: LiveServer) -> str | None:
    with suppress(requests.ConnectionError, AssertionError):
        return server.start_run(max_new_tokens=3)
    return None
