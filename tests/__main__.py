"""The test command: `python -m tests` runs every tier, `python -m tests fast page` only those named.

Each tier runs in a process of its own, two side by side and all of them even when one fails: each leaves the
processors idle for a third of its time or more. What a tier printed follows when it has ended; one tier alone prints
as it goes. A test that failed runs once more, alone, after all tiers. If it passes then, it is listed as flaky with its
first error, and the command still succeeds with at most three of those. The last lines say what passed and how long it
took. What follows `--` goes to pytest, such as `python -m tests fast -- -k sampling -x`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import IO

from tests import page_tools

ROOT = Path(__file__).resolve().parent.parent
SHARING_CORES = {"OMP_WAIT_POLICY": "passive"}
"""As in the engine process; docs/measurements.md says why. Tests also run models in their own."""
Command = list[str]
LANES = 2
"""Tiers at a time."""
SIDE_BY_SIDE = ("--numprocesses=2", "--dist=loadfile")
"""Two files of a tier at a time."""
BROWSER = "tests/browser"
"""Where all tests of this tier are, and none of another (tests/conftest.py)."""
FLAKY_AT_MOST = 3
"""Tests that may fail first and pass alone. A tier with more failures is not repeated: it fails in any case."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How the tests of a tier ended. A check that is no test, such as lint, counts as one."""

    failed: int = 0
    flaky: int = 0
    passed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def __str__(self) -> str:
        counted = [(getattr(self, field.name), field.name) for field in fields(self)]
        return ", ".join(f"{count} {name}" for count, name in counted if count) or "nothing ran"


def tool(module: str, *arguments: str) -> Command:
    return [sys.executable, "-m", module, *arguments]


@dataclass(frozen=True, slots=True)
class Tier:
    """Checks that run in a process of their own."""

    what: str
    commands: Callable[[Path, list[str]], list[Command]]
    """Made from the path of the report to write and from the arguments for pytest."""
    repeat: tuple[str, ...] = ()
    """Options with which its command runs only what failed, one test at a time. Empty if its checks fail on no machine
    for being busy."""


def pytest_tier(what: str, markers: str, *options: str, at: Callable[[], list[str]]) -> Tier:
    """`at`: where its tests are. To collect all there are takes half a minute of a processor, in each process."""

    def commands(report: Path, extra: list[str]) -> list[Command]:
        kept = [f"--junitxml={report}", f"--override-ini=cache_dir={report.parent / 'cache'}"]
        return [tool("pytest", "-m", markers, *options, *kept, *(extra or at()))]

    return Tier(what, commands, ("--last-failed", "--last-failed-no-failures=none", "--numprocesses=0"))


def files_with(mark: str) -> list[str]:
    """The files outside tests/browser/ that give a test this mark."""
    files = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in ROOT.glob("tests/**/test_*.py")}
    return sorted(
        file for file, text in files.items() if f"pytest.mark.{mark}" in text and not file.startswith(BROWSER)
    )


def page_commands(report: Path, extra: list[str]) -> list[Command]:
    """The page's pure modules, by Node's own test runner: Node from PATH, or the one in the test requirements."""
    tests = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/static/**/*.test.js"))
    return [
        [
            *page_tools.node(),
            "--test",
            "--test-reporter=spec",
            "--test-reporter-destination=stdout",
            "--test-reporter=junit",
            f"--test-reporter-destination={report}",
            *tests,
        ]
    ]


