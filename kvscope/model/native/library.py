"""Compiles `kernels.c` with the machine's C compiler, once, and loads it.

The file's name has a digest of everything that the code depends on (the source, the command, the versions of the
compiler and torch, the processor) and one of its content: loading an incomplete library would end the process. A file
gets its name when it is complete, so two engines may compile at once, and may be killed at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path

import torch

from kvscope.model.compiler import Unavailable, c_compiler
from kvscope.model.work_folder import clear_away, work_folder

SOURCE = Path(__file__).with_name("kernels.c")
OPTIONS = ("-std=gnu11", "-O3", "-march=native", "-fno-math-errno", "-Wno-psabi", "-fPIC")
OPENMP, LINK = ("-fopenmp-simd", "-pthread"), ("-shared",)
if sys.platform == "darwin":
    OPENMP, LINK = ("-Xclang", "-fopenmp"), ("-shared", "-undefined", "dynamic_lookup")
"""On macOS, linked without OpenMP: its functions come from the library that torch has loaded, because two OpenMP
libraries in one process would each start threads."""
ONE_THREAD = ("-fopenmp-simd",)
"""For Clang on Linux: its OpenMP code would call LLVM's library, but torch loads GCC's there."""
FUNCTIONS = ("product", "step")
LIMIT_S = 120.0


def load(folder: Path) -> CDLL:
    """Loads the native code from `folder`, or compiles it and stores it there. Raises Unavailable."""
    compiler = c_compiler()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        clear_away(folder)
        version = _run([*compiler, "--version"])
        openmp = ONE_THREAD if "clang" in version and sys.platform == "linux" else OPENMP
        name = f"kernels-{_digest(compiler, version, openmp)}"
        for path in folder.glob(f"{name}-*.so"):
            if path.name == _named(name, path):
                with suppress(Unusable):  # it is compiled again
                    return _open(path)
        with work_folder(folder) as work:
            compiled = _compile(compiler, openmp, work)
            library = _open(compiled)
            compiled.replace(folder / _named(name, compiled))
        return library
    except Unusable as error:
        raise Unavailable(f"{shlex.join(compiler)} gave no library that can be used: {error}") from error
    except OSError as error:
        raise Unavailable(f"{folder} cannot be used: {error.strerror or error}") from error


class Unusable(Exception):
    """A library cannot be used; the message says why."""


def _open(path: Path) -> CDLL:
    """Loads the library at `path` and checks its functions. Raises Unusable."""
    try:
        library = CDLL(str(path))
    except OSError as error:
        raise Unusable(str(error).partition("\n")[0]) from error
    for name in FUNCTIONS:
        if not hasattr(library, name):
            raise Unusable(f"it has no function {name}")
    return library


def _named(name: str, path: Path) -> str:
    """Returns the name of a complete library with the content of the file at `path`."""
    return f"{name}-{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}.so"


def _compile(compiler: list[str], openmp: tuple[str, ...], work: Path) -> Path:
    """Compiles in `work` and returns the library's path there. Raises Unavailable."""
    compiled, linked = work / "kernels.o", work / "kernels.so"
    _run([*compiler, *OPTIONS, *openmp, "-c", str(SOURCE), "-o", str(compiled)])
    _run([*compiler, *LINK, str(compiled), "-o", str(linked), "-lm"])
    return linked


def _run(command: list[str]) -> str:
    """Runs a compiler and returns its output; kills it and its child processes after LIMIT_S. Raises Unavailable."""
    try:
        process = subprocess.Popen(
            command,
            env={**os.environ, "LC_ALL": "C"},  # messages in English, as `_why` reads them
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be run: {error.strerror or error}") from error
    with process:
        try:
            output, errors = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise Unavailable(f"{command[0]} took more than {LIMIT_S:.0f} s") from error
    if process.returncode:
        raise Unavailable(f"{command[0]} failed: {_why(errors.splitlines(), process.returncode)}")
    return output


def _why(lines: Iterable[str], status: int) -> str:
    """Returns the line that names the error, or else the exit status."""
    return next((line.strip() for line in lines if "error" in line), f"status {status}")


def _digest(compiler: list[str], version: str, openmp: tuple[str, ...]) -> str:
    machine = json.dumps(dict(torch.cpu.get_capabilities()), sort_keys=True)
    command = " ".join((*compiler, *OPTIONS, *openmp, *LINK))
    parts = (SOURCE.read_text("utf-8"), command, version, torch.__version__, machine)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
