"""A saved session as one HTML page that works without a server and without a network.

Its parts are script elements of types that no browser runs, in base64, with the ids of `part_id` and `values_id`: each
frame of the log deflated (zlib, RFC 1950), each frame of exact values as it is, since deflating hardly shrinks numbers.
The element `manifest` has the session's manifest as JSON, with the SHA-256 of each part.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import cache, cached_property
from hashlib import sha256
from itertools import chain
from typing import Any

from kvscope.app.page_table import Page, links, page_of
from kvscope.app.paths import STATIC, TEMPLATES
from kvscope.app.travel import page_source
from kvscope.app.travel.card import Card, card_of, card_of_workload, text_of
from kvscope.app.travel.file import SessionFile
from kvscope.app.travel.file_page import TEMPLATE, Part, file_page, packed, packed_modules
from kvscope.app.travel.page_parts import PART_TYPE, VALUES_TYPE, part_id, values_id
from kvscope.model.log.frames import header

NONCE_CHARS = 22


def opened(manifest: dict[str, Any]) -> dict[str, Any]:
    """Returns the session data that the page needs before it reads frames."""
    values = manifest.get("values")
    return {
        **{field: manifest[field] for field in ("id", "title", "notes", "open", "run")},
        "values": values and described_values(values, manifest["model"]["layers"]),
    }


def described_values(values: dict[str, Any], layers: int) -> dict[str, Any]:
    """Returns what the page needs of a manifest's `values`: their level, their layers, and whether they have the lens,
    which the last layer has.
    """
    stored = sorted({part["layer"] for part in values["parts"]})
    return {"level": values["level"], "layers": stored, "lens": layers - 1 in stored}


def frame_parts(file: SessionFile) -> Iterator[tuple[str, str]]:
    """Yields id and text of the part of each frame of the log."""
    return ((part_id(seq), packed(payload)) for seq, payload in enumerate(file.frames()))


@cache
def _looks(page: Page) -> str:
    """Returns a hash of a page's code and styles, computed once per process."""
    shell = (TEMPLATES / TEMPLATE).read_text("utf-8")
    looks = [packed_modules(page), page_source.styles(STATIC, page.style, ""), shell]
    return sha256(json.dumps(looks).encode()).hexdigest()


class SessionPage:
    """The page of one session. Iterating yields its encoded text."""

    def __init__(self, file: SessionFile) -> None:
        self._file, self._manifest, self._version = file, file.manifest, page_source.own_version()
        self._page = page_of("serving" if file.manifest.get("workload") else "stage")

    @cached_property
    def tag(self) -> str:
        """A tag that changes when the page's text does."""
        content = [self._manifest["id"], self._file.level, self._version, _looks(self._page), links()]
        return sha256(json.dumps(content).encode()).hexdigest()[:32]

    @property
    def file_name(self) -> str:
        """The name of the downloaded file."""
        return f"kvscope-{self._manifest['id']}.html"

    def measure(self) -> int:
        """Returns its exact size in bytes. The log is packed for this; values are not read."""
        values = self._value_parts
        written = self._written((values_id(part["step"], part["layer"]), VALUES_TYPE, "") for part in values)
        return sum(map(len, written)) + sum((part["bytes"] + 2) // 3 * 4 for part in values)

    def __iter__(self) -> Iterator[bytes]:
        places = (values_id(part["step"], part["layer"]) for part in self._value_parts)
        texts = (base64.b64encode(payload).decode() for payload in self._file.values())
        return self._written((place, VALUES_TYPE, text) for place, text in zip(places, texts, strict=True))

    @property
    def _value_parts(self) -> list[dict[str, Any]]:
        values = self._manifest.get("values")
        return values["parts"] if values else []

    @cached_property
    def nonce(self) -> str:
        """The nonce of its scripts and styles."""
        # The author of the words cannot know it, so no markup in them can have it.
        return sha256(json.dumps([self.tag, self._manifest]).encode()).hexdigest()[:NONCE_CHARS]

    def _written(self, values: Iterator[Part]) -> Iterator[bytes]:
        """Yields the page's encoded text, with these elements for the exact values."""
        frames = ((name, PART_TYPE, text) for name, text in frame_parts(self._file))
        card, text = self._words()
        bootstrap = {
            "version": self._version,
            "examples": [],
            "limits": {},  # a file sends no requests
            "session": opened(self._manifest) | {"file": True},
        }
        return file_page(
            self._page,
            title=card.title,
            text=text,
            data={"bootstrap": bootstrap, "manifest": self._manifest},
            parts=chain(frames, values),
            nonces=[self.nonce],
            card=card,
            code=self._code,
        )

    @property
    def _code(self) -> str:
        """The page's modules, packed."""
        return packed_modules(self._page)

    def _words(self) -> tuple[Card, str]:
        """Returns the card for readers without JavaScript, and every text that the page may show."""
        texts = [json.dumps(self._manifest, ensure_ascii=False)]
        if self._manifest.get("workload"):
            card = card_of_workload(self._manifest, [*map(header, self._file.frames())])
            return card, "".join([*texts, *(f"{prompt}{text}" for prompt, text in card.answers)])
        chosen = []
        for payload in self._file.frames():
            frame = header(payload)
            if frame.kind == "step":
                chosen.append(frame.data["token"])
                texts += [token["text"] for token in frame.data.get("top_tokens", [])]
        return card_of(self._manifest, [(self._manifest["prompt"], text_of(chosen))]), "".join(texts)
