"""One request of a workload, as a round of it has it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kvscope.model.kv_cache import BLOCK_SIZE

State = Literal["coming", "waiting", "running", "preempted", "done", "cancelled", "refused"]
OVER = ("done", "cancelled", "refused")
THERE = ("waiting", "running", "preempted")


@dataclass(frozen=True, slots=True)
class Tokenized:
    """What a request asks for: its prompt's `ids`. Milliseconds since its round began.

    A retry, `retry_of`, arrives when the request that it repeats is over, if that is later than `arrives_ms`.
    """

    ids: list[int]
    max_new_tokens: int
    arrives_ms: int
    cancel_ms: int | None
    cancel_tokens: int | None = None
    retry_of: int | None = None

    @property
    def most_positions(self) -> int:
        """Rows it may come to have in the cache. The last token is never fed."""
        return len(self.ids) + self.max_new_tokens - 1

    def most_blocks(self, new_tokens: int = 0) -> int:
        """Blocks of those rows, or of an answer of so many tokens where that is longer."""
        return -(-(len(self.ids) + max(new_tokens, self.max_new_tokens) - 1) // BLOCK_SIZE)


@dataclass(slots=True, eq=False)
class ServedRequest:
    """`key`: of its run in the engine. `joined`: how many had joined before it, by which the youngest is known."""

    number: int
    key: str
    asked: Tokenized
    state: State = "coming"
    joined: int = 0
    began: bool = False
    """Whether its first token is there."""
    prefill_rows: int = 0
    """Rows up to which it reads what was written before, rather than what it has just chosen."""
    ended_ms: float | None = None
    """When it was over, since its round began."""
    waits_for: str | None = None
    """Why it waits, as it was told last."""
    table: list[int] = field(default_factory=list)
    """Its blocks after the last pass."""

    @property
    def over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state in OVER
