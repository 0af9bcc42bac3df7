"""What a simulated server consists of."""

from __future__ import annotations

from dataclasses import dataclass

from kvscope.app.settings import Settings

POLL_S = 1.0
"""How often the page asks for the place of a queued run (static/shared/log/client.js)."""
OPEN_RUNS = int(Settings.__dataclass_fields__["max_open_runs"].default)  # type: ignore[arg-type]  # an int


@dataclass(frozen=True, slots=True)
class Setup:
    """How many of everything there are. Places and room in the queue count for all engines together.

    `open_runs`: places of each engine. `starters`: how many queued runs are started at the same time; None: one of each
    engine. `elsewhere`: whether viewers are on other machines.
    """

    engines: int
    web_processes: int = 1
    open_runs: int = OPEN_RUNS
    max_waiting: int = 1_000_000
    starters: int | None = None
    elsewhere: bool = True
    poll_s: float = POLL_S

    @property
    def places(self) -> int:
        """Runs that are open at the same time."""
        return self.engines * self.open_runs
