"""Find the machine's C compiler, which compiles the native code (model/native)."""

from __future__ import annotations

import os
import shlex
import shutil

COMPILERS = ("gcc", "cc", "clang")
"""In order of preference: code from Clang on Linux computes on one thread (model/native/library.py)."""


class Unavailable(RuntimeError):
    """There is no native code; the message is one line that says why."""


def c_compiler() -> list[str]:
    """Returns the command in `CC`, or else the first C compiler on the path. Raises Unavailable."""
    value = os.environ.get("CC", "")
    try:
        configured = shlex.split(value)
    except ValueError as error:
        raise Unavailable(f"CC is {value!r}, which is no command: {error}") from error
    for command in [configured] if configured else [[name] for name in COMPILERS]:
        if shutil.which(command[0]):
            return command
    raise Unavailable(f"there is no C compiler ({shlex.join(configured) if configured else ', '.join(COMPILERS)})")
