"""Divides the rows of a pass among the requests of a round, as vLLM does with max_num_batched_tokens.

vLLM V1 (docs.vllm.ai, Optimization and Tuning, Chunked Prefill) puts all requests that only need their next token in a
pass first, and fills the rest of its budget with parts of prompts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kvscope.model.engine.run import Run
from kvscope.model.settings import ServingSettings


def divide(runs: Sequence[Run], settings: ServingSettings) -> int:
    """Sets how many rows of each run's prompt the next pass reads, and returns how many rows more it may have.

    A run that needs only its next token has one row, and one for each guess. The others share the rest of the budget in
    the order of `runs`, each at most `settings.chunk` rows.
    """
    left = sys.maxsize if settings.budget is None else settings.budget
    left -= sum(1 + run.most_guesses for run in runs if is_next_token(run))
    for run in runs:
        if is_next_token(run):
            run.chunk = settings.chunk
        else:
            run.chunk = min(settings.chunk, run.unfed, left)
            left -= run.chunk
    return left


def is_next_token(run: Run) -> bool:
    """Returns whether only the run's newest token is still to be fed."""
    return run.step > 0 and run.unfed == 1
