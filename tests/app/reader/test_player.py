"""In a notebook's cell a run is the page that plays by itself, in a frame without rights."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kvscope
from kvscope.app.reader import player
from kvscope.app.travel.importing import read_file


class Frame(HTMLParser):
    """The attributes of the elements of what is shown."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(shown)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def frame_of(run: kvscope.Run) -> dict[str, str]:
    ((tag, attributes),) = Frame(run._repr_html_()).elements
    assert tag == "iframe"
    return {name: value or "" for name, value in attributes.items()}


def test_it_is_the_exported_page_in_a_frame_without_an_origin(with_values: Path) -> None:
    run, shown = kvscope.open(with_values), frame_of(kvscope.open(with_values))
    assert shown["sandbox"].split() == ["allow-scripts", "allow-downloads"]
    assert shown["title"] == "With values"
    page = read_file(memoryview(shown["srcdoc"].encode()))
    assert page.words["title"] == run.title
    assert [base64.b64encode(frame) for frame in page.frames()] == [base64.b64encode(f) for f in run._content.frames()]
    assert page.values.level == "qkv"


def test_words_do_not_leave_their_place(capital: Path) -> None:
    run = kvscope.open(capital)
    words = {**run._content.words, "title": '"></iframe><script>alert(1)</script>'}
    run._content = replace(run._content, words=words)
    shown = frame_of(run)
    assert shown["title"] == words["title"]
    assert "<script>alert(1)" not in shown["srcdoc"]


def test_exact_values_are_left_out_where_they_are_too_many(with_values: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = kvscope.open(with_values)
    with_all = len(run._repr_html_())
    monkeypatch.setattr(player, "MOST_BYTES", len(frame_of(run)["srcdoc"]) - 1)
    assert read_file(memoryview(frame_of(run)["srcdoc"].encode())).values is None
    assert len(run._repr_html_()) < with_all
    assert run.values(4, 1)["q"].any()


def test_a_run_that_is_too_large_says_so(capital: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player, "MOST_BYTES", 100_000)
    said = kvscope.open(capital)._repr_html_()
    assert len(said) < 1000
    assert re.search(r"\d MB is too large for a notebook cell", said)
