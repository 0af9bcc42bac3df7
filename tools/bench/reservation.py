"""`python -m tools.bench.reservation`: measures how much reserved space stays empty, by the size of reservations.

The requests are those of the experiment on the Serving page, read from its script with Node. A table in Markdown, by
reservation: the mean share of held space without a token (by time, as on the page), the share that never held one, the
most requests at once, and which requests waited although enough space was free in total; then the same for blocks as
needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from kvscope.model.checkpoint import load
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.serving.admission import tokenized
from kvscope.model.settings import Workload
from tools.bench.serving import Bench, Round

TESTS = Path(__file__).resolve().parents[2] / "tests" / "static"
"""The folder from which Node finds the packages of the page."""
BODY = """
import { CONTIGUOUS } from "../../kvscope/static/serving/contiguous.js";
import { bodyOf } from "../../kvscope/static/serving/experiments.js";
import { FIRST, parsed } from "../../kvscope/static/serving/workload-form.js";
const limits = { workload: new Proxy({}, { get: () => [0, 1e6] }) };
const chosen = { reserved: %d, answer: %d };
console.log(JSON.stringify(bodyOf(CONTIGUOUS, parsed(FIRST, limits), 30, chosen)));
"""


def body(reserved: int, answer: int) -> dict[str, Any]:
    """Returns the JSON that the page posts with these choices."""
    command = ["node", "--input-type=module", "--eval", BODY % (reserved, answer)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def figures(each: Round) -> list[str]:
    """Returns the cells of a row: empty by time, never filled, most at once, waits for a stretch."""
    time = empty = 0.0
    last: dict[int, tuple[int, int]] = {}
    waits = {}
    for one in each.passes:
        slots = one.pool.slots
        if slots and slots.filled:
            time += one.ms
            empty += one.ms * slots.empty / (slots.filled + slots.empty)
        for number, state in enumerate(one.requests):
            if state.state == "running":
                last[number] = (state.positions, len(state.table) * BLOCK_SIZE)
        for event in one.events:
            if event.why == "stretch":
                waits.setdefault(event.request, f"{event.count} of {event.free} free, {event.longest} in a row")
    filled, held = (sum(pair[at] for pair in last.values()) for at in (0, 1))
    most = max(sum(state.state == "running" for state in one.requests) for one in each.passes)
    return [f"{empty / time:.1%}", f"{1 - filled / held:.1%}", str(most), "; ".join(waits.values()) or "none"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.reservation", description=__doc__)
    parser.add_argument("--reserved", type=int, nargs="+", default=[64, 128, 160, 192, 256], help="tokens per answer")
    parser.add_argument("--answer", type=int, default=24, help="most tokens of the longest answer")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    options = parser.parse_args()
    checkpoint = load(None, lambda _: None)
    bench = Bench(checkpoint, options.device)
    print("| | empty, by time | never held a token | at once | waited, in blocks |\n|---|---|---|---|---|")
    for reserved in options.reserved:
        workload = Workload.model_validate(body(reserved, options.answer))
        asked = tokenized(workload, checkpoint.tokenizer, checkpoint.config.context, checkpoint.config.layers)
        for each, settings in zip(bench.serve(asked, *workload.rounds), workload.rounds, strict=True):
            name = f"{settings.contiguous.new_tokens} reserved" if settings.contiguous else "as needed"
            print("| " + " | ".join([name, *figures(each)]) + " |", flush=True)


if __name__ == "__main__":
    main()
