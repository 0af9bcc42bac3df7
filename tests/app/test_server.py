"""The server as a process: start, kills, a full disk, a taken port."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import requests

from kvscope.app.engine.process import NICENESS
from kvscope.app.engine.supervisor import ENGINE_FOLDER
from kvscope.app.server import pass_over_departures
from kvscope.model.log.frames import header
from kvscope.model.niceness import AUTOGROUP
from tests.support.live_server import FAKE, ROOT, LiveServer, check_interrupted, closed_log, engine_of
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes

Serve = Callable[..., LiveServer]


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_kill_9_of_the_engine_interrupts_its_runs_and_the_next_run_works(serve: Serve) -> None:
    server = serve("delay=0.01,bytes=20000")
    run = server.start_run(max_new_tokens=250)
    viewer = Viewer(server.url)
    viewer.watch(run)
    viewer.wait_for(20)
    engine_of(server).kill()
    seen = viewer.wait_for_close()
    viewer.leave()
    check_interrupted(seen, [])
    assert server.frames(run) == seen
    assert server.get(f"api/runs/{run}").json()["reason"] == "interrupted"
    following = server.finished(server.start_run(max_new_tokens=3))
    assert header(following[-1]).data["reason"] == "length"
    assert "started again" in server.errors


def test_kill_9_of_the_server_keeps_every_announced_frame_and_leaves_no_engine(serve: Serve) -> None:
    server = serve("delay=0.01,bytes=20000")
    run = server.start_run(max_new_tokens=250)
    viewer = Viewer(server.url)
    viewer.watch(run)
    viewer.wait_for(20)
    engine = engine_of(server)
    server.kill()
    eventually(lambda: gone(engine))
    viewer.client.wait()
    restarted = serve("delay=0.01", port=server.port)
    assert restarted.url == server.url
    frames = restarted.finished(run)
    check_interrupted(frames, viewer.frames)
    assert header(restarted.finished(restarted.start_run(max_new_tokens=3))[-1]).data["reason"] == "length"


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


def test_temporary_files_of_an_engine_go_with_it(serve: Serve, tmp_path: Path) -> None:
    server = serve("delay=0.01")
    server.start_run(max_new_tokens=250)
    engine, folder = engine_of(server), server.data / ENGINE_FOLDER
    (folder / "unpacked").mkdir()
    (folder / "unpacked" / "code").write_bytes(b"x")
    engine.kill()
    eventually(lambda: not (folder / "unpacked").exists())
    eventually(lambda: folder.is_dir() and server.get("readyz").ok)
    server.close()
    assert not folder.exists()


def test_a_chunked_body_that_is_no_chunk_is_a_clients_fault_and_leaves_no_traceback(serve: Serve) -> None:
    server = serve("delay=0.01")
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


def test_a_database_that_is_deleted_under_the_server_is_said_and_nothing_is_taken_any_more(serve: Serve) -> None:
    server = serve("delay=0.01")
    server.start_run(max_new_tokens=1)
    for file in server.data.glob("runs.sqlite*"):
        file.unlink()
    eventually(lambda: "was deleted or replaced" in server.errors)
    assert server.get("readyz").status_code == 503
    assert server.post("api/runs", {"prompt": "abc"}).status_code == 503
    assert server.get("healthz").ok


def test_kill_9_of_the_worker_alone_is_survived(serve: Serve) -> None:
    server = serve("delay=0.01")
    run = server.start_run(max_new_tokens=250)
    worker, engine = psutil.Process(server.process.pid).children()[0], engine_of(server)
    worker.kill()
    eventually(lambda: gone(engine))
    following = eventually(lambda: _try(lambda: server.start_run(max_new_tokens=3)))
    assert header(server.finished(following)[-1]).data["reason"] == "length"
    check_interrupted(server.frames(run), [])


@pytest.mark.parametrize(
    ("number", "to_all"),
    [(signal.SIGTERM, False), (signal.SIGINT, True), (signal.SIGHUP, True)],
    ids=["SIGTERM", "Ctrl-C", "a closed terminal"],
)
def test_a_signal_ends_the_server_with_its_runs_closed_though_viewers_watch(
    serve: Serve, tmp_path: Path, number: signal.Signals, to_all: bool
) -> None:
    server = serve("delay=0.01")
    run = server.start_run(max_new_tokens=250)
    viewer = Viewer(server.url)
    viewer.watch(run)
    viewer.wait_for(3)
    engine = engine_of(server)
    if to_all:
        os.killpg(server.process.pid, number)
    server.kill(number)
    assert gone(engine)
    viewer.client.wait()
    stored = closed_log(tmp_path / "data", run)
    check_interrupted(stored, viewer.frames)


def test_a_server_that_is_to_outlive_its_terminal_does(serve: Serve) -> None:
    server = serve(preexec=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN) and None)
    os.killpg(server.process.pid, signal.SIGHUP)
    run = server.start_run(max_new_tokens=3)
    assert header(server.finished(run)[-1]).data["reason"] == "length"


def test_no_signal_makes_a_second_server_on_the_database(serve: Serve) -> None:
    server = serve("delay=0.01")
    run = server.start_run(max_new_tokens=30)
    parent = psutil.Process(server.process.pid)
    before = parent.children()
    for number in (signal.SIGTTIN, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGTTOU):
        server.process.send_signal(number)
    assert header(server.finished(run)[-1]).data["reason"] == "length"
    assert parent.children() == before


def test_a_disk_that_fills_up_fails_the_run_and_leaves_the_server_whole(serve: Serve) -> None:
    def four_megabytes_per_file() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))

    server = serve("delay=0.01,bytes=60000", preexec=four_megabytes_per_file)
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


def test_the_page_comes_up_though_the_model_cannot_be_had(serve: Serve) -> None:
    server = serve("refused")
    assert server.get("").status_code == 200
    told = eventually(lambda: (body := server.get("readyz").json())["state"] == "failed" and body)
    assert "truncated" in told["message"]
    lines = server.errors.splitlines()
    assert len(lines) == 1
    assert "truncated" in lines[0]


def test_an_engine_that_dies_while_loading_is_told_and_the_page_stays(serve: Serve) -> None:
    server = serve("dead")
    eventually(lambda: server.get("readyz").json()["state"] == "restarting")
    assert server.get("").status_code == 200


def fails(*options: str, data: Path) -> str:
    """The one line with which the server refuses to start."""
    command = [sys.executable, "-m", "kvscope", "--data", str(data), "--service", FAKE, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in fails("--port", port, data=tmp_path)


def test_a_data_folder_in_use_is_named(serve: Serve, tmp_path: Path) -> None:
    serve()
    assert "in use" in fails("--port", "0", data=tmp_path / "data")


def test_a_data_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in fails("--port", "0", data=tmp_path / "file" / "below")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "runs.sqlite").write_bytes(b"no database" * 1000)
    assert "not a database" in fails("--port", "0", data=damaged)


def test_an_address_that_is_not_this_machines_is_named(tmp_path: Path) -> None:
    assert "203.0.113.1" in fails("--host", "203.0.113.1", "--port", "0", data=tmp_path)


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
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    target: str,
    failure: Exception,
    reported: bool,
) -> None:
    def fail() -> None:
        raise failure

    fail.__name__ = target
    monkeypatch.setattr(threading, "excepthook", pass_over_departures)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert [record.exc_info and record.exc_info[1] for record in caplog.records] == [failure] * reported


def _try(attempt: Callable[[], str]) -> str | None:
    try:
        return attempt()
    except (requests.ConnectionError, AssertionError):
        return None
