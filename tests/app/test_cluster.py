"""Two web processes on one PostgreSQL: one leads, the other serves the same and takes over when the first one ends."""

import http.client
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa

from kvscope.app.http.hosts import PEER
from kvscope.app.store.run_tables import runs_table
from kvscope.app.web_server.arriving import MAX_WHOLE_BODY_BYTES
from kvscope.model.log.frames import from_stream, header
from tests.support.live_server import ROOT, LiveServer, check_interrupted, gone
from tests.support.nginx import AT_THE_ROOT, NAME, nginx_before
from tests.support.over_http import bearer
from tests.support.postgres import cluster, made_database, started_cluster
from tests.support.recorded import RECORDINGS
from tests.support.room import Follower, Presenter
from tests.support.viewer import Viewer
from tests.support.waiting import eventually
from tests.support.web_processes import WebProcesses, is_ready, kill, stop, web_processes, worker_of

__all__ = ["cluster"]

pytestmark = [pytest.mark.processes, pytest.mark.timeout(300)]
PROXIED = ["--proxy", "127.0.0.1", "--runs-per-minute", "3", "--clients-per-address", "1"]
UPSTREAM = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs" / "cluster.md").read_text("utf-8"), re.DOTALL)[0]
SLOW = "delay=0.05,bytes=20000"
"""So that a run of 250 tokens is still going on when something is killed, also on a busy machine."""
SECRET_HEADER = PEER.removeprefix("HTTP_").replace("_", "-")


@pytest.fixture(scope="module")
def two(cluster: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, LiveServer]]:
    """A leader and a follower, for tests that leave them as they are."""
    with made_database(cluster) as url, web_processes(tmp_path_factory.mktemp("two"), url, *PROXIED) as processes:
        yield processes.start_two()


@pytest.fixture
def processes(cluster: str, tmp_path: Path) -> Iterator[WebProcesses]:
    with made_database(cluster) as url, web_processes(tmp_path, url, model=SLOW) as processes:
        yield processes


def watched(server: LiveServer, run: str) -> Viewer:
    viewer = Viewer(server.url)
    viewer.watch(run)
    return viewer


