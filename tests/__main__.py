"""The test command: `python -m tests` runs every tier, `python -m tests fast page` only those named.

Each tier runs in a process of its own, two side by side and all of them even when one fails: each leaves the
processors idle for a third of its time or more. What a tier printed follows when it has ended; one tier alone prints
as it goes. The last lines say what passed and how long it took. What follows `--` goes to pytest, such as
`python -m tests fast -- -k sampling -x`.
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
from dataclasses import dataclass, fields
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Counts:
    """How the tests of a tier ended. A check that is no test, such as lint, counts as one."""

    failed: int = 0
    passed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def __str__(self) -> str:
        counted = [(getattr(self, field.name), field.name) for field in fields(self)]
        return ", ".join(f"{count} {name}" for count, name in counted if count) or "nothing ran"


def tool(module: str, *arguments: str) -> Command:
    return [sys.executable, "-m", module, *arguments]


def pytest_tier(markers: str, *options: str, at: Callable[[], list[str]]) -> Callable[[Path, list[str]], list[Command]]:
    """`at`: where its tests are. To collect all there are takes half a minute of a processor, in each process."""
    return lambda report, extra: [tool("pytest", "-m", markers, *options, f"--junitxml={report}", *(extra or at()))]


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


TIERS: dict[str, tuple[str, Callable[[Path, list[str]], list[Command]]]] = {
    "browser": ("the page in Chromium", pytest_tier("browser", *SIDE_BY_SIDE, at=lambda: [BROWSER])),
    "real": (
        "the default model, fetched on first use",
        pytest_tier("real and not browser", at=lambda: files_with("real")),
    ),
    "fast": (
        "tiny random models, no network",
        pytest_tier(
            "not (real or browser or processes or durability)",
            *SIDE_BY_SIDE,
            f"--ignore={BROWSER}",
            at=lambda: ["tests"],
        ),
    ),
    "processes": (
        "whole servers and fresh interpreters",
        pytest_tier("processes and not (real or browser)", at=lambda: files_with("processes")),
    ),
    "durability": ("processes killed again and again", pytest_tier("durability", at=lambda: files_with("durability"))),
    "types": (
        "mypy, and tsc for the page",
        lambda report, extra: [tool("mypy"), tool("tests.page_tools", "tsc", "--project", "static")],
    ),
    "page": ("the page's pure modules, in Node", page_commands),
    "lint": (
        "lint and format: ruff, and biome for the page",
        lambda report, extra: [
            tool("ruff", "check", "."),
            tool("ruff", "format", "--check", "."),
            tool("tests.page_tools", "biome", "check", "--error-on-warnings"),
        ],
    ),
}
"""The longest first, so that none of those is left alone at the end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A tier that has run: what it counted, how long it took, and what it printed, if that was kept."""

    name: str
    counts: Counts
    seconds: float
    printed: str

    def __str__(self) -> str:
        return f"{'FAILED' if self.counts.failed else 'ok':6}  {self.name:10}  {self.seconds:6.1f} s  {self.counts}"


def run_tier(name: str, extra: list[str], keep: bool) -> Ended:
    """Run a tier's commands. Their output is kept, or goes straight to the terminal.

    A command that fails without a failed test counts as one failure, and so does a tier without a test.
    """
    began, counts = time.monotonic(), Counts()
    with tempfile.TemporaryDirectory() as scratch, (Path(scratch) / "printed").open("w+b") as printed:
        report = Path(scratch) / "report.xml"
        output = printed if keep else None
        for command in TIERS[name][1](report, extra):
            report.unlink(missing_ok=True)
            environment = {**SHARING_CORES, **os.environ}
            done = subprocess.run(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment
            )
            found = read_report(report) if report.exists() else Counts(passed=done.returncode == 0)
            broken = (done.returncode != 0 or found == Counts()) and not found.failed
            counts += found + Counts(failed=broken)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    return Ended(name, counts, time.monotonic() - began, text)


def read_report(report: Path) -> Counts:
    """Counts in a JUnit report, pytest's or Node's."""
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    return Counts(failed=failed, passed=len(cases) - failed - skipped, skipped=skipped)


def main(argv: list[str]) -> int:
    own, extra = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    parser = argparse.ArgumentParser(
        prog="python -m tests",
        description="Run the checks and tests. What follows -- goes to pytest.",
        epilog="tiers: " + "; ".join(f"{name} ({what})" for name, (what, _) in TIERS.items()),
    )
    parser.add_argument("tiers", nargs="*", metavar="tier", help="which tiers, all by default")
    names = parser.parse_args(own).tiers or list(TIERS)
    for name in names:
        if name not in TIERS:
            parser.error(f"no tier {name!r}: choose from {', '.join(TIERS)}")
    print(f"running {', '.join(names)}", flush=True)
    began, ended = time.monotonic(), []
    with ThreadPoolExecutor(LANES) as lanes:
        for done in as_completed([lanes.submit(run_tier, name, extra, len(names) > 1) for name in names]):
            ended.append(done.result())
            print(f"\n━━ {ended[-1].name}: {TIERS[ended[-1].name][0]}\n{ended[-1].printed}{ended[-1]}", flush=True)
    print()
    for tier in ended:
        print(tier)
    total = sum((tier.counts for tier in ended), Counts())
    print(f"==== {total} in {time.monotonic() - began:.2f}s ====", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
