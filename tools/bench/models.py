"""`python -m tools.bench.models`: compares a server with one model and with two: memory, and waits when they take
turns.

The second model must be on the machine already (`kvscope models`); a download is not measured.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import requests

from kvscope.app.settings import DEFAULT_SERVICE
from tests.support.live_server import LiveServer
from tests.support.waiting import eventually

PROMPT = "The capital of France is"
RETRY_S = 0.1
MB = 10**6


@click.command()
@click.argument("first", default="SmolLM2-135M-Instruct")
@click.argument("second", default="gemma-3-270m")
@click.option("--budget", default="1000MB", show_default=True, help="Memory that is not enough for both.")
@click.option("--rounds", default=3, show_default=True)
def main(first: str, second: str, budget: str, rounds: int) -> None:
    """Compares one model with two, and lets two take turns in memory that is not enough for both."""
    with serving(first) as server:
        answer_s = first_token_s(server, first)
        click.echo(f"one model: engine {memory(server)}; first token after {answer_s:.2f} s")
    waits = []
    for number in range(rounds):
        with serving(first, second) as server:
            before = memory(server)
            waits.append(first_token_s(server, second))
            again = [first_token_s(server, name) for name in (first, second)]
            click.echo(f"round {number + 1}: before the first use {before}; {second} answers after {waits[-1]:.2f} s")
            click.echo(f"  both loaded: {memory(server)}; first tokens after {again[0]:.2f} and {again[1]:.2f} s")
    click.echo(f"first use of {second}, load included: {statistics.median(waits):.2f} s (median of {rounds})")
    with serving(first, second, options=("--model-memory", budget)) as server:
        for name in (second, first) * rounds:
            server.start_run(prompt=PROMPT, max_new_tokens=1, model=loaded(server)[0])
            refused, waited = refused_s(server, name), first_token_s(server, name)
            click.echo(
                f"{budget}: {name} refused for {refused:.1f} s, then answers after {waited:.2f} s; {memory(server)}"
            )


@contextmanager
def serving(*models: str, options: tuple[str, ...] = ()) -> Iterator[LiveServer]:
    """Yields a server with these models, the first of them loaded."""
    named = [part for model in models for part in ("--model", model)]
    with tempfile.TemporaryDirectory() as folder:
        server = LiveServer(Path(folder) / "data", None, service=DEFAULT_SERVICE, options=(*named, *options))
        try:
            eventually(lambda: server.get("readyz").ok, 120)
            yield server
        finally:
            server.close()


def engines(server: LiveServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get("api/engines").json()["engines"]
    return found


def loaded(server: LiveServer) -> list[str]:
    """Returns the models in memory."""
    return [engine["model"] for engine in engines(server)]


def memory(server: LiveServer) -> str:
    """Returns the resident memory of each engine, as the server reports it."""
    each = [f"{engine['model']} {engine['resident_bytes'] / MB:.0f} MB" for engine in engines(server)]
    return " + ".join(each)


def refused_s(server: LiveServer, model: str) -> float:
    """Returns the seconds for which a model is refused because the other is in use."""
    began = time.perf_counter()
    while _post(server, model).status_code == 409:
        time.sleep(RETRY_S)
    return time.perf_counter() - began


def first_token_s(server: LiveServer, model: str) -> float:
    """Returns the seconds from the first request for a run to its first token in the log; repeats it while the model
    loads.
    """
    began = time.perf_counter()
    while not (response := _post(server, model)).ok:
        assert response.status_code == 503, response.text
        time.sleep(RETRY_S)
    run = response.json()["id"]
    eventually(lambda: server.get(f"api/runs/{run}").json()["steps"] > 0, 60, RETRY_S)
    return time.perf_counter() - began


def _post(server: LiveServer, model: str) -> requests.Response:
    return server.post("api/runs", {"prompt": PROMPT, "max_new_tokens": 8, "model": model})


if __name__ == "__main__":
    main()
