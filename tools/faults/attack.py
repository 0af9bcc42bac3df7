"""`python -m tools.faults.attack [NAME …]`: attacks servers of its own, one kind of fault after another; prints a
table.

Each attack is a stranger with a script. It states the most that may happen, and the table says what happened. Load is
bounded and stays on this machine. Times are ratios taken in one run, or far above what an idle machine needs.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import requests

from tests.support.live_server import FAKE, LiveServer, engine_of
from tests.support.waiting import eventually
from tools.faults.numbers import BINARY, Mutant, source
from tools.faults.room_attacks import answers, codes, joins, presenters, questions
from tools.faults.strangers import OTHER, PROXY, STRANGER, Result, said_by, silence, together

REAL = "kvscope.model.service:load_service"
LONG = {"prompt": "Once upon a time", "max_new_tokens": 256, "strategy": "sample", "temperature": 1.5}
READERS, AT_MOST = 60, 3.0
SILENCE_S = 1.0
MORE_BYTES = 300_000_000
BUDGET, STEP_BYTES = 50_000_000, 2_000_000


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack. `limit`: the most that may happen, in words. `options`: of the server; `model`: of the fake one."""

    what: str
    limit: str
    run: Callable[[LiveServer], Result]
    options: tuple[str, ...] = ()
    service: str = FAKE
    model: str | None = "delay=0.02"


def web_of(server: LiveServer) -> psutil.Process:
    """Returns the process that answers requests: the parent of the engine."""
    web = engine_of(server).parent()
    assert web is not None
    return web


