"""The server writes numbers as the page does: tests/static/shared/facts/numbers.test.js reads the same cases."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvscope.app import numbers

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "numbers.json").read_text("utf-8"))
WRITERS: dict[str, Callable[..., str]] = {
    "percent": numbers.percent,
    "bytes": numbers.size,
    "integer": numbers.integer,
    "fixed": numbers.fixed,
    "short": numbers.short,
}


def test_every_table_is_read() -> None:
    assert set(CASES) == set(WRITERS)


@pytest.mark.parametrize("kind", WRITERS)
def test_a_number_is_written_as_on_the_page(kind: str) -> None:
    written = {str(given): WRITERS[kind](*given).replace("\u202f", " ") for given, _ in CASES[kind]}
    assert written == {str(given): text for given, text in CASES[kind]}
