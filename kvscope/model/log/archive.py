"""Reads a joined file (docs/frames.md, One file) from an untrusted source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kvscope.model.log.check import check_version
from kvscope.model.log.frames import serialize
from kvscope.model.log.untrusted import BadFile, Layout, Tensor, array, layout, read_json

MOST_FRAMES = 20_000
MOST_VALUES = 40_000
ENTRY, VALUES_ENTRY = re.compile(r"[0-9]{6}"), re.compile(r"values-[0-9]{6}-[0-9]{4}")
FIRST_VALUES = "values-000000-"


class Archive:
    """Reads the frames in `buffer`, which must not change. Raises BadFile if it is not a joined file.

    It does not check the contents of the frames: kvscope.model.log.check.LogCheck does.
    """

    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer
        self._layout: Layout = layout(buffer, "The file")
        check_version(self._layout.metadata, "The file")
        entries = sorted(key for key in self._layout.metadata if ENTRY.fullmatch(key))
        if len(entries) > MOST_FRAMES:
            raise BadFile("The file", f"has {len(entries)} frames; at most {MOST_FRAMES} are allowed")
        if entries != [f"{seq:06d}" for seq in range(len(entries))]:
            raise BadFile("The file", "lacks a frame between other frames")
        values = sorted(key for key in self._layout.metadata if VALUES_ENTRY.fullmatch(key))
        if len(values) > MOST_VALUES:
            raise BadFile("The file", f"has {len(values)} frames of exact values; at most {MOST_VALUES} are allowed")
        self._entries, self._values = entries, values
        self._tensors: dict[str, dict[str, Tensor]] = {key: {} for key in (*entries, *values)}
        for name, tensor in self._layout.tensors.items():
            key, _, part = name.partition(".")
            if key not in self._tensors:
                raise BadFile(f"The file: tensor {name[:80]!r}", "belongs to no frame")
            self._tensors[key][part] = tensor

    @property
    def about(self) -> dict[str, Any]:
        """Returns the entry `session`, which describes a saved session; empty if the file has a run. Raises BadFile."""
        if "session" not in self._layout.metadata:
            return {}
        about = read_json(self._layout.metadata["session"], "The entry 'session'")
        if not isinstance(about, dict):
            raise BadFile("The entry 'session'", "is not an object")
        return about

    def frames(self) -> Iterator[bytes]:
        """Yields the payloads of the log, in order. Raises BadFile."""
        return (self._payload(key, f"parts[{int(key)}]") for key in self._entries)

    @property
    def layers(self) -> list[int]:
        """The layers that have exact values in the first step, in order."""
        return [int(key.rpartition("-")[2]) for key in self._values if key.startswith(FIRST_VALUES)]

    def values(self) -> Iterator[bytes]:
        """Yields the payloads of the `values` frames, by step and then by layer. Raises BadFile."""
        return (self._payload(key, key) for key in self._values)

    def _payload(self, key: str, where: str) -> bytes:
        fields = read_json(self._layout.metadata[key], where)
        if not isinstance(fields, dict) or not all(isinstance(text, str) for text in fields.values()):
            raise BadFile(where, "has metadata that is not text")
        return serialize({name: array(self._buffer, tensor) for name, tensor in self._tensors[key].items()}, fields)


def words_of(about: Mapping[str, Any]) -> bytes:
    """Returns the title, notes and `open` of a session's description as JSON."""
    return json.dumps({name: about[name] for name in ("title", "notes", "open") if name in about}).encode()
