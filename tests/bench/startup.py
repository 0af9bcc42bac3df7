"""From the start of the process to a served page, a ready model and an answer to an own prompt."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from kvscope.model.log import frames

PATIENCE_S = 120


@dataclass(frozen=True, slots=True)
class Startup:
    """Seconds from process start, but `first_token_s`: from the POST of a run to its first token in the log."""

    page_s: float
    ready_s: float
    first_token_s: float


def measure_startup(device: str) -> Startup:
    """Start a server of its own on a free port and end it. Raises TimeoutError."""
    with tempfile.TemporaryDirectory() as data:
        began = time.perf_counter()
        command = [sys.executable, "-m", "kvscope", "--port", "0", "--data", data, "--device", device]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip().rstrip("/")
            wait_for(f"{url}/")
            page = time.perf_counter() - began
            wait_for(f"{url}/readyz")
            ready = time.perf_counter() - began
            return Startup(page, ready, first_token(url))
        finally:
            server.terminate()
            server.wait(PATIENCE_S)


def first_token(url: str) -> float:
    body = json.dumps({"prompt": "The animal didn't cross the street because it was too", "max_new_tokens": 4}).encode()
    began = time.perf_counter()
    with urlopen(Request(f"{url}/api/runs", body, {"Content-Type": "application/json"})) as answer:
        run = json.load(answer)["id"]
    while True:
        with urlopen(f"{url}/api/runs/{run}/frames?after=-1") as answer:
            kinds = [frames.header(payload).kind for payload in frames.from_stream(answer.read())]
        if "step" in kinds:
            return time.perf_counter() - began
        time.sleep(0.01)


def wait_for(url: str) -> Any:
    deadline = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < deadline:
        try:
            with urlopen(url) as answer:
                return answer.read()
        except (HTTPError, URLError):
            time.sleep(0.01)
    raise TimeoutError(url)
