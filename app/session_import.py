"""Reads a session out of a file that a stranger made: a joined safetensors file, or the page of `app.session_page`.

Nothing of the file is run. Of a page only the elements are read that hold its manifest and its parts, and of the
manifest only the words; everything else follows from the parts. Every number is checked before it is relied on.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from types import MappingProxyType
from typing import Any

from app.problems import Problem
from app.session_page import MANIFEST_ID, PART_TYPE, part_id
from app.share_request import MAX_SHARE_BYTES, Extent, read_share
from model.archive import MOST_FRAMES, Archive, words_of
from model.frames import MAX_FRAME_BYTES
from model.log_check import LogCheck
from model.strict import BadFile, read_json

MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_MANIFEST_CHARS = 8 * 1024 * 1024
SCRIPTS = ("application/json", PART_TYPE)
SCRIPT = re.compile(r"<script\b[^<>]{0,300}>", re.IGNORECASE)
PART = re.compile(r"parts\[\d+\]")
MOST_SCRIPTS = MOST_FRAMES + 100


@dataclass(frozen=True, slots=True)
class Imported:
    """What a file has: the words of a session, and its frames, the same each time they are asked for."""

    words: dict[str, Any]
    frames: Callable[[], Iterator[bytes]]


def read_file(buffer: memoryview) -> Imported:
    """The session in a file, whole and checked. The buffer must stay as it is for as long as the frames are read.

    Raises Problem.
    """
    try:
        about, frames = _of_page(buffer) if _is_page(buffer) else _of_archive(buffer)
        check = LogCheck()
        for payload in frames():
            check.take(payload)
        check.finish()
    except BadFile as error:
        part = PART.match(error.where)
        raise Problem(422, str(error), field=part[0] if part else "file") from None
    model, positions = check.opening["model"], len(check.opening["tokens"]) + check.steps
    words = words_of(about)
    if len(words) > MAX_SHARE_BYTES:
        raise Problem(413, "The file's title and notes are too long.", field="notes", limit=MAX_SHARE_BYTES)
    return Imported(read_share(words, Extent(check.steps, model["layers"], model["heads"], positions)), frames)


def _is_page(buffer: memoryview) -> bool:
    """A joined file begins with the length of its header, whose last bytes are 0."""
    return bytes(buffer[:64]).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


def _of_archive(buffer: memoryview) -> tuple[dict[str, Any], Callable[[], Iterator[bytes]]]:
    if bytes(buffer[8:9]) not in (b"{", b""):
        raise BadFile("The file", "is not of KVScope: it is neither a page nor a safetensors file")
    archive = Archive(buffer)
    return archive.about, archive.frames


def _of_page(buffer: memoryview) -> tuple[dict[str, Any], Callable[[], Iterator[bytes]]]:
    try:
        page = bytes(buffer).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile("The page", f"is not text in UTF-8 (byte {error.start})") from None
    texts = _texts(page)
    if MANIFEST_ID not in texts:
        raise BadFile("The page", "is not of KVScope: it has no session inside")
    if len(texts[MANIFEST_ID]) > MAX_MANIFEST_CHARS:
        raise BadFile("The manifest", f"is longer than {MAX_MANIFEST_CHARS} characters")
    manifest = read_json(texts[MANIFEST_ID], "The manifest")
    if not isinstance(manifest, dict):
        raise BadFile("The manifest", "is not an object")
    packed: list[str] = []
    while (text := texts.get(part_id(len(packed)))) is not None:
        packed.append(text)
    return manifest, lambda: (_unpacked(each, f"parts[{seq}]") for seq, each in enumerate(packed))


def _unpacked(packed: str, where: str) -> bytes:
    """The bytes of a part, never more than a frame has."""
    inflate = zlib.decompressobj()
    try:
        payload = inflate.decompress(base64.b64decode(packed.strip(), validate=True), MAX_FRAME_BYTES + 1)
    except (binascii.Error, ValueError, zlib.error):
        raise BadFile(where, "is not deflated and in base64") from None
    if len(payload) > MAX_FRAME_BYTES:
        raise BadFile(where, f"is larger than {MAX_FRAME_BYTES} bytes")
    if not inflate.eof or inflate.unused_data:
        raise BadFile(where, "does not end where its data end")
    return payload


def _texts(page: str) -> dict[str, str]:
    """The text of the script elements that hold data, by id.

    Only their start tags go through Python's HTML parser: on what is made to keep it busy it takes minutes for a file
    of 300 KB. The text of such an element has no `<`, so that it ends where the next one is.
    """
    texts: dict[str, str] = {}
    for count, tag in enumerate(SCRIPT.finditer(page)):
        if count > MOST_SCRIPTS:
            raise BadFile("The page", f"has more than {MOST_SCRIPTS} scripts")
        reader = _TagReader()
        reader.feed(tag[0])
        name = reader.attributes.get("id")
        if reader.attributes.get("type") not in SCRIPTS or not name:
            continue
        if name in texts:
            raise BadFile("The page", f"has two elements {name[:80]!r}")
        end = page.find("<", tag.end())
        if not page.startswith("</script", end):
            raise BadFile("The page", f"is cut short in the element {name[:80]!r}")
        texts[name] = page[tag.end() : end]
    return texts


class _TagReader(HTMLParser):
    """The attributes of one start tag."""

    attributes: Mapping[str, str | None] = MappingProxyType({})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes = dict(attrs)
