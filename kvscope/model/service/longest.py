"""Derives the most positions of a run from the model's context, the cache and the machine's memory."""

from __future__ import annotations

import os
from math import isqrt

from kvscope.model.config import ModelConfig
from kvscope.model.kv_cache import BLOCK_SIZE

LEAST_LONGEST = 768
"""The derived limit is at least this, if the model's context and the cache have room."""
LOG_SHARE = 1 / 32
"""Share of the machine's memory that the attention weights of the longest log may take, where the limit is derived."""
BROWSER_PROMPT_TOKENS, BROWSER_NEW_TOKENS = 512, 256
"""Most tokens of a prompt and an answer where the model runs in a browser."""


def longest_run(config: ModelConfig, capacity: int, asked: int = 0, memory: int | None = None) -> int:
    """Returns the most positions of a run, prompt and answer together.

    `capacity`: positions in the cache. `asked`: the operator's limit; 0 derives one: two runs of this length fit into
    the half of the cache that runs use, and the log of one, a byte for each attention weight (layers · heads ·
    positions² ÷ 2), takes `LOG_SHARE` of `memory`. `memory`: bytes; None for what the machine has.
    """
    half = capacity // 2 // BLOCK_SIZE * BLOCK_SIZE
    if asked:
        return min(config.context, half, asked)
    if memory is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    logged = isqrt(int(2 * LOG_SHARE * memory) // (config.layers * config.heads)) // BLOCK_SIZE * BLOCK_SIZE
    return min(config.context, half, max(LEAST_LONGEST, min(half // 2, logged)))
