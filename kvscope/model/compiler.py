"""The machine's C compiler, which makes the native code (model/native)."""

from __future__ import annotations

import os
import shlex
import shutil

COMPILERS = ("gcc", "cc", "clang")
"""In this order: what Clang makes on Linux computes on one thread (model/native/library.py)."""


class Unavailable(RuntimeError):
    """Why there is no native code, in a line."""


def c_compiler() -> list[str]:
    """The command of `CC`, or the first C compiler on the path. Raises Unavailable."""
    value = os.environ.get("CC", "")
    try:
        wanted = shlex.split(value)
    except ValueError as error:
        raise Unavailable(f"CC is {value!r}, which is no command: {error}") from error
    for command in [wanted] if wanted else [[name] for name in COMPILERS]:
        if shutil.which(command[0]):
            return command
    raise Unavailable(f"there is no C compiler ({shlex.join(wanted) if wanted else ', '.join(COMPILERS)})")
