"""Has a transformer's step compiled, by a process of its own, and keeps the code for the next start.

The code depends on the model's shape, on the source it was traced from, on torch and on the processor: their digest is
the file's name. A file is there whole or not at all, so two engines may compile at once, and be ended at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import torch

from kvscope.model import grouped, hooks, kv_cache, linear, transformer
from kvscope.model.compiled import package
from kvscope.model.compiled.package import NO_COMPILER, Plan
from kvscope.model.compiled.step import CompiledSteps, plans
from kvscope.model.grouped import Groups
from kvscope.model.transformer import Transformer

TRACED = (grouped, hooks, kv_cache, linear, transformer, package)
MAKING = "making-"
AN_HOUR_S = 3600.0
COMPILING = "compiling decode steps…"
COMPILED, NOT_COMPILED = "decode steps compiled", "decode steps not compiled"
FOUND_NO_COMPILER = "there is no C++ compiler (g++)"
IN_NO_GROUPS = "the weights are not in 4-bit or 8-bit groups"

log = logging.getLogger(__name__)


class CompileFailed(RuntimeError):
    """Why, in a line."""


def compiled_steps(
    transformer: Transformer, groups: Mapping[str, Groups], folder: Path, say: Callable[[str], None]
) -> CompiledSteps:
    """The steps of `transformer`, whose weights are also there in `groups`, from `folder` or made and kept there.

    `say` hears that it takes a while. Raises CompileFailed.
    """
    wanted = plans(transformer, groups)
    if not wanted:
        raise CompileFailed(IN_NO_GROUPS)
    files = {plan: folder / f"{plan.part}-{_digest(plan)}.pt2" for plan in wanted}
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _clear_away(folder)
        missing = {plan: path for plan, path in files.items() if not path.exists()}
        if missing:
            say(COMPILING)
            with tempfile.TemporaryDirectory(dir=folder, prefix=MAKING) as work:
                for plan, path in missing.items():
                    _make(plan, path, Path(work))
    except OSError as error:
        raise CompileFailed(f"{folder} cannot be written: {error.strerror or error}") from error
    try:
        return CompiledSteps(transformer, groups, files)
    except Exception as error:
        for path in files.values():  # the next start makes them anew
            path.unlink(missing_ok=True)
        raise CompileFailed(f"the compiled code cannot be loaded: {error}") from error


def _make(plan: Plan, path: Path, work: Path) -> None:
    """Into `path`. `work`: a folder for all that compiling leaves, of which the next part may use some."""
    made = work / path.name
    with subprocess.Popen(
        [sys.executable, "-m", package.__name__, str(made)],
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(work), "TMPDIR": str(work)},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # Past the buffer of `stdin`, which would be written again when that is closed.
        with suppress(BrokenPipeError):  # it says why, or how it ended
            os.write(process.stdin.fileno(), f"{plan.text()}\n".encode())
        said = process.stdout.read()  # with the other pipe still open: the process ends when that does
    if process.returncode == NO_COMPILER:
        raise CompileFailed(FOUND_NO_COMPILER)
    if process.returncode:
        log.warning("compiling failed:\n%s", said)
        last = (said.strip().splitlines() or [f"the compiler process ended with status {process.returncode}"])[-1]
        raise CompileFailed(last)
    made.replace(path)


def _clear_away(folder: Path) -> None:
    """Remove what a compile left that was killed together with the engine it was for."""
    for left in folder.glob(f"{MAKING}*"):
        with suppress(FileNotFoundError):  # another engine's, which is done with it
            if time.time() - left.stat().st_mtime > AN_HOUR_S:
                shutil.rmtree(left, ignore_errors=True)


def _digest(plan: Plan) -> str:
    sources = "".join(Path(module.__file__ or "").read_text("utf-8") for module in TRACED)
    machine = json.dumps(dict(torch.cpu.get_capabilities()), sort_keys=True)
    parts = (plan.text(), torch.__version__, sys.version, machine, sources)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
