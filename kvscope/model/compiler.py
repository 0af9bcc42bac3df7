"""Find the machine's C compiler and the options with which it compiles the native code (model/native).

hatch_build.py reads this file where KVScope is not installed, so it imports only the standard library.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

COMPILERS = ("gcc", "cc", "clang")
CPUINFO = Path("/proc/cpuinfo")
AVX512 = re.compile(r"^flags\s*:.*\bavx512f\b", re.MULTILINE)
"""In CPUINFO: one register has a vector of 16 numbers."""
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


def commands() -> Iterator[list[str]]:
    """Yields commands of C compilers, in order of preference; they may be missing.

    GCC's code is the fastest with AVX-512. Without it, Clang's is several times as fast: GCC 12 divides vectors of 16
    numbers badly (docs/measurements.md).
    """
    with suppress(OSError):
        if AVX512.search(CPUINFO.read_text("utf-8", "replace")):
            yield from ([name] for name in COMPILERS)
    yield ["clang"]
    if importlib.util.find_spec("ziglang"):
        yield ZIG
    yield from ([name] for name in COMPILERS)


def c_compiler() -> list[str]:
    """Returns the command in `CC`, or else the first of `commands` that is there. Raises Unavailable."""
    value = os.environ.get("CC", "")
    try:
        configured = shlex.split(value)
    except ValueError as error:
        raise Unavailable(f"CC is {value!r}, which is no command: {error}") from error
    for command in [configured] if configured else commands():
        if shutil.which(command[0]):
            return command
    if configured:
        raise Unavailable(f"there is no C compiler ({shlex.join(configured)}): correct or unset CC")
    raise Unavailable(f"there is no C compiler ({', '.join(COMPILERS)}): install one, or `pip install ziglang`")
