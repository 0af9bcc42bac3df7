"""What texts and claims of tools/record/recipes.toml can say of a recorded run, computed from its frames.

A text has measures in braces, `{weight 13 8 8 1}`; a claim is a line such as `best-head 8 1 13 8`. Tokens are named by
their position in the run, prompt first; weights are those of the frames, within 0.004 of the model's own
(docs/frames.md).
"""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from kvscope.app.learn.facts import percent, written
from kvscope.model.companding import decompand
from kvscope.model.log.reader import LogReader

SHOWN_SPACE = "␣"
"""Stands for a space at the beginning of a token in a claim."""


class Recorded:
    """A whole run. `attention`: weights, float32 [layers, heads, queries, keys]; `steps`: data of the step frames."""

    def __init__(self, payloads: Iterable[bytes]) -> None:
        log = LogReader(payloads)
        self.open, self.steps, self.tokens = log.open, log.steps, log.tokens
        self.prompt_length = log.prompt_length
        self.shades = log.companded_run()
        self.experts = log.experts
        self.attention = decompand(self.shades)
        self.top_ids = [log.top_ids(step) for step in range(len(log.steps))]
        self.top_logits = [log.top_logits(step) for step in range(len(log.steps))]

    def text(self, position: int) -> str:
        """Returns a token as in a sentence: without the space before it, a newline as ⏎."""
        return written(self.tokens[position]["text"])

    def chance(self, step: int, rank: int) -> float:
        """Returns the probability of the token of this rank under softmax of the raw logits."""
        return math.exp(float(self.top_logits[step][rank]) - self.steps[step]["log_z"])


def _chance_of(run: Recorded, step: int, text: str) -> str:
    ranks = [rank for rank, token in enumerate(run.steps[step]["top_tokens"]) if token["text"] == text]
    return percent(run.chance(step, ranks[0]))


MEASURES: dict[str, Callable[..., str]] = {
    "heads": lambda run: str(run.open["model"]["layers"] * run.open["model"]["heads"]),
    "prompt-tokens": lambda run: str(run.prompt_length),
    "token": lambda run, position: run.text(position),
    "weight": lambda run, layer, head, query, key: percent(run.attention[layer, head, query, key]),
    # Of the chosen token: in the distribution that it was drawn from, and in softmax of the raw logits.
    "prob": lambda run, step: percent(run.steps[step]["token"]["prob"]),
    "raw": lambda run, step: percent(run.steps[step]["token"]["raw_prob"]),
    "candidate": lambda run, step, rank: written(run.steps[step]["top_tokens"][rank]["text"]),
    # In a model with local layers: keys that a query reads, positions that a local layer and all others hold.
    "window": lambda run, layer: str(run.open["model"]["windows"][layer]),
    "held": lambda run, step: str(run.steps[step]["kv"]["windowed"]["positions"]),
    "positions": lambda run, step: str(run.steps[step]["kv"]["positions"]),
    "experts": lambda run, layer, position: " and ".join(
        f"{expert} ({percent(share)})" for expert, share in run.experts(layer, position)
    ),
    "chance-at": lambda run, step, rank: percent(run.chance(step, rank)),
}


def render(text: str, run: Recorded) -> str:
    """Returns the text with the values of its measures. Raises KeyError, IndexError for one that the run lacks."""

    def measure(match: re.Match[str]) -> str:
        name, *arguments = match[0][1:-1].split(" ")
        if name == "chance":
            return _chance_of(run, int(arguments[0]), arguments[1].replace(SHOWN_SPACE, " "))
        return MEASURES[name](run, *map(int, arguments))

    return re.sub(r"\{[^{}]+\}", measure, text)


def _best_head(run: Recorded, query: int, key: int, layer: int, head: int) -> bool:
    """Returns whether no head puts more of the query's attention on the key."""
    return bool(run.shades[layer, head, query, key] == run.shades[:, :, query, key].max())


def _same(run: Recorded, first: int, second: int) -> bool:
    """Returns whether the same token is at both positions."""
    return bool(run.tokens[first]["id"] == run.tokens[second]["id"])


def _likeliest(run: Recorded, step: int) -> bool:
    """Returns whether the chosen token has the largest logit."""
    return bool(run.steps[step]["token"]["id"] == run.top_ids[step][0])


def _rises(run: Recorded, *steps: int) -> bool:
    """Returns whether the probability of the chosen token is larger at each step than at the one named before it."""
    shares = [run.steps[step]["token"]["prob"] for step in steps]
    return all(before < after for before, after in pairwise(shares))


CLAIMS: dict[str, Callable[..., bool]] = {
    "best-head": _best_head,
    "same": _same,
    "likeliest": _likeliest,
    "global": lambda run, layer: run.open["model"]["windows"][layer] is None,
    "rises": _rises,
}


def holds(claim: str, run: Recorded) -> bool:
    """Returns whether a claim is true of the run. Raises KeyError, IndexError for a claim about what the run does not
    have.
    """
    name, *arguments = claim.split(" ")
    if name == "written":
        first, texts = int(arguments[0]), [text.replace(SHOWN_SPACE, " ") for text in arguments[1:]]
        return [token["text"] for token in run.tokens[first : first + len(texts)]] == texts
    return CLAIMS[name](run, *map(int, arguments))


def picture_of(kind: str, place: dict[str, Any], run: Recorded) -> dict[str, Any]:
    """Returns what a card draws: the run's tokens, and the opening head's rows up to the opening query, or a chance per
    step.

    `attention`: `shades` is base64 of U8 rows 0 … query of the head, companded, row q with q + 1 keys. `chances`:
    `shares` is the raw probability of each chosen token, `most` that of the most probable one.
    """
    if kind == "chances":
        shares = [round(step["token"]["raw_prob"], 4) for step in run.steps]
        most = [round(run.chance(step, 0), 4) for step in range(len(run.steps))]
        tokens = _texts(run, len(run.tokens))
        return {"kind": kind, "tokens": tokens, "prompt": run.prompt_length, "shares": shares, "most": most}
    query, head = place["query"], run.shades[place["layer"], place["head"]]
    rows = b"".join(head[row, : row + 1].tobytes() for row in range(query + 1))
    return {
        "kind": kind,
        "tokens": _texts(run, query + 1),
        "key": place["key"],
        "shades": b64encode(rows).decode(),
    }


def _texts(run: Recorded, count: int) -> list[str]:
    """Returns the texts of the first `count` tokens."""
    return [token["text"] for token in run.tokens[:count]]
