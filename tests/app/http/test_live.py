"""Live viewing over a real server: whoever reads a run, however and whenever, ends with the same bytes."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event, RLock, Semaphore
from types import SimpleNamespace

import pytest
import requests

from kvscope.app.http.live import Watch
from kvscope.app.store.errors import StoreError
from kvscope.app.store.runs import RunLog
from tests.support.live_server import LiveServer, Serve, live
from tests.support.local_viewer import LocalViewer
from tests.support.outage import away
from tests.support.over_http import NewClient, finished
from tests.support.stored import log_of
from tests.support.viewer import Viewer, kind
from tests.support.waiting import eventually

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with live(tmp_path_factory.mktemp("shared"), "delay=0.02", options=["--max-open-runs", "40"]) as server:
        yield server


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[RunLog]:
    """A log with the run "a", of more than one page, that reads its database each time."""
    with RunLog(tmp_path, cache_bytes=0) as runs:
        runs.append(log_of("a", 40, closed=True))
        yield runs


@pytest.fixture
def view() -> Iterator[Callable[..., Viewer]]:
    viewers: list[Viewer] = []

    def connect(server: LiveServer, transports: list[str] | None = None) -> Viewer:
        viewers.append(Viewer(server.url, transports))
        return viewers[-1]

    yield connect
    for viewer in viewers:
        viewer.leave()


View = Callable[..., Viewer]


def test_live_late_returning_and_after_restart_viewers_end_with_the_same_bytes(serve: Serve, view: View) -> None:
    server = serve("delay=0.1,bytes=20000")  # it goes on until three viewers have come
    run = server.start_run(max_new_tokens=40)
    live = view(server)
    assert live.watch(run)["run"] == run
    leaving = view(server)
    leaving.watch(run)
    first_part = leaving.wait_for(9)
    leaving.leave()
    late = view(server)
    live.wait_for(21)
    assert late.watch(run)["last_seq"] >= 20
    seen = live.wait_for_close()
    assert late.wait_for_close() == seen
    assert len(seen) == 82

    seen_before_leaving = leaving.frames
    assert seen_before_leaving[: len(first_part)] == first_part
    back = view(server)
    back.watch(run, after=len(seen_before_leaving) - 1)
    assert seen_before_leaving + back.wait_for_close() == seen

    server.kill()
    restarted = serve("delay=0.02", port=server.port)
    after_restart = view(restarted)
    after_restart.watch(run)
    assert after_restart.wait_for_close() == seen
    assert restarted.frames(run) == seen


def test_a_viewer_without_websocket_gets_the_same_frames_by_polling(shared: LiveServer, view: View) -> None:
    run = shared.start_run(max_new_tokens=20)
    viewer = view(shared, ["polling"])
    viewer.watch(run)
    assert viewer.wait_for_close() == shared.frames(run)


def test_a_frame_is_stored_before_it_is_announced(shared: LiveServer, view: View) -> None:
    run = shared.start_run(max_new_tokens=30)
    viewer = view(shared)
    missing: list[int] = []

    def check(payload: bytes) -> None:
        if payload not in shared.frames(run):
            missing.append(1)
        viewer.take(payload)

    viewer.client.on("frame", check)
    viewer.watch(run)
    viewer.wait_for_close()
    assert not missing


def test_a_slow_viewer_holds_nobody_up_and_misses_nothing(serve: Serve, view: View) -> None:
    server = serve("bytes=64000")
    run = server.start_run(max_new_tokens=250)
    slow, quick = view(server), view(server)
    slow.may_read.clear()
    slow.client.emit("watch", {"run": run})
    quick.watch(run)
    seen = quick.wait_for_close()
    assert sum(map(len, seen)) > 16_000_000
    assert len(slow.frames) < 10
    slow.may_read.set()
    assert slow.wait_for_close() == seen


def test_a_full_queue_is_looked_at_again_at_once_and_then_ever_less_often(
    closed: RunLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("kvscope.app.http.live.time", SimpleNamespace(sleep=pauses.append))
    refusals = {0: 7, 1: 1}  # by how many frames were sent
    sent: list[bytes] = []

    def send(payload: bytes) -> bool:
        if refusals.get(len(sent), 0):
            refusals[len(sent)] -= 1
            return False
        sent.append(payload)
        return True

    ended = Event()
    Watch(closed, "a", -1, RLock(), send, unheard).start(ended.set)
    assert ended.wait(30)
    assert sent == list(closed.all_frames("a"))
    assert pauses == [0.001, 0.002, 0.004, 0.008, 0.016, 0.02, 0.02, 0.001]


def unheard(error: StoreError) -> None:
    raise AssertionError(error)


def test_a_watch_tells_once_that_the_log_cannot_be_read_and_goes_on_when_it_can(
    closed: RunLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvscope.app.http.live.READ_AGAIN_S", 0.01)
    tried, ended, sent, told = Semaphore(0), Event(), list[bytes](), list[str]()
    read = closed.frames
    monkeypatch.setattr(closed, "frames", lambda *asked: (tried.release(), read(*asked))[1])
    outage = ExitStack()

    def send(payload: bytes) -> bool:
        sent.append(payload)
        if len(sent) == 32:
            outage.enter_context(away(closed.engine))
        return True

    Watch(closed, "a", -1, RLock(), send, lambda error: told.append(str(error))).start(ended.set)
    for _ in range(5):
        assert tried.acquire(timeout=30)
    outage.close()
    assert ended.wait(30)
    assert told == ["The database cannot be read: disk I/O error."]
    assert sent == list(closed.all_frames("a"))


def test_a_watch_of_a_log_that_cannot_be_read_ends_when_its_viewer_leaves(closed: RunLog) -> None:
    told, ended = Event(), Event()
    with away(closed.engine):
        watch = Watch(closed, "a", -1, RLock(), lambda payload: True, lambda error: told.set())
        watch.start(ended.set)
        assert told.wait(30)
        watch.stop()
        assert ended.wait(30)


def test_a_watch_whose_send_finds_the_connection_lost_ends(closed: RunLog) -> None:
    """Engine.IO looks for a client that no longer answers while it sends to it, and then ends its watches."""
    ended = Event()

    def send(_payload: bytes) -> bool:
        watch.stop()
        raise KeyError("a")

    watch = Watch(closed, "a", -1, RLock(), send, unheard)
    watch.start(ended.set)
    assert ended.wait(30)


def test_a_viewer_is_told_of_a_database_that_is_away(new_client: NewClient) -> None:
    client = new_client()
    run, parts = finished(client), client.application.extensions["kvscope"]
    viewer = LocalViewer(client.application)
    with away(parts.runs.engine):
        refused = viewer.emit("watch", {"run": run})["error"]
    assert (refused["status"], refused["detail"]) == (503, "The database cannot be read: disk I/O error.")
    head = parts.runs.head(run)
    parts.runs._cache.forget(run)
    with pytest.MonkeyPatch.context() as patch, away(parts.runs.engine):
        patch.setattr(parts.runs, "head", lambda _: head)
        assert viewer.emit("watch", {"run": run}) == {"run": run, "last_seq": head.last_seq}
        (event,) = eventually(viewer.events)
    assert event == ["problem", {"run": run, "error": refused}]
    viewer.disconnect()


def test_one_socket_watches_several_runs_each_once_until_it_has_enough(shared: LiveServer, view: View) -> None:
    runs = [shared.start_run(max_new_tokens=length) for length in (10, 11, 256)]
    viewer = view(shared)
    for run in runs:
        viewer.watch(run)
    eventually(lambda: sum(kind(payload) == "close" for payload in viewer.frames) == 2)
    again, endless = shared.start_run(max_new_tokens=60), runs.pop()
    assert viewer.call("unwatch", {"run": endless}) == {"run": endless}
    for run in runs:
        assert of(viewer, run) == shared.frames(run)
    viewer.watch(again)
    eventually(lambda: len(of(viewer, again)) > 5)
    viewer.watch(again)  # replaces the earlier watch, from the beginning
    count = len(of(viewer, endless))
    stored = shared.finished(again)
    eventually(lambda: of(viewer, again)[-1:] == stored[-1:])
    seen = of(viewer, again)
    assert seen == stored[: len(seen) - len(stored)] + stored
    assert len(of(viewer, endless)) == count


def of(viewer: Viewer, run: str) -> list[bytes]:
    """What it has of a run."""
    return [payload for payload in viewer.frames if f'"run":"{run}"'.encode() in payload]


def test_a_bad_watch_or_one_too_many_is_acknowledged_with_a_problem(shared: LiveServer, view: View) -> None:
    viewer = view(shared)
    for body, status, field in (
        ({"run": "nobody"}, 404, "run"),
        ({"run": 7}, 422, "run"),
        ({}, 422, "run"),
        ("nobody", 422, "run"),
        (None, 422, "run"),
        ({"run": "nobody", "after": -2}, 422, "after"),
        ({"run": "nobody", "after": "x"}, 422, "after"),
        ({"run": "nobody", "after": True}, 422, "after"),
    ):
        problem = viewer.call("watch", body)["error"]
        assert (problem["status"], problem["field"]) == (status, field)
    answers = [viewer.watch(shared.start_run(max_new_tokens=256)) for _ in range(9)]
    assert answers[-1]["error"]["limit"] == 8
    assert all("error" not in answer for answer in answers[:-1])


def test_a_page_of_another_origin_gets_no_socket(shared: LiveServer) -> None:
    path, foreign = "socket.io/?EIO=4&transport=polling", {"Origin": "http://elsewhere.example"}
    assert shared.get(path).status_code == 200
    assert requests.get(shared.url + path, headers=foreign, timeout=30).status_code == 400


def test_viewers_that_vanish_leave_no_watch_behind(shared: LiveServer) -> None:
    run = shared.start_run(max_new_tokens=256)
    viewers = [Viewer(shared.url) for _ in range(5)]
    for viewer in viewers:
        viewer.watch(run)
    with ThreadPoolExecutor(len(viewers)) as leaving:
        for viewer in viewers:
            leaving.submit(viewer.client.eio.ws.sock.close)
    eventually(lambda: "kvscope_viewers 0" in shared.get("metrics").text)
