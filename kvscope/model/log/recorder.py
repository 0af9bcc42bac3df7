"""Encodes the engine's records of a run as the frames of its log (docs/frames.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, Self, cast

import numpy as np

from kvscope.model.api import Frame, RunRequest, StoredLevel
from kvscope.model.engine.capture import CapturedRows
from kvscope.model.engine.conditions import conditions_record
from kvscope.model.engine.records import (
    BeamsRecord,
    CloseRecord,
    KVState,
    ObservedStep,
    RowsRecord,
    StepRecord,
    Timing,
)
from kvscope.model.engine.sampling import Choice
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.log import frames, schema

HEADER_ROOM = 2048
"""Bytes reserved in a frame for its safetensors header and metadata."""
NAMED_CANDIDATES = 32


def now() -> str:
    """Returns the time in the format of logs: ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Names(Protocol):
    """The tokens of a vocabulary, as frames describe them."""

    def token(self, token: int) -> dict[str, Any]: ...

    @property
    def token_json(self) -> Callable[[int], bytes]: ...


class Recorder:
    """Numbers and encodes the frames of run `run` of a model described by `info`, beginning at `seq`.

    Numbers that JSON does not have, such as NaN, raise ValueError. Tests check that `layer` and `step` frames are as
    model.log.schema defines them; a check of each one would take longer than encoding it.
    """

    def __init__(self, run: str, info: Mapping[str, Any], tokenizer: Names, temperature: float | None, seq: int = 0):
        """`temperature`: None if it is not known how tokens were chosen."""
        self._run = run
        self._model = schema.Model(**info)
        self._temperature = temperature
        self._seq = seq
        self._tokenizer = tokenizer

    def open(
        self,
        request: RunRequest,
        ids: list[int],
        max_positions: int,
        study: schema.Serving | None = None,
        reused: int = 0,
        prefix: schema.Prefix | None = None,
    ) -> Frame:
        """Returns the log's first frame. `study`: the workload, if `request` is its first; `reused`: rows read from
        the cache; `prefix`: how many could have been read.
        """
        return self.begin(
            request.prompt,
            request.chat,
            ids,
            study,
            reused,
            prefix,
            sampling=request.sampling,
            limits=schema.Limits(max_new_tokens=request.max_new_tokens, max_positions=max_positions),
            block_size=BLOCK_SIZE,
        )

    def begin(
        self,
        prompt: str,
        chat: bool,
        ids: list[int],
        study: schema.Serving | None = None,
        reused: int = 0,
        prefix: schema.Prefix | None = None,
        **known: Any,
    ) -> Frame:
        """Returns the log's first frame. `known`: `sampling`, `limits` and `block_size`, as far as they are known."""
        return self.frame(
            "open",
            schema.Open(
                model=self._model,
                prompt=prompt,
                chat=chat,
                tokens=[self.token(token) for token in ids],
                parent=None,
                study=study,
                changed=None,
                reused=reused,
                prefix=prefix,
                created=now(),
                **known,
            ),
        )

    def record(self, record: RowsRecord | ObservedStep | BeamsRecord | CloseRecord) -> list[Frame]:
        """Returns the frames of one record, in log order."""
        if isinstance(record, RowsRecord):
            return [self._next("layer", data, tensors) for data, tensors in layer_parts(record.step, record.rows)]
        if isinstance(record, ObservedStep):
            shown = record.candidates
            tensors = {"top_ids": shown.ids, "top_logits": shown.logits, "tail_counts": shown.tail_counts}
            if isinstance(record, StepRecord) and record.where is not None:
                tensors["kept"] = _bits(record.where, record.position + 1)
            named = map(self._tokenizer.token_json, shown.ids[:NAMED_CANDIDATES].tolist())
            data = self._step(record) | (_of_engine(record, self._tokenizer) if isinstance(record, StepRecord) else {})
            return [self._next("step", data, tensors, top_tokens=b"[%b]" % b",".join(named))]
        if isinstance(record, BeamsRecord):
            return [self.frame("beams", self._beams(record))]
        error = record.error and record.error[: schema.MOST_ERROR]
        return [
            self.frame(
                "close", schema.Close(reason=cast(schema.Reason, record.reason), error=error, steps=record.steps)
            )
        ]

    def _step(self, record: ObservedStep) -> dict[str, Any]:
        choice, shown = record.choice, record.candidates
        conditions = record.timing and record.timing.conditions
        unknown = {"prob": None} if self._temperature is None else {}
        known = {
            "filters": None if self._temperature is None else _filters(choice, self._temperature),
            "ms": record.timing and _milliseconds(record.timing),
            "batch": record.batch,
            "kv": record.kv and _cache(record.kv),
        }
        return {
            "step": record.step,
            "phase": record.phase,
            "position": record.position,
            "token": _chosen(choice, self._tokenizer) | unknown,
            "entropy": choice.entropy,
            "log_z": choice.log_z,
            "tail": {"low": shown.tail_low, "high": shown.tail_high, "count": shown.tail_size},
            "rows_computed": record.rows,
            "conditions": conditions and conditions_record(conditions),
            **{name: value for name, value in known.items() if value is not None},
        }

    def _beams(self, record: BeamsRecord) -> schema.Beams:
        return schema.Beams(
            depth=record.depth,
            nodes=[schema.BeamNode(**{**asdict(node), "token": self.token(node.token)}) for node in record.nodes],
            best=record.best,
            ms=record.ms,
            rows_computed=record.rows,
            kv=schema.BeamKV(**asdict(record.kv)),
            conditions=schema.Conditions(**conditions_record(record.conditions)),
        )

    def token(self, token: int) -> schema.Token:
        """Returns a token as frames describe it."""
        return schema.Token(**self._tokenizer.token(token))

    def frame(self, kind: str, data: schema.FrameData) -> Frame:
        """Encodes the log's next frame."""
        return self._next(kind, data.model_dump(exclude_unset=True))

    def _next(
        self, kind: str, data: Mapping[str, Any], tensors: Mapping[str, np.ndarray] | None = None, **encoded: bytes
    ) -> Frame:
        frame = frames.encode(self._run, self._seq, kind, data, tensors, **encoded)
        self._seq += 1
        return frame


