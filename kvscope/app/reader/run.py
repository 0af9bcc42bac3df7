"""One recorded run, for scripts and notebooks."""

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
    """A token of the vocabulary. `raw`: its bytes; `text`: the bytes as text, with U+FFFD for parts of characters."""

    id: int
    text: str
    raw: bytes
    special: bool


class Run:
    """A whole, checked run, as `kvscope.open` returns it.

    A step, layer or head that the run does not have raises NotThere; the message names what it has.
    """

    def __init__(self, content: Imported) -> None:
        frames, exact = list(content.frames()), list(content.values.payloads() if content.values else ())
        values = replace(content.values, payloads=lambda: iter(exact)) if content.values else None
        self._content = Imported(content.words, lambda: iter(frames), values)
        self.log = LogReader(chain(frames, exact))
        """Everything else in the frames (kvscope.model.log.reader)."""

    @property
    def prompt(self) -> str:
        """The prompt as typed."""
        return self.log.prompt

    @property
    def tokens(self) -> list[Token]:
        """The prompt's tokens as the model read them, then the token that each step chose."""
        return [
            Token(each["id"], each["text"], bytes.fromhex(each["bytes"]), each["special"]) for each in self.log.tokens
        ]

    @property
    def prompt_length(self) -> int:
        """How many tokens the prompt has."""
        return self.log.prompt_length

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The data of each step, as in docs/frames.md under `step`: phase, token, ms, kv and more."""
        return self.log.steps

    @property
    def passes(self) -> list[dict[str, Any]]:
        """The data of each pass of a workload, which has no steps, as in docs/frames.md under `pass`."""
        return self.log.passes

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """How each round of a workload ended, as in docs/frames.md under `round`."""
        return self.log.rounds

    @property
    def text(self) -> str:
        """The text of the chosen tokens, without special tokens."""
        return text_of(step["token"] for step in self.log.steps)

    @property
    def model(self) -> dict[str, Any]:
        """The model, as in docs/frames.md under `open`: name, layers, heads and more."""
        return dict(self.log.open["model"])

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes of a changed run, as in docs/frames.md under "Changed runs"; empty for any other run."""
        changed = self.log.open["changed"]
        return list(changed["changes"]) if changed else []

    @property
    def title(self) -> str:
        """The title of a saved session, else ""."""
        return str(self._content.words["title"])

    @property
    def notes(self) -> list[dict[str, Any]]:
        """The notes of a saved session: {step, layer, head, text}."""
        return list(self._content.words["notes"])

    @property
    def level(self) -> str:
        """Which values are stored: only "attention"; exact "qkv" too; or every value inside a "block" too."""
        return self.log.values_level or "attention"

    def positions(self, step: int) -> range:
        """Returns the positions that a step computed: the whole prompt, later one; the queries of `attention`."""
        with _public_errors():
            return self.log.rows(step)

    def attention(self, step: int, layer: int, head: int) -> np.ndarray:
        """Returns attention weights, float32 [queries, keys], within 0.004 of the model's own (below 1e-5 near zero).

        Queries are `positions(step)`; keys are positions 0 to the last query. Keys after their query have weight 0.
        """
        with _public_errors():
            return self.log.attention(step, layer, head)

    def values(self, step: int, layer: int) -> dict[str, np.ndarray]:
        """Returns the exact values of a step in a layer by name, float32, as in docs/frames.md under `values`.

        Raises NotThere if none are stored: only a session that was shared with exact values has them.
        """
        with _public_errors():
            return self.log.exact(step, layer)

    def opening(self) -> tuple[int, int, int]:
        """Returns the step, layer and head that the page shows first: as shared, else as `opening_head` chooses."""
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
        """Returns a Plotly figure: "attention" of a head at a step (default: as `opening`); the KV "cache" or "time" of
        all steps; or the "lens", the prediction after each layer, which needs exact values.

        Raises CannotRead for another kind, and NotThere if the run has no data for the figure.
        """
        from kvscope.app.reader import figures

        if kind == "attention" and None in (step, layer, head):
            first = self.opening()
            step, layer, head = (
                default if value is None else value for value, default in zip((step, layer, head), first, strict=True)
            )
        with _public_errors():
            return figures.figure(self.log, kind, step=step, layer=layer, head=head)

    def _repr_html_(self) -> str:
        """Returns HTML that shows the run in a notebook's cell."""
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
def _public_errors() -> Iterator[None]:
    try:
        yield
    except reader.NotThere as error:
        raise NotThere(str(error)) from None
    except BadFrame as error:
        raise CannotRead(f"The run contradicts itself: {error}.") from None
