"""The engine's state of a run."""

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
"""What the engine records of a run: everything, everything except captured rows, only its tokens, or only its end."""


@dataclass(slots=True)
class Spent:
    """The costs of a step so far, pass by pass. Times are wall times in milliseconds."""

    chunk_ms: list[float] = field(default_factory=list)
    layer_ms: list[tuple[float, ...] | None] = field(default_factory=list)
    capture_ms: float = 0.0
    cost: Cost = field(default_factory=Cost)
    conditions: list[Conditions] = field(default_factory=list)
    by: ComputedBy = "lines"
    """What computed the last pass."""

    @property
    def begun(self) -> bool:
        """Whether a pass of the step has been computed."""
        return bool(self.chunk_ms)

    def timing(self, sample_ms: float) -> Timing:
        """Returns the times of the step, after choosing its token took `sample_ms`."""
        chunks = tuple(self.chunk_ms)
        total = sum(chunks) + self.capture_ms + sample_ms
        measured = [each for each in self.layer_ms if each is not None]
        whole = len(measured) == len(self.layer_ms)
        layers = tuple(map(sum, zip(*measured, strict=True))) if whole else None
        return Timing(chunks, self.capture_ms, sample_ms, total, layers, together(self.conditions))


@dataclass(slots=True, eq=False)
class Run:
    """A run in the engine. `ids`: all its tokens, of which the first `fed` were fed; `eos`: the ids that end it."""

    key: str
    ids: list[int]
    prompt_length: int
    sampling: Sampling
    max_new_tokens: int
    sequence: Sequence
    eos: frozenset[int] = frozenset()
    recorded: Recorded = "rows"
    caching: Caching = "kept"
    forced: Mapping[int, int] = field(default_factory=dict)
    """The token that replaces the chosen one, by step."""
    chunk: int | None = None
    """The most tokens that the next pass reads of it; None: the engine's setting; 0: that pass leaves the run out."""
    draft: Drafting | None = None
    """How its next tokens are guessed for one pass to check; None: no guesses."""
    guessed: list[int] = field(default_factory=list)
    """The guesses that the next pass checks."""
    keeping: Kept | None = None
    """Which rows stay in the cache; None: all."""
    apart: bool = False
    """Whether each layer and KV head chooses which rows stay, by its own attention."""
    compared: bool = False
    """Whether it is fed another run's tokens, and each step compares its distribution with the one with all rows."""
    looked_at: torch.Tensor | None = None
    """[rows in the cache], or [layers, Hkv, rows] if `apart`: the attention that each row got; None if not needed to
    decide which rows stay."""
    stayed: torch.Tensor | None = None
    """[rows], or [layers, Hkv, rows]: positions of the rows that stayed when rows were last dropped."""
    changes: Changes | None = None
    """Replacements of values in its passes."""
    owner: str = ""
    """The workload that reserved this run's blocks; "": the run reserves them itself."""
    forgotten: int = 0
    """How many fed tokens no longer have a row in `sequence`."""
    reused: int = 0
    """Rows of the prompt that the cache already had, computed by other runs, when the run began."""
    recomputed_rows: int = 0
    """Rows of a fork that were no longer cached and were computed again when it began."""
    recomputed_ms: float = 0.0
    """How long computing them took."""
    step: int = 0
    paused: bool = False
    single_steps: int = 0
    spent: Spent = field(default_factory=Spent)

    @property
    def ready(self) -> bool:
        """Whether the next pass has rows of it. A paused run first completes the step that has begun, since it can only
        be evicted between two steps (`Engine.evict_run`).
        """
        return self.chunk != 0 and (not self.paused or self.single_steps > 0 or self.spent.begun)

    @property
    def unfed(self) -> int:
        """How many of `ids` are still to be fed."""
        return len(self.ids) - self.fed

    @property
    def fed(self) -> int:
        """How many of `ids` were fed and need not be fed again."""
        return self.forgotten + self.sequence.length

    @property
    def where(self) -> torch.Tensor:
        """Positions of the rows in the cache: [rows], or [layers, Hkv, rows] if they differ."""
        if self.stayed is None:
            return torch.arange(self.sequence.length)
        first = self.fed - self.sequence.length + self.stayed.shape[-1]
        new = torch.arange(first, self.fed).expand(*self.stayed.shape[:-1], -1)
        return torch.cat((self.stayed, new), dim=-1)

    @property
    def over(self) -> str | None:
        """Why no token follows the last one: "eos" or "length"; None while the run continues."""
        if self.step and self.ids[-1] in self.eos:
            return "eos"
        return "length" if self.step >= self.max_new_tokens else None

    @property
    def most_guesses(self) -> int:
        """The most tokens to guess for the next pass; 0 unless that pass feeds the run's newest token."""
        if self.draft is None or self.step == 0 or self.fed != len(self.ids) - 1:
            return 0
        return min(self.draft.tokens, self.max_new_tokens - self.step - 1)

    @property
    def blocks_promised(self) -> int:
        """The most blocks that the run needs; 0 if its owner reserved them."""
        return 0 if self.owner else blocks_of_run(self.prompt_length, self.max_new_tokens)


def blocks_of_run(prompt_length: int, max_new_tokens: int) -> int:
    """Returns the blocks of a whole run. The last token is never fed, so its K and V need no room."""
    return -(-(prompt_length + max_new_tokens - 1) // BLOCK_SIZE)
