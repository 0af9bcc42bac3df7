"""`python -m tools.faults.day`: simulates a day of visitors in some minutes, on a small disk, and measures the server.

Visitors start runs and watch them or leave before their end, branch, start twins, pause and abandon, share, delete what
they shared or started, upload files, and open pages. Both processes are measured every few seconds: in memory, threads
and open files, the last third of the time must be within 5 % of the middle third; the database's file and its log of
changes must never exceed their budget and one step. The model is a tiny random one; everything else is as in a real
server.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import requests
import socketio.exceptions

from kvscope.app.engine.storing import PART_BYTES
from kvscope.app.store.database import FILE, LOG_BYTES
from tests.support.live_server import LiveServer, engine_of
from tests.support.viewer import Viewer
from tests.support.waiting import eventually

SERVICE = "tests.support.tiny_service:load_service"
IN_VAIN, LONGEST_LINE_S = "stood in line in vain", 120.0
LOOK_S = 2.0
LOADING_S = 600.0
DRIFT = 0.05
"""Largest difference of the last third from the middle one, as a share."""
SLACK = {"threads": 8.0, "files": 8.0}
"""Differences of small counts that are no drift: there are as many threads as requests were answered at once."""
DOINGS = ("watch", "watch", "vanish", "branch", "twin", "pause", "share", "share", "delete", "file")
TEXTS = ("The sky is", "Once upon a time there was a small house", "1 + 1 =", "Where does it look? " * 12)
DATABASE = "database on the disk"
STEP_BYTES = PART_BYTES + LOG_BYTES // 4
"""Bytes written in one transaction, and the growth of the log of changes until it begins again."""
MB = 10**6


@dataclass
class Visits:
    """What visitors did, and the answers they got. `refused`: runs, by status."""

    done: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: Counter[int] = field(default_factory=Counter)

    @property
    def made(self) -> int:
        """The number of started runs."""
        return sum(count for what, count in self.done.items() if what.startswith("started"))


class Visitor:
    """Visits one after another, each with another token."""

    def __init__(self, url: str, seed: int, visits: Visits, over: Event) -> None:
        self._url, self._chance, self._visits, self._over = url, random.Random(seed), visits, over

    def come_and_go(self) -> None:
        """Visits until the day is over."""
        while not self._over.is_set():
            with suppress(requests.RequestException, socketio.exceptions.SocketIOError, AssertionError):
                self._visit()

    def _visit(self) -> None:
        self._http = requests.Session()
        self._http.headers["X-KVScope-Client"] = f"{self._chance.getrandbits(128):032x}"
        self._ask("GET", "")
        asked = {"prompt": self._chance.choice(TEXTS), "max_new_tokens": self._chance.choice((4, 16, 48))}
        made = self._start("api/runs", asked)
        if made is None:
            return
        match self._chance.choice(DOINGS):
            case "watch":
                viewer = Viewer(self._url)
                viewer.watch(made["id"])
                viewer.wait_for_close(30)
                viewer.leave()
                self._visits.done["watched to the end"] += 1
            case "vanish":
                viewer = Viewer(self._url)
                viewer.watch(made["id"])
                viewer.client.eio.ws.sock.close()  # as a closed tab does
                self._visits.done["vanished"] += 1
            case "pause":
                self._ask("POST", f"api/runs/{made['id']}/control", json={"action": "pause"})
                self._visits.done["paused and left"] += 1
            case "delete":
                self._delete(f"api/runs/{made['id']}", made["delete_token"])
            case after:
                if self._ended(made["id"]):
                    self._go_on(after, made)

    def _go_on(self, after: str, made: dict[str, Any]) -> None:
        run = made["id"]
        if after == "twin":
            self._start(f"api/runs/{run}/twin", {"cache": self._chance.choice(("none", "forgotten"))})
        elif after == "branch":
            position = self._ask("GET", f"api/runs/{run}").json()["prompt_tokens"]
            self._start(f"api/runs/{run}/fork", {"position": position, "token": self._chance.randrange(3, 200)})
        else:
            words = {"title": f"{self._chance.random()}", "values": self._chance.choice(("attention", "qkv"))}
            shared = self._ask("POST", f"api/runs/{run}/share", json=words)
            if not shared.ok:
                return
            self._visits.done["shared"] += 1
            session = shared.json()
            if after == "file":
                file = self._ask("GET", f"api/sessions/{session['id']}.safetensors").content
                kind = {"Content-Type": "application/octet-stream"}
                again = self._ask("POST", "api/sessions", data=file, headers=kind)
                if again.ok:
                    self._visits.done["brought back"] += 1
                    self._delete(f"api/sessions/{session['id']}", again.json()["delete_token"])
            self._ask("GET", f"s/{session['id']}")
            self._delete(f"api/sessions/{session['id']}", session["delete_token"])

    def _start(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        answer = self._ask("POST", path, json=body)
        if not answer.ok:
            self._visits.refused[answer.status_code] += 1
            self._over.wait(1)
            return None
        made: dict[str, Any] = answer.json()
        self._visits.done["started, in line at first" if answer.status_code == 202 else "started"] += 1
        asked = time.monotonic()
        while self._ask("GET", f"api/runs/{made['id']}").status_code == 202:
            if self._over.wait(0.3):
                return None
            if time.monotonic() > asked + LONGEST_LINE_S:
                self._visits.done[IN_VAIN] += 1
                return None
        return made

    def _ended(self, run: str) -> bool:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not self._over.is_set():
            answer = self._ask("GET", f"api/runs/{run}")
            if answer.status_code != 200 or answer.json()["status"] == "closed":
                return answer.status_code == 200
            self._over.wait(0.3)
        return False

    def _delete(self, path: str, token: str) -> None:
        if self._ask("DELETE", path, headers={"Authorization": f"Bearer {token}"}).ok:
            self._visits.done["deleted"] += 1

    def _ask(self, method: str, path: str, **more: Any) -> requests.Response:
        answer = self._http.request(method, self._url + path, timeout=60, **more)
        self._visits.statuses[answer.status_code] += 1
        return answer


@dataclass(frozen=True, slots=True)
class Looked:
    """A measurement of the server, in seconds from the beginning, and how many runs were started and refused until
    then.
    """

    at_s: float
    held: dict[str, float]
    made: int
    refused: int


def look(server: LiveServer, folder: Path) -> dict[str, float]:
    """Measures the server now. The web process is the child of the process that was started."""
    engine = engine_of(server)
    web = engine.parent()
    assert web is not None
    found = {DATABASE: float(sum(_size(folder / f"{FILE}{end}") for end in ("", "-wal")))}
    for name, process in (("web", web), ("engine", engine)):
        found[f"memory of the {name}"] = float(process.memory_info().rss)
        found[f"threads of the {name}"] = float(process.num_threads())
        found[f"files of the {name}"] = float(process.num_fds())
    return found


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def drifts(looks: Sequence[dict[str, float]]) -> dict[str, tuple[float, float, float, bool]]:
    """Returns, by name, the medians of each third, and whether the last is too far from the middle one."""
    third = len(looks) // 3
    made = {}
    for name in looks[0]:
        first, middle, last = (
            statistics.median(each[name] for each in part)
            for part in (looks[:third], looks[third : 2 * third], looks[2 * third :])
        )
        slack = max(DRIFT * middle, next((slack for word, slack in SLACK.items() if word in name), 0.0))
        made[name] = (first, middle, last, last - middle > slack)
    return made


@dataclass(frozen=True, slots=True)
class Day:
    """The measurements of a day."""

    looks: list[Looked]
    visits: Visits
    log: str
    """The server's log."""
    budget: int

    @property
    def most(self) -> float:
        """The most bytes that the database took."""
        return max(look.held[DATABASE] for look in self.looks)

    @property
    def drifts(self) -> dict[str, tuple[float, float, float, bool]]:
        """The drifts, as `drifts` returns them; the database may grow within its budget."""
        found = drifts([look.held for look in self.looks])
        return {name: (*thirds, too_far and name != DATABASE) for name, (*thirds, too_far) in found.items()}  # type: ignore[misc]

    @property
    def faults(self) -> list[str]:
        """What was wrong, in a line each."""
        answers = [status for status in self.visits.statuses if status >= 500 and status not in (503, 507)]
        found = [f"answers of status {status}" for status in answers]
        found += [f"{vain} stood in line for {LONGEST_LINE_S:g} s"] if (vain := self.visits.done[IN_VAIN]) else []
        found += ["a traceback in the log"] if "Traceback" in self.log else []
        found += [f"{name} grows" for name, (*_, too_far) in self.drifts.items() if too_far]
        over = self.most - self.budget - STEP_BYTES
        return found + ([f"the database took {over:,.0f} bytes more than it may"] if self.budget and over > 0 else [])


