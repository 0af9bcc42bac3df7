"""Makes the log of a run from what was observed of its passes. Both `module` and `caches` write logs with it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kvscope.model.activations.lens import lens_answer, lens_of
from kvscope.model.api import Frame, Refused, StoredLevel
from kvscope.model.companding import compand
from kvscope.model.engine.capture import CapturedRows, lengths
from kvscope.model.engine.distribution import Distribution
from kvscope.model.engine.records import CloseRecord, KVState, ObservedStep, RowsRecord, Timing
from kvscope.model.engine.sampling import choose, put
from kvscope.model.log.check import MOST_CELLS
from kvscope.model.log.recorder import Names, Recorder, StepValues, values_frames
from kvscope.model.log.schema import Limits
from kvscope.model.service.limits import fits_the_log
from kvscope.model.settings import Sampling

NEAR = 1e-2
"""Largest difference between attention weights and softmax of q·k, so that q and k are those of the weights."""


@dataclass(frozen=True, slots=True)
class ObservedPass:
    """What was observed of the pass of one step: T new rows, the first at position `first`. None: not observed."""

    first: int
    attention: Tensor
    """[layers, H, T, first + T], weights after softmax"""
    logits: Tensor
    """[V], of the newest row"""
    q: Tensor | None = None
    """[layers, H, T, Dh], as they are multiplied with `k`"""
    k: Tensor | None = None
    """[layers, Hkv, T, Dh], as the cache holds them"""
    v: Tensor | None = None
    residual: Tensor | None = None
    """[layers, T, D], after each layer"""
    lens: Tensor | None = None
    """[layers, V], logits of the newest row after each layer"""
    cache: KVState | None = None
    rows: int | None = None
    """How many rows the pass computed; None: T."""
    forward_ms: float | None = None

    @property
    def length(self) -> int:
        """Returns T."""
        return self.attention.shape[2]


class ObservedLog:
    """The log of one run: frames of its beginning, of each pass, and of its end.

    `info` describes the model as in an `open` frame, as far as it is known. `sampling` None: it is not known how the
    run chose its tokens, so each is passed to `step`.
    """

    def __init__(self, run: str, info: Mapping[str, Any], names: Names, sampling: Sampling | None) -> None:
        self._run, self._info, self._names, self._sampling = run, dict(info), names, sampling
        self._recorder = Recorder(run, info, names, None if sampling is None else sampling.temperature)
        self._steps = 0
        self._level: StoredLevel = "kv"
        self._values: list[Frame] = []
        self._has_values = False

    @property
    def exact(self) -> list[bytes]:
        """The frames of exact values so far (docs/frames.md, `values`); none if none of a step were observed."""
        return [frame.payload for frame in self._values] if self._has_values else []

    def begin(self, prompt: str, chat: bool, ids: list[int], max_new_tokens: int | None = None) -> Frame:
        """Returns the log's first frame. Raises Refused for a prompt that no log holds."""
        context = self._info.get("context")
        known: dict[str, Any] = {} if self._sampling is None else {"sampling": self._sampling}
        if max_new_tokens is not None:
            known["limits"] = Limits(max_new_tokens=max_new_tokens, **({"max_positions": context} if context else {}))
        most = MOST_CELLS // (self._info["layers"] * self._info["heads"])
        if len(ids) > most:
            message = f"The prompt has {len(ids):,} tokens; with so many layers and heads, a log holds {most:,}."
            raise Refused("prompt", message, limit=most)
        opening = self._recorder.begin(prompt, chat, ids, **known)
        fits_the_log(opening, "prompt", "The prompt and its tokens need")
        return opening

    def step(self, observed: ObservedPass, token: int | None = None) -> tuple[list[Frame], int]:
        """Returns the frames of the next step, and the token that it chose. `token`: the choice, if the other program
        made it.

        Raises NotFinite for logits that are no numbers, and Refused for tensors that do not fit together.
        """
        started = time.perf_counter()
        captured = _captured(observed)
        capture_ms = (time.perf_counter() - started) * 1000
        started = time.perf_counter()
        distribution = Distribution(observed.logits.float())
        choice = choose(distribution, self._sampling or Sampling(), self._steps)
        if token is not None:
            choice = put(choice, distribution, token)
        shown = distribution.candidates
        sample_ms = (time.perf_counter() - started) * 1000
        timing = None
        if (forward := observed.forward_ms) is not None:
            timing = Timing((forward,), capture_ms, sample_ms, forward + capture_ms + sample_ms, None, None)
        step = ObservedStep(
            run=self._run,
            step=self._steps,
            phase="decode" if self._steps else "prefill",
            position=observed.first + observed.length - 1,
            choice=choice,
            candidates=shown,
            rows=observed.length if observed.rows is None else observed.rows,
            timing=timing,
            batch=None if timing is None else 1,
            kv=observed.cache,
        )
        frames = self._recorder.record(RowsRecord(self._run, self._steps, captured)) + self._recorder.record(step)
        self._keep_values(observed, choice.token)
        self._steps += 1
        return frames, choice.token

    def close(self, reason: str, error: str | None = None) -> Frame:
        """Returns the log's last frame. `reason`: eos, length, stopped or failed."""
        (frame,) = self._recorder.record(CloseRecord(self._run, reason, error, self._steps))
        return frame

    def _keep_values(self, observed: ObservedPass, token: int) -> None:
        lens = None
        if observed.lens is not None:
            lens = lens_answer(lens_of(observed.lens.float(), token), token, self._names.token)
        tensors = {"q": observed.q, "k": observed.k, "v": observed.v}
        present = {name: values.float().cpu().numpy() for name, values in tensors.items() if values is not None}
        self._has_values |= bool(present) or lens is not None
        layers = [{name: values[layer] for name, values in present.items()} for layer in range(self._info["layers"])]
        if not self._steps and self._info.get("score_width") and is_exact(observed, self._info["score_width"]):
            self._level = "qkv"
        values = StepValues(self._run, self._steps, observed.first, self._level)
        self._values += values_frames(values, self._info, layers, lens)


def is_exact(observed: ObservedPass, score_width: float) -> bool:
    """Returns whether q, k and v are all there, and q and k give the attention weights in the way in which readers of a
    log compute them: softmax of q·k ÷ √score_width.
    """
    q, k = observed.q, observed.k
    if q is None or k is None or observed.v is None:
        return False
    scores = q.float() @ k.float().repeat_interleave(q.shape[1] // k.shape[1], dim=1).mT
    scores = scores / math.sqrt(score_width)
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    weights = scores.masked_fill(later, -math.inf).softmax(-1)
    return bool((weights - observed.attention).abs().max() < NEAR)


def _captured(observed: ObservedPass) -> CapturedRows:
    """Returns what frames show of the rows."""

    def norm(rows: Tensor | None) -> np.ndarray | None:
        return None if rows is None else lengths(rows.float()).cpu().numpy()

    attention = compand(observed.attention.float().clamp(0, 1)).cpu().numpy()
    return CapturedRows(
        observed.first, attention, norm(observed.q), norm(observed.k), norm(observed.v), norm(observed.residual)
    )