def _chosen(choice: Choice, names: Names) -> dict[str, Any]:
    return {**names.token(choice.token), "prob": choice.prob, "raw_prob": choice.raw_prob}


def _of_engine(record: StepRecord, names: Names) -> dict[str, Any]:
    """Returns what only the engine knows of its step."""
    rest: dict[str, Any] = {}
    if record.forced:
        rest["token"] = {**_chosen(record.choice, names), "forced": True}
    if record.comparison:
        rest["own"], rest["kl"] = _chosen(record.comparison.own, names), record.comparison.kl
    return {
        "flops": record.cost.flops,
        "bytes_read": record.cost.bytes_read,
        "weights_read": record.cost.weights,
        "computed_by": record.by,
        **rest,
    }


def _filters(choice: Choice, temperature: float) -> dict[str, Any]:
    return {
        "temperature": temperature,
        "kept_top_k": choice.kept_top_k,
        "kept_top_p": choice.kept_top_p,
        "mass_top_k": choice.mass_top_k,
        "mass_top_p": choice.mass_top_p,
    }


def _milliseconds(timing: Timing) -> dict[str, Any]:
    return {
        "forward": timing.forward,
        "capture": timing.capture,
        "sample": timing.sample,
        "total": timing.total,
        "chunks": timing.chunks,
        "layers": timing.layers and [round(1000 * ms) / 1000 for ms in timing.layers],
    }


def _cache(kv: KVState) -> dict[str, Any]:
    cache: dict[str, Any] = {
        "positions": kv.positions,
        "bytes_written": kv.bytes_written,
        "bytes_used": kv.bytes_used,
    }
    if kv.paged is not None:
        cache |= asdict(kv.paged)
        cache["blocks"] = len(kv.paged.block_table)
    if kv.windowed is not None:
        positions, blocks = kv.windowed
        cache["windowed"] = {"positions": positions} if blocks is None else {"positions": positions, "blocks": blocks}
    return cache


@dataclass(frozen=True, slots=True)
class StepValues:
    """Which values of a step are stored. `first_query`: the first row that it computed."""

    run: str
    step: int
    first_query: int
    level: StoredLevel


def values_frames(
    request: StepValues,
    info: Mapping[str, Any],
    layers: Sequence[Mapping[str, np.ndarray]],
    lens: dict[str, Any] | None,
) -> list[Frame]:
    """Returns a step's `values` frames, one for each layer, the `lens` in the last one if there is one. `info`
    describes the model.

    Raises ValueError for data, and BadFile for tensors, that a reader would refuse.
    """
    model, rest = schema.Model(**info), [dict[str, Any]()] * (len(layers) - 1)
    last = {} if lens is None else {"lens": lens}
    place: dict[str, Any] = {
        "step": request.step,
        "first_query": request.first_query,
        "level": request.level,
        **_needed_for_answers(model),
    }
    windows, encoded = model.windows or [None] * len(layers), []
    for layer, (tensors, also) in enumerate(zip(layers, [*rest, last], strict=True)):
        seq = request.step * len(layers) + layer
        data = schema.Values(**place, layer=layer, window=windows[layer], **also)
        schema.check_tensors(data.tensors, tensors, model.sizes, f"values frame {seq} of run {request.run}")
        encoded.append(frames.encode(request.run, seq, frames.VALUES, data.model_dump(exclude_unset=True), tensors))
    return encoded


