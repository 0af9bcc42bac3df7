"""One request of a workload in a round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kvscope.model.kv_cache import BLOCK_SIZE

State = Literal["coming", "waiting", "running", "preempted", "done", "cancelled", "refused"]
OVER = ("done", "cancelled", "refused")
THERE = ("waiting", "running", "preempted")


@dataclass(frozen=True, slots=True)
class Tokenized:
    """A request's prompt `ids` and limits. Times are milliseconds since the start of its round.

    A retry arrives at `arrives_ms`, or when the request `retry_of` ends if that is later. `text`: the prompt as the log
    has it; of a conversation, the whole text that the chat template makes of it.
    """

    ids: list[int]
    max_new_tokens: int
    arrives_ms: float
    cancel_ms: int | None
    cancel_tokens: int | None = None
    retry_of: int | None = None
    text: str = ""

    @property
    def most_positions(self) -> int:
        """The most rows that it needs in the cache. The last token is never fed."""
        return len(self.ids) + self.max_new_tokens - 1

    def most_blocks(self, new_tokens: int = 0) -> int:
        """Returns the blocks of these rows, or with an answer of `new_tokens` tokens if that is longer."""
        return -(-(len(self.ids) + max(new_tokens, self.max_new_tokens) - 1) // BLOCK_SIZE)


@dataclass(slots=True, eq=False)
class ServedRequest:
    """`key`: its run in the engine. `joined`: how many requests joined before it; the youngest has the most."""

    number: int
    key: str
    asked: Tokenized
    state: State = "coming"
    joined: int = 0
    began: bool = False
    """Whether its first token was chosen."""
    first: int | None = None
    """Its first token, if it was chosen here."""
    prefill_rows: int = 0
    """Passes that begin before this row are prefill, later ones decode."""
    ended_ms: float | None = None
    """When it ended, in milliseconds since its round began."""
    waits_for: str | None = None
    """The last reported reason why it waits."""
    table: list[int] = field(default_factory=list)
    """Its blocks after the last pass."""
    goes_on: bool = False
    """Whether another engine continues it after its last token here."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in OVER
