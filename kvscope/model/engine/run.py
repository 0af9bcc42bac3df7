"""A run as the engine holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch

from kvscope.model.api import Caching, ComputedBy
from kvscope.model.engine.changes import Changes
from kvscope.model.engine.conditions import Conditions, together
from kvscope.model.engine.cost import Cost
from kvscope.model.engine.records import Timing
from kvscope.model.kv_cache import BLOCK_SIZE, Sequence
from kvscope.model.settings import Drafting, Kept, Sampling

Recorded = Literal["rows", "steps", "tokens", "end"]
"""What of a run the engine says: everything, all but captured rows, its tokens, or its end alone."""


@dataclass(slots=True)
class Spent:
    """What a step has taken so far, pass by pass. Times are wall times in milliseconds."""

    chunk_ms: list[float] = field(default_factory=list)
    layer_ms: list[tuple[float, ...] | None] = field(default_factory=list)
    capture_ms: float = 0.0
    cost: Cost = field(default_factory=Cost)
    conditions: list[Conditions] = field(default_factory=list)
    by: ComputedBy = "lines"
    """Of the last pass."""

    @property
    def begun(self) -> bool:
        """Whether a pass of the step has been made."""
        return bool(self.chunk_ms)

    def timing(self, sample_ms: float) -> Timing:
        """The times of the step, now that choosing its token took `sample_ms`."""
        chunks = tuple(self.chunk_ms)
        total = sum(chunks) + self.capture_ms + sample_ms
        measured = [each for each in self.layer_ms if each is not None]
        whole = len(measured) == len(self.layer_ms)
        layers = tuple(map(sum, zip(*measured, strict=True))) if whole else None
        return Timing(chunks, self.capture_ms, sample_ms, total, layers, together(self.conditions))


@dataclass(slots=True, eq=False)
class Run:
    """A run the engine holds. `ids` runs ahead of what was `fed`; `eos` are the ids that end it."""

    key: str
    ids: list[int]
    prompt_length: int
    sampling: Sampling
    max_new_tokens: int
    sequence: Sequence
    generator: torch.Generator
    eos: frozenset[int] = frozenset()
    recorded: Recorded = "rows"
    caching: Caching = "kept"
    forced: Mapping[int, int] = field(default_factory=dict)
    """The token to put in place of the chosen one, by step."""
    chunk: int | None = None
    """Tokens that a pass reads of it at most; None: as many as the engine is set to."""
    draft: Drafting | None = None
    """How its next tokens are guessed, to be checked in one pass; None: they are not."""
    guessed: list[int] = field(default_factory=list)
    """What the next pass checks."""
    keeping: Kept | None = None
    """Which rows stay in the cache; None: all."""
    apart: bool = False
    """Whether each layer and KV head keeps rows of its own, by the attention that it gave them."""
    compared: bool = False
    """Whether its tokens are those of another run, whose next-token distribution is compared with its own."""
    looked_at: torch.Tensor | None = None
    """[rows in the cache], or [layers, Hkv, rows] if `apart`: the attention that each has had, where that decides which
    of them stay."""
    stayed: torch.Tensor | None = None
    """[rows], or [layers, Hkv, rows]: the positions of those that stayed when some were dropped the last time."""
    changes: Changes | None = None
    """What is computed otherwise than the model would."""
    owner: str = ""
    """Whoever has been promised the blocks that this run may come to hold; "": they are its own."""
    forgotten: int = 0
    """Tokens of `ids` that were fed and have no row in `sequence` any more."""
    reused: int = 0
    """Rows of the prompt that were in the cache when the run began, and are none of its own."""
    recomputed_rows: int = 0
    """Of a fork: rows that no run held any more, which were computed again when it began."""
    recomputed_ms: float = 0.0
    """How long that took."""
    step: int = 0
    paused: bool = False
    single_steps: int = 0
    spent: Spent = field(default_factory=Spent)

    @property
    def ready(self) -> bool:
        """Whether the next pass has rows of it. A run is paused between two steps: one that has begun is ended first,
        or half of it would keep the run from giving way (`Engine.evict_run`).
        """
        return not self.paused or self.single_steps > 0 or self.spent.begun

    @property
    def fed(self) -> int:
        """How many of `ids` the model has been given, and does not have to be given again."""
        return self.forgotten + self.sequence.length

    @property
    def where(self) -> torch.Tensor:
        """The positions of the rows in the cache, [rows], or [layers, Hkv, rows] where they differ."""
        if self.stayed is None:
            return torch.arange(self.sequence.length)
        first = self.fed - self.sequence.length + self.stayed.shape[-1]
        new = torch.arange(first, self.fed).expand(*self.stayed.shape[:-1], -1)
        return torch.cat((self.stayed, new), dim=-1)

    @property
    def over(self) -> str | None:
        """Why no token follows the last one: "eos" or "length"; None while the run goes on."""
        if self.step and self.ids[-1] in self.eos:
            return "eos"
        return "length" if self.step >= self.max_new_tokens else None

    @property
    def most_guesses(self) -> int:
        """How many tokens may be guessed before the next pass, which has to go on with its newest token."""
        if self.draft is None or self.step == 0 or self.fed != len(self.ids) - 1:
            return 0
        return min(self.draft.tokens, self.max_new_tokens - self.step - 1)

    @property
    def blocks_promised(self) -> int:
        """Blocks the run may come to hold, unless they have been promised to its owner."""
        return 0 if self.owner else blocks_of_run(self.prompt_length, self.max_new_tokens)


def blocks_of_run(prompt_length: int, max_new_tokens: int) -> int:
    """Blocks of a whole run. The last token's K and V are not among them: it is never fed."""
    return -(-(prompt_length + max_new_tokens - 1) // BLOCK_SIZE)