def most_memory(process: psutil.Process) -> int:
    """Returns the most memory that the process ever had, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text("ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) * 1024  # type: ignore[union-attr]


def seconds_of_run(server: LiveServer, headers: dict[str, str]) -> float:
    """Returns the seconds from the request for eight tokens to the last of them."""
    began = time.monotonic()
    asked = {"prompt": "The capital of France is", "max_new_tokens": 8, "reuse": False}
    run = requests.post(f"{server.url}api/runs", json=asked, headers=headers, timeout=60).json()["id"]
    while requests.get(f"{server.url}api/runs/{run}", timeout=60).json().get("status") != "closed":
        time.sleep(0.02)
    return time.monotonic() - began


def beside_readers(headers: dict[str, str]) -> Callable[[LiveServer], Result]:
    """Returns an attack: a client's run while a stranger requests exact values. `headers`: the stranger's."""

    def run(server: LiveServer) -> Result:
        mine = said_by(STRANGER, "somebody-who-waits")
        sessions = re.findall(r"s/([a-z2-7]{12,})", server.get("gallery").text)
        seconds_of_run(server, mine)
        alone = min(seconds_of_run(server, mine) for _ in range(3))
        statuses: Counter[int] = Counter()

        def read(over: threading.Event) -> None:
            while not over.is_set():
                for session in sessions:
                    answer = requests.get(
                        f"{server.url}api/sessions/{session}/mask?step=5", headers=headers, timeout=60
                    )
                    statuses[answer.status_code] += 1
                    over.wait(float(answer.headers.get("Retry-After", 0)))

        with together([read] * READERS):
            time.sleep(2)
            beside = seconds_of_run(server, mine)
        said = f"{alone:.2f} → {beside:.2f} s ({beside / alone:.1f}×); answers {dict(sorted(statuses.items()))}"
        return Result(said, beside <= AT_MOST * alone)

    return run


def file_of_elements(count: int) -> bytes:
    """Returns a file whose header has that many empty lists, three bytes each."""
    text = b'{"a":[' + b",".join([b"[]"] * count) + b"]}"
    return struct.pack("<Q", len(text)) + text


def elements(server: LiveServer) -> Result:
    """Sends a header of 11 million empty lists in 33 MB."""
    file, answers = file_of_elements(11_000_000), list[int]()

    def send() -> None:
        answers.append(requests.post(f"{server.url}api/sessions", data=file, headers=BINARY, timeout=120).status_code)

    worst = silence(server.url, send)
    return Result(f"{answers[0]}, /healthz silent for {worst:.2f} s", answers[0] == 422 and worst <= SILENCE_S)


def memory(server: LiveServer) -> Result:
    """Sends 255 MB of text that one character makes four bytes wide in memory."""
    web = web_of(server)
    before = most_memory(web)
    file = "<\N{FOX FACE}".encode() + b"a" * 255_000_000
    answer = requests.post(f"{server.url}api/sessions", data=file, headers=BINARY, timeout=120)
    more = most_memory(web) - before
    return Result(f"{answer.status_code}, {more / 1e6:.0f} MB more", answer.status_code == 422 and more <= MORE_BYTES)


def numbers(server: LiveServer) -> Result:
    """Sends a file whose cache has 2^53 positions."""
    _, frames, _ = source("run")
    key = next(key for key, frame in frames.items() if frame["kind"] == "step")
    file = Mutant("run", (key,), ("kv", "positions"), 2**53).content
    status = requests.post(f"{server.url}api/sessions", data=file, headers=BINARY, timeout=60).status_code
    return Result(str(status), status == 422)


def queue_gap(server: LiveServer) -> Result:
    """Requests the state of a queued run without a pause."""
    codes: Counter[int] = Counter()
    for _ in range(20):
        server.start_run(max_new_tokens=6)
        run = server.post("api/runs", {"prompt": "abc", "max_new_tokens": 2}).json()["id"]
        while (answer := server.get(f"api/runs/{run}")).json().get("status") != "closed":
            codes[answer.status_code] += 1
            if answer.status_code == 404:
                break
    return Result(f"answers {dict(sorted(codes.items()))}", codes[404] == 0)


def over_disk(server: LiveServer) -> Result:
    """Starts sixteen long prompts at once on a small disk budget."""
    folder, statuses = server.data, Counter[int]()

    def ask(number: int) -> None:
        text = f"{number} " + "the sea and the wind and the stars " * 54
        body = LONG | {"prompt": text, "max_new_tokens": 64, "reuse": False, "seed": number}
        statuses[requests.post(f"{server.url}api/runs", json=body, timeout=120).status_code] += 1

    most = 0
    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(ask, number) for number in range(16)]
        while not all(each.done() for each in asked) or "\nkvscope_runs_open 0\n" not in server.get("metrics").text:
            with suppress(FileNotFoundError):
                most = max(most, sum(file.stat().st_size for file in folder.glob("runs.sqlite*")))
            time.sleep(0.2)
    return Result(f"{most / 1e6:.1f} MB at most; {dict(statuses)}", most <= BUDGET + STEP_BYTES)


def names(server: LiveServer) -> Result:
    """Starts runs from one address under 80 invented names, then one from another client."""
    address, codes = said_by(STRANGER), Counter[int]()

    def ask(number: int) -> None:
        headers = address | {"X-KVScope-Client": f"made-up-name-{number:08d}"}
        codes[requests.post(f"{server.url}api/runs", json=LONG, headers=headers, timeout=60).status_code] += 1

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(ask, range(80)))
    other = requests.post(f"{server.url}api/runs", json=LONG, headers=said_by(OTHER, "somebody-else-0000"), timeout=60)
    return Result(f"{dict(sorted(codes.items()))}; somebody else {other.status_code}", other.status_code in (201, 202))


def proxy_forgotten(server: LiveServer) -> Result:
    """Starts 75 runs of one client through a proxy that the server does not trust."""
    codes: Counter[int] = Counter()
    for number in range(75):
        body = {"prompt": f"{number}", "max_new_tokens": 1}
        codes[requests.post(f"{server.url}api/runs", json=body, headers=said_by(STRANGER), timeout=60).status_code] += 1
    return Result(f"{dict(sorted(codes.items()))}", codes[429] > 0 or codes[201] == 0)


def without_token(server: LiveServer) -> Result:
    """Cancels a request of a workload without its token."""
    token = {"Authorization": "Bearer secret-word"}
    body = {"requests": [{"prompt": "Once upon a time", "max_new_tokens": 64}], "rounds": [{}]}
    run = requests.post(f"{server.url}api/workloads", json=body, headers=token, timeout=60).json()["id"]
    status = requests.delete(f"{server.url}api/workloads/{run}/requests/0", timeout=60).status_code
    return Result(str(status), status == 401)


def bad_chunks(server: LiveServer) -> Result:
    """Sends a hundred bodies whose chunks have no size."""
    first, before = b"", len(server.errors)
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
            sock.sendall(
                b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"
            )
            first = sock.recv(99).partition(b"\r\n")[0]
    more = len(server.errors) - before
    return Result(f"{first.decode('latin-1')}; {more} bytes of log", b" 400 " in first and more <= 2000)


def deleted_database(server: LiveServer) -> Result:
    """Deletes the database's files while the server runs."""
    for file in server.data.glob("runs.sqlite*"):
        file.unlink()
    began = time.monotonic()
    eventually(lambda: server.get("readyz").status_code == 503, 20)
    status = server.post("api/runs", {"prompt": "abc", "max_new_tokens": 1}).status_code
    return Result(f"not ready after {time.monotonic() - began:.1f} s; a start is {status}", status == 503)


