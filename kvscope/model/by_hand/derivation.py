"""Computes a worked example: two passes of the normal engine with a cache, and one without."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kvscope.model.activations.observe import Observed, observe
from kvscope.model.api import Refused
from kvscope.model.by_hand.examples import MOST, MOST_TOKENS, MOST_WIDTH, NORM_EPS, Example, Head, Matrix, Phase
from kvscope.model.config import ModelConfig
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.source.step import StepLines, pass_lines
from kvscope.model.transformer import Transformer

_ATTENTION = ("q", "k", "v", "scores", "weights", "mixed", "change")
_POINTS = ("embedded", *(f"blocks.0.attn.{name}" for name in _ATTENTION), "final")
_REST = {
    "normed": "attn.normed",
    "mid": "resid_mid",
    "mlp_normed": "mlp.normed",
    "gate": "mlp.gate",
    "up": "mlp.raised",
    "hidden": "mlp.hidden",
    "change": "mlp.change",
    "out": "resid_out",
}
"""Hook points of what an example with an MLP adds, by the name in `Step.rest`."""
LEAST_TEMPERATURE = 0.01
"""The largest possible logits, divided by it, are still finite."""


@dataclass(frozen=True, slots=True)
class Step:
    """One pass: n new rows (the whole prompt, or one new token) of t rows in total. Float32 arrays."""

    x: np.ndarray
    """[n, d]"""
    q: np.ndarray
    """[heads, n, d_k]"""
    k: np.ndarray
    """[heads, t, d_k]: rows before the new ones are from the cache"""
    v: np.ndarray
    """[heads, t, d_k]"""
    scores: np.ndarray
    """[heads, n, t]: q · k, also of masked keys; computed from `q` and `k`, as the engine has only scaled scores"""
    scaled: np.ndarray
    """[heads, n, t]: q · k ÷ √d_k"""
    weights: np.ndarray
    """[heads, n, t]"""
    mixed: np.ndarray
    """[heads, n, d_k]: weights × v"""
    by_head: np.ndarray | None
    """[heads, n, d]: `mixed` × the head's rows of W_O; computed here, as the engine multiplies all heads at once"""
    output: np.ndarray | None
    """[n, d]: the concatenated heads × W_O"""
    rest: dict[str, np.ndarray] | None
    """Of an example with an MLP, by name, [n, width] each: `normed`, which Q, K and V are computed from; `mid`, x +
    output; `mlp_normed`, `gate`, `up`, `hidden` and `change` of the MLP; `out`, mid + change; `final` [1, d], the norm
    of the last row of `out`"""
    logits: np.ndarray | None
    """[vocabulary], of the last row"""
    probabilities: np.ndarray | None
    """[vocabulary]: softmax of logits ÷ temperature"""
    projections: int
    """Products of a row with W_Q, W_K or W_V in one head: three for each new row"""


@dataclass(frozen=True, slots=True)
class Derivation:
    """The prefill and the first decode step of an example."""

    prefill: Step
    token: int
    """The likeliest token, or the example's `given`."""
    decode: Step
    without_cache: Step
    """The decode step with every row computed again."""

    def as_json(self) -> dict[str, Any]:
        """Returns a value for JSON, with arrays as lists."""
        return {
            "token": self.token,
            "prefill": _step_json(self.prefill),
            "decode": _step_json(self.decode),
            "without_cache": _step_json(self.without_cache),
            "difference": float(abs(self.decode.mixed[:, 0] - self.without_cache.mixed[:, -1]).max()),
        }


