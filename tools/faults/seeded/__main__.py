"""`python -m tools.faults.seeded`: inserts known faults into a copy of the checkout and lists those that tests catch.

Each .toml file beside this one is a list of faults: a text of one file, its replacement, and the tests that must fail
then. The tests run once without any fault first. `python -m tools.faults.seeded page -k cursor` takes one list, and of
it the faults whose name has that word.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kvscope.model.packaged import cache_folder
from tests.page_tools import ROOT, node

LISTS = Path(__file__).parent
UNTRACKED = ("kvscope/static/vendor", "kvscope/static/node_modules")
"""Files that tests need and git does not track."""
CACHE = ".cache"
"""Folder of the copy that its tests use as cache of models and compiled libraries."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault. `tests`: files for Node, and files or single tests for pytest. If none of them fails, the fault is not
    caught.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def insert(self, root: Path) -> str:
        """Inserts the fault; returns the file's text before. Raises ValueError unless the old text is there once."""
        text = (root / self.file).read_text("utf-8")
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: its old text stands {count} times in {self.file}")
        (root / self.file).write_text(text.replace(self.old, self.new), "utf-8")
        return text


def read_lists(names: Sequence[str]) -> list[Fault]:
    files = [LISTS / f"{name}.toml" for name in names] or sorted(LISTS.glob("*.toml"))
    return [
        Fault(**{**fault, "tests": tuple(fault["tests"])})
        for file in files
        for fault in tomllib.loads(file.read_text("utf-8"))["fault"]
    ]


def copy_checkout(root: Path) -> None:
    """Copies all files that git tracks or would track, as they are now, and `UNTRACKED`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.check_output(command, cwd=ROOT, text=True).split("\0")):
        if (ROOT / name).exists():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
    for name in UNTRACKED:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, root / name, symlinks=True)


def link_models(cache: Path) -> None:
    """Makes `cache` a folder with links to the models downloaded here, so that libraries compiled from faulty sources
    stay out of the user's own cache.
    """
    cache.mkdir()
    for model in cache_folder().glob("*.gguf"):
        (cache / model.name).symlink_to(model)


def passes(root: Path, tests: Iterable[str]) -> bool:
    """Returns whether all these tests pass. Raises SystemExit if there is no test of such a name."""
    names = sorted(set(tests))
    page = [name for name in names if name.endswith(".js")]
    other = [name for name in names if not name.endswith(".js")]
    if page and run([*node(), "--test", *page], root):
        return False
    status = run([sys.executable, "-m", "pytest", "-q", "-x", *other], root) if other else 0
    if status in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise SystemExit(f"no such tests: {' '.join(other)}")
    return status == 0


def run(command: list[str], root: Path) -> int:
    environment = {**os.environ, "PYTHONPATH": str(root), "KVSCOPE_CACHE": str(root / CACHE)}
    quiet = subprocess.DEVNULL
    return subprocess.run(command, cwd=root, env=environment, stdin=quiet, stdout=quiet, stderr=quiet).returncode


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.seeded", description=__doc__.splitlines()[0])
    parser.add_argument("lists", nargs="*", metavar="list", help="which lists, all by default")
    parser.add_argument("-k", dest="word", default="", help="only faults whose name has this word")
    options = parser.parse_args(argv)
    faults = [fault for fault in read_lists(options.lists) if options.word in fault.name]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="kvscope-seeded-") as folder:
        root = Path(folder)
        copy_checkout(root)
        link_models(root / CACHE)
        if not passes(root, (test for fault in faults for test in fault.tests)):
            raise SystemExit("these tests fail without a fault")
        for fault in faults:
            before = fault.insert(root)
            caught = not passes(root, fault.tests)
            (root / fault.file).write_text(before, "utf-8")
            missed += not caught
            print(f"{'caught' if caught else 'NOT CAUGHT':10}  {fault.name}", flush=True)
    print(f"==== {len(faults) - missed} of {len(faults)} caught ====")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
