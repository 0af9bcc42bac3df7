"""One round of a workload: which requests join, wait or are preempted, and the frame of each pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from torch import Tensor

from kvscope.model.api import Refused
from kvscope.model.engine.conditions import conditions_record
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, DraftRecord, PassEntry, PassRecord, TokenRecord
from kvscope.model.log import schema
from kvscope.model.serving.budget import divide
from kvscope.model.serving.contiguous_room import ContiguousRoom
from kvscope.model.serving.hashed_room import HashedRoom
from kvscope.model.serving.request import THERE, ServedRequest, State, Tokenized
from kvscope.model.serving.room import Room
from kvscope.model.settings import MAX_ASKS, Sampling, ServingSettings, has_states

GREEDY = Sampling()


class Round:
    """Round `number` of workload `owner`, under `settings`. `token` describes a token id; `clock` returns seconds.

    `states`: whether its passes have the state of each request, if there are not too many. If a round has engines of
    its own, each has a `Round` without states, which `receive`s its requests.
    """

    def __init__(
        self,
        owner: str,
        number: int,
        engine: Engine,
        asked: Sequence[Tokenized],
        settings: ServingSettings,
        token: Callable[[int], schema.Token],
        clock: Callable[[], float],
        states: bool = True,
    ):
        self._states = states
        self._owner, self._number, self._engine, self._settings = owner, number, engine, settings
        self._token, self._clock = token, clock
        self._began = clock()
        self._requests: dict[int, ServedRequest] = {}
        self._by_key: dict[str, ServedRequest] = {}
        for at, each in enumerate(asked):
            self.receive(at, each)
        self._room = self._room_for(settings)
        self._events: list[schema.ServingEvent] = []
        self._joined = 0
        self._with_others = 0
        """How many passes also had rows of runs outside the workload."""
        self._chosen: dict[int, list[schema.Token]] = {}
        """Tokens that the current pass chose, by request."""
        self._done: list[ServedRequest] = []
        """Requests that the current pass ended."""
        self._left: list[ServedRequest] = []
        """Requests that have ended since `leaving` was called last."""
        self.failure: str | None = None
        """Why the model failed, None if it did not."""

    def _room_for(self, settings: ServingSettings) -> Room:
        def evicted(victim: ServedRequest, count: int) -> None:
            self._report("evicted", victim, count=count)

        if settings.contiguous:
            return ContiguousRoom(self._engine, settings, settings.contiguous, self._by_key, evicted)
        if settings.prefix == "blocks":
            return HashedRoom(self._engine, settings, self._by_key, evicted, self._report_copied)
        return Room(self._engine, settings, self._by_key, evicted)

    @property
    def over(self) -> bool:
        """Whether all requests have ended."""
        return self.open == 0

    @property
    def open(self) -> int:
        """How many requests have not ended."""
        return sum(not request.over for request in self._requests.values())

    @property
    def until_next_s(self) -> float:
        """Seconds until a request arrives or is cancelled; 0 if there is work now."""
        now = self._now()
        requests = self._requests.values()
        coming = (self._arrival_of(request) for request in requests if request.state == "coming")
        due = [ms for ms in coming if ms is not None]
        due += [
            request.asked.cancel_ms
            for request in requests
            if request.state in ("waiting", "preempted") and request.asked.cancel_ms is not None
        ]
        return max(0.0, min(due, default=now) - now) / 1000

    def owns(self, key: str) -> bool:
        """Returns whether a run of that key is one of its requests."""
        return key in self._by_key

    @property
    def now_ms(self) -> int:
        """What a request that arrives now has as `arrives_ms`."""
        return int(self._now() * self._settings.speed)

    def join(self, asked: Tokenized, retry_of: int | None) -> int:
        """Adds a request that arrives now; returns its number. Raises Refused."""
        number = len(self._requests)
        if number >= MAX_ASKS:
            message = f"This workload has {number} requests, the most allowed."
            raise Refused("run", message, limit=MAX_ASKS, status=409)
        blocks, needed = self._settings.blocks, self._room.most_blocks(asked)
        if needed > blocks:
            message = f"This request may need {needed} blocks; the workload has {blocks} in total."
            raise Refused("prompt", message, limit=blocks)
        if retry_of is not None and not (retry_of < number and self._requests[retry_of].state == "cancelled"):
            raise Refused("retry_of", "retry_of must be an earlier request that was cancelled.")
        self.receive(number, asked)
        return number

    def receive(self, number: int, asked: Tokenized, *, began: bool = False, goes_on: bool = False) -> ServedRequest:
        """Adds request `number`. `began`: another engine has given its first token; `goes_on`: one will continue it."""
        key = f"{self._owner}/{self._number}/{number}"
        request = ServedRequest(number, key, asked, began=began, goes_on=goes_on)
        self._requests[number] = self._by_key[request.key] = request
        return request

    def leave(self, number: int) -> None:
        """Cancels a request now. Raises Refused."""
        if number >= len(self._requests):
            message = f"There is no request {number}; the workload has {len(self._requests)}."
            raise Refused("request", message, limit=len(self._requests) - 1, status=404)
        request = self._requests[number]
        if request.state not in THERE:
            message = f"Request {number} is {request.state}: only a waiting or running request can be cancelled."
            raise Refused("request", message, status=409)
        self._cancel(request)

    def leaving(self) -> list[ServedRequest]:
        """Returns the requests that have ended here since the last call, and that another engine continues."""
        left, self._left = self._left, []
        return [request for request in left if request.goes_on]

    def cached_rows(self, ids: Sequence[int]) -> int:
        """Returns how many rows of the beginning of `ids` can be found here, by their content."""
        return self._hashed.cached_rows(ids)

    def rows_of(self, request: ServedRequest) -> tuple[list[bytes], Tensor]:
        """Returns the names and rows of the full blocks of an ended request's prompt."""
        return self._hashed.rows_of(request)

    def adopt(self, request: ServedRequest, names: Sequence[bytes], rows: Tensor, ms: float) -> None:
        """Stores the rows of a request that another engine began. `ms`: how long reading them there took; the request
        arrives when they are stored.
        """
        started = time.perf_counter()
        blocks = self._hashed.adopt(request, names, rows)
        took = (time.perf_counter() - started) * 1000
        later = took * self._settings.speed
        request.asked = replace(request.asked, arrives_ms=request.asked.arrives_ms + later)
        self._report_copied("moved", request, blocks, blocks * rows.nbytes // max(1, len(names)), ms + took)

    @property
    def _hashed(self) -> HashedRoom:
        assert isinstance(self._room, HashedRoom)
        return self._room

    def prepare(self) -> None:
        """Applies arrivals, cancellations, joins and preemptions before a pass."""
        self._room.prepare()
        self._arrive_and_cancel()
        self._join_waiting()
        self._preempt_for_room()
        self._room.allot(self._of("running"))

    def take(self, record: TokenRecord | CloseRecord) -> None:
        """Takes the engine's record of one of its runs."""
        request = self._by_key[record.run]
        if isinstance(record, TokenRecord):
            self._chosen.setdefault(request.number, []).append(self._token(record.token))
            if not request.began:
                request.began, request.first = True, record.token
                self._report("first", request)
        elif record.reason == "failed":
            self.failure = record.error
            self._end(request, "cancelled")
        else:
            self._end(request, "done")
            self._done.append(request)
            request.goes_on = request.goes_on and record.reason == "length"
            if not request.goes_on:
                self._report("done", request)

    def record_passes(self, first: int, passes: Sequence[PassRecord]) -> list[schema.Pass]:
        """Returns the frames of the passes of `Engine.advance`, numbered from `first`."""
        return [self.record_pass(first + number, done) for number, done in enumerate(passes)]

    def record_pass(self, number: int, done: PassRecord) -> schema.Pass:
        """Returns the frame of pass `number` of the workload."""
        start_ms = round((done.started - self._began) * 1000, 3)
        others = [entry for entry in done.entries if not self.owns(entry.run)]
        self._with_others += bool(others)
        # In the order in which they joined, whatever the order of the batch: it decides whose blocks are evicted first.
        for request in sorted(self._done, key=lambda each: each.joined):
            self._keep_or_forget(request)
        self._left += self._done
        self._done = []
        self._note_tables()
        members = [self._member(entry) for entry in done.entries if self.owns(entry.run)]
        return schema.Pass(
            number=number,
            round=self._number,
            start_ms=start_ms,
            ms=round(done.ms, 3),
            weight_bytes=sum(done.weights.values()),
            weights_read=done.weights,
            draft=_draft(done.draft),
            members=members,
            others=schema.OtherMembers(requests=len(others), rows=sum(entry.rows for entry in others)),
            requests=[self._state(each) for each in self._requests.values()] if self._has_states else [],
            pool=self._pool(),
            events=self._events_by(start_ms + done.ms),
            conditions=schema.Conditions(**conditions_record(replace(done.conditions, others=len(others)))),
        )

    @property
    def _has_states(self) -> bool:
        return self._states and has_states(len(self._requests))

    def _pool(self) -> schema.PoolState:
        cached = self._room.cached
        return schema.PoolState(
            blocks=self._engine.cache.blocks,
            others=self._blocks_of_others(),
            slots=self._room.slots(),
            region=self._room.region,
            **({} if cached is None else {"cached": cached}),
        )

    def _events_by(self, ms: float) -> list[schema.ServingEvent]:
        """Returns the events of a pass that ended at `ms`, the time of all its tokens. Events of a later pass's tokens
        that the engine has already reported stay for that pass.
        """
        events = []
        for event in self._take_events():
            if event.what not in ("first", "done"):
                events.append(event)
            elif event.request in self._chosen:
                self._events.append(event)
            else:
                events.append(event.model_copy(update={"ms": round(ms, 3)}))
        return events

    def end(self) -> schema.Round:
        """Releases the blocks of all requests; returns the frame of the round."""
        ended = schema.Round(
            round=self._number, ms=round(self._now(), 3), others=self._with_others, events=self._take_events()
        )
        for request in self._requests.values():
            if request.state in ("running", "preempted"):
                self._drop(request)
            self._room.forget(request)
        self._room.close()
        return ended

    def _now(self) -> float:
        return (self._clock() - self._began) * 1000

    def _arrive_and_cancel(self) -> None:
        now = self._now()
        for request in self._requests.values():
            asked = request.asked
            arrival = self._arrival_of(request)
            if request.state == "coming" and arrival is not None and arrival <= now:
                request.state = "waiting"
                if not request.began:
                    self._report("arrived", request, ms=arrival)
                if (needed := self._room.most_blocks(asked)) > self._settings.blocks:
                    self._end(request, "refused")
                    self._report("refused", request, count=needed)
            if request.state in THERE and self._is_cancelled(request, now):
                self._cancel(request)

    def _arrival_of(self, request: ServedRequest) -> float | None:
        """Returns when the request arrives; None for a retry whose first attempt has not ended."""
        asked = request.asked
        arrives_ms = asked.arrives_ms / self._settings.speed
        if asked.retry_of is None or request.state != "coming":
            return arrives_ms
        ended = self._requests[asked.retry_of].ended_ms
        return None if ended is None else max(arrives_ms, ended)

    def _is_cancelled(self, request: ServedRequest, now: float) -> bool:
        """Returns whether its client cancels it by now, by time or by number of tokens."""
        asked, run = request.asked, self._engine.scheduler.runs.get(request.key)
        if asked.cancel_ms is not None and asked.cancel_ms <= now:
            return True
        return asked.cancel_tokens is not None and run is not None and run.step >= asked.cancel_tokens

    def _cancel(self, request: ServedRequest) -> None:
        """Ends the request now. With sharing, its blocks stay cached until others need them, as after any end."""
        blocks = len(request.table)
        if request.state != "waiting":
            self._engine.scheduler.end(request.key, failed=not self._settings.sharing)
        self._end(request, "cancelled")
        self._keep_or_forget(request)
        self._report("cancelled", request, count=blocks, free=self._room.free)

    def _end(self, request: ServedRequest, state: State) -> None:
        request.state, request.ended_ms = state, self._now()

    def _keep_or_forget(self, request: ServedRequest) -> None:
        """Keeps an ended request's blocks cached for equal prompts if the round shares blocks; else releases them."""
        if not self._settings.sharing or self._room.sequence_of(request) is None:
            self._room.forget(request)

    def _join_waiting(self) -> None:
        """Joins the requests with room in the next pass: first preempted ones, then others in order of arrival."""
        waiting = self._of("preempted") + sorted(self._of("waiting"), key=lambda each: each.asked.arrives_ms)
        match self._settings.batching:
            case "continuous":
                pass
            case "static":
                if answered := len(self._of("running")):
                    for request in waiting:
                        self._report_wait(request, "static", count=answered)
                    return
            case unknown:
                assert_never(unknown)
        for place, request in enumerate(waiting):
            running = self._of("running")
            if len(running) >= self._settings.at_once:
                for each in waiting[place:]:
                    self._report_wait(each, "places", count=len(running))
                return
            if self._divide(running) == 0:
                for each in waiting[place:]:
                    self._report_wait(each, "budget", count=self._settings.budget or 0)
                return
            if not self._room.for_newcomer(request, running):
                reason = self._room.why_not(request, running)
                longest = {} if reason.longest is None else {"longest": reason.longest}
                self._report_wait(request, reason.why, count=reason.needed, free=reason.free, **longest)
                # No later request overtakes this one.
                for each in waiting[place + 1 :]:
                    self._report_wait(each, "order", other=request.number)
                return
            self._join(request)

    def _divide(self, running: list[ServedRequest]) -> int:
        """Divides the rows of the next pass among these requests; returns how many are left."""
        runs = self._engine.scheduler.runs
        return divide([runs[each.key] for each in sorted(running, key=lambda each: each.joined)], self._settings)

    def _report_wait(self, request: ServedRequest, why: schema.Waits, **numbers: int) -> None:
        """Reports why the request does not join the next pass, unless this was its last report."""
        if request.waits_for != why:
            request.waits_for = why
            self._report("waits", request, why=why, **numbers)

    def _join(self, request: ServedRequest) -> None:
        engine, settings, among = self._engine, self._settings, self._room.sharers
        donor = self._room.donor(request)
        if request.state == "preempted":
            engine.resume(request.key, among, self._room.reserve(request))
        else:
            engine.admit(
                request.key,
                request.asked.ids,
                GREEDY,
                request.asked.max_new_tokens,
                recorded="tokens",
                draft=settings.draft,
                keeping=settings.keep,
                owner=self._owner,
                among=among,
                reserved=self._room.reserve(request),
            )
        run = engine.scheduler.runs[request.key]
        if settings.reserve:
            engine.scheduler.hold(run.sequence, request.asked.most_positions)
        request.state, request.prefill_rows, request.waits_for = "running", len(run.ids), None
        request.joined, self._joined = self._joined, self._joined + 1
        request.table = list(run.sequence.table)
        self._report("joined", request, count=len(run.ids))
        if donor is not None:
            rows = run.sequence.length - self._room.fetched_rows(request)
            self._report("shared", request, count=rows, other=donor.number)

    def _preempt_for_room(self) -> None:
        """Frees the blocks that the next pass needs; preempts the youngest requests if there are too few."""
        self._divide(running := self._of("running"))
        while not self._room.for_next_pass(running):
            youngest = max(running, key=lambda each: each.joined)
            rows = self._engine.preempt(youngest.key)
            youngest.state = "preempted"
            self._room.forget(youngest)
            self._report("preempted", youngest, count=rows)
            self._divide(running := self._of("running"))

    def _of(self, state: str) -> list[ServedRequest]:
        return [request for request in self._requests.values() if request.state == state]

    def _drop(self, request: ServedRequest) -> None:
        """Ends its run and releases its blocks now."""
        self._engine.scheduler.end(request.key, failed=True)
        request.table = []

    def _member(self, entry: PassEntry) -> schema.PassMember:
        request = self._by_key[entry.run]
        chosen = self._chosen.pop(request.number, [])
        return schema.PassMember(
            request=request.number,
            phase="prefill" if entry.first < request.prefill_rows else "decode",
            first=entry.first,
            rows=entry.rows,
            token=chosen[0] if chosen else None,
            more=chosen[1:],
            guessed=entry.guessed,
        )

    def _state(self, request: ServedRequest) -> schema.RequestState:
        sequence, run = self._room.sequence_of(request), self._engine.scheduler.runs.get(request.key)
        return schema.RequestState(
            state=request.state,
            positions=sequence.length if sequence else 0,
            dropped=run.forgotten if run else 0,
            table=request.table,
        )

    def _note_tables(self) -> None:
        """Updates the block tables; a block that differs from the one before was copied in order to write to it."""
        for request in self._requests.values():
            sequence = self._room.sequence_of(request)
            table = sequence.table if sequence else []
            if request.table and not table and request.state in ("done", "cancelled") and self._settings.sharing:
                self._report("evicted", request, count=len(request.table))  # a run outside needed the room
            if any(old != new for old, new in zip(request.table, table, strict=False)):
                self._report("copied", request)
            request.table = list(table)

    def _blocks_of_others(self) -> list[int]:
        own = {block for request in self._requests.values() for block in request.table}
        return [block for block, count in enumerate(self._engine.cache.refcounts) if count and block not in own]

    def _report_copied(self, what: schema.Copies, request: ServedRequest, count: int, size: int, ms: float) -> None:
        self._report(what, request, count=count, bytes=size, took_ms=round(ms, 3))

    def _report(
        self,
        what: str,
        request: ServedRequest,
        *,
        ms: float | None = None,
        count: int | None = None,
        other: int | None = None,
        **more: str | float,
    ) -> None:
        at = round(self._now() if ms is None else ms, 3)
        event = {"ms": at, "what": what, "request": request.number, "count": count, "other": other, **more}
        self._events.append(schema.ServingEvent.model_validate(event))

    def _take_events(self) -> list[schema.ServingEvent]:
        events, self._events = self._events, []
        return events


def _draft(record: DraftRecord | None) -> schema.Draft | None:
    if record is None:
        return None
    return schema.Draft(ms=round(record.ms, 3), passes=record.passes, weight_bytes=sum(record.weights.values()))