def _needed_for_answers(model: schema.Model) -> dict[str, Any]:
    """Returns the model's `score_width`, `score_cap` and `activation`, each only if it is known and differs from most
    models'.
    """
    usual_activation = "silu" if model.gated else "gelu_tanh"
    settings = {
        "score_width": (model.score_width, model.head_dim),
        "score_cap": (model.score_cap, None),
        "activation": (model.activation, usual_activation),
    }
    return {name: value for name, (value, usual) in settings.items() if value not in (usual, None)}


def _bits(where: np.ndarray, positions: int) -> np.ndarray:
    """Returns a bit for each position, 1 if it is in `where`, lowest first: U8 [layers or 1, KV heads or 1, bytes]."""
    where = where if where.ndim == 3 else where[None, None]
    there = np.zeros((*where.shape[:2], positions), bool)
    np.put_along_axis(there, where, True, axis=-1)
    return np.packbits(there, axis=-1, bitorder="little")


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides the size of a model's `layer` frames. `row_norms`: bytes of a row's norms and experts in a layer."""

    layers: int
    heads: int
    row_norms: int

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Self:
        """Returns the shape of a model described as in an `open` frame.

        The norms of Q, K, V and the residual stream take 16 bits each; an expert and its share take 6 bytes.
        """
        experts = info["experts"]["chosen"] if info["experts"] else 0
        return cls(info["layers"], info["heads"], 2 * (info["heads"] + 2 * info["kv_heads"] + 1) + 6 * experts)


def tiles(shape: Shape, first_query: int, queries: int) -> Iterator[tuple[slice, slice, slice]]:
    """Yields the layers, heads and query rows of each `layer` frame of a pass, within `frames.MAX_FRAME_BYTES`.

    A frame has as many whole layers as fit; if none fits, query rows of one layer; if none fits, heads of one row.
    """
    layers, heads, row_norms = shape.layers, shape.heads, shape.row_norms
    room = frames.MAX_FRAME_BYTES - HEADER_ROOM
    last = first_query + queries
    row_bytes = heads * last + row_norms
    some_queries = min(queries, max(1, room // row_bytes))
    some_heads = heads if row_bytes <= room else max(1, (room - row_norms) // last)
    some_layers = max(1, room // (queries * row_bytes))
    for layer in range(0, layers, some_layers):
        for query in range(0, queries, some_queries):
            for head in range(0, heads, some_heads):
                yield (
                    slice(layer, min(layer + some_layers, layers)),
                    slice(head, min(head + some_heads, heads)),
                    slice(query, min(query + some_queries, queries)),
                )


def layer_parts(step: int, rows: CapturedRows) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Yields the data and tensors of the `layer` frames of a pass. A part's keys end with its last query."""
    layers, heads, queries, _ = rows.attention.shape
    norms = (rows.q_norm, rows.k_norm, rows.v_norm, rows.residual_norm, rows.experts, rows.expert_shares)
    shape = Shape(layers, heads, sum(norm[0].nbytes for norm in norms if norm is not None) // queries)
    for some_layers, some_heads, some_queries in tiles(shape, rows.first_query, queries):
        yield _part(step, rows, some_layers, some_heads, some_queries)


def _part(
    step: int, rows: CapturedRows, layers: slice, heads: slice, queries: slice
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    keys = rows.first_query + queries.stop
    tensors = {"attention": rows.attention[layers, heads, queries, :keys]}
    if heads.start == 0:
        by_head = {"q_norm": rows.q_norm, "k_norm": rows.k_norm, "v_norm": rows.v_norm}
        tensors |= {name: norm[layers, :, queries] for name, norm in by_head.items() if norm is not None}
        if rows.residual_norm is not None:
            tensors["residual_norm"] = rows.residual_norm[layers, queries]
        if rows.experts is not None and rows.expert_shares is not None:
            tensors["experts"] = rows.experts[layers, queries]
            tensors["expert_shares"] = rows.expert_shares[layers, queries]
    data = {
        "step": step,
        "first_layer": layers.start,
        "first_head": heads.start,
        "first_query": rows.first_query + queries.start,
        "companding": "sqrt",
    }
    return data, tensors
