"""Runs that another program computed: `kvscope.from_cache`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvscope.app.engine.process import resolve
from kvscope.app.reader.errors import CannotRun
from kvscope.app.reader.live import content_of
from kvscope.app.reader.run import Run
from kvscope.app.run_bodies import new_id
from kvscope.model.api import Refused

LOG_OF = "kvscope.model.observed.caches:log_of"


def from_cache(
    cache: object,
    *,
    tokens: object = None,
    logits: object = None,
    tokenizer: object,
    model: Mapping[str, Any] | None = None,
) -> Run:
    """Returns a run that another program computed, from what it returned of its passes.

    `cache`: a cache of TransformerLens (`run_with_cache`); outputs of `transformers`, of a forward pass with
    `output_attentions=True`, or of `generate` with `return_dict_in_generate=True, output_attentions=True,
    output_logits=True`; or arrays by name, of one pass over all tokens: `attention` [layer, head, query, key], weights
    after softmax, and perhaps `q`, `k`, `v` [layer, head, position, width] and `residual` [layer, position, width].
    `tokens`: the ids of all tokens of the run; `generate` returns them itself. `logits`: [position, vocabulary], at
    least of the last position; outputs of `transformers` have them. `tokenizer`: with which the tokens were made.
    `model`: facts about the model by the names of docs/frames.md, such as {"name": "pythia-70m"}. What is not known is
    left out of the run.

    Of one pass, the run has one step, whose token is the likeliest one. Raises CannotRun, naming the argument.
    """
    try:
        payloads, exact = resolve(LOG_OF)(new_id(), cache, tokens, logits, tokenizer, model)
    except Refused as refused:
        raise CannotRun(str(refused)) from None
    return Run(content_of(payloads, exact))
