"""Find the native code that a wheel brings for this kind of processor. A checkout has none.

hatch_build.py compiles it, and reads this file where KVScope is not installed: it imports only the standard library.
"""

from __future__ import annotations

import platform
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "native" / "prebuilt"
CPUINFO = Path("/proc/cpuinfo")


class Prebuilt(NamedTuple):
    """A kind of processor. `target`, `cpu`: Zig's names; `needs`: features that CPUINFO must list."""

    system: str
    machine: str
    target: str
    cpu: str
    needs: frozenset[str] = frozenset()

    @property
    def file(self) -> str:
        return f"{self.system}-{self.machine}-{self.cpu}.so".lower()


AVX2 = frozenset(("abm", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"))
AVX512 = AVX2 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
PREBUILT = (
    Prebuilt("Linux", "x86_64", "x86_64-linux-gnu.2.17", "x86_64_v4", AVX512),
    Prebuilt("Linux", "x86_64", "x86_64-linux-gnu.2.17", "x86_64_v3", AVX2),
    Prebuilt("Linux", "aarch64", "aarch64-linux-gnu.2.17", "generic"),
    Prebuilt("Darwin", "arm64", "aarch64-macos.11.0", "apple_m1"),
)
"""The fastest first. torch has wheels for no other C library on Linux and no other processor on macOS."""


def prebuilt_library() -> Path | None:
    """Returns the fastest library that this processor can run, or None if the installation has none."""
    here = platform.system(), platform.machine()
    candidates = [each for each in PREBUILT if (each.system, each.machine) == here and (FOLDER / each.file).is_file()]
    features = _features() if candidates else frozenset()
    return next((FOLDER / each.file for each in candidates if each.needs <= features), None)


def _features() -> frozenset[str]:
    """Returns the names of the processor's features that Linux lists for x86; without torch, for the web process."""
    with suppress(OSError), CPUINFO.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("flags"):
                return frozenset(line.partition(":")[2].split())
    return frozenset()
