"""Reads a session from a stranger's file: a joined safetensors file, or a page of `app.travel.page`.

No code of the file runs. Of a page, only the elements with its manifest and parts are read, and of the manifest only
the words and the version; everything else follows from the parts. Every number is checked before use. The server does
this in its own process (app.travel.apart).
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from itertools import count
from types import MappingProxyType
from typing import Any

from kvscope.app.bodies import Bounds, read
from kvscope.app.store.manifest import SCHEMA
from kvscope.app.store.value_parts import Values, describe
from kvscope.app.travel.page_parts import MANIFEST_ID, PART_TYPE, VALUES_TYPE, part_id, values_id
from kvscope.app.travel.words import MAX_SHARE_BYTES, Share, bounds_of, bounds_of_workload
from kvscope.model.api import Refused
from kvscope.model.log.archive import MOST_FRAMES, MOST_VALUES, Archive, words_of
from kvscope.model.log.check import LogCheck, ValuesCheck
from kvscope.model.log.frames import MAX_OPENING_BYTES
from kvscope.model.log.untrusted import BadFile, read_json

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_MANIFEST_BYTES = 8 * 1024 * 1024
SCRIPTS = ("application/json", PART_TYPE, VALUES_TYPE)
SCRIPT = re.compile(rb"<script\b[^<>]{0,300}>", re.IGNORECASE)
MARKUP = re.compile(rb"<(/script)?")
FIRST_VALUES = re.compile(r"values-0-([0-9]{1,4})")
PART = re.compile(r"parts\[\d+\]")
SCHEMA_VERSION = re.compile(r"[0-9]{1,6}", re.ASCII)
MOST_SCRIPTS = MOST_FRAMES + MOST_VALUES + 100


@dataclass(frozen=True, slots=True)
class Imported:
    """The words, frames and exact values of a session's file. `frames` returns the same payloads at each call."""

    words: dict[str, Any]
    frames: Callable[[], Iterator[bytes]]
    values: Values | None


def read_file(buffer: memoryview) -> Imported:
    """Reads and checks the session in a file. The buffer must not change while the frames are read. Raises Refused."""
    try:
        source = _Page(buffer) if _is_page(buffer) else _of_archive(buffer)
        check = LogCheck()
        for payload in source.frames():
            check.take(payload)
        check.finish()
        values, about = _checked(source, check), source.about
    except BadFile as error:
        part = PART.match(error.where)
        raise Refused(part[0] if part else "file", str(error)) from None
    words = words_of(about)
    if len(words) > MAX_SHARE_BYTES:
        raise Refused("notes", "The file's title and notes are too long.", limit=MAX_SHARE_BYTES, status=413)
    return Imported(read(Share, words, _bounds(check)).words(), source.frames, values)


def _bounds(check: LogCheck) -> Bounds:
    """Returns the places that the words can name."""
    if check.passes is not None:
        return bounds_of_workload(check.passes)
    model, positions = check.opening.model, len(check.opening.tokens) + check.steps
    return bounds_of(model.layers, model.heads, check.steps, positions)


def _is_page(buffer: memoryview) -> bool:
    """Returns whether the file is a page. A joined file begins with a length, whose last bytes are 0."""
    return bytes(buffer[:64]).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


def _checked(source: Archive | _Page, log: LogCheck) -> Values | None:
    """Checks the exact values of a file; None if it has none."""
    check, parts = ValuesCheck(log, source.layers), []
    for payload in source.values():
        check.take(payload)
        parts.append(describe(payload))
    if not parts:
        return None
    check.finish()
    return Values(check.level, parts, source.values)


def _of_archive(buffer: memoryview) -> Archive:
    if bytes(buffer[8:9]) not in (b"{", b""):
        raise BadFile("The file", "is not from KVScope: it is neither an exported page nor a safetensors file")
    return Archive(buffer)


