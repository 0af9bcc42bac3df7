"""The memory of a round without paging: each request reserves consecutive blocks for the longest answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import Sequence as CacheSequence
from kvscope.model.log import schema
from kvscope.model.region import Region
from kvscope.model.serving.request import ServedRequest, Tokenized
from kvscope.model.serving.room import Reason, Room
from kvscope.model.settings import Contiguous, ServingSettings


class ContiguousRoom(Room):
    """A `Room` without paging. All requests wait until its region can be cleared."""

    def __init__(
        self,
        engine: Engine,
        settings: ServingSettings,
        contiguous: Contiguous,
        by_key: Mapping[str, ServedRequest],
        evicted: Callable[[ServedRequest, int], None],
    ):
        super().__init__(engine, settings, by_key, evicted)
        self._new_tokens = contiguous.new_tokens
        self._region: Region | None = None

    @property
    def sharers(self) -> list[str]:
        """No runs: two stretches never share a block."""
        return []

    @property
    def region(self) -> schema.Region | None:
        """The consecutive blocks that have all stretches, None until they are cleared."""
        if self._region is None:
            return None
        return schema.Region(first=self._region.blocks.start, blocks=len(self._region.blocks))

    def prepare(self) -> None:
        """Clears the region, unless it is cleared already."""
        if self._region is None and (blocks := self._engine.scheduler.clear(self._settings.blocks)):
            self._region = Region(self._engine.cache, blocks)

    def most_blocks(self, asked: Tokenized) -> int:
        """Returns the blocks that a request reserves."""
        return asked.most_blocks(self._new_tokens)

    def for_newcomer(self, request: ServedRequest, running: Sequence[ServedRequest]) -> bool:
        """Returns whether a free stretch is long enough for the request."""
        return self.most_blocks(request.asked) <= self.longest

    def why_not(self, request: ServedRequest, running: Sequence[ServedRequest]) -> Reason:
        """Returns why the request waits: too few blocks are free, or no free stretch is long enough."""
        needed = self.most_blocks(request.asked)
        return Reason("stretch" if needed <= self.free else "blocks", needed, self.free, self.longest)

    def reserve(self, request: ServedRequest) -> CacheSequence | None:
        """Reserves and returns a request's stretch, after `for_newcomer` returned True."""
        assert self._region is not None
        return self._region.take(self.most_blocks(request.asked))

    @property
    def free(self) -> int:
        """Blocks in no stretch."""
        return self._region.free if self._region else 0

    @property
    def longest(self) -> int:
        """Blocks in the longest free stretch."""
        return self._region.longest if self._region else 0

    def slots(self) -> schema.Slots | None:
        """Returns how the region's slots are used, None until it is cleared."""
        return super().slots() if self._region else None

    def close(self) -> None:
        """Gives the region back to the pool."""
        if self._region:
            self._region.close()
            self._region = None
