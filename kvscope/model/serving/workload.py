"""Serves several requests together, once per round, and reports each forward pass (docs/frames.md).

The engine computes them in the same passes as other runs. A workload reserves blocks for its requests and decides which
of them join, wait or are preempted (continuous batching: Orca, OSDI '22; preemption by recomputation: PagedAttention,
arXiv:2309.06180, §4.5).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kvscope.model.api import Refused
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, PassRecord, TokenRecord
from kvscope.model.log import schema
from kvscope.model.serving.cluster import Cluster, MakeEngine
from kvscope.model.serving.request import Tokenized
from kvscope.model.serving.round import Round
from kvscope.model.settings import ServingSettings

Reported = schema.Asked | schema.Pass | schema.Round | schema.Close


class Workload:
    """Serves `asked` under each of `rounds`. `token` describes a token id; `make_engine` makes the engines of rounds
    that have their own; `clock` returns seconds.

    Call `prepare` before each pass of the engine, `take` with each record of its runs, then `record_passes`.
    """

    def __init__(
        self,
        key: str,
        engine: Engine,
        asked: Sequence[Tokenized],
        rounds: Sequence[ServingSettings],
        token: Callable[[int], schema.Token],
        make_engine: MakeEngine,
        clock: Callable[[], float] = time.perf_counter,
    ):
        """Raises CacheFull if too few blocks are unreserved, and ValueError for a key in use."""
        self._key, self._scheduler = key, engine.scheduler
        shared = (settings.blocks for settings in rounds if settings.engines is None)
        engine.scheduler.promise(key, max(shared, default=0))
        self._to_come = [
            lambda number=number, settings=settings: (
                Cluster(key, number, make_engine, asked, settings, token)
                if settings.engines
                else Round(key, number, engine, asked, settings, token, clock)
            )
            for number, settings in enumerate(rounds)
        ]
        self._round = self._to_come.pop(0)()
        self._one_round = len(rounds) == 1
        self.has_engines = any(settings.engines for settings in rounds)
        """Whether a round has engines of its own."""
        self._passes = 0
        self.over = False
        """Whether it has reported its last frame."""

    @property
    def until_next_s(self) -> float:
        """Seconds until a request arrives or is cancelled; 0 if there is work now."""
        return self._round.until_next_s

    def owns(self, key: str) -> bool:
        """Returns whether a run of that key is one of its requests."""
        return self._round.owns(key)

    def prepare(self) -> list[Reported]:
        """Applies arrivals, cancellations, joins and preemptions before a pass. Returns the frames of a round's end."""
        try:
            self._round.prepare()
        except OSError as error:  # of a tier
            return [self.stop("failed", f"Evicted blocks could not be stored or brought back: {error}.")]
        if not self._round.over:
            return []
        ended = self._round.end()
        if not self._to_come:
            return [ended, self._close("length", None)]
        self._round = self._to_come.pop(0)()
        return [ended]

    @property
    def now_ms(self) -> int:
        """What a request that arrives now has as `arrives_ms`."""
        return self._round.now_ms

    def join(self, asked: Tokenized, retry_of: int | None) -> int:
        """Adds a request that arrives now; returns its number. Raises Refused."""
        self._refuse_to_change_an_experiment()
        return self._round.join(asked, retry_of)

    def leave(self, number: int) -> None:
        """Cancels a request now. Raises Refused."""
        self._refuse_to_change_an_experiment()
        self._round.leave(number)

    def _refuse_to_change_an_experiment(self) -> None:
        if not self._one_round:
            message = (
                "This workload compares several rounds of the same requests. No request can be added or cancelled."
            )
            raise Refused("run", message, status=409)

    def take(self, record: TokenRecord | CloseRecord) -> None:
        """Takes the engine's record of one of its runs."""
        self._round.take(record)

    def record_passes(self, passes: Sequence[PassRecord]) -> list[Reported]:
        """Returns the frame of each pass of `Engine.advance`, or the last frame if the model failed."""
        if self._round.failure is not None:
            return [self.stop("failed", self._round.failure)]
        frames = self._round.record_passes(self._passes, passes)
        self._passes += len(frames)
        return [*frames]

    def stop(self, reason: schema.Reason = "stopped", error: str | None = None) -> schema.Close:
        """Ends the workload in any state, and returns its last frame."""
        self._round.end()
        return self._close(reason, error)

    def _close(self, reason: schema.Reason, error: str | None) -> schema.Close:
        self._scheduler.promised.pop(self._key)
        self.over = True
        return schema.Close(reason=reason, error=error and error[: schema.MOST_ERROR], steps=0)
