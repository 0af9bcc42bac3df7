"""`python -m tools.bench.engines`: how many runs per minute two engines of one server complete, and one of them alone.

Both engines have processors of their own. Each round lets both work, drains the second, lets the first work alone, and
adds the second again, so that whatever else the machine does slows both alike.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from pathlib import Path

import click
import requests

from tests.support.waiting import eventually
from tools.bench.served import MODELS, Person, Served, serving

PROMPT = "The capital of France is Paris, and the capital of Italy is"


@click.command()
@click.option("--model", type=click.Choice(list(MODELS)), default="real", show_default=True)
@click.option("--runs", default=16, show_default=True, help="Runs asked for at once.")
@click.option("--tokens", default=48, show_default=True, help="New tokens of each.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--places", default=4, show_default=True, help="Open runs of each engine.")
def main(model: str, runs: int, tokens: int, rounds: int, places: int) -> None:
    """Compares two engines with one."""
    options = ("--engines", "2", "--max-open-runs", str(places), "--max-waiting", str(runs))
    with tempfile.TemporaryDirectory() as folder, serving(model, Path(folder) / "server", options) as served:
        both, alone = [], []
        for number in range(rounds):
            eventually(lambda: served.server.engines_ready() == 2, 600, 0.2)
            both.append(_per_minute(served, runs, tokens))
            second = served.server.get("api/engines").json()["engines"][-1]["name"]
            requests.post(f"{served.url}api/engines/{second}/drain", timeout=60).raise_for_status()
            eventually(lambda: served.server.engines_ready() == 1, 60, 0.2)
            alone.append(_per_minute(served, runs, tokens))
            requests.post(f"{served.url}api/engines", timeout=60).raise_for_status()
            click.echo(f"round {number + 1}: {both[-1]:.1f} runs/min with two engines, {alone[-1]:.1f} with one")
        ratios = [two / one for two, one in zip(both, alone, strict=True)]
        click.echo(f"two engines: {statistics.median(ratios):.2f} times one engine (median of {rounds})")


def _per_minute(served: Served, runs: int, tokens: int) -> float:
    """Returns the runs per minute of `runs` runs that are requested at once, each by another client."""
    began = time.perf_counter()
    ids = list[str]()
    threads = [
        threading.Thread(target=lambda number=number: ids.append(served.start(Person(number), PROMPT, tokens)))
        for number in range(runs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in ids:
        eventually(lambda run=run: served.status(run)["status"] == "closed", 600, 0.5)
    return 60 * runs / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
