"""Where the recorded runs are, and what a data folder is known to hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "kvscope" / "app" / "recordings"
CAPITAL = RECORDINGS / "capital.safetensors"
CODE = RECORDINGS / "code.safetensors"
SERVING = RECORDINGS / "serving.safetensors"
OLD = ROOT / "tests" / "fixtures" / "sessions" / "v1.safetensors"


@dataclass(frozen=True, slots=True)
class Kept:
    """A data folder with the recorded run `run`, and the session `session` with exact values."""

    folder: Path
    run: str
    session: str
