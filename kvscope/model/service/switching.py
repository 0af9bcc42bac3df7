"""Prepares the rows that replace a switched part's, for the question about effects."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import assert_never

from torch import Tensor

from kvscope.model.activations.effects import Rows, mean_rows, part_at, parts_in_pass, site_rows
from kvscope.model.api import MAX_COMPARED, MAX_REFERENCES, EffectOf, Refused, Switching
from kvscope.model.engine.engine import Engine

REFERENCES: tuple[str, ...] = tuple(
    json.loads(Path(__file__).parents[1].joinpath("activations", "reference.json").read_text("utf-8"))
)
"""The prompts of the reference set that ships with KVScope, on different subjects."""
MEANS = 8
"""How many means stay cached: a page asks several times for the parts of one measurement."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """`rows`: what replaces a part's rows, None for zeros. `other`: the ids of the other text of `resample`.

    `prompts`: the other prompts that the rows are computed from.
    """

    rows: Rows | None = None
    other: list[int] | None = None
    prompts: tuple[str, ...] = ()


class Replacing:
    """`encode(text, chat)` returns the ids of a prompt; it may raise Refused."""

    def __init__(self, engine: Engine, encode: Callable[[str, bool], list[int]]):
        self._engine, self._encode = engine, encode
        self._means = lru_cache(MEANS)(self._mean)

    def of(self, ids: list[int], of: EffectOf, first: int, switching: Switching) -> Replacement:
        """Returns what replaces the parts that one pass from part `first` on computes.

        Raises Refused and CacheFull.
        """
        if switching.switch == "zero":
            return Replacement()
        if of == "tokens":
            message = f"switch is {switching.switch}; it must be zero for tokens, which are left out of the text."
            raise Refused("switch", message, limit=["zero"])
        match switching.switch:
            case "mean":
                return Replacement(self._means(of, (tuple(ids[: switching.prompt]),)).__getitem__)
            case "reference":
                prompts = self._prompts(switching.source)
                texts = tuple(tuple(self._encoded(prompt, switching.chat)) for prompt in prompts)
                return Replacement(self._means(of, texts).__getitem__, prompts=prompts)
            case "resample":
                other = self._other(ids, switching)
                return Replacement(self._resampled(ids, of, first, other), other, (switching.source,))
            case unknown:
                assert_never(unknown)

    def _resampled(self, ids: list[int], of: EffectOf, first: int, other: list[int]) -> Rows:
        config = self._engine.transformer.config
        parts = [part_at(of, config, ids, index) for index in parts_in_pass(of, config, ids, first)]
        return site_rows(self._engine, of, other, sorted({part.layer for part in parts})).__getitem__

    def _mean(self, of: EffectOf, texts: tuple[tuple[int, ...], ...]) -> Tensor:
        return mean_rows(self._engine, of, texts)

    def _other(self, ids: list[int], switching: Switching) -> list[int]:
        """Returns the other text: the source's tokens, then the step's tokens after the run's prompt."""
        source = self._encoded(switching.source, switching.chat)
        if len(source) != switching.prompt:
            message = f"The other prompt (source) has {len(source):,} tokens "
            message += f"and the run's prompt has {switching.prompt:,}; "
            message += "they must have the same number, so that each row has its counterpart."
            raise Refused("source", message, limit=switching.prompt)
        return source + ids[switching.prompt :]

    def _prompts(self, source: str) -> tuple[str, ...]:
        prompts = tuple(line for line in source.splitlines() if line.strip()) or REFERENCES
        if len(prompts) > MAX_REFERENCES:
            message = f"source has {len(prompts)} prompts, one per line; at most {MAX_REFERENCES} can be averaged."
            raise Refused("source", message, limit=MAX_REFERENCES)
        return prompts

    def _encoded(self, prompt: str, chat: bool) -> list[int]:
        ids = self._encode(prompt, chat) if prompt.strip() else []
        if not 1 <= len(ids) <= MAX_COMPARED:
            shown = "source is empty" if not ids else f"A prompt in source has {len(ids):,} tokens"
            message = f"{shown}; each other prompt must have from 1 to {MAX_COMPARED} tokens."
            raise Refused("source", message, limit=[1, MAX_COMPARED])
        return ids
