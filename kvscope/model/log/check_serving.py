"""Checks the `asked`, `pass` and `round` frames of a workload's log from an untrusted source (model.log.check)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvscope.model.log.schema import Asked, Pass, PassMember, RequestState, Round, Serving, ServingEvent, Token
from kvscope.model.log.untrusted import BadFile
from kvscope.model.settings import has_states

MOST_REQUESTS = 1000
COPIED = ("moved", "stored", "fetched")
"""Events that state a number of blocks, their bytes, and how long it took."""
COUNTED = ("joined", "shared", "preempted", "evicted", "refused", *COPIED)
"""Events that state a number of tokens or blocks."""


class ServingCheck:
    """Checks frames against the workload's requests and the rounds so far. Methods raise BadFile at the first fault.

    So readers of the log never meet a request, round or block that does not exist.
    """

    def __init__(self, study: Serving, block_size: int, where: str) -> None:
        self.passes = 0
        self._requests, self._rounds, self._block_size = list(study.requests), study.rounds, block_size
        self._round = 0
        self._from_ms: dict[int | None, float] = {}
        """When the last pass of each engine began, in this round."""
        self._chosen = [0] * len(study.requests)
        """How many tokens each request got in the round."""
        for number, request in enumerate(study.requests):
            again = request.retry_of
            if again is not None and not (again < number and study.requests[again].is_cancelled):
                place = f"{where}.data.study.requests[{number}].retry_of"
                raise BadFile(place, "must be an earlier request that was cancelled")

    def take_asked(self, data: Asked, where: str) -> None:
        """Checks a request that joined the only round."""
        number, again = len(self._requests), data.request.retry_of
        only = len(self._rounds) == 1 and self._rounds[0].engines is None
        if data.number != number or number == MOST_REQUESTS or not only or self._round:
            raise BadFile(where, f"is not request {number} of a workload that can be joined")
        if again is not None and again >= number:
            raise BadFile(f"{where}.data.request.retry_of", "must be an earlier request")
        self._requests.append(data.request)
        self._chosen.append(0)

    def take_pass(self, data: Pass, where: str) -> None:
        """Checks the next pass."""
        if data.number != self.passes or data.round != self._round or self._round == len(self._rounds):
            raise BadFile(where, f"is not pass {self.passes}, of round {self._round}")
        if data.start_ms < self._from_ms.get(data.engine, 0.0):
            raise BadFile(where, "began before the pass that comes before it")
        engines = self._rounds[self._round].engines
        if (data.engine is None) != (engines is None) or (engines and (data.engine or 0) >= engines.count):
            raise BadFile(f"{where}.data.engine", "is not one of the round's engines")
        if (data.stages is not None) != (engines is not None and engines.stages > 1):
            raise BadFile(f"{where}.data.stages", "are not those of the round's engines")
        count = len(self._requests)
        counts = (0,) if engines else (count,) if has_states(count) else (0, count)
        if len(data.requests) not in counts:
            raise BadFile(f"{where}.data.requests", f"are not {count}, as many as there are")
        self._refuse_members(data.members, f"{where}.data.members")
        self._refuse_tables(data.requests, data.pool.blocks, data.pool.others, where)
        self._refuse_memory(data, f"{where}.data.pool")
        self._refuse_cached(data, f"{where}.data.pool.cached")
        self._refuse_events(data.events, f"{where}.data.events")
        self.passes += 1
        self._from_ms[data.engine] = data.start_ms

    def take_round(self, data: Round, where: str) -> None:
        """Checks the end of the round."""
        if data.round != self._round or self._round == len(self._rounds):
            raise BadFile(where, f"is not the end of round {self._round}")
        self._refuse_events(data.events, f"{where}.data.events")
        self._round, self._from_ms, self._chosen = self._round + 1, {}, [0] * len(self._requests)

    def _refuse_members(self, members: Sequence[PassMember], where: str) -> None:
        numbers = [member.request for member in members]
        if len(set(numbers)) != len(numbers) or any(number >= len(self._requests) for number in numbers):
            raise BadFile(where, "name a request twice, or one that does not exist")
        for at, member in enumerate(members):
            request = self._requests[member.request]
            chosen = (member.token is not None) + len(member.more)
            if member.guessed >= member.rows or len(member.more) > member.guessed:
                raise BadFile(f"{where}[{at}]", "has more tokens than rows that could give them")
            if member.token is None and (member.more or member.phase == "decode"):
                raise BadFile(f"{where}[{at}].token", "is missing")
            if member.first + member.rows > request.tokens + request.max_new_tokens + member.guessed:
                raise BadFile(f"{where}[{at}]", "has rows beyond the last token of its request")
            self._chosen[member.request] += chosen
            if self._chosen[member.request] > request.max_new_tokens:
                raise BadFile(f"{where}[{at}]", f"is given more than the {request.max_new_tokens} tokens requested")

    def _refuse_tables(self, states: Sequence[RequestState], blocks: int, others: Sequence[int], where: str) -> None:
        owned: set[int] = set()
        for number, state in enumerate(states):
            place, table = f"{where}.data.requests[{number}]", state.table
            _refuse_blocks(table, blocks, f"{place}.table")
            if state.positions > len(table) * self._block_size:
                raise BadFile(f"{place}.positions", "are more than its blocks have room for")
            owned.update(table)
        _refuse_blocks(others, blocks, f"{where}.data.pool.others")
        if owned.intersection(others):
            raise BadFile(f"{where}.data.pool.others", "has a block that a request of the workload holds")

    def _refuse_memory(self, data: Pass, where: str) -> None:
        most, region, slots = self._rounds[self._round].blocks, data.pool.region, data.pool.slots
        if region and (region.blocks > most or region.first + region.blocks > data.pool.blocks):
            raise BadFile(f"{where}.region", "has more blocks than the round or the pool")
        if region:
            for number, state in enumerate(data.requests):
                _refuse_gaps(state.table, range(region.first, region.first + region.blocks), number, where)
        if slots is None:
            return
        if slots.filled + slots.empty + slots.cached + slots.free != most * self._block_size:
            raise BadFile(f"{where}.slots", f"are not those of {most} blocks")
        if (slots.longest or 0) > slots.free:
            raise BadFile(f"{where}.slots.longest", "is more than is free")

    def _refuse_cached(self, data: Pass, where: str) -> None:
        if data.pool.cached is None:
            return
        blocks = [each.block for each in data.pool.cached]
        _refuse_blocks(blocks, data.pool.blocks, where)
        if not {block for state in data.requests for block in state.table}.union(data.pool.others).isdisjoint(blocks):
            raise BadFile(where, "has a block that a request or another run holds")
        if any(each.request >= len(self._requests) for each in data.pool.cached):
            raise BadFile(where, "belongs to a request that does not exist")

    def _refuse_events(self, events: Sequence[ServingEvent], where: str) -> None:
        settings = self._rounds[self._round]
        of_round = {"moved": settings.engines is not None and settings.engines.prefill > 0}
        of_round |= dict.fromkeys(("stored", "fetched"), settings.tier != "none")
        for at, event in enumerate(events):
            if not of_round.get(event.what, True):
                raise BadFile(f"{where}[{at}]", f"is {event.what}, which this round does not do")
            numbers = [event.request, *([] if event.other is None else [event.other])]
            if any(number >= len(self._requests) for number in numbers):
                raise BadFile(f"{where}[{at}]", "belongs to a request that does not exist")
            if event.why == "stretch" and None in (event.count, event.free, event.longest):
                raise BadFile(f"{where}[{at}]", "does not say how many blocks are needed, and free in all and in a row")
            if event.what in COPIED and None in (event.bytes, event.took_ms):
                raise BadFile(f"{where}[{at}]", "does not say how many bytes were copied, and how long it took")
            if (event.what in COUNTED and event.count is None) or (event.what == "shared" and event.other is None):
                raise BadFile(f"{where}[{at}]", f"does not say of how much or with whom it was {event.what}")


def tokens_of(data: Pass) -> Iterator[Token]:
    """Yields all tokens that a pass produced."""
    for member in data.members:
        yield from () if member.token is None else (member.token, *member.more)


def _refuse_gaps(table: Sequence[int], region: range, number: int, where: str) -> None:
    if table and not (table[0] in region and list(table) == list(range(table[0], table[0] + len(table)))):
        raise BadFile(f"{where}.region", f"is not that of request {number}: its blocks are not one stretch of it")


def _refuse_blocks(table: Sequence[int], blocks: int, where: str) -> None:
    if len(set(table)) != len(table) or any(block >= blocks for block in table):
        raise BadFile(where, f"has a block twice, or one beyond the {blocks} that there are")
