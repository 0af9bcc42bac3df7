"""Recorded real runs that ship with the project.

They enter the log like any other run and are there while the model loads.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from app.run_log import RunLog
from model import frames as codec

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Example:
    """A recorded run: its id and its prompt."""

    id: str
    title: str


def load(folder: Path, runs: RunLog) -> list[Example]:
    """Put every `*.safetensors` session of `folder` into the log, under its own id, unless it is there.

    A damaged file is left out.
    """
    found = []
    for path in sorted(folder.glob("*.safetensors")):
        try:
            session = path.read_bytes()
            example = _describe(session)
            if runs.head(example.id) is None:
                runs.append(codec.split(session))
        except (codec.BadFrame, OSError, ValueError, KeyError) as error:
            log.warning("recording %s is left out: %s", path.name, error)
        else:
            found.append(example)
    return found


def _describe(session: bytes) -> Example:
    """Id and prompt, from the file's header alone."""
    fields = codec.raw_header(session)["__metadata__"]
    opening = json.loads(json.loads(fields["000000"])["data"])
    return Example(fields["run"], opening["prompt"])
