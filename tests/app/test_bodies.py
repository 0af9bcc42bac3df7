"""A body is bounded by how many values it has, not by its bytes alone."""

import json
from types import SimpleNamespace

import pytest

from kvscope.app import bodies
from kvscope.app.travel.words import MAX_NOTE_CHARS, MAX_NOTES, MAX_SHARE_BYTES, MAX_TITLE_CHARS, Share
from kvscope.model.api import Refused


@pytest.mark.parametrize("value", [b"[]", b"{}", b"0", b'"a"'])
def test_a_body_of_very_many_values_is_not_even_parsed(value: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b'{"notes": [' + b",".join([value] * (MAX_SHARE_BYTES // 5)) + b"]}"
    assert len(body) <= MAX_SHARE_BYTES
    # Its own name for the module: threads of servers in this process go on to read JSON.
    parses = vars(json) | {"loads": lambda *_, **__: pytest.fail("it was parsed")}
    monkeypatch.setattr(bodies, "json", SimpleNamespace(**parses))
    with pytest.raises(Refused) as refused:
        bodies.read(Share, body)
    assert (refused.value.field, refused.value.status) == ("body", 413)


def test_an_object_of_very_many_members_is_refused() -> None:
    body = json.dumps({f"{number}": 0 for number in range(50_000)}).encode()
    with pytest.raises(Refused, match="more than 1,000 members"):
        bodies.read(Share, body)


def test_the_longest_words_of_nothing_but_commas_and_brackets_are_taken() -> None:
    notes = [{"step": 0, "layer": 0, "head": 0, "text": ",[{" * (MAX_NOTE_CHARS // 3)}] * MAX_NOTES
    body = json.dumps({"title": "," * MAX_TITLE_CHARS, "notes": notes}).encode()
    bounds = dict.fromkeys(("step", "layer", "head"), (0, 0))
    assert len(bodies.read(Share, body, bounds).notes or []) == MAX_NOTES
