"""What matters for one token of a run: total and direct effects of the model's parts, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kvscope.app.reader.token import Token
from kvscope.model.api import EffectOf, Switching

if TYPE_CHECKING:
    from kvscope.app.reader.live import Live

AT_POSITIONS = ("residual_at", "attention_at", "mlp_at")


def total(live: Live, step: int, of: EffectOf, switching: Switching) -> dict[str, Any]:
    """Returns all answers to the question `effects`, as `Run.effects` describes. Raises CannotRun."""
    ids = live.ids(step)
    parts: list[dict[str, float]] = []
    answer: dict[str, Any] = {"count": 1}
    while len(parts) < answer["count"]:
        answer = live.asks("effects", ids, _chosen(live, step), of, len(parts), switching)
        parts += map(_flat, answer["effects"])
    shapes = {"heads": _heads(live), **dict.fromkeys(AT_POSITIONS, (-1, len(ids)))}
    return {
        "base": _flat(answer["base"]),
        "other": answer["other"] and _flat(answer["other"]),
        "foil": Token.of(answer["foil"]),
        **{name: np.array([part[name] for part in parts]).reshape(shapes.get(of, -1)) for name in parts[0]},
    }


def direct(live: Live, step: int, foil: int | None) -> dict[str, Any]:
    """Returns the answer to the question `direct`, as `Run.direct` describes. Raises CannotRun."""
    answer = live.asks("direct", live.ids(step), _chosen(live, step), foil)
    arrays = {name: np.array(each) for name, each in answer.items() if name != "foil"}
    return {**arrays, "heads": arrays["heads"].reshape(*_heads(live), -1), "foil": Token.of(answer["foil"])}


def patterns(live: Live) -> dict[str, np.ndarray]:
    """Returns the answer to the question `patterns`, as `Run.patterns` describes. Raises CannotRun."""
    answer = live.asks("patterns")
    return {name: np.array(answer[name]).reshape(_heads(live)) for name in ("previous", "induction")}


def _chosen(live: Live, step: int) -> int:
    """Returns the id of the token that a step chose."""
    token: int = live.log.steps[step]["token"]["id"]
    return token


def _heads(live: Live) -> tuple[int, int]:
    model = live.log.open["model"]
    return model["layers"], model["heads"]


def _flat(prediction: Mapping[str, Any]) -> dict[str, float]:
    """Returns the numbers of a prediction, each by one name."""
    numbers = {name: prediction[name] for name in ("logprob", "logit", "kl")}
    return {**numbers, **{f"foil_{name}": value for name, value in prediction["foil"].items()}}
