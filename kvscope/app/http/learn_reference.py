"""The pages below `/learn/` that are not lessons: symbols and shapes, formulas, printed figures, the loop calculator,
where state lives, words.

The state of each is its address. Values beyond arithmetic come from recordings, the model or `/api/state`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flask import Blueprint

from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.requests import MAX_WORD_CHARS, MAX_WORDS
from kvscope.app.http.shell import names_here, renderer
from kvscope.app.page_table import links_below
from kvscope.app.paths import GPUS, MODELS
from kvscope.app.store.gallery import Card, Examples, Recording

ADDRESS = "/learn/"
READS = {
    "reference": ("session", "batch", "models"),
    "formulas": ("session", "models", "gpus"),
    "figures": ("models",),
    "loop": ("run",),
    "state": ("run",),
    "words": ("words",),
}
"""What the script of each page starts from, by the page's id."""


def blueprint(recorded: Sequence[Recording], examples: Examples) -> Blueprint:
    """Returns a route for each page. `recorded`: the runs that a page shows if its address names none. `examples`:
    those that are also in the log, so that questions about them can be computed.
    """
    routes = Blueprint("learn_reference", __name__)
    ordered = sorted(recorded, key=lambda recording: recording.order)
    cards = [recording.card for recording in ordered if recording.card and not recording.workload]
    run = examples.runs[0].id if examples.runs else None
    known = {
        "session": cards[0].id if cards else None,
        "batch": alike(cards),
        "run": run,
        "models": json.loads(MODELS.read_text("utf-8")),
        "gpus": json.loads(GPUS.read_text("utf-8")),
        "words": {"most": MAX_WORDS, "chars": MAX_WORD_CHARS},
    }
    beside = links_below(ADDRESS)
    for page in beside:
        id = page["id"]
        routes.get(page["address"], endpoint=id)(_view(id, {name: known[name] for name in READS[id]}, beside))
    return routes


def _view(id: str, known: dict[str, Any], beside: list[dict[str, str]]) -> Any:
    render = renderer(id)

    @declare(SENDS)
    def view() -> str:
        return render({**known, "beside": names_here(beside)})

    return view


def alike(cards: Sequence[Card]) -> list[str]:
    """Returns the sessions of the first two neighbours with the same numbers of prompt tokens and steps, which fit in
    one tensor; none if there are no such two.
    """
    for one, other in pairwise(cards):
        if (one.tokens, one.steps) == (other.tokens, other.steps):
            return [one.id, other.id]
    return []
