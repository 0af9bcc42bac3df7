"""The words of a session: title, notes, and what it opens with. Requests and files have the same."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from kvscope.app.bodies import NOWHERE, Body, Bounds, Index
from kvscope.app.store.value_parts import Level

MAX_TITLE_CHARS = 200
MAX_NOTES = 50
MAX_NOTE_CHARS = 2000
MAX_SHARE_BYTES = 1536 * 1024
"""The longest notes fit even if every character is written as two escapes of six bytes."""
View = Literal["model", "block", "head", "pair", "tokens", "cache", "time", "effects"]

SHOWN = r"[^\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]"
"""A character that reads the same everywhere: no control character, and no bidi embedding, override or isolate, which
can change the order of the text after it."""
Title = Annotated[str, Field(max_length=MAX_TITLE_CHARS, pattern=f"^{SHOWN}*$")]
NoteText = Annotated[str, Field(min_length=1, max_length=MAX_NOTE_CHARS, pattern=rf"^(?:{SHOWN}|\n)*$")]


class Note(Body):
    step: Index
    layer: Index | None = None
    head: Index | None = None
    text: NoteText

    @model_validator(mode="after")
    def _of_a_layer(self) -> Self:
        if self.head is not None and self.layer is None:
            raise PydanticCustomError("head_of_no_layer", "no layer", {"member": ".layer"})
        return self


class Opening(Body):
    step: Index | None = None
    layer: Index | None = None
    head: Index | None = None
    query: Index | None = None
    key: Index | None = None
    view: View | None = None


class Share(Body):
    title: Title | None = None
    notes: Annotated[list[Note], Field(max_length=MAX_NOTES)] | None = None
    open: Opening | None = None
    values: Level = Field("attention", description="what is stored beyond the frames")

    def words(self) -> dict[str, Any]:
        """Returns `title`, `notes`, `open` with absent members filled in, so that the same words are one value."""
        return {
            "title": self.title or "",
            "notes": [note.model_dump() for note in self.notes or []],
            "open": (self.open or Opening()).model_dump(),
        }


def bounds_of_workload(passes: int) -> Bounds:
    """Returns the bounds of a workload: a step is a pass, and there are no layers, heads or positions."""
    return {"step": (0, passes - 1), **dict.fromkeys(("layer", "head", "query", "key"), NOWHERE)}


def bounds_of(layers: int, heads: int, steps: int, positions: int) -> Bounds:
    """Returns the places of a run. `layers`, `heads`: of the model. `positions`: of all tokens."""
    sizes = {"step": steps, "layer": layers, "head": heads, "query": positions, "key": positions}
    return {name: (0, size - 1) for name, size in sizes.items()}
