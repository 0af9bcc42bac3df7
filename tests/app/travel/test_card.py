"""What a link's card says: one line of prompt and answer, no longer than it may be."""

from typing import Any

import pytest

from kvscope.app.travel.card import DESCRIPTION, SHORT, card_of, card_of_workload, shortened, title_of
from kvscope.model.log.frames import Header

MANIFEST: dict[str, Any] = {"title": "", "prompt": "a\nb " + 200 * "c", "model": {"name": "tiny"}, "notes": []}


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("", ""),
        ("twelve chars", "twelve chars"),
        ("thirteen char", "thirteen ch…"),
        ("elevenchars beyond", "elevenchars…"),
        ("ten chars. and more", "ten chars.…"),
    ],
)
def test_a_text_is_cut_to_its_length_with_the_mark_and_without_a_space_before_it(text: str, cut: str) -> None:
    assert shortened(text, 12) == cut


def test_title_and_description_keep_to_their_lengths_on_one_line() -> None:
    title, description = title_of(MANIFEST), card_of(MANIFEST, [(MANIFEST["prompt"], "an answer")]).description
    assert (len(title), len(description)) == (SHORT, DESCRIPTION)
    assert (title[:5], title[-1]) == ("a b c", "…")
    assert (description[:6], description[-1]) == ("“a b c", "…")
    assert title_of(MANIFEST | {"title": "given"}) == "given"


def test_a_workloads_card_says_how_many_asked_and_what_the_first_was_answered() -> None:
    manifest = MANIFEST | {"prompt": "When do you open?", "workload": {"requests": 9, "rounds": 1}}
    assert title_of(manifest) == "When do you open? and 8 more at once"
    assert len(title_of(manifest | {"prompt": 300 * "c"})) == SHORT
    card = card_of(manifest, [("When do you open?", "At nine."), ("Why?", None)])
    assert card.description == "2 requests at once: “When do you open?” — tiny answers “At nine.”"


@pytest.mark.parametrize(("rounds", "said"), [([0, 0, 0], "pass 3"), ([0, 0, 1], "pass 1 in round 2")])
def test_a_workloads_notes_count_passes_from_1_in_each_round_as_its_page_does(rounds: list[int], said: str) -> None:
    asked = {"prompt": "When do you open?", "arrives_ms": 0}
    told: dict[str, Any] = {"start_ms": 0, "ms": 1, "members": [], "events": []}
    log = [
        Header("open", 0, "r", {"study": {"requests": [asked], "rounds": [{}]}}),
        *(Header("pass", at + 1, "r", told | {"number": at, "round": own}) for at, own in enumerate(rounds)),
    ]
    note = {"step": 2, "layer": None, "head": None, "text": "Look."}
    manifest = MANIFEST | {"notes": [note], "workload": {"requests": 1, "rounds": 1 + rounds[-1]}}
    assert card_of_workload(manifest, log).notes == [(said, "Look.")]