TIERS: dict[str, Tier] = {
    "browser": pytest_tier("the page in Chromium", "browser", *SIDE_BY_SIDE, at=lambda: [BROWSER]),
    "processes": pytest_tier(
        "whole servers and fresh interpreters",
        "processes and not (real or browser)",
        at=lambda: files_with("processes"),
    ),
    "fast": pytest_tier(
        "tiny random models, no network",
        "not (real or browser or processes or durability)",
        *SIDE_BY_SIDE,
        f"--ignore={BROWSER}",
        at=lambda: ["tests"],
    ),
    "real": pytest_tier(
        "the default model, fetched on first use", "real and not browser", at=lambda: files_with("real")
    ),
    "durability": pytest_tier("processes killed again and again", "durability", at=lambda: files_with("durability")),
    "types": Tier(
        "mypy, and tsc for the page",
        lambda report, extra: [tool("mypy"), tool("tests.page_tools", "tsc", "--project", "static")],
    ),
    "page": Tier("the page's pure modules, in Node", page_commands),
    "lint": Tier(
        "lint and format: ruff, and biome for the page",
        lambda report, extra: [
            tool("ruff", "check", "."),
            tool("ruff", "format", "--check", "."),
            tool("tests.page_tools", "biome", "check", "--error-on-warnings"),
        ],
    ),
}
"""The longest first, so that none of those is left alone at the end. `processes` mostly waits, so it runs beside the
longest one.
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """A tier that has run: what it counted, how long it took, and what it printed, if that was kept."""

    name: str
    counts: Counts
    seconds: float
    printed: str
    flaky: tuple[str, ...] = ()
    """The tests that failed first and then passed alone, each with its first error."""

    def __str__(self) -> str:
        return f"{'FAILED' if self.counts.failed else 'ok':6}  {self.name:10}  {self.seconds:6.1f} s  {self.counts}"


def run_tier(name: str, extra: list[str], scratch: Path, keep: bool) -> Ended:
    """Run a tier's commands. Their output is kept, or goes straight to the terminal.

    A command that fails without a failed test counts as one failure, and so does a tier without a test. The report of
    the last command stays in `scratch`, a folder of this tier's own, for `repeat_failed`.
    """
    began, counts = time.monotonic(), Counts()
    report = report_in(scratch)
    with (scratch / "printed").open("w+b") as printed:
        for command in TIERS[name].commands(report, extra):
            report.unlink(missing_ok=True)
            status = run(command, printed if keep else None)
            found = read_report(report) if report.exists() else Counts(passed=status == 0)
            broken = (status != 0 or found == Counts()) and not found.failed
            counts += found + Counts(failed=broken)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    return Ended(name, counts, time.monotonic() - began, text)


def repeat_failed(tier: Ended, extra: list[str], scratch: Path) -> Ended:
    """Run the failed tests of a tier once more, with nothing beside them. What passes now counts as flaky."""
    first = failures(report_in(scratch)) if report_in(scratch).exists() else {}
    repeat = TIERS[tier.name].repeat
    if not repeat or not 0 < tier.counts.failed <= FLAKY_AT_MOST or len(first) != tier.counts.failed:
        return tier
    print(f"\n━━ {tier.name}: once more, alone: {', '.join(first)}", flush=True)
    began, again = time.monotonic(), scratch / "again.xml"
    for command in TIERS[tier.name].commands(report_in(scratch), extra):
        run([*command, *repeat, f"--junitxml={again}"], None)
    passed = names_passed(again) if again.exists() else set()
    flaky = tuple(f"{name}: {error}" for name, error in first.items() if name in passed)
    counts = replace(tier.counts, failed=tier.counts.failed - len(flaky), flaky=len(flaky))
    return replace(tier, counts=counts, flaky=flaky, seconds=tier.seconds + time.monotonic() - began)


def run(command: Command, output: IO[bytes] | None) -> int:
    """Run a command in the checkout. Returns its exit status."""
    environment = {**SHARING_CORES, **os.environ}
    return subprocess.run(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
    ).returncode


def report_in(scratch: Path) -> Path:
    return scratch / "report.xml"


def cases(report: Path) -> list[tuple[str, ElementTree.Element]]:
    """The tests in a JUnit report, pytest's or Node's, by name."""
    found = ElementTree.parse(report).getroot().iter("testcase")
    return [(f"{case.get('classname', '')}::{case.get('name', '')}", case) for case in found]


def problem(case: ElementTree.Element) -> ElementTree.Element | None:
    return next((part for part in case if part.tag in ("failure", "error")), None)


def read_report(report: Path) -> Counts:
    """Counts in a JUnit report."""
    found = [case for _, case in cases(report)]
    failed = sum(problem(case) is not None for case in found)
    skipped = sum(case.find("skipped") is not None for case in found)
    return Counts(failed=failed, passed=len(found) - failed - skipped, skipped=skipped)


def failures(report: Path) -> dict[str, str]:
    """The first line of each failed test's error, by name."""
    found = ((name, problem(case)) for name, case in cases(report))
    return {name: first_line(error) for name, error in found if error is not None}


def first_line(error: ElementTree.Element) -> str:
    return next(iter((error.get("message") or error.text or "").strip().splitlines()), "no message")


def names_passed(report: Path) -> set[str]:
    """Names of the tests that passed, all their parts included: a test whose teardown fails did not."""
    found = cases(report)
    return {name for name, case in found if case.find("skipped") is None} - failures(report).keys()


def main(argv: list[str]) -> int:
    own, extra = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    parser = argparse.ArgumentParser(
        prog="python -m tests",
        description="Run the checks and tests. What follows -- goes to pytest.",
        epilog="tiers: " + "; ".join(f"{name} ({tier.what})" for name, tier in TIERS.items()),
    )
    parser.add_argument("tiers", nargs="*", metavar="tier", help="which tiers, all by default")
    names = parser.parse_args(own).tiers or list(TIERS)
    for name in names:
        if name not in TIERS:
            parser.error(f"no tier {name!r}: choose from {', '.join(TIERS)}")
    print(f"running {', '.join(names)}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        scratch = {name: Path(folder) / name for name in names}
        ended = [repeat_failed(tier, extra, scratch[tier.name]) for tier in run_tiers(scratch, extra)]
    print()
    for tier in ended:
        print(tier, *(f"\n        flaky: {test}" for test in tier.flaky), sep="")
    total = sum((tier.counts for tier in ended), Counts())
    if total.flaky > FLAKY_AT_MOST:
        print(f"FAILED  {total.flaky} tests are flaky; at most {FLAKY_AT_MOST} may be")
    print(f"==== {total} in {time.monotonic() - began:.2f}s ====", flush=True)
    return 1 if total.failed or total.flaky > FLAKY_AT_MOST else 0


def run_tiers(scratch: dict[str, Path], extra: list[str]) -> list[Ended]:
    """Run tiers side by side, each with its folder. Returns them in the order in which they ended."""
    ended = []
    with ThreadPoolExecutor(LANES) as lanes:
        for folder in scratch.values():
            folder.mkdir()
        begun = [lanes.submit(run_tier, name, extra, folder, len(scratch) > 1) for name, folder in scratch.items()]
        for done in as_completed(begun):
            ended.append(done.result())
            print(f"\n━━ {ended[-1].name}: {TIERS[ended[-1].name].what}\n{ended[-1].printed}{ended[-1]}", flush=True)
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
