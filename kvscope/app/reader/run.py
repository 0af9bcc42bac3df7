"""One recorded run, as a script or a notebook sees it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from kvscope.app.reader.errors import CannotRead, NotThere
from kvscope.app.travel.card import text_of
from kvscope.app.travel.importing import Imported
from kvscope.model.log import reader
from kvscope.model.log.frames import BadFrame
from kvscope.model.log.reader import LogReader

if TYPE_CHECKING:
    import numpy as np
    from plotly.graph_objects import Figure


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the vocabulary. `text` has U+FFFD for bytes that are not UTF-8 by themselves; `raw` are the bytes."""

    id: int
    text: str
    raw: bytes
    special: bool


class Run:
    """A whole run, checked. Made by `kvscope.open`.

    A step, layer or head that the run does not have raises NotThere, whose message says which it has.
    """

    def __init__(self, content: Imported) -> None:
        frames, exact = list(content.frames()), list(content.values.payloads() if content.values else ())
        values = replace(content.values, payloads=lambda: iter(exact)) if content.values else None
        self._content = Imported(content.words, lambda: iter(frames), values)
        self.log = LogReader(chain(frames, exact))
        """All else that the frames say (kvscope.model.log.reader)."""

    @property
    def prompt(self) -> str:
        """The prompt as typed."""
        return self.log.prompt

    @property
    def tokens(self) -> list[Token]:
        """The prompt's tokens as they were fed, then the one that each step chose."""
        return [
            Token(each["id"], each["text"], bytes.fromhex(each["bytes"]), each["special"]) for each in self.log.tokens
        ]

    @property
    def prompt_length(self) -> int:
        """How many of the tokens are the prompt's."""
        return self.log.prompt_length

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What each step says of itself, as docs/frames.md has it under `step`: phase, token, ms, kv and more."""
        return self.log.steps

    @property
    def passes(self) -> list[dict[str, Any]]:
        """Of a workload, in place of steps: what each pass did, as docs/frames.md has it under `pass`."""
        return self.log.passes

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """Of a workload: how each round ended, as docs/frames.md has it under `round`."""
        return self.log.rounds

    @property
    def text(self) -> str:
        """What the chosen tokens spell, without special ones."""
        return text_of(step["token"] for step in self.log.steps)

    @property
    def model(self) -> dict[str, Any]:
        """The model, as docs/frames.md has it under `open`: name, layers, heads and more."""
        return dict(self.log.open["model"])

    @property
    def changes(self) -> list[dict[str, Any]]:
        """What a changed run changes, as docs/frames.md has it under "Changed runs"; empty for any other run."""
        changed = self.log.open["changed"]
        return list(changed["changes"]) if changed else []

    @property
    def title(self) -> str:
        """The title that a saved session was given, else ""."""
        return str(self._content.words["title"])

    @property
    def notes(self) -> list[dict[str, Any]]:
        """The notes of a saved session: {step, layer, head, text}."""
        return list(self._content.words["notes"])

    @property
    def level(self) -> str:
        """How much is stored: "attention", with exact "qkv", or with every value inside a "block" too."""
        return self.log.values_level or "attention"

    def positions(self, step: int) -> range:
        """The positions that a step computed: all of the prompt, then one each. They are the queries of `attention`."""
        with _asking():
            return self.log.rows(step)

    def attention(self, step: int, layer: int, head: int) -> np.ndarray:
        """Attention weights, float32 [queries, keys], within 0.004 of the model's own (below 1e-5 near zero).

        Queries are `positions(step)`, keys 0 up to the last of them. Keys after their query have weight 0.
        """
        with _asking():
            return self.log.attention(step, layer, head)

    def values(self, step: int, layer: int) -> dict[str, np.ndarray]:
        """The exact values of a step in a layer by name, float32, as docs/frames.md has them under `values`.

        Raises NotThere where none are stored: only a session that was shared with them has any.
        """
        with _asking():
            return self.log.exact(step, layer)

    def opening(self) -> tuple[int, int, int]:
        """Step, layer and head that the page shows first: what whoever shared the run chose, else the telling head."""
        from kvscope.app.travel.opening_head import NothingToShow, opening_head

        chosen = self._content.words["open"]
        try:
            shown = opening_head(self._content.frames(), chosen)
        except NothingToShow as error:
            raise CannotRead(f"This run has no attention to show: {error}.") from None
        return chosen["step"] or 0, shown.layer, shown.head

    def figure(
        self, kind: str, *, step: int | None = None, layer: int | None = None, head: int | None = None
    ) -> Figure:
        """A Plotly figure: "attention" of a head at a step, both as `opening` has them unless said; the KV "cache" and
        the "time" of all steps; the "lens", what each layer would have said, where exact values are stored.

        Raises CannotRead for another kind, and NotThere where the run has nothing to draw it of.
        """
        from kvscope.app.reader import figures

        if kind == "attention" and None in (step, layer, head):
            first = self.opening()
            step, layer, head = (
                shown if said is None else said for said, shown in zip((step, layer, head), first, strict=True)
            )
        with _asking():
            return figures.figure(self.log, kind, step=step, layer=layer, head=head)

    def _repr_html_(self) -> str:
        """The run itself, in a notebook's cell."""
        from kvscope.app.reader.player import player

        return player(self._content)

    def __repr__(self) -> str:
        prompt = self.prompt if len(self.prompt) <= 60 else f"{self.prompt[:59]}…"
        if study := self.log.open["study"]:
            more = f"{len(study['requests'])} requests, {len(self.passes)} passes"
        else:
            more = f"{self.prompt_length} + {len(self.steps)} tokens"
        return f"<Run of {self.model['name']}: {prompt!r}, {more}>"


@contextmanager
def _asking() -> Iterator[None]:
    try:
        yield
    except reader.NotThere as error:
        raise NotThere(str(error)) from None
    except BadFrame as error:
        raise CannotRead(f"The run contradicts itself: {error}.") from None
