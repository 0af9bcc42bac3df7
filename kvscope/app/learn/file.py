"""A lesson as one file: the player, the lesson over its recording, and the saved session's page inside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from kvscope.app.page_table import page_of
from kvscope.app.travel.file_page import Part, file_page, packed, packed_modules
from kvscope.app.travel.page import NONCE_CHARS, SessionPage

PICTURE_ID, PICTURE_TYPE = "picture", "application/vnd.kvscope.page"
"""Id and type of the element with the session's page, deflated, in base64."""


def lesson_file(lesson: Mapping[str, Any], session: SessionPage | None) -> Iterator[bytes]:
    """Yields the encoded text. `lesson`: as `rendered` returns it. `session`: the page that its steps show."""
    page, text = page_of("learn"), json.dumps(lesson, ensure_ascii=False)
    parts: list[Part] = []
    nonces = [sha256(text.encode()).hexdigest()[:NONCE_CHARS]]
    if session is not None:
        parts.append((PICTURE_ID, PICTURE_TYPE, packed(b"".join(session))))
        # A document made from text also obeys the policy of the page that made it.
        nonces.append(session.nonce)
    bootstrap = {"lessons": [], "lesson": lesson, "framed": False, "file": True}
    return file_page(
        page,
        title=lesson["title"],
        text=text,
        data={"bootstrap": bootstrap},
        parts=parts,
        nonces=nonces,
        code=packed_modules(page),
    )
