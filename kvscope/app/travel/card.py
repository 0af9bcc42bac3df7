"""The summary of a saved session for link previews and for readers without JavaScript."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvscope.app.store.errors import Damaged
from kvscope.app.travel.lanes import lanes_of
from kvscope.model.log.frames import Header, header

if TYPE_CHECKING:
    from kvscope.app.store.sessions import SessionStore

SHORT = 80
"""Most characters of a title made from the prompt."""
DESCRIPTION = 200
"""Most characters of the line below the title."""


@dataclass(frozen=True, slots=True)
class Card:
    """Text that somebody typed or generated: escape it in every output."""

    title: str
    answers: list[tuple[str, str | None]]
    """Each prompt and its answer, None if the stored data is damaged. A workload has several."""
    model: str
    notes: list[tuple[str, str]]
    """Each note's place in words, and its text."""

    @property
    def description(self) -> str:
        """One line about the session."""
        (prompt, answer), *more = self.answers
        answered = "" if answer is None else f" — {self.model} answers “{one_line(answer)}”"
        others = f"{len(self.answers)} requests at once: " if more else ""
        return shortened(f"{others}“{one_line(prompt)}”{answered}", DESCRIPTION)


def _place(note: dict[str, Any]) -> str:
    """Writes a note's place as static/shared/facts/saved-session.js does: "step 3, layer 13, head 8"."""
    return ", ".join(f"{name} {note[name]}" for name in ("step", "layer", "head") if note[name] is not None)


def _pass(number: int, rounds: list[int], several: bool) -> str:
    """Writes a pass as static/serving/pass-place.js does, from 1 in each round: "pass 3", "pass 3 in round 2"."""
    own = rounds[number]
    place = number - rounds.index(own) + 1
    return f"pass {place} in round {own + 1}" if several else f"pass {place}"


def read_card(sessions: SessionStore, manifest: dict[str, Any]) -> Card:
    """Returns the card of the session with this manifest. Raises KeyError, Deleted."""
    try:
        if manifest.get("workload"):
            return card_of_workload(manifest, [*map(header, sessions.all_frames(manifest["id"]))])
        answer = text_of(step.data["token"] for step in sessions.steps(manifest["id"]))
    except Damaged:
        answer = None  # the page shows the rest and names the damaged part
    return card_of(manifest, [(manifest["prompt"], answer)])


def card_of_workload(manifest: dict[str, Any], log: list[Header]) -> Card:
    """Returns the card of a workload: each prompt, and its answer in the first round."""
    answers: list[tuple[str, str | None]] = [(lane.prompt, text_of(lane.tokens)) for lane in lanes_of(log).lanes]
    rounds = [frame.data["round"] for frame in log if frame.kind == "pass"]
    several = manifest["workload"]["rounds"] > 1
    return card_of(manifest, answers, lambda note: _pass(note["step"], rounds, several))


def card_of(
    manifest: dict[str, Any],
    answers: list[tuple[str, str | None]],
    place: Callable[[dict[str, Any]], str] = _place,
) -> Card:
    """Returns the card of a session with these prompts and answers. `place`: writes a note's place."""
    return Card(
        title=title_of(manifest),
        answers=answers,
        model=manifest["model"]["name"],
        notes=[(place(note), note["text"]) for note in manifest["notes"]],
    )


def title_of(manifest: dict[str, Any]) -> str:
    """Returns the title, or the beginning of the prompt and, for a workload, the number of other requests."""
    more = (manifest.get("workload") or {"requests": 1})["requests"] - 1
    others = f" and {more} more at once" if more else ""
    return manifest["title"] or shortened(one_line(manifest["prompt"]), SHORT - len(others)) + others


def text_of(tokens: Iterable[dict[str, Any]]) -> str:
    """Returns the text of tokens. Several tokens may share the bytes of one letter; special tokens have no text."""
    spelled = b"".join(bytes.fromhex(token["bytes"]) for token in tokens if not token.get("special"))
    return spelled.decode("utf-8", "replace")


def one_line(text: str) -> str:
    """Returns the text without line breaks."""
    return " ".join(text.split())


def shortened(text: str, most: int) -> str:
    """Returns the text, cut to `most` characters with an ellipsis."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
