"""A real `python -m app` with the default model, which tests may kill and start again on its port and data folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil
import requests

from kvscope.model.log import frames as codec
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
LOADING_S = 100
RUN_S = 240
TINY_MODEL = ("--service", "tests.support.tiny_service:load_service")
"""Options of a server with a tiny random model."""


class Server:
    """`folder` holds the data and what the server writes to standard error; `options` go to the command line.

    `code` is the folder that holds the package `app`: the checkout, or what a wheel has. `compiling`: what of
    `--compile` it is told; compiling takes a processor from tests.
    """

    def __init__(
        self, folder: Path, *options: str, code: Path = ROOT, compiling: Sequence[str] = ("--compile", "off")
    ) -> None:
        self._folder, self._options, self._code = folder, (*compiling, *options), code
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None
        self.url = ""
        self.start()

    @property
    def data(self) -> Path:
        """Its data folder."""
        return self._folder / "data"

    def start(self) -> None:
        """Start it, on the port it had before if it had one; back when it answers."""
        port = self.url.rstrip("/").rpartition(":")[2] or "0"
        command = [sys.executable, "-m", "kvscope", "--port", port, "--data", str(self.data)]
        command += ["--hung-after", "0", *self._options]  # tests put its engine to sleep
        self._errors = (self._folder / "stderr").open("a")
        self._process = subprocess.Popen(
            command,
            cwd=self._code,
            env={**os.environ, "PYTHONPATH": str(ROOT)},  # after `code`: the tests' services, from a wheel too
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )
        self.url = self._process.stdout.readline().strip()
        assert self.url, (self._folder / "stderr").read_text("utf-8")

    def kill(self) -> None:
        """kill -9 of the serving process and whatever it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(15)
        self._process.stdout.close()
        self._errors.close()

    def kill_engine(self) -> None:
        """kill -9 of the process that holds the model."""
        self._engine().send_signal(signal.SIGKILL)

    @property
    def engine_bytes(self) -> int:
        """Resident memory of the process that holds the model."""
        return int(self._engine().memory_info().rss)

    @contextmanager
    def engine_asleep(self) -> Iterator[None]:
        """The process that holds the model does nothing while this lasts."""
        engine = self._engine()
        engine.suspend()
        try:
            yield
        finally:
            engine.resume()

    def _engine(self) -> psutil.Process:
        children = psutil.Process(self._process.pid).children(recursive=True)
        return max(children, key=lambda process: process.memory_info().rss)

    @property
    def database(self) -> Path:
        return self._folder / "data" / "runs.sqlite"

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""
        return self._get("readyz").ok

    @property
    def compiled(self) -> str:
        """How compiling goes, in a line; empty where it is not tried."""
        return str(self._get("readyz").json().get("compiled", ""))

    def wait_until_ready(self) -> None:
        eventually(lambda: self.ready, LOADING_S)

    def start_run(self, prompt: str, **settings: Any) -> str:
        """Start a run without the page; its id."""
        return self._start("runs", {"prompt": prompt, "reuse": False, **settings})

    def finished_run(self, prompt: str, **settings: Any) -> str:
        """Start a run and wait for its end; its id."""
        run = self.start_run(prompt, **settings)
        self.wait_for_the_end(run)
        return run

    def changed_run(self, run: str, *changes: dict[str, Any]) -> str:
        """Compute a run again with changes and wait for its end; its id."""
        return self.derived_run(f"runs/{run}/change", changes=changes)

    def forked_run(self, run: str, position: int, token: int) -> str:
        """Start a branch of a run and wait for its end; its id."""
        return self.derived_run(f"runs/{run}/fork", position=position, token=token)

    def start_workload(self, **body: Any) -> str:
        """Start a workload; its id."""
        return self._start("workloads", body)

    def derived_run(self, path: str, **body: Any) -> str:
        """Post a request that starts a run, a study or a workload, and wait for its end; its id."""
        run = self._start(path, body)
        self.wait_for_the_end(run)
        return run

    def stop(self, run: str) -> None:
        requests.post(f"{self.url}api/runs/{run}/control", json={"action": "stop"}, timeout=60).raise_for_status()

    def wait_for_the_end(self, run: str) -> None:
        """Of a run or a study. Its engine yields to whatever else is at work on the machine."""
        eventually(lambda: self.status(run)["status"] == "closed", RUN_S)

    def status(self, run: str) -> dict[str, Any]:
        return dict(self._get(f"api/runs/{run}").json())

    def log(self, run: str) -> Log:
        """All frames of a run or a study, once it is closed: a test that reads sooner may find too few."""
        self.wait_for_the_end(run)
        return self._stored(run)

    def opened(self, run: str) -> dict[str, Any]:
        """The first frame's data, also of a run that is still going on or paused."""
        return self._stored(run).open

    def _stored(self, run: str) -> Log:
        return Log(list(codec.from_stream(self._get(f"api/runs/{run}/frames?after=-1").content)))

    def head(self, run: str, step: int, layer: int, head: int) -> dict[str, Any]:
        """Exact float32 values by name."""
        return codec.tensors(self._get(f"api/runs/{run}/head?step={step}&layer={layer}&head={head}").content)

    def _start(self, path: str, body: dict[str, Any]) -> str:
        response = requests.post(f"{self.url}api/{path}", json=body, timeout=60)
        assert response.status_code == 201, response.text
        return str(response.json()["id"])

    def _get(self, path: str) -> requests.Response:
        return requests.get(self.url + path, timeout=60)


class Log:
    """A run's frames, read with the model's own codec: what the page must agree with."""

    def __init__(self, payloads: list[bytes]) -> None:
        self._frames = [(codec.header(payload), payload) for payload in payloads]

    @property
    def open(self) -> dict[str, Any]:
        return self._frames[0][0].data

    @property
    def steps(self) -> list[dict[str, Any]]:
        """`data` of the complete steps."""
        return [header.data for header, _ in self._frames if header.kind == "step"]

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """`data` of every frame of a kind."""
        return [header.data for header, _ in self._frames if header.kind == kind]

    @property
    def tokens(self) -> list[dict[str, Any]]:
        """Prompt and chosen tokens."""
        return [*self.open["tokens"], *(step["token"] for step in self.steps)]

    def logits(self, step: int) -> Any:
        """F32 [256], largest first."""
        return self._step_tensors(step)["top_logits"]

    def ids(self, step: int) -> list[int]:
        """The tokens those logits are of."""
        return [int(token) for token in self._step_tensors(step)["top_ids"]]

    def weight(self, layer: int, head: int, query: int, key: int) -> float:
        """An attention weight, as companded on the wire."""
        for header, payload in self._frames:
            if header.kind != "layer":
                continue
            data, attention = header.data, codec.tensors(payload)["attention"]
            at = (layer - data["first_layer"], head - data["first_head"], query - data["first_query"])
            if all(0 <= index < size for index, size in zip(at, attention.shape, strict=False)):
                return float((attention[(*at, key)] / 255.0) ** 2)
        raise AssertionError(f"no frame holds layer {layer}, head {head}, query {query}")

    def _step_tensors(self, step: int) -> dict[str, Any]:
        payload = next(p for header, p in self._frames if header.kind == "step" and header.data["step"] == step)
        return dict(codec.tensors(payload))


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Yields a server, and kills it at the end."""
    try:
        yield server
    finally:
        server.kill()
