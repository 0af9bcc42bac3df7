"""How many bytes a log can come to have, known before it is begun: a server lets in no more than it has room for.

Each is a bound and not a guess, but for how long the texts of tokens are, of which some room is allowed for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kvscope.model.api import Policy
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.log.frames import MAX_FRAME_BYTES
from kvscope.model.log.recorder import HEADER_ROOM, Shape, tiles
from kvscope.model.settings import MAX_ASKS, MAX_PROMPT_TOKENS, MAX_WORKLOAD_TOKENS, ServingSettings

TOKEN_BYTES = 160
"""Of a token that is told of, with what is said of it in a list: text, bytes, numbers."""
STEP_BYTES = 3 * 256 * 4 + 32 * TOKEN_BYTES + 2 * HEADER_ROOM
"""Of a `step` frame: its three tensors, the tokens that it names, and numbers."""
STATE_BYTES, EVENTS_PER_REQUEST = 100, 8
"""Of one request in a `pass` frame, without its blocks; and how many things may happen to it in a round."""
NUMBER_BYTES = 5
"""Of a block's number in a list."""


def of_steps(shape: Shape, first: int, prompt: int, last: int, chunk: int) -> int:
    """The frames of a run from position `first` on, whose prompt has `prompt` tokens, up to position `last`, which is
    fed no more; `chunk` rows of the prompt are computed in a pass.
    """
    passes = [range(row, min(row + chunk, prompt)) for row in range(first, prompt, chunk)]
    passes += [range(row, row + 1) for row in range(max(first, prompt), last)]
    return sum(_of_layers(shape, rows) for rows in passes) + (last - max(first, prompt - 1)) * of_step(shape, last)


def of_step(shape: Shape, positions: int) -> int:
    """A `step` frame, when so many are in the cache: it names its blocks twice, and a time for each layer."""
    return STEP_BYTES + 2 * NUMBER_BYTES * (positions // BLOCK_SIZE + 1) + 10 * shape.layers


def of_kept(model: Mapping[str, Any], policy: Policy, positions: int) -> int:
    """What the `step` frame of a twin that drops positions has beside that: a bit for each, and the token it would have
    chosen. Heavy hitters differ from one KV head to the next.
    """
    tables = model["layers"] * model["kv_heads"] if policy == "heavy" else 1
    return tables * -(-positions // 8) + 2 * TOKEN_BYTES


def of_beams(beams: int, length: int) -> int:
    """The frames of a beam search."""
    return length * (HEADER_ROOM + 2 * beams * 2 * TOKEN_BYTES)


def of_workload(prompts: Sequence[int], new: Sequence[int], rounds: Iterable[ServingSettings], pool: int) -> int:
    """The `pass` and `round` frames of a workload whose requests have such prompts and ask for so many tokens; `pool`:
    blocks of the engine's cache. Of one round, others may join it.
    """
    rounds = list(rounds)
    if len(rounds) == 1:
        missing = MAX_ASKS - len(prompts)
        prompts, new = [*prompts, *[MAX_PROMPT_TOKENS] * missing], [*new, *[MAX_WORKLOAD_TOKENS] * missing]
    size = 0
    for settings in rounds:
        # In each pass somebody gets on by a chunk or a token; who gives way reads what it had once more.
        passes = 2 * sum(-(-prompt // settings.chunk) + tokens for prompt, tokens in zip(prompts, new, strict=True))
        drafted = settings.draft.tokens if settings.draft else 0
        members = min(settings.at_once, len(prompts)) * (1 + drafted) * TOKEN_BYTES
        told = HEADER_ROOM + len(prompts) * STATE_BYTES + members + NUMBER_BYTES * (pool + 2 * settings.blocks)
        events = EVENTS_PER_REQUEST * len(prompts) * STATE_BYTES
        size += passes * min(told, MAX_FRAME_BYTES) + events + HEADER_ROOM
    return size


def _of_layers(shape: Shape, rows: range) -> int:
    """The `layer` frames of a pass over these rows."""
    return sum(
        HEADER_ROOM
        + (layers.stop - layers.start)
        * (queries.stop - queries.start)
        * ((heads.stop - heads.start) * (rows.start + queries.stop) + (shape.row_norms if heads.start == 0 else 0))
        for layers, heads, queries in tiles(shape, rows.start, len(rows))
    )
