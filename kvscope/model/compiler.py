"""Find the machine's C compiler and the options with which it compiles the native code (model/native).

hatch_build.py reads this file where KVScope is not installed, so it imports only the standard library.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import sys

COMPILERS = ("gcc", "cc", "clang")
"""In order of preference: code from GCC is the fastest (docs/measurements.md)."""
ZIG = [sys.executable, "-m", "ziglang", "cc"]
"""Clang with a C library, from the package index: `pip install ziglang`."""
_ALWAYS = ("-std=gnu11", "-O3", "-fno-math-errno", "-Wno-psabi", "-fopenmp-simd")
OPTIONS = (*_ALWAYS, "-fPIC", "-shared")
LIBRARIES = ("-lm", "-pthread")
THIS_PROCESSOR = "-march=native" if platform.machine() in ("x86_64", "AMD64") else "-mcpu=native"
"""Clang has -march=native only for x86, and -mcpu=native only for others."""
BROWSER_OPTIONS = (
    *(*_ALWAYS, "-s", "-target", "wasm32-freestanding", "-msimd128", "-nostdlib", "-Wl,--no-entry"),
    *("-Wl,-z,stack-size=65536", *(f"-Wl,--export={name}" for name in ("step", "rows_of", "__heap_base"))),
)
"""For Zig, which makes a WebAssembly module without imports. Chrome 91, Firefox 89, Safari 16.4 and later have its
instructions."""


class Unavailable(RuntimeError):
    """There is no native code; the message is one line that says why."""


def c_compiler() -> list[str]:
    """Returns the command in `CC`, or else the first C compiler on the path, or else Zig's. Raises Unavailable."""
    value = os.environ.get("CC", "")
    try:
        configured = shlex.split(value)
    except ValueError as error:
        raise Unavailable(f"CC is {value!r}, which is no command: {error}") from error
    for command in [configured] if configured else [[name] for name in COMPILERS]:
        if shutil.which(command[0]):
            return command
    if configured:
        raise Unavailable(f"there is no C compiler ({shlex.join(configured)}): correct or unset CC")
    if importlib.util.find_spec("ziglang"):
        return ZIG
    raise Unavailable(f"there is no C compiler ({', '.join(COMPILERS)}): install one, or `pip install ziglang`")
