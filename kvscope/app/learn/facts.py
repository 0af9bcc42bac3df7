"""The facts of one run that expressions in a lesson may name, from its frames (docs/lessons.md lists them)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kvscope.app import numbers
from kvscope.app.numbers import NARROW_SPACE, fixed, size
from kvscope.model.log.reader import LogReader

ByHand = Callable[[str], Mapping[str, Any]]
"""Returns the values of a worked example, "a" or "b", as GET /api/by-hand/… does. Raises what the engine raises."""


class Pending(LookupError):
    """A value that will exist later; the message says when."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Values and functions by name."""

    names: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]]


MOST_DIGITS = 40


def written(text: str) -> str:
    """Writes a token as in a sentence: without the space before it, a newline as ⏎."""
    return text.removeprefix(" ").replace("\n", "⏎")


def percent(share: float) -> str:
    """Writes a share in whole percent; with decimals near 0 and 1, and bounds in words."""
    value = 100 * share
    text = numbers.percent(share, 1 if value >= 98.5 else 0 if value >= 0.95 else 1 if value >= 0.095 else 2)
    return text.replace(f"<{NARROW_SPACE}", "less than ").replace(f">{NARROW_SPACE}", "more than ")


FORMATS: Mapping[str, Callable[..., Any]] = {
    "percent": percent,
    "size": size,
    "fixed": lambda value, digits=3: fixed(value, min(max(int(digits), 0), 12), grouped=True),
    "round": lambda value, digits=0: round(value, min(max(int(digits), -MOST_DIGITS), MOST_DIGITS)),
    "int": int,
    "abs": abs,
    "min": min,
    "max": max,
    "len": len,
    "sum": lambda values: sum(values[:10_000]),
    "sqrt": math.sqrt,
    "exp": lambda value: math.exp(min(value, 700)),
    "ceil": math.ceil,
}
"""Functions that need no run."""


def no_run(by_hand: ByHand) -> Facts:
    """Returns the facts of a lesson without a run."""
    return Facts({}, {**FORMATS, "by_hand": _by_hand(by_hand)})


def facts_of(run: LogReader, by_hand: ByHand) -> Facts:
    """Returns a run's facts. Their functions raise LookupError for a step, layer, head or position out of range."""
    model = run.open["model"]
    steps = [_step(step) for step in run.steps]
    local = sum(window is not None for window in model.get("windows") or ())
    counted = {"head_count": model["layers"] * model["heads"]}
    names = {
        "model": {**model, **counted, "local_layers": local, "global_layers": model["layers"] - local},
        "prompt": {"tokens": run.prompt_length, "text": run.prompt},
        "tokens": [written(token["text"]) for token in run.tokens],
        "steps": steps,
        "answer": {"tokens": len(steps), "text": "".join(token["text"] for token in run.tokens[run.prompt_length :])},
        "sampling": run.open.get("sampling") or {},
        "block_size": run.open.get("block_size"),
        "reason": run.reason or "",
        "passes": run.passes,
        "rounds": run.rounds,
        **({"kv": _kv(model, run.steps[-1]["kv"])} if run.steps and "kv" in run.steps[-1] else {}),
    }
    return Facts(names, {**FORMATS, "by_hand": _by_hand(by_hand), **_functions(run)})


def _step(step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "token": {**step["token"], "text": written(step["token"]["text"])}}


def _kv(model: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    """Returns the last step's cache. `bytes_per_token`: measured bytes per position; `formula`: by idea C26."""
    formula = 2 * model["layers"] * model["kv_heads"] * model["head_dim"] * model["element_bytes"]
    return {**last, "bytes_per_token": last["bytes_used"] // last["positions"], "formula": formula}


def _functions(run: LogReader) -> dict[str, Callable[..., Any]]:
    def token(position: int) -> str:
        return written(run.tokens[_at(position, run.tokens, "position")]["text"])

    def weight(layer: int, head: int, query: int, key: int) -> float:
        step = max(0, query - run.prompt_length + 1)
        rows = run.rows(step)
        if query not in rows or not 0 <= key <= query:
            raise LookupError(f"no step of this run computed the weight of query {query} and key {key}")
        return float(run.attention(step, layer, head)[query - rows.start, key])

    def strongest(layer: int, head: int, query: int, *without: int) -> int:
        weights = {key: weight(layer, head, query, key) for key in range(query + 1) if key not in without}
        return max(weights, key=lambda key: weights[key])

    def experts(layer: int, position: int) -> list[int]:
        return [expert for expert, _ in run.experts(layer, position)]

    def share(layer: int, position: int, rank: int) -> float:
        shares = run.experts(layer, position)
        return shares[_at(rank, shares, "rank")][1]

    def logit(step: int, rank: int) -> float:
        logits = run.top_logits(_at(step, run.steps, "step"))
        return float(logits[_at(rank, logits, "rank")])

    def chance(step: int, rank: int) -> float:
        return math.exp(logit(step, rank) - run.steps[step]["log_z"])

    def sampled_chance(step: int, rank: int) -> float:
        """Returns a candidate's probability among those that the run sampled from. Greedy: 1 for rank 0, else 0."""
        score, settings, at = (
            logit(step, rank),
            run.open.get("sampling") or {},
            run.steps[_at(step, run.steps, "step")],
        )
        if settings.get("strategy") != "sample":
            return float(rank == 0)
        token = at["token"]
        if token.get("forced") or token["prob"] is None:
            raise LookupError(f"the token of step {step} was set, not chosen, so nothing is known of its filters")
        # The chosen token was scaled and filtered in the same way.
        chosen = math.log(token["raw_prob"]) + at["log_z"]
        is_possible = rank < at["filters"]["kept_top_p"]
        return token["prob"] * math.exp((score - chosen) / settings["temperature"]) if is_possible else 0.0

    def candidate(step: int, rank: int) -> str:
        tokens = run.steps[_at(step, run.steps, "step")]["top_tokens"]
        return written(tokens[_at(rank, tokens, "rank")]["text"])

    def rows(number: int) -> int:
        members = run.passes[_at(number, run.passes, "pass")]["members"]
        return sum(member["rows"] for member in members)

    def blocks(number: int) -> int:
        """Returns the number of distinct blocks of a pass's running requests."""
        requests = run.passes[_at(number, run.passes, "pass")]["requests"]
        return len({block for request in requests if request["state"] == "running" for block in request["table"]})

    return {
        "rows": rows,
        "blocks": blocks,
        "token": token,
        "weight": weight,
        "strongest": strongest,
        "experts": experts,
        "share": share,
        "chance": chance,
        "sampled_chance": sampled_chance,
        "logit": logit,
        "candidate": candidate,
        "prob": lambda step: run.steps[_at(step, run.steps, "step")]["token"]["prob"],
    }


def _by_hand(answers: ByHand) -> Callable[..., Any]:
    def value(example: str, name: str, *places: int) -> Any:
        """Returns a number, row or matrix of a worked example: by_hand("a", "prefill.weights", 0, 2, 1) is the weight
        of query 2 on key 1 in head 0.
        """
        result: Any = answers(example)
        for part in name.split("."):
            if not isinstance(result, Mapping) or part not in result:
                raise LookupError(f"the example {example} has no {name}; here it has {', '.join(map(str, result))}")
            result = result[part]
        for index in places:
            result = result[_at(index, result, "place")]
        return result

    return value


def _at(index: int, things: Any, what: str) -> int:
    if not isinstance(index, int) or not 0 <= index < len(things):
        raise LookupError(f"this run has no {what} {index}; it has 0 to {len(things) - 1}")
    return index
