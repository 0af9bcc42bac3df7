"""The head that a saved session opens with, and where it looks, from the frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kvscope.model.companding import weight_of
from kvscope.model.log import frames as codec

NEAREST = 2
CELLS = 32 * 32


class NothingToShow(Exception):
    """The frames lack the weights of that head."""


@dataclass(frozen=True, slots=True)
class OpeningHead:
    """One head at one step. A weight w is stored as in the frames: 255·√w, rounded."""

    layer: int
    head: int
    query: int
    """The position that looks."""
    tokens: list[dict[str, Any]]
    """All tokens of the run: prompt and answer."""
    prompt_length: int
    rows: list[bytes]
    """For each query from 0 to `query`, its weights on keys 0 … query; empty for a row from the cache."""

    @property
    def key(self) -> int:
        """The key with the largest weight."""
        row = self.rows[-1]
        return row.index(max(row))

    @property
    def share(self) -> float:
        """The weight of `query` on `key`, from 0 to 1."""
        return weight_of(max(self.rows[-1]))


def opening_head(payloads: Iterable[bytes], opens: dict[str, Any]) -> OpeningHead:
    """Returns what the page shows first of a run with these frames, opened at `opens` (docs/sessions.md).

    Raises NothingToShow unless the log is a run's with a complete step.
    """
    try:
        return _opening_head(payloads, opens)
    except (codec.BadFrame, LookupError, TypeError, ValueError) as error:
        raise NothingToShow(str(error)) from error


def _opening_head(payloads: Iterable[bytes], opens: dict[str, Any]) -> OpeningHead:
    stored = list(payloads)
    headers = list(map(codec.header, stored))
    opening = headers[0].data
    steps = [header.data for header in headers if header.kind == "step"]
    prompt_length = len(opening["tokens"])
    newest = prompt_length - 1 + min(opens["step"] or 0, len(steps) - 1)
    reused = opening["reused"]
    query = newest if opens["query"] is None else max(reused, min(opens["query"], newest))
    layers = [(header.data, payload) for header, payload in zip(headers, stored, strict=True) if header.kind == "layer"]
    if opens["layer"] is None and opens["head"] is None:
        layer, head = telling_head([part for part in layers if part[0]["step"] == 0], prompt_length)
    else:
        layer, head = opens["layer"] or 0, opens["head"] or 0
    rows = {at: row for part in layers for at, row in _rows_of(part, layer, head)}
    tokens = [*opening["tokens"], *(step["token"] for step in steps)]
    return OpeningHead(
        layer, head, query, tokens, prompt_length, [b"" if at < reused else rows[at] for at in range(query + 1)]
    )


def telling_head(prefill: list[tuple[dict[str, Any], bytes]], prompt_length: int) -> tuple[int, int]:
    """Returns the head that the page chooses for a run that names none, as static/stage/facts/opening-head.js does."""
    strongest: dict[tuple[int, int], int] = {}
    first = max(0, prompt_length - math.ceil(CELLS / prompt_length))
    for data, payload in prefill:
        (layers, heads, queries, keys), values = codec.octets(payload, "attention")
        for layer in range(layers):
            for head in range(heads):
                place = (data["first_layer"] + layer, data["first_head"] + head)
                for index in range(queries):
                    query = data["first_query"] + index
                    at = ((layer * heads + head) * queries + index) * keys
                    if query >= first and query - NEAREST >= 1:
                        most = max(values[at + 1 : at + query - NEAREST + 1])
                        strongest[place] = max(strongest.get(place, 0), most)
    most = max(strongest.values(), default=0)
    return min((place for place, value in strongest.items() if value == most), default=(0, 0)) if most else (0, 0)


def _rows_of(part: tuple[dict[str, Any], bytes], layer: int, head: int) -> Iterator[tuple[int, bytes]]:
    """Yields a head's query rows in a part of a step, each with its position, without later keys."""
    data, payload = part
    (layers, heads, queries, keys), values = codec.octets(payload, "attention")
    within = layer - data["first_layer"], head - data["first_head"]
    if not (0 <= within[0] < layers and 0 <= within[1] < heads):
        return
    for index in range(queries):
        query = data["first_query"] + index
        at = ((within[0] * heads + within[1]) * queries + index) * keys
        yield query, bytes(values[at : at + query + 1])
