"""Computes the most bytes that a log can have before it begins, so that a server accepts only runs that fit.

Each result is an upper bound, except that tokens' texts are assumed to fit into TOKEN_BYTES.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvscope.model.api import Policy
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.log.frames import MAX_FRAME_BYTES, MAX_OPENING_BYTES
from kvscope.model.log.recorder import HEADER_ROOM, Shape, tiles
from kvscope.model.settings import MAX_ASKS, MAX_JOIN_PROMPT, MAX_JOIN_TOKENS, ServingSettings, has_states

TOKEN_BYTES = 160
"""Bytes of one token in a list: its text, bytes and numbers."""
STEP_BYTES = 3 * 256 * 4 + 32 * TOKEN_BYTES + 2 * HEADER_ROOM
"""Bytes of a `step` frame: its three tensors, the tokens that it names, and numbers."""
STATE_BYTES, EVENTS_PER_REQUEST = 100, 8
"""Bytes of one request in a `pass` frame, without its blocks; and how many events it may have in a round."""
NUMBER_BYTES = 5
"""Bytes of a block's number in a list."""
CACHED_BYTES = 32
"""Bytes of a cached block in a list, with the request that computed it."""


def of_opening(tokens: int) -> int:
    """Returns the bytes of the `open` frame of a prompt of so many tokens, and of the `close` frame."""
    return min(MAX_FRAME_BYTES + tokens * TOKEN_BYTES, MAX_OPENING_BYTES) + HEADER_ROOM


def of_steps(shape: Shape, first: int, prompt: int, last: int, chunk: int) -> int:
    """Returns the bytes of a run's `layer` and `step` frames from position `first` to before `last`.

    The prompt has `prompt` tokens; a pass computes `chunk` of its rows.
    """
    passes = [range(row, min(row + chunk, prompt)) for row in range(first, prompt, chunk)]
    passes += [range(row, row + 1) for row in range(max(first, prompt), last)]
    return sum(_of_layers(shape, rows) for rows in passes) + (last - max(first, prompt - 1)) * of_step(shape, last)


def of_step(shape: Shape, positions: int) -> int:
    """Returns the bytes of a `step` frame with so many cached positions: each block twice, a time for each layer."""
    return STEP_BYTES + 2 * NUMBER_BYTES * (positions // BLOCK_SIZE + 1) + 10 * shape.layers


def of_kept(model: Mapping[str, Any], policy: Policy, positions: int) -> int:
    """Returns the further bytes of a `step` frame of a twin that drops positions: a bit for each position, and the
    token that it would have chosen. Heavy hitters differ between KV heads.
    """
    tables = model["layers"] * model["kv_heads"] if policy == "heavy" else 1
    return tables * -(-positions // 8) + 2 * TOKEN_BYTES


def of_beams(beams: int, length: int) -> int:
    """Returns the bytes of the frames of a beam search."""
    return length * (HEADER_ROOM + 2 * beams * 2 * TOKEN_BYTES)


def of_workload(prompts: Sequence[int], new: Sequence[int], rounds: Iterable[ServingSettings], pool: int) -> int:
    """Returns the bytes of a workload's `pass` and `round` frames. Requests may join a workload of one round.

    `prompts`: tokens of each request's prompt; `new`: most tokens of its answer; `pool`: blocks of the engine's cache.
    """
    rounds = list(rounds)
    if len(rounds) == 1:
        missing = max(0, MAX_ASKS - len(prompts))
        prompts, new = [*prompts, *[MAX_JOIN_PROMPT] * missing], [*new, *[MAX_JOIN_TOKENS] * missing]
    size = 0
    for settings in rounds:
        # Each engine of its own has a block list of its own, no longer than the round's.
        listed = settings.blocks if settings.engines else pool
        # Each pass computes a chunk or a token of a request; an evicted request computes its rows a second time.
        chunk = min(settings.chunk, settings.budget or settings.chunk)
        passes = 2 * sum(-(-prompt // chunk) + tokens for prompt, tokens in zip(prompts, new, strict=True))
        members = min(settings.at_once, len(prompts)) * (1 + settings.most_guessed) * TOKEN_BYTES
        states = len(prompts) if settings.engines is None and has_states(len(prompts)) else 0
        pass_bytes = HEADER_ROOM + states * STATE_BYTES + members + NUMBER_BYTES * (listed + 2 * settings.blocks)
        pass_bytes += CACHED_BYTES * settings.blocks if settings.prefix == "blocks" else 0
        events = EVENTS_PER_REQUEST * len(prompts) * STATE_BYTES
        size += passes * min(pass_bytes, MAX_FRAME_BYTES) + events + HEADER_ROOM
    return size


def _of_layers(shape: Shape, rows: range) -> int:
    """Returns the bytes of the `layer` frames of a pass over these rows."""
    return sum(
        HEADER_ROOM
        + (layers.stop - layers.start)
        * (queries.stop - queries.start)
        * ((heads.stop - heads.start) * (rows.start + queries.stop) + (shape.row_norms if heads.start == 0 else 0))
        for layers, heads, queries in tiles(shape, rows.start, len(rows))
    )
