"""Writes one run's log: the engine's records become frames (docs/frames.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np

from kvscope.model.api import Frame, RunRequest
from kvscope.model.checkpoint import Tokenizer
from kvscope.model.engine.capture import CapturedRows
from kvscope.model.engine.records import BeamsRecord, CloseRecord, Record, RowsRecord, StepRecord, Timing
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.log import frames

HEADER_ROOM = 2048
"""Bytes kept free in a frame for its safetensors header and metadata."""
NAMED_CANDIDATES = 32


def now() -> str:
    """The time as logs write it: ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Recorder:
    """Numbers and encodes the frames of run `run`, beginning at `seq`."""

    def __init__(self, run: str, tokenizer: Tokenizer, temperature: float, seq: int = 0):
        self._run = run
        self._tokenizer = tokenizer
        self._temperature = temperature
        self._seq = seq

    def open(self, model: dict[str, Any], request: RunRequest, ids: list[int], max_positions: int) -> Frame:
        """The log's first frame."""
        data = {
            "model": model,
            "prompt": request.prompt,
            "chat": request.chat,
            "sampling": asdict(request.sampling),
            "limits": {"max_new_tokens": request.max_new_tokens, "max_positions": max_positions},
            "tokens": [self._tokenizer.token(token) for token in ids],
            "block_size": BLOCK_SIZE,
            "parent": None,
            "study": None,
            "created": now(),
        }
        return self._frame("open", data)

    def record(self, record: Record) -> list[Frame]:
        """The frames of one record, in log order."""
        if isinstance(record, RowsRecord):
            return [self._frame("layer", data, tensors) for data, tensors in layer_parts(record.step, record.rows)]
        if isinstance(record, StepRecord):
            return [self._frame("step", *self._step(record))]
        if isinstance(record, BeamsRecord):
            return [self._frame("beams", self._beams(record))]
        return [self._close(record)]

    def _step(self, record: StepRecord) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        choice, shown, kv = record.choice, record.candidates, record.kv
        token = self._tokenizer.token(choice.token)
        forced = {"forced": True} if record.forced else {}
        data = {
            "step": record.step,
            "phase": record.phase,
            "position": record.position,
            "token": {**token, "prob": choice.prob, "raw_prob": choice.raw_prob} | forced,
            "entropy": choice.entropy,
            "log_z": choice.log_z,
            "top_tokens": [self._tokenizer.token(int(token)) for token in shown.ids[:NAMED_CANDIDATES]],
            "tail": {"low": shown.tail_low, "high": shown.tail_high, "count": shown.tail_size},
            "filters": {
                "temperature": self._temperature,
                "kept_top_k": choice.kept_top_k,
                "kept_top_p": choice.kept_top_p,
                "mass_top_k": choice.mass_top_k,
                "mass_top_p": choice.mass_top_p,
            },
            "ms": _milliseconds(record.timing),
            "batch": record.batch,
            "kv": {**asdict(kv), "blocks": len(kv.block_table)},
            "flops": record.cost.flops,
            "bytes_read": record.cost.bytes_read,
            "rows_computed": record.cost.rows,
        }
        tensors = {"top_ids": shown.ids, "top_logits": shown.logits, "tail_counts": shown.tail_counts}
        return data, tensors

    def _beams(self, record: BeamsRecord) -> dict[str, Any]:
        return {
            "depth": record.depth,
            "nodes": [{**asdict(node), "token": self._tokenizer.token(node.token)} for node in record.nodes],
            "best": record.best,
            "ms": record.ms,
            "rows_computed": record.rows,
            "kv": asdict(record.kv),
        }

    def _close(self, record: CloseRecord) -> Frame:
        return self._frame("close", {"reason": record.reason, "error": record.error, "steps": record.steps})

    def _frame(self, kind: str, data: dict[str, Any], tensors: dict[str, np.ndarray] | None = None) -> Frame:
        made = frames.encode(self._run, self._seq, kind, data, tensors)
        self._seq += 1
        return made


def _milliseconds(timing: Timing) -> dict[str, Any]:
    layers = None if timing.layers is None else [round(ms, 3) for ms in timing.layers]
    return {**asdict(timing), "forward": timing.forward, "layers": layers}


def layer_parts(step: int, rows: CapturedRows) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """The `layer` frames of a pass, each within `frames.MAX_FRAME_BYTES`.

    As many whole layers as fit; or else query rows of one layer; or else heads of one row. A part's keys end with its
    last query.
    """
    layers, heads, queries, _ = rows.attention.shape
    room = frames.MAX_FRAME_BYTES - HEADER_ROOM
    last = rows.first_query + queries
    norms = (rows.q_norm, rows.k_norm, rows.v_norm, rows.residual_norm)
    row_norms = sum(norm[0].nbytes for norm in norms) // queries
    row_bytes = heads * last + row_norms
    some_queries = min(queries, max(1, room // row_bytes))
    some_heads = heads if row_bytes <= room else max(1, (room - row_norms) // last)
    some_layers = max(1, room // (queries * row_bytes))
    for layer in range(0, layers, some_layers):
        for query in range(0, queries, some_queries):
            for head in range(0, heads, some_heads):
                yield _part(
                    step,
                    rows,
                    slice(layer, min(layer + some_layers, layers)),
                    slice(head, min(head + some_heads, heads)),
                    slice(query, min(query + some_queries, queries)),
                )


def _part(
    step: int, rows: CapturedRows, layers: slice, heads: slice, queries: slice
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    keys = rows.first_query + queries.stop
    tensors = {"attention": np.ascontiguousarray(rows.attention[layers, heads, queries, :keys])}
    if heads.start == 0:
        tensors["q_norm"] = np.ascontiguousarray(rows.q_norm[layers, :, queries])
        tensors["k_norm"] = np.ascontiguousarray(rows.k_norm[layers, :, queries])
        tensors["v_norm"] = np.ascontiguousarray(rows.v_norm[layers, :, queries])
        tensors["residual_norm"] = np.ascontiguousarray(rows.residual_norm[layers, queries])
    data = {
        "step": step,
        "first_layer": layers.start,
        "first_head": heads.start,
        "first_query": rows.first_query + queries.start,
        "companding": "sqrt",
    }
    return data, tensors
