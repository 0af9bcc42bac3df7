"""The manifest of a saved session, its name, and the labels of its runs, all computed from its content.

This module imports no database: code that reads a file from elsewhere needs none.
"""

from __future__ import annotations

import json
from base64 import b32encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import Any

from kvscope.app.store.packing import pack
from kvscope.app.store.value_parts import Values
from kvscope.model.log import frames as codec

SCHEMA = "1"
"""Version of a session's stored form; the name of a session depends on it."""
SHORTEST_ID = 12
LABEL_PREFIX = b"kvscope session of run "
"""Hashed before a run's id, so that a label differs from other hashes of the id. Never change it: the same run must
give the same session."""


def is_workload(opening: dict[str, Any]) -> bool:
    """Returns whether a log with this `open` data is of a workload."""
    study = opening.get("study")
    return study is not None and study["kind"] == "serving"


def canonical(value: dict[str, Any]) -> bytes:
    """Returns JSON as UTF-8, members sorted, no spaces: equal values give equal bytes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def name_of(words: bytes, payloads: Iterable[bytes], values: dict[str, Any] | None = None) -> str:
    """Returns the name of a session with this content, 52 characters; its id is their beginning. They are base32 (RFC
    4648, lower case, no padding) of the SHA-256 of the stream of schema version, words, frames and, if there are
    values, the manifest's `values`.
    """
    digest = sha256()
    last = [] if values is None else [canonical(values)]
    for chunk in codec.to_stream(chain([SCHEMA.encode(), words], payloads, last)):
        digest.update(chunk)
    return b32encode(digest.digest()).decode().rstrip("=").lower()


def label_of(run: str) -> str:
    """Returns the label of a run in a session. A run has one label; its id cannot be computed from the label."""
    return sha256(LABEL_PREFIX + run.encode()).hexdigest()[:16]


def unlinked(payload: bytes) -> bytes:
    """Returns the frame with labels in place of the ids of its run and of the run that this came from."""
    header = codec.header(payload)
    parent, changed = header.data.get("parent"), header.data.get("changed")
    changes = {"parent": {**parent, "run": label_of(parent["run"])}} if parent else {}
    changes |= {"changed": {**changed, "of": label_of(changed["of"])}} if changed else {}
    return codec.relabel(payload, label_of(header.run), header.seq, changes).payload


def manifest_of(
    words: dict[str, Any], frames: Callable[[], Iterator[bytes]], values: Values | None = None
) -> dict[str, Any]:
    """Returns the manifest that a log would have as a session with `words` and exact values."""
    packed: list[Part] = []
    name = name_of(canonical(words), packing(frames(), packed), values.about if values else None)
    return described_session(name[:SHORTEST_ID], words, next(frames()), [part.described for part in packed], values)


def described_session(
    session: str, words: dict[str, Any], first: bytes, parts: Sequence[dict[str, Any]], values: Values | None
) -> dict[str, Any]:
    """Returns the manifest of a session whose `open` frame is `first`. Only a workload's has `workload`."""
    header = codec.header(first)
    workload = header.data["study"] if is_workload(header.data) else None
    return {
        "id": session,
        "schema": SCHEMA,
        **words,
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "run": header.run,
        "prompt": header.data["prompt"],
        "model": header.data["model"],
        "steps": sum(part["kind"] in ("step", "pass") for part in parts),
        **({"workload": _counted(workload, parts)} if workload else {}),
        "bytes": sum(part["bytes"] for part in parts),
        "parts": list(parts),
        "values": values.about if values else None,
    }


def _counted(workload: dict[str, Any], parts: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Returns how many requests, with those that joined later, and how many rounds a workload has."""
    joined = sum(part["kind"] == "asked" for part in parts)
    return {"requests": len(workload["requests"]) + joined, "rounds": len(workload["rounds"])}


@dataclass(frozen=True, slots=True)
class Part:
    """A frame as it is stored, and its entry in the manifest."""

    packed: bytes
    described: dict[str, Any]


def packing(payloads: Iterable[bytes], parts: list[Part]) -> Iterator[bytes]:
    """Yields the payloads unchanged, and adds each to `parts`."""
    for payload in payloads:
        header = codec.header(payload)
        digest = sha256(payload).hexdigest()
        described = {"seq": header.seq, "kind": header.kind, "bytes": len(payload), "sha256": digest}
        parts.append(Part(pack(payload), described))
        yield payload
