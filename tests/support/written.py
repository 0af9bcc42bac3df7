"""What a page has written out, in text and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from playwright.sync_api import Page

NOTHING = re.compile(r"\b(NaN|undefined|null|Infinity)\b|\[object")
"""What a value that is not there looks like when it is written out."""
WRITTEN = """() => [
  document.body.innerText,
  ...[...document.querySelectorAll("*")].flatMap((element) =>
    [...element.attributes].map(({ name, value }) => `${name}=${value}`)),
]"""


def written_out(page: Page) -> list[str]:
    """The page's text, then each attribute as name=value."""
    written: list[str] = page.evaluate(WRITTEN)
    return written


def missing_values(written: Iterable[str]) -> list[str]:
    """Those of the texts in which a missing value is written out."""
    return [text for text in written if NOTHING.search(text)]
