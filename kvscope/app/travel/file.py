"""The content of a session's file, and its safetensors form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvscope.app.store.manifest import is_workload, manifest_of, unlinked
from kvscope.app.store.value_parts import LEVELS, describe
from kvscope.app.travel.words import Share
from kvscope.model.log.frames import join, only_qkv

if TYPE_CHECKING:
    from kvscope.app.store.runs import RunLog
    from kvscope.app.store.sessions import SessionStore

ABOUT = ("id", "title", "notes", "open", "created")


class NotStored(Exception):
    """The session has fewer values than requested. `stored`: its level."""

    def __init__(self, level: str, stored: str) -> None:
        super().__init__(f"level is {level!r}; this session was saved with {stored!r}.")
        self.stored = stored


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session, or the part of it that a file gets. `frames`, `values`: return the payloads that the manifest lists,
    in order, at each call.
    """

    manifest: dict[str, Any]
    frames: Callable[[], Iterator[bytes]]
    values: Callable[[], Iterator[bytes]]

    @property
    def level(self) -> str:
        """The level of its exact values: one of LEVELS."""
        return level_of(self.manifest)

    @property
    def stored_bytes(self) -> int:
        """The approximate size: of its frames and exact values."""
        values = self.manifest.get("values")
        return int(self.manifest["bytes"]) + sum(part["bytes"] for part in (values["parts"] if values else ()))

    def archive(self) -> bytes:
        """Returns it as one safetensors file (docs/frames.md, One file)."""
        about = {field: self.manifest[field] for field in ABOUT}
        return join(self.frames(), {"session": json.dumps(about, ensure_ascii=False)}, self.values())


def level_of(manifest: dict[str, Any]) -> str:
    """Returns the level of a session's stored exact values."""
    values = manifest.get("values")
    return values["level"] if values else LEVELS[0]


def of_session(sessions: SessionStore, session: str, level: str | None = None) -> SessionFile:
    """Returns a session at a level; None: all that is stored. Raises KeyError, Deleted, Damaged, NotStored."""
    manifest = sessions.manifest(session)
    stored = level_of(manifest)
    chosen = level or stored
    if LEVELS.index(chosen) > LEVELS.index(stored):
        raise NotStored(chosen, stored)

    def frames() -> Iterator[bytes]:
        return sessions.all_frames(session)

    def values() -> Iterator[bytes]:
        return sessions.all_values(session)

    def fewer() -> Iterator[bytes]:
        return map(only_qkv, values())

    if chosen == stored:
        return SessionFile(manifest, frames, values)
    if chosen == "attention":
        return SessionFile({**manifest, "values": None}, frames, lambda: iter(()))
    parts = [describe(payload) for payload in fewer()]
    about = {"level": chosen, "bytes": sum(part["bytes"] for part in parts), "parts": parts}
    return SessionFile({**manifest, "values": about}, frames, fewer)


def of_run(runs: RunLog, run: str) -> SessionFile:
    """Returns a run or workload as it would be shared without words. Raises KeyError for a derived run, and for an
    unknown or open one.
    """
    head = runs.head(run)
    if head is None or not head.closed:
        raise KeyError(run)
    opening = runs.opening(run)
    served = is_workload(opening)
    if (opening.get("study") and not served) or not (runs.passes(run) if served else head.steps):
        raise KeyError(run)

    def frames() -> Iterator[bytes]:
        return map(unlinked, runs.all_frames(run))

    return SessionFile(manifest_of(Share.model_validate({}).words(), frames), frames, lambda: iter(()))
