"""The page's address carries its state: whatever is written is read as the same, and whatever else stands there is
brought inside the run or left out (docs/sessions.md, "In the address"). The page's own modules answer, in one Node
process.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvscope.app.travel.words import View
from tests.page_tools import node

FOLDER = Path(__file__).parent
VIEWS = get_args(View)
MOST = 999_999
POSITIONS = 5
HIGHEST = {"step": 2, "layer": 1, "head": 1, "query": POSITIONS - 1}
"""Of the small run of tests/static/support/wire.js."""
PLAIN = re.compile(r"-?[0-9]{1,300}")

pages = settings(derandomize=True, max_examples=300)

numbers = st.integers(0, MOST)
focuses = st.lists(st.sampled_from(("sentence", "overview", "map", "attn.q_rot")), min_size=1, unique=True)
places = st.fixed_dictionaries(
    {"step": numbers, "layer": numbers, "head": numbers, "view": st.sampled_from(VIEWS)},
    optional={"query": numbers, "key": numbers, "focus": focuses},
)
run_ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
session_ids = st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=12, max_size=52)
words = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.integers(-3, 12).map(str),
    st.sampled_from((*VIEWS, "", "1e3", "4x", "٣", " 1", "0x1", "1.0", "NaN", "__proto__", "<script>", "-")),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
names = st.sampled_from(("step", "layer", "head", "query", "key", "view", "Step", "zoom", "toString", "__proto__", ""))
hashes = st.lists(st.tuples(names, words), max_size=8)


class Page:
    """The page's modules, asked one thing at a time."""

    def __init__(self) -> None:
        script = str(FOLDER / "address-answers.js")
        self._process = subprocess.Popen(
            [*node(), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def ask(self, question: str, **given: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"ask": question, "with": given}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait(30) == 0


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    page = Page()
    yield page
    page.close()


def test_a_shared_run_opens_at_every_view_of_the_inspector(page: Page) -> None:
    assert page.ask("views") == [*VIEWS, "intro"]


def written(page: Page, place: dict[str, Any], **state: Any) -> str:
    selection = {"query": None, "key": None, **place}
    step = selection.pop("step")
    address: str = page.ask("written", step=step, selection=selection, **state)
    return address


@pages
@given(place=places, run=run_ids, present=st.booleans())
def test_the_address_of_a_run_reads_as_what_it_was_written_of(
    page: Page, place: dict[str, Any], run: str, present: bool
) -> None:
    address = written(page, place, run=run, saved=None, present=present)
    assert page.ask("read", address=address, saved=None) == {"run": run, "link": place, "present": present}


@pages
@given(place=places, session=session_ids, present=st.booleans())
def test_the_address_of_a_saved_run_reads_as_what_it_was_written_of(
    page: Page, place: dict[str, Any], session: str, present: bool
) -> None:
    saved = {"id": session, "run": "a1"}
    address = written(page, place, run="a1", saved=saved, present=present)
    assert address.split("?")[0].split("#")[0] == f"/s/{session}"
    assert page.ask("read", address=address, saved=saved) == {"run": "a1", "link": place, "present": present}


def inside(value: int, highest: int) -> int:
    return min(max(value, 0), highest)


@pages
@given(pairs=hashes)
def test_what_else_stands_in_an_address_is_brought_inside_or_left_out(page: Page, pairs: list[tuple[str, str]]) -> None:
    """Of a name that is there more than once the last that can be read counts."""
    address = "/?run=r1#" + urlencode(pairs, quote_via=quote)
    read = {name: int(text) for name, text in pairs if name in (*HIGHEST, "key") and PLAIN.fullmatch(text)}
    view = [text for name, text in pairs if name == "view" and text in VIEWS]
    shown = page.ask("followed", address=address)
    for name in ("layer", "head", "query"):
        if name in read:
            assert shown[name] == inside(read[name], HIGHEST[name])
        elif name == "query":
            assert shown["query"] is None
    newest = HIGHEST["query"] if shown["query"] is None else shown["query"]
    assert shown["key"] == (inside(read["key"], newest) if "key" in read else None)
    assert shown["view"] == (view[-1] if view else "head")
    if "step" in read:
        assert shown["step"] == inside(read["step"], HIGHEST["step"])
    again = page.ask("followed", address=shown["address"])
    assert again == shown


@pages
@given(
    place=st.fixed_dictionaries(
        {name: st.integers(0, highest) for name, highest in HIGHEST.items() if name != "query"}
        | {"view": st.sampled_from(VIEWS), "query": st.none() | st.integers(0, POSITIONS - 1)}
        | {"focus": st.none() | focuses}
    ),
    key=st.none() | st.integers(0, POSITIONS - 1),
)
def test_a_place_in_the_run_is_shown_as_its_address_names_it(
    page: Page, place: dict[str, Any], key: int | None
) -> None:
    newest = POSITIONS - 1 if place["query"] is None else place["query"]
    state = {**place, "key": None if key is None else min(key, newest)}
    address = written(page, state, run="r1", saved=None, present=False)
    assert page.ask("followed", address=address) == {**state, "address": address}
