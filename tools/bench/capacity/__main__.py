"""`python -m tools.bench.capacity`: measures this machine for `kvscope plan`, or checks its simulation.

`--measure` prints a profile, or writes it with `--out`. `--check` plays an arrival trace on a real server and in the
simulation, with a profile that is measured just before on that server, and compares waits and runs per minute.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tools.bench.capacity.around import database, page
from tools.bench.capacity.check import check
from tools.bench.capacity.measure import STEPS, log_of, measured
from tools.bench.capacity.served import MODELS, serving

VIEWERS = ("--max-viewers-per-address", "600", "--max-waiting", "200")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.capacity", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--measure", action="store_true", help="measure a profile")
    what.add_argument("--check", action="store_true", help="compare the simulation with a real server")
    parser.add_argument("--model", choices=list(MODELS), help="real (default to measure) or tiny (default to check)")
    parser.add_argument("--machine", default="this machine", help="how the profile names the machine")
    parser.add_argument("--out", type=Path, help="file for the profile")
    parser.add_argument("--engines", type=int, nargs="+", default=[1], help="numbers of engines to check")
    parser.add_argument("--runs", type=int, default=60, help="runs of the trace for each engine")
    parser.add_argument("--load", type=float, default=1.2, help="arrivals per second, of what the engines can do")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.check:
        check(options.model or "tiny", options.engines, options.runs, options.load, options.seed)
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(options.model or "real", Path(folder) / "one", VIEWERS) as served,
    ):
        log = log_of(served, served.prompt_of(40), STEPS)
        profile = measured(
            served, "python -m tools.bench.capacity --measure", options.machine, page(served), database(log.payloads)
        )
    text = profile.model_dump_json(indent=1)
    if options.out:
        options.out.write_text(text + "\n", "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