def temporary_files(server: LiveServer) -> Result:
    """Kills the engine three times, and counts the files that each start leaves in the temporary folder."""

    def there() -> set[str]:
        return set(os.listdir(tempfile.gettempdir()))

    before = there()
    for _ in range(3):
        old = engine_of(server)
        old.kill()
        eventually(lambda old=old: engine_of(server).pid != old.pid, 60)  # type: ignore[misc]
        eventually(lambda: server.get("readyz").ok, 120)
    left = {name for name in there() - before if not name.startswith("pytest")}
    return Result(f"{len(left)} more", len(left) <= 1)


ATTACKS: dict[str, Attack] = {
    "reads": Attack(
        f"{READERS} readers of exact values beside a run, from its own address", f"{AT_MOST:g}× alone",
        beside_readers(said_by(STRANGER, "somebody-who-reads")), PROXY, REAL, None,
    ),
    "reads-elsewhere": Attack(
        f"{READERS} readers at another address", f"{AT_MOST:g}× alone",
        beside_readers(said_by(OTHER, "somebody-who-reads")), PROXY, REAL, None,
    ),
    "reads-embedded": Attack(
        f"{READERS} images in a page of another site", f"{AT_MOST:g}× alone",
        beside_readers(said_by(OTHER) | {"Sec-Fetch-Site": "cross-site"}), PROXY, REAL, None,
    ),
    "elements": Attack("a file of 11 million elements", f"/healthz within {SILENCE_S:g} s", elements),
    "memory": Attack("255 MB of text with one emoji", f"{MORE_BYTES / 1e6:.0f} MB more", memory),
    "numbers": Attack("a file with 2^53 positions", "422", numbers),
    "queue-gap": Attack("a run in line, asked about without a pause", "no 404", queue_gap, ("--max-open-runs", "1")),
    "over-disk": Attack(
        "sixteen long prompts at once, --max-disk 50MB", "the budget and one step", over_disk,
        ("--max-disk", "50MB"), REAL, None,
    ),
    "names": Attack("80 made-up names at one address", "somebody else gets in", names, PROXY),
    "proxy-forgotten": Attack("75 starts behind a proxy, --proxy forgotten", "limits count", proxy_forgotten),
    "without-token": Attack("cancel a request without the token", "401", without_token, ("--token", "secret-word")),
    "bad-chunks": Attack("100 malformed chunks", "400, 2 kB of log", bad_chunks),
    "deleted-database": Attack("the database is deleted", "said at once, 503", deleted_database),
    "room-codes": Attack("10,000 guesses of a room's code", "0 right, others within 1 s", codes, PROXY),
    "room-presenter": Attack("500 forged presenters", "0 changes", presenters, PROXY),
    "room-joins": Attack("10,000 joins from one address", "others within 1 s", joins, PROXY),
    "room-answers": Attack("10,000 answers by invented pages", "others count", answers, PROXY),
    "room-questions": Attack("questions and answers of megabytes", "413, others within 1 s", questions, PROXY),
    "temporary-files": Attack("the engine is killed three times", "no more than one folder", temporary_files),
}  # fmt: skip
QUICK = (
    "numbers",
    "queue-gap",
    "names",
    "proxy-forgotten",
    "without-token",
    "bad-chunks",
    "deleted-database",
    "room-presenter",
    "room-questions",
)
"""Attacks that take seconds, with the fake model: the test command runs them."""


def attacked(name: str) -> Result:
    """Returns the result of one attack on a new server."""
    attack = ATTACKS[name]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        server = LiveServer(data, attack.model, service=attack.service, options=attack.options)
        try:
            eventually(lambda: server.get("readyz").ok, 300)
            result = attack.run(server)
            if "Traceback" in server.errors:
                return Result(f"{result.measured}; a traceback in the log", False)
            return result
        finally:
            server.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.attack", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(ATTACKS)}; all by default")
    chosen = parser.parse_args(arguments).names or list(ATTACKS)
    held = []
    print(f"{'attack':18}{'':6}{'limit':28}measured")
    for name in chosen:
        result = attacked(name)
        held.append(result.held)
        print(f"{name:18}{'ok' if result.held else 'NO':6}{ATTACKS[name].limit:28}{result.measured}", flush=True)
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
