"""Compiles `kernels.c` with the machine's C compiler, once, and loads it.

The file's name has a digest of everything that the code depends on (the sources, the command, the versions of the
compiler, the processor) and one of its content: loading an incomplete library would end the process. A file gets its
name when it is complete, so two engines may compile at once, and may be killed at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shlex
import signal
import stat
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path
from tempfile import gettempdir

import torch

from kvscope.model.compiler import LIBRARIES, OPTIONS, THIS_PROCESSOR, Unavailable, c_compiler
from kvscope.model.prebuilt import prebuilt_library
from kvscope.model.work_folder import clear_away, work_folder

SOURCE = Path(__file__).with_name("kernels.c")
FUNCTIONS = ("product", "step")
LIMIT_S = 120.0

log = logging.getLogger(__name__)


def load(folder: Path) -> CDLL:
    """Loads the native code from `folder`, or compiles it and stores it there. Raises Unavailable.

    If another user can change the folder, nothing in it is loaded, and the code is compiled in a private folder.
    """
    compiler = c_compiler()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        clear_away(folder)
        name = f"kernels-{_digest(compiler, _run([*compiler, '--version']))}"
        if why := _changeable(folder):
            log.warning("%s: native code is compiled at each start and not stored in %s", why, folder)
            with work_folder(Path(gettempdir())) as work:
                return _open(_compile(compiler, work))
        for path in folder.glob(f"{name}-*.so"):
            if _is_private(path) and path.name == _named(name, path):
                with suppress(Unusable):  # it is compiled again
                    return _open(path)
        with work_folder(folder) as work:
            compiled = _compile(compiler, work)
            library = _open(compiled)
            compiled.replace(folder / _named(name, compiled))
        return library
    except Unusable as error:
        raise Unavailable(f"{shlex.join(compiler)} gave no library that can be used: {error}") from error
    except OSError as error:
        raise Unavailable(f"{folder} cannot be used: {error.strerror or error}") from error


def load_prebuilt() -> CDLL | None:
    """Loads the native code that the installation brings; None if it brings none. Raises Unavailable."""
    path = prebuilt_library()
    try:
        return _open(path) if path else None
    except Unusable as error:
        raise Unavailable(f"the installation's native code cannot be used: {error}") from error


def _changeable(folder: Path) -> str:
    """Returns why another user can change what is in `folder` or replace it, or "" if nobody can."""
    folder = folder.resolve()
    if not _is_private(folder):
        return f"{folder} can be changed by other users"
    for parent in folder.parents:
        about = parent.stat()
        open_to_all = about.st_mode & stat.S_IWOTH and not about.st_mode & stat.S_ISVTX
        if open_to_all or about.st_uid not in (0, os.getuid()):
            return f"{parent} can be changed by other users"
    return ""


def _is_private(path: Path) -> bool:
    """Returns whether only this user, or root, can change the file or folder."""
    about = path.stat()
    return about.st_uid in (0, os.getuid()) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


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


def _compile(compiler: list[str], work: Path) -> Path:
    """Compiles in `work` and returns the library's path there. Raises Unavailable."""
    library = work / "kernels.so"
    zig = {"ZIG_GLOBAL_CACHE_DIR": str(work)}  # its object files of the C library
    _run([*compiler, *OPTIONS, THIS_PROCESSOR, str(SOURCE), "-o", str(library), *LIBRARIES], zig)
    library.chmod(0o700)
    return library


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Runs a compiler and returns its output; kills it and its child processes after LIMIT_S. Raises Unavailable."""
    try:
        process = subprocess.Popen(
            command,
            env={**os.environ, **(environment or {}), "LC_ALL": "C"},  # messages in English, as `_why` reads them
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


def _digest(compiler: list[str], version: str) -> str:
    machine = json.dumps(dict(torch.cpu.get_capabilities()), sort_keys=True)
    command = " ".join((*compiler, *OPTIONS, THIS_PROCESSOR, *LIBRARIES))
    sources = (path.read_text("utf-8") for path in sorted(SOURCE.parent.glob("*.[ch]")))
    return hashlib.sha256("\0".join((*sources, command, version, machine)).encode()).hexdigest()[:32]