def day(minutes: float = 20, visitors: int = 8, disk: str = "50MB", seed: int = 1) -> Day:
    """Simulates a day in so many minutes."""
    visits, over, looks = Visits(), Event(), list[Looked]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        server = LiveServer(folder, "endless", service=SERVICE, options=("--max-disk", disk))
        try:
            eventually(lambda: server.get("readyz").ok, LOADING_S)
            server.finished(server.start_run(max_new_tokens=4))
            with ThreadPoolExecutor(visitors) as many:
                for number in range(visitors):
                    many.submit(Visitor(server.url, seed + number, visits, over).come_and_go)
                began = time.monotonic()
                while (passed := time.monotonic() - began) < 60 * minutes:
                    time.sleep(LOOK_S)
                    looks.append(Looked(passed, look(server, folder), visits.made, visits.refused.total()))
                over.set()
            lines = server.get("metrics").text.splitlines()
            told = dict(line.split() for line in lines if not line.startswith("#"))
            return Day(looks, visits, server.errors, int(told["kvscope_bytes_budget"]))
        finally:
            over.set()
            server.close()


def table(passed: Day, rows: int = 20) -> str:
    """Returns measurements in some rows over the time; of the database the most since the row before."""
    lines = [f"{'minute':>7}{'database MB':>13}{'web MB':>9}{'engine MB':>11}{'made':>7}{'refused':>9}"]
    size = max(1, len(passed.looks) // rows)
    for at in range(0, len(passed.looks), size):
        some = passed.looks[at : at + size]
        last = some[-1]
        most = max(look.held[DATABASE] for look in some) / MB
        memory = [last.held[f"memory of the {name}"] / MB for name in ("web", "engine")]
        lines.append(
            f"{last.at_s / 60:>7.1f}{most:>13.1f}{memory[0]:>9.1f}{memory[1]:>11.1f}{last.made:>7}{last.refused:>9}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.day", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--visitors", type=int, default=8)
    parser.add_argument("--disk", default="50MB", help="as --max-disk takes it")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    passed = day(options.minutes, options.visitors, options.disk, options.seed)
    print(table(passed))
    print(f"{options.minutes:g} minutes, {options.visitors} visitors, {options.disk}: {dict(passed.visits.done)}")
    print(f"answers by status: {dict(sorted(passed.visits.statuses.items()))}; refused: {dict(passed.visits.refused)}")
    print(f"the database took {passed.most / MB:.1f} MB at most, of {passed.budget / MB:g}")
    print(f"{'':24}{'first third':>14}{'middle':>14}{'last':>14}{'last ÷ middle':>15}")
    for name, (first, middle, last, too_far) in passed.drifts.items():
        print(f"{name:24}{first:>14,.0f}{middle:>14,.0f}{last:>14,.0f}{last / middle:>14.3f}{' !' if too_far else ''}")
    if "Traceback" in passed.log:
        print(passed.log[passed.log.rindex("Traceback") :][:3000])
    print("faults: " + ("; ".join(passed.faults) or "none"))
    return 1 if passed.faults else 0


if __name__ == "__main__":
    sys.exit(main())
