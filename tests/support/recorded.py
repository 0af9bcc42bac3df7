"""Where the recorded runs are, and what a data folder is known to hold."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "kvscope" / "app" / "recordings"
CAPITAL = RECORDINGS / "capital.safetensors"
CODE = RECORDINGS / "code.safetensors"
SERVING = RECORDINGS / "serving.safetensors"
SESSIONS = ROOT / "tests" / "fixtures" / "sessions"
SMALL = SESSIONS / "v2.safetensors"
"""A session of a tiny model."""
FOREIGN = SESSIONS / "v1.safetensors"
"""A session in a version of the log's format that this KVScope does not read."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A data folder with the recorded run `run`, and the session `session` with exact values."""

    folder: Path
    run: str
    session: str
