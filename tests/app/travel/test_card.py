"""What a link's card says: one line of prompt and answer, no longer than it may be."""

from __future__ import annotations

import pytest

from kvscope.app.travel.card import DESCRIPTION, SHORT, card_of, shortened, title_of

MANIFEST = {"title": "", "prompt": "a\nb " + 200 * "c", "model": {"name": "tiny"}, "notes": []}


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
    title, description = title_of(MANIFEST), card_of(MANIFEST, "an answer").description
    assert (len(title), len(description)) == (SHORT, DESCRIPTION)
    assert (title[:5], title[-1]) == ("a b c", "…")
    assert (description[:6], description[-1]) == ("“a b c", "…")
    assert title_of(MANIFEST | {"title": "given"}) == "given"