def open_runs(database: str) -> int:
    engine = sa.create_engine(database.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        count = connection.scalar(sa.select(sa.func.count()).where(~runs_table.c.closed))
    engine.dispose()
    return count or 0


def deleted(server: LiveServer, what: str, made: dict[str, Any]) -> bool:
    """Whether a run or a session could be deleted with its token."""
    headers = bearer(made["delete_token"])
    return requests.delete(f"{server.url}api/{what}/{made['id']}", headers=headers, timeout=30).status_code == 204


def said(server: LiveServer, address: str, **fields: Any) -> requests.Response:
    """A run that a visitor at this address asks for, behind a proxy."""
    body = {"prompt": "abc", "max_new_tokens": 2, **fields}
    return requests.post(f"{server.url}api/runs", json=body, headers={"X-Forwarded-For": address}, timeout=30)


def test_a_run_started_at_the_follower_is_the_same_bytes_at_both(two: tuple[LiveServer, LiveServer]) -> None:
    leader, follower = two
    run = follower.start_run(max_new_tokens=60)
    viewers = watched(leader, run), watched(follower, run)
    seen, also_seen = (viewer.wait_for_close() for viewer in viewers)
    assert seen == also_seen == leader.frames(run) == follower.frames(run)
    assert header(seen[-1]).data["reason"] == "length"
    for viewer in viewers:
        viewer.leave()


def test_a_run_is_paused_resumed_branched_shared_and_deleted_through_the_follower(
    two: tuple[LiveServer, LiveServer],
) -> None:
    leader, follower = two
    started = follower.post("api/runs", {"prompt": "abc", "max_new_tokens": 100}).json()
    run = started["id"]
    assert follower.post(f"api/runs/{run}/control", {"action": "pause"}).json()["status"] == "paused"
    assert leader.get(f"api/runs/{run}").json()["status"] == "paused"
    assert follower.post(f"api/runs/{run}/control", {"action": "resume"}).json()["status"] == "running"
    follower.finished(run)
    branch = {"position": 4, "token": 7}
    assert follower.post(f"api/runs/{run}/fork", branch).status_code == 201
    shared = follower.post(f"api/runs/{run}/share", {"title": "of both"}).json()
    for server in two:
        assert server.get(f"api/sessions/{shared['id']}").json()["title"] == "of both"
        assert "of both" in server.get(f"s/{shared['id']}").text
    assert deleted(follower, "runs", started)
    for server in two:
        assert server.get(f"api/runs/{run}/frames").status_code == 404
    assert deleted(follower, "sessions", shared)
    assert {server.get(f"api/sessions/{shared['id']}").status_code for server in two} == {410}


def test_a_file_of_megabytes_goes_through_the_follower(two: tuple[LiveServer, LiveServer]) -> None:
    leader, follower = two
    file = max((path.read_bytes() for path in RECORDINGS.glob("*.safetensors")), key=len)
    assert len(file) > MAX_WHOLE_BODY_BYTES
    kinds = {"Content-Type": "application/octet-stream"}
    answer = requests.post(f"{follower.url}api/sessions", data=file, headers=kinds, timeout=60)
    assert answer.status_code == 201, answer.text
    session = answer.json()["id"]
    stored = [server.get(f"api/sessions/{session}/frames").content for server in (leader, follower)]
    assert stored[0] == stored[1] != b""


def test_limits_count_a_visitor_of_both_once(two: tuple[LiveServer, LiveServer]) -> None:
    statuses = [said(two[number % 2], "192.0.2.7").status_code for number in range(4)]
    assert statuses == [201, 201, 201, 429]
    assert said(two[1], "192.0.2.8").status_code == 201


def test_a_forwarded_request_cannot_be_forged_without_the_secret(two: tuple[LiveServer, LiveServer]) -> None:
    """The visitor's address is believed of a process that has the secret; with another one nothing is answered."""
    for server in two:
        forged = {SECRET_HEADER: "a secret", "X-Forwarded-For": "192.0.2.9"}
        answer = requests.post(f"{server.url}api/runs", json={"prompt": "abc"}, headers=forged, timeout=30)
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers


def test_both_answer_in_the_same_words(two: tuple[LiveServer, LiveServer]) -> None:
    """What the leader says comes as it is: refusals, statuses, headers; pages are the same."""
    for path in ("api/runs/none", "api/runs/none/head?step=0", "readyz", "learn", "api/openapi.json"):
        answers = [server.get(path) for server in two]
        assert len({(answer.status_code, answer.headers.get("Content-Type")) for answer in answers}) == 1, path
    head = http.client.HTTPConnection("127.0.0.1", two[1].port, timeout=30)
    head.request("HEAD", "/api/state")
    assert head.getresponse().status == 200
    head.close()


def test_the_follower_takes_over_when_the_leader_is_killed(processes: WebProcesses) -> None:
    leader, follower = processes.start_two()
    run = follower.start_run(max_new_tokens=250)
    viewers = watched(leader, run), watched(follower, run)
    for viewer in viewers:
        viewer.wait_for(40)
    kill(leader)
    seen = viewers[1].wait_for_close()
    check_interrupted(seen, viewers[0].frames)
    eventually(lambda: is_ready(follower), 60)
    assert follower.frames(run) == seen
    again = processes.start("a")
    eventually(lambda: is_ready(again), 60)
    assert again.frames(run) == seen
    assert again.finished(again.start_run(max_new_tokens=2)) != []


def test_a_leading_worker_that_is_killed_is_replaced_and_the_other_one_leads_or_follows(
    processes: WebProcesses,
) -> None:
    leader, follower = processes.start_two()
    run = follower.start_run(max_new_tokens=250)
    viewer = watched(follower, run)
    viewer.wait_for(40)
    worker_of(leader).kill()
    check_interrupted(viewer.wait_for_close(), [])
    for server in (leader, follower):
        eventually(lambda server=server: is_ready(server), 60)
    assert leader.finished(follower.start_run(max_new_tokens=2)) != []


def test_nobody_notices_at_the_leader_that_the_follower_was_killed(processes: WebProcesses) -> None:
    leader, follower = processes.start_two()
    run = follower.start_run(max_new_tokens=100)
    viewer = watched(leader, run)
    kill(follower)
    assert header(viewer.wait_for_close()[-1]).data["reason"] == "length"


def test_runs_that_store_nothing_survive_a_restart_of_the_database(tmp_path: Path) -> None:
    """The former leader goes on as the leader of the same epoch."""
    with (
        started_cluster() as postgres,
        made_database(postgres.url) as url,
        web_processes(tmp_path, url) as processes,
    ):
        leader, follower = processes.start_two()
        run = follower.start_run(max_new_tokens=60)
        follower.post(f"api/runs/{run}/control", {"action": "pause"})
        viewer = watched(follower, run)
        postgres.kill()
        postgres.start()
        eventually(lambda: is_ready(follower), 60)
        eventually(lambda: follower.post(f"api/runs/{run}/control", {"action": "resume"}).ok, 60)
        seen = viewer.wait_for_close()
        assert header(seen[-1]).data["reason"] == "length"
        assert seen == leader.frames(run) == follower.frames(run)
        assert open_runs(url) == 0
        assert "leads now" not in processes.errors


def test_a_leader_that_was_frozen_while_another_took_over_stores_nothing_more(processes: WebProcesses) -> None:
    leader, follower = processes.start_two()
    run = follower.start_run(max_new_tokens=250)
    viewer = watched(follower, run)
    viewer.wait_for(40)
    frozen = worker_of(leader)
    stopped = stop(frozen)
    seen = viewer.wait_for_close()
    check_interrupted(seen, [])
    eventually(lambda: is_ready(follower), 60)
    for process in stopped:
        process.resume()
    eventually(lambda: gone(frozen), 30)
    eventually(lambda: is_ready(leader), 60)
    assert leader.frames(run) == follower.frames(run) == seen
    assert "Another web process leads now. This one ends and starts again." in leader.errors


def test_without_a_leader_pages_are_served_and_the_rest_is_asked_to_wait(processes: WebProcesses) -> None:
    leader, follower = processes.start_two()
    run = leader.start_run(max_new_tokens=3)
    frames = leader.finished(run)
    stopped = stop(worker_of(leader))
    kill(leader)
    assert stopped
    assert follower.get("").ok
    assert follower.get("healthz").ok
    eventually(lambda: follower.frames(run) == frames)  # the leader may have ended before it told of the last ones
    if not (readiness := follower.get("readyz")).ok:
        assert readiness.json()["state"] in ("restarting", "loading")
    started = follower.post("api/runs", {"prompt": "abc"})
    assert started.status_code in (201, 503)
    assert started.status_code == 201 or "Retry-After" in started.headers
    eventually(lambda: is_ready(follower), 60)


def test_behind_nginx_a_visitor_of_a_process_that_is_killed_goes_on_at_the_other(cluster: str, tmp_path: Path) -> None:
    """With the upstream as docs/cluster.md has it, also over long polling."""
    options = ["--proxy", "127.0.0.1", "--allowed-host", NAME]
    with made_database(cluster) as url, web_processes(tmp_path, url, *options, model=SLOW) as processes:
        leader, follower = processes.start_two()
        upstream = UPSTREAM.replace("10.0.0.5:5000", f"127.0.0.1:{leader.port}")
        upstream = upstream.replace("10.0.0.6:5000", f"127.0.0.1:{follower.port}")
        block = upstream + AT_THE_ROOT.replace("http://127.0.0.1:5000", "http://kvscope")
        with nginx_before(leader.port, block, tmp_path) as place:
            run = requests.post(
                f"{place}api/runs", json={"prompt": "abc", "max_new_tokens": 60}, headers={"Host": NAME}, timeout=30
            ).json()["id"]
            for transport in ("websocket", "polling"):
                viewer = Viewer(place, transports=[transport])
                viewer.watch(run)
                assert viewer.wait_for_close() == leader.frames(run)
                viewer.leave()
            kill(leader)
            assert requests.get(place, headers={"Host": NAME}, timeout=30).ok
            eventually(lambda: requests.get(f"{place}readyz", headers={"Host": NAME}, timeout=30).ok, 60)
            frames = requests.get(f"{place}api/runs/{run}/frames?after=-1", headers={"Host": NAME}, timeout=30).content
            assert list(from_stream(frames)) == follower.frames(run)


def test_a_leader_that_is_ended_by_a_signal_hands_over_at_once(processes: WebProcesses) -> None:
    leader, follower = processes.start_two()
    run = follower.start_run(max_new_tokens=250)
    viewer = watched(follower, run)
    viewer.wait_for(40)
    leader.kill(signal.SIGTERM)
    check_interrupted(viewer.wait_for_close(), [])
    eventually(lambda: is_ready(follower), 60)
    assert list(from_stream(follower.get(f"api/runs/{run}/frames").content))


def test_a_server_without_the_flag_does_not_share_its_database(cluster: str, tmp_path: Path) -> None:
    with made_database(cluster) as url, web_processes(tmp_path, url) as processes:
        processes.start("a")
        (tmp_path / "alone").mkdir()
        alone = LiveServer(tmp_path / "alone" / "data", None, options=["--database", url])
        try:
            assert alone.process.wait(60) == 2
            assert "The database is in use by another KVScope." in alone.errors
        finally:
            alone.close()


def test_queued_runs_keep_their_places_when_the_leader_is_killed(cluster: str, tmp_path: Path) -> None:
    """Also a branch, which is queued without the frames of the run that it branches from."""
    with (
        made_database(cluster) as url,
        web_processes(tmp_path, url, "--max-open-runs", "1", model=SLOW) as processes,
    ):
        leader, follower = processes.start_two()
        ended = leader.start_run(max_new_tokens=3)
        leader.finished(ended)
        first = follower.start_run(max_new_tokens=250)
        asked = [follower.post("api/runs", {"prompt": name, "max_new_tokens": 3}) for name in ("abc", "bcd")]
        asked.append(follower.post(f"api/runs/{ended}/fork", {"position": 4, "token": 7}))
        assert [answer.status_code for answer in asked] == [202] * 3
        queued = [answer.json() for answer in asked]
        left = queued[1]
        assert deleted(follower, "runs", left)
        kill(leader)
        eventually(lambda: is_ready(follower), 60)
        for answer in (queued[0], queued[2]):
            frames = follower.finished(answer["id"])
            assert header(frames[-1]).data["reason"] in ("length", "eos")
        created = [follower.get(f"api/runs/{answer['id']}").json()["created"] for answer in (queued[0], queued[2])]
        assert created == sorted(created)
        assert follower.get(f"api/runs/{left['id']}").status_code == 404
        assert follower.get(f"api/runs/{first}").json()["reason"] == "interrupted"
        assert deleted(follower, "runs", queued[0])


def test_a_room_is_one_for_the_followers_of_all_processes_and_continues_when_the_leader_is_killed(
    processes: WebProcesses,
) -> None:
    leader, follower = processes.start_two()
    presenter = Presenter(leader)
    pages = [Follower(server, presenter.code) for server in (leader, follower, follower)]
    presenter.show(follower, "/memory")
    for page in pages:
        page.wait_for_address("/memory")
    eventually(lambda: presenter.followers(leader) == len(pages), 10)
    kill(leader)
    eventually(lambda: presenter.show(follower, "/serving").status_code == 200, 60)
    for page in pages[1:]:
        page.wait_for_address("/serving")
    late = Follower(follower, presenter.code)
    assert late.address == "/serving"
    for page in (*pages[1:], late):
        page.leave()