class _Page:
    """The session in a page of app.travel.page. Raises BadFile."""

    def __init__(self, buffer: memoryview) -> None:
        self._buffer, self._places = buffer, _places(buffer)
        manifest = self._places.get(MANIFEST_ID)
        if manifest is None:
            raise BadFile("The page", "is not from KVScope: it contains no session")
        if len(manifest) > MAX_MANIFEST_BYTES:
            raise BadFile("The manifest", f"is longer than {MAX_MANIFEST_BYTES} bytes")
        about = read_json(self._text(manifest), "The manifest")
        if not isinstance(about, dict):
            raise BadFile("The manifest", "is not an object")
        _check_version(about.get("schema"))
        self.about: dict[str, Any] = about

    def _text(self, place: range) -> bytes:
        return bytes(self._buffer[place.start : place.stop])

    def frames(self) -> Iterator[bytes]:
        """Yields the payloads of the log, in order."""
        for seq in count():
            place = self._places.get(part_id(seq))
            if place is None:
                return
            yield _unpacked(self._text(place), f"parts[{seq}]")

    @cached_property
    def layers(self) -> list[int]:
        """The layers that have exact values in the first step, in order."""
        return sorted(int(match[1]) for match in map(FIRST_VALUES.fullmatch, self._places) if match)

    def values(self) -> Iterator[bytes]:
        """Yields the payloads of the `values` frames, by step and layer."""
        for step in count() if self.layers else ():
            for layer in self.layers:
                place = self._places.get(values_id(step, layer))
                if place is None:
                    return
                yield _decoded(self._text(place), f"values[step {step}, layer {layer}]")


def _check_version(schema: object) -> None:
    """Raises BadFile unless this is the version of saved sessions that this KVScope writes."""
    if schema == SCHEMA:
        return
    if not (isinstance(schema, str) and SCHEMA_VERSION.fullmatch(schema)):
        raise BadFile("The page", "is not from KVScope: its manifest has no schema version")
    raise BadFile(
        "The page",
        f"has a saved session of schema version {schema}; this KVScope reads version {SCHEMA}. Open the file in a "
        "browser, which needs no KVScope, or import it with the version of KVScope that wrote it",
    )


def _decoded(text: bytes, where: str) -> bytes:
    try:
        return base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise BadFile(where, "is not in base64") from None


def _unpacked(packed: bytes, where: str) -> bytes:
    """Unpacks a part, up to the largest size of a frame."""
    inflate = zlib.decompressobj()
    try:
        payload = inflate.decompress(_decoded(packed, where), MAX_OPENING_BYTES + 1)
    except zlib.error:
        raise BadFile(where, "is not deflated") from None
    if len(payload) > MAX_OPENING_BYTES:
        raise BadFile(where, f"is larger than {MAX_OPENING_BYTES} bytes")
    if not inflate.eof or inflate.unused_data:
        raise BadFile(where, "has extra bytes after its data")
    return payload


def _places(page: memoryview) -> dict[str, range]:
    """Returns where the text of each data element is, by id: the page may be too large to copy.

    Only start tags go through Python's HTML parser, which can take minutes for a hostile file of 300 KB. The text of
    such an element has no `<`, so it ends at the next one.
    """
    places: dict[str, range] = {}
    for number, tag in enumerate(SCRIPT.finditer(page)):
        if number > MOST_SCRIPTS:
            raise BadFile("The page", f"has more than {MOST_SCRIPTS} script elements")
        reader = _TagReader()
        reader.feed(tag[0].decode("utf-8", "replace"))
        name = reader.attributes.get("id")
        if reader.attributes.get("type") not in SCRIPTS or not name:
            continue
        if name in places:
            raise BadFile("The page", f"has two elements {name[:80]!r}")
        following = MARKUP.search(page, tag.end())
        if following is None or following[1] is None:
            raise BadFile("The page", f"is truncated in the element {name[:80]!r}")
        places[name] = range(tag.end(), following.start())
    return places


class _TagReader(HTMLParser):
    """The attributes of one start tag."""

    attributes: Mapping[str, str | None] = MappingProxyType({})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes = dict(attrs)