def _step_json(step: Step) -> dict[str, Any]:
    values = {field.name: getattr(step, field.name) for field in fields(step)}
    return {name: _listed(value) for name, value in values.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _listed(each) for name, each in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def derive(example: Example) -> Derivation:
    """Computes an example. Raises Refused, naming the part, for shapes that do not fit and numbers too large or NaN."""
    _check(example)
    engine, prompt = Engine(_model(example), capacity=4 * BLOCK_SIZE), list(example.prompt)
    prefill = _step(engine, example, prompt, 0)
    token = example.given if prefill.probabilities is None else int(prefill.probabilities.argmax())
    assert token is not None
    decode = _step(engine, example, [*prompt, token], len(prompt))
    again = _step(Engine(engine.transformer, capacity=4 * BLOCK_SIZE), example, [*prompt, token], 0)
    return Derivation(prefill, token, decode, again)


def example_lines(example: Example, phase: Phase) -> StepLines:
    """Returns what each line of the model's source computed in a step of the example. Raises Refused."""
    derivation = derive(example)
    engine, prompt = Engine(_model(example), capacity=4 * BLOCK_SIZE), list(example.prompt)
    if phase == "prefill":
        return pass_lines(engine, prompt, 0, 0)
    return pass_lines(engine, [*prompt, derivation.token], len(prompt), 0)


def _check(example: Example) -> None:
    """Checks an example. Raises Refused, naming the part."""
    d, width = len(example.embeddings[0]), len(example.heads[0].w_q[0])
    if not 1 <= len(example.prompt) <= MOST_TOKENS:
        message = f"prompt has {len(example.prompt)} tokens; it must have 1 to {MOST_TOKENS}."
        raise Refused("prompt", message, limit=MOST_TOKENS)
    if (example.lm_head is None) == (example.given is None):
        raise Refused("given", "given and lm_head exclude each other: exactly one of them selects the next token.")
    for name, ids in {"prompt": example.prompt, "given": () if example.given is None else (example.given,)}.items():
        for id in ids:
            if not 0 <= id < len(example.words):
                raise Refused(name, f"{name} contains {id}; there is no token {id}.", limit=[0, len(example.words) - 1])
    shapes = {
        "embeddings": (len(example.words), d),
        "positions": (len(example.prompt) + 1, d),
        "w_o": (len(example.heads) * width, d),
        "lm_head": (len(example.words), d),
    }
    if example.mlp is not None:
        inside = len(example.mlp.w_gate[0])
        shapes |= {"w_gate": (d, inside), "w_up": (d, inside), "w_down": (inside, d)}
    for name, matrix in example.parts.items():
        _check_matrix(name, matrix, shapes.get(name, (d, width)))
    if not LEAST_TEMPERATURE <= example.temperature <= MOST:
        message = f"temperature is {example.temperature:g}; it must be from {LEAST_TEMPERATURE} to {MOST:,.0f}."
        raise Refused("temperature", message, limit=[LEAST_TEMPERATURE, MOST])


def _check_matrix(name: str, matrix: Matrix, shape: tuple[int, int]) -> None:
    rows, columns = shape
    if len(matrix) != rows or any(len(row) != columns for row in matrix):
        raise Refused(name, f"{name} must have {rows} rows of {columns} numbers.")
    if rows > MOST_TOKENS + 1 or columns > MOST_WIDTH:
        raise Refused(name, f"{name} must have at most {MOST_TOKENS + 1} rows of {MOST_WIDTH} numbers.")
    for row in matrix:
        for value in row:
            if not abs(value) <= MOST:  # NaN is not
                message = f"{name} contains {value:g}; it must be a number from −{MOST:,.0f} to {MOST:,.0f}."
                raise Refused(name, message, limit=[-MOST, MOST])


def _model(example: Example) -> Transformer:
    """Returns the example's model, without parts that have no weights. (W_O and the LM head are always there; if the
    example lacks them, nothing reads their output.)"""
    mlp = example.mlp
    d, heads, width = len(example.embeddings[0]), len(example.heads), len(example.heads[0].w_q[0])
    config = ModelConfig(
        arch="by hand",
        layers=1,
        heads=heads,
        kv_heads=heads,
        head_dim=width,
        d=d,
        d_mlp=1 if mlp is None else len(mlp.w_gate[0]),
        vocab=len(example.words),
        context=len(example.prompt) + 1,
        norm="none" if mlp is None else "rms",
        norm_eps=NORM_EPS,
        mlp="none" if mlp is None else "swiglu",
        positions="none" if example.positions is None else "learned",
        residual=mlp is not None,
        tied=example.lm_head is None,
    )
    projections = [_tensor(getattr(head, name)).T for name in Head.__slots__ for head in example.heads]
    weights = {
        "embed.weight": _tensor(example.embeddings),
        "blocks.0.attn.qkv.weight": torch.cat(projections),
        "blocks.0.attn.out.weight": torch.zeros(d, heads * width) if example.w_o is None else _tensor(example.w_o).T,
    }
    if mlp is not None:
        weights |= {f"{name}norm.weight": torch.ones(d) for name in ("blocks.0.attn.", "blocks.0.mlp.", "")}
        weights["blocks.0.mlp.gate_up.weight"] = torch.cat([_tensor(mlp.w_gate).T, _tensor(mlp.w_up).T])
        weights["blocks.0.mlp.down.weight"] = _tensor(mlp.w_down).T
    if example.positions is not None:
        weights["positions.weight"] = _tensor(example.positions)
    if example.lm_head is not None:
        weights["lm_head.weight"] = _tensor(example.lm_head)
    return Transformer.from_weights(config, {name: weight.contiguous() for name, weight in weights.items()})


def _tensor(matrix: Matrix) -> Tensor:
    return torch.tensor(matrix, dtype=torch.float32)


def _step(engine: Engine, example: Example, ids: list[int], first: int) -> Step:
    of_rest = [] if example.mlp is None else [f"blocks.0.{name}" for name in _REST.values()]
    observed = observe(engine, ids, first, [*_POINTS, *of_rest], cache_of=(0,), keep=True)
    block = {name: observed.values[f"blocks.0.attn.{name}"] for name in _ATTENTION}
    k, v = observed.cache[0]
    new = len(block["q"])
    logits = probabilities = None
    if example.lm_head is not None:
        logits = engine.transformer.lm_head(observed.values["final"])[-1]
        probabilities = (logits / example.temperature).softmax(0).numpy()
    return Step(
        x=observed.values["embedded"].numpy(),
        q=block["q"].transpose(0, 1).numpy(),
        k=k.numpy(),
        v=v.numpy(),
        scores=(block["q"].transpose(0, 1) @ k.transpose(1, 2)).numpy(),
        scaled=block["scores"].reshape(len(example.heads), new, len(ids)).numpy(),
        weights=block["weights"].reshape(len(example.heads), new, len(ids)).numpy(),
        mixed=block["mixed"].transpose(0, 1).numpy(),
        by_head=None if example.w_o is None else _by_head(block["mixed"], _tensor(example.w_o)).numpy(),
        output=None if example.w_o is None else block["change"].numpy(),
        rest=None if example.mlp is None else _rest(observed),
        logits=None if logits is None else logits.numpy(),
        probabilities=probabilities,
        projections=3 * new,
    )


def _by_head(mixed: Tensor, w_o: Tensor) -> Tensor:
    """Returns each head's part of the attention output: T H Dh, H*Dh D -> H T D."""
    return mixed.transpose(0, 1) @ w_o.view(*mixed.shape[1:], -1)


def _rest(observed: Observed) -> dict[str, np.ndarray]:
    values = {name: observed.values[f"blocks.0.{point}"].numpy() for name, point in _REST.items()}
    return {**values, "final": observed.values["final"][-1:].numpy()}
