"""Checks a whole log that a stranger made, frame by frame, against docs/frames.md, before it is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

from kvscope.model.log.frames import MAX_FRAME_BYTES, VALUES, VERSION
from kvscope.model.log.strict import (
    BadFile,
    Tensor,
    layout,
    list_of,
    natural,
    number,
    one_of,
    or_null,
    read_json,
    record,
    text,
    truth,
)

RUN = re.compile(r"[0-9A-Za-z_-]{1,64}")
MOST_LAYERS, MOST_HEADS, MOST_POSITIONS, MOST_TOP, TAIL_BINS = 512, 512, 65_536, 256, 256
MOST_CELLS = 64 * 1024 * 1024
"""Layers × heads × rows of one step."""
_SMALL, _NAME = natural(1, 2**31), text(200)
_TOKEN = {"id": natural(0, 2**31), "text": text(4096), "bytes": text(8192), "special": truth}
_CHOSEN = record({**_TOKEN, "prob": number, "raw_prob": number}, {"forced": truth})

OPEN = record(
    {
        "model": record(
            {
                **dict.fromkeys(("name", "sha256", "arch", "dtype", "device"), _NAME),
                **dict.fromkeys(("layers",), natural(1, MOST_LAYERS)),
                **dict.fromkeys(("heads", "kv_heads"), natural(1, MOST_HEADS)),
                **dict.fromkeys(("head_dim", "d", "d_mlp", "vocab", "context", "element_bytes"), _SMALL),
                **dict.fromkeys(("weight_bytes", "parameters"), natural(0)),
                "eos": list_of(natural(0, 2**31), 1000),
            }
        ),
        "prompt": text(100_000),
        "chat": truth,
        "sampling": record(
            {
                "strategy": one_of("greedy", "sample"),
                "temperature": number,
                "top_k": natural(),
                "top_p": number,
                "seed": natural(),
            }
        ),
        "limits": record({"max_new_tokens": natural(), "max_positions": natural()}),
        "tokens": list_of(record(_TOKEN), MOST_POSITIONS),
        "block_size": natural(1, 65_536),
        "created": _NAME,
    },
    {
        "parent": or_null(
            record({"run": _NAME, "position": natural(), "token": or_null(natural(0, 2**31))}),
        )
    },
)
LAYER = record(
    {
        "step": natural(),
        "first_layer": natural(),
        "first_head": natural(),
        "first_query": natural(),
        "companding": one_of("sqrt"),
    }
)
STEP = record(
    {
        "step": natural(),
        "phase": one_of("prefill", "decode"),
        "position": natural(),
        "token": _CHOSEN,
        "entropy": number,
        "log_z": number,
        "top_tokens": list_of(record(_TOKEN), MOST_TOP),
        "tail": record({"low": number, "high": number, "count": natural()}),
        "filters": record(
            dict.fromkeys(("temperature", "kept_top_k", "kept_top_p", "mass_top_k", "mass_top_p"), number)
        ),
        "ms": record(
            {
                **dict.fromkeys(("forward", "capture", "sample", "total"), number),
                "chunks": list_of(number, MOST_POSITIONS),
            },
            {"layers": or_null(list_of(number, MOST_LAYERS))},
        ),
        "batch": natural(1, 65_536),
        "kv": record(
            {
                **dict.fromkeys(("positions", "blocks", "bytes_written", "bytes_used", "bytes_reserved"), natural()),
                "block_table": list_of(natural(), MOST_POSITIONS),
                "refcounts": list_of(natural(), MOST_POSITIONS),
            }
        ),
        "flops": number,
        "bytes_read": number,
    },
    {"rows_computed": natural()},
)
CLOSE = record(
    {
        "reason": one_of("eos", "length", "stopped", "failed", "interrupted"),
        "error": or_null(text(10_000)),
        "steps": natural(),
    }
)
_PLACE = {
    **dict.fromkeys(("step", "layer", "first_query"), natural()),
    "level": one_of("qkv", "block"),
    "window": or_null(natural(1)),
}
_RANKED = record({"prob": number, "rank": natural()})
_GUESSES = list_of(record({**_TOKEN, "prob": number}), MOST_TOP)
_LENS = record(
    {
        "token": record(_TOKEN),
        "layers": list_of(record({"layer": natural(), "top": _GUESSES, "chosen": _RANKED}), MOST_LAYERS),
    }
)
VALUES_OF_A_LAYER, VALUES_OF_THE_LAST = record(_PLACE), record({**_PLACE, "lens": _LENS})
DATA = {"open": OPEN, "layer": LAYER, "step": STEP, "close": CLOSE}


class LogCheck:
    """Takes the frames of one log in order. Raises model.log.strict.BadFile at the first that does not belong there."""

    def __init__(self) -> None:
        self.opening: dict[str, Any] = {}
        self.steps = 0
        """Complete ones."""
        self.run = ""
        self._next = 0
        self._closed = False
        self._cells = 0
        self._parts: list[tuple[range, range, range]] = []

    @property
    def positions(self) -> int:
        """Rows of the complete steps; the token of the last one has none yet."""
        return len(self.opening["tokens"]) + self.steps - 1 if self.steps else 0

    def take(self, payload: bytes) -> None:
        """The next frame."""
        where = f"parts[{self._next}]"
        if self._closed:
            raise BadFile(where, "follows the end of the run")
        if len(payload) > MAX_FRAME_BYTES:
            raise BadFile(where, f"has {len(payload)} bytes; a frame has at most {MAX_FRAME_BYTES}")
        found = layout(payload, where)
        kind = described(found.metadata, where, self._next, self.run or None)
        if kind not in DATA or (kind == "open") != (self._next == 0):
            raise BadFile(where, f"is of the kind {kind!r}, which cannot stand there")
        data = read_json(found.metadata["data"], f"{where}.data")
        DATA[kind](data, f"{where}.data")
        self.run = found.metadata["run"]
        {"open": self._open, "layer": self._layer, "step": self._step, "close": self._close}[kind](
            data, found.tensors, where
        )
        self._next += 1

    def finish(self) -> None:
        """There are no more frames."""
        if not self._closed:
            raise BadFile("The log", "has no end: its last frame must be of the kind 'close'")
        if not self.steps:
            raise BadFile("The log", "has no complete step that could be shown")

    def _open(self, data: dict[str, Any], tensors: Mapping[str, Tensor], where: str) -> None:
        _only(tensors, {}, {}, where)
        if data.get("study") is not None:
            raise BadFile(where, "opens a study; only runs can be kept")
        if not data["tokens"]:
            raise BadFile(f"{where}.data.tokens", "has no token")
        if data["model"]["heads"] % data["model"]["kv_heads"]:
            raise BadFile(f"{where}.data.model.heads", "is no multiple of kv_heads")
        self.opening = data

    def _layer(self, data: dict[str, Any], tensors: Mapping[str, Tensor], where: str) -> None:
        model = self.opening["model"]
        attention = tensors.get("attention")
        if attention is None or attention.dtype != "U8" or len(attention.shape) != 4:
            raise BadFile(f"{where}: tensor 'attention'", "is not there as U8 [layers, heads, queries, keys]")
        layers, heads, queries, keys = attention.shape
        first = len(self.opening["tokens"]) + self.steps - 1 if self.steps else 0
        part = (
            range(data["first_layer"], data["first_layer"] + layers),
            range(data["first_head"], data["first_head"] + heads),
            range(data["first_query"], data["first_query"] + queries),
        )
        limits = (range(model["layers"]), range(model["heads"]), range(first, self._last_row + 1))
        inside = all(a and a.start >= b.start and a.stop <= b.stop for a, b in zip(part, limits, strict=True))
        if data["step"] != self.steps or not inside or keys != part[2].stop:
            raise BadFile(where, f"is no part of step {self.steps}")
        whose = {"q_norm": model["heads"], "k_norm": model["kv_heads"], "v_norm": model["kv_heads"]}
        norms: dict[str, tuple[str, tuple[int, ...]]]
        norms = {name: ("F16", (layers, count, queries)) for name, count in whose.items()}
        norms["residual_norm"] = ("F16", (layers, queries))
        _only(tensors, {"attention": ("U8", attention.shape)}, norms if part[1].start == 0 else {}, where)
        self._parts.append(part)
        self._cells += prod(map(len, part))

    def _step(self, data: dict[str, Any], tensors: Mapping[str, Tensor], where: str) -> None:
        model, first = self.opening["model"], 0 if not self.steps else self._last_row
        if data["step"] != self.steps or data["position"] != self._last_row:
            raise BadFile(where, f"is not step {self.steps}, at position {self._last_row}")
        if data["phase"] != ("decode" if self.steps else "prefill"):
            raise BadFile(f"{where}.data.phase", "is not that of the step")
        if self._cells != model["layers"] * model["heads"] * (self._last_row + 1 - first):
            raise BadFile(where, "ends a step of which parts are missing")
        self._refuse_overlaps(range(first, self._last_row + 1), where)
        count = tensors["top_ids"].shape if "top_ids" in tensors else ()
        if len(count) != 1 or not 1 <= count[0] <= MOST_TOP or len(data["top_tokens"]) > count[0]:
            raise BadFile(f"{where}: tensor 'top_ids'", f"is not there as I32 [n], n at most {MOST_TOP}")
        wanted = {"top_ids": ("I32", count), "top_logits": ("F32", count), "tail_counts": ("I32", (TAIL_BINS,))}
        _only(tensors, wanted, {}, where)
        self.steps += 1
        self._cells, self._parts = 0, []

    def _refuse_overlaps(self, rows: range, where: str) -> None:
        """As many rows as the step has are there; none of them may be there twice."""
        import numpy as np

        shape = self.opening["model"]["layers"], self.opening["model"]["heads"], len(rows)
        if prod(shape) > MOST_CELLS:
            raise BadFile(where, f"ends a step of {prod(shape)} rows of attention; at most {MOST_CELLS} are taken")
        covered = np.zeros(shape, bool)
        for layers, heads, queries in self._parts:
            part = covered[layers.start : layers.stop, heads.start : heads.stop]
            part = part[:, :, queries.start - rows.start : queries.stop - rows.start]
            if part.any():
                raise BadFile(where, "ends a step of which parts overlap")
            part[:] = True

    def _close(self, data: dict[str, Any], tensors: Mapping[str, Tensor], where: str) -> None:
        _only(tensors, {}, {}, where)
        if data["steps"] != self.steps:
            raise BadFile(f"{where}.data.steps", f"is not {self.steps}, as many as there are")
        self._closed = True

    @property
    def _last_row(self) -> int:
        """The newest position that the step being read computes."""
        return len(self.opening["tokens"]) + self.steps - 1


class ValuesCheck:
    """Takes the `values` frames that are stored with a log, step by step and layer by layer in each. `log` is checked.

    Raises model.log.strict.BadFile at the first that does not belong there.
    """

    def __init__(self, log: LogCheck) -> None:
        self._log, self._model = log, log.opening["model"]
        self._next = 0
        self.level = ""

    def take(self, payload: bytes) -> None:
        """The next frame."""
        step, layer = divmod(self._next, self._model["layers"])
        where = f"values[step {step}, layer {layer}]"
        if step >= self._log.steps:
            raise BadFile(where, "is of no step of the run")
        found = layout(payload, where)
        if described(found.metadata, where, self._next, self._log.run) != VALUES:
            raise BadFile(where, f"is not of the kind {VALUES!r}")
        data = read_json(found.metadata["data"], f"{where}.data")
        last = layer == self._model["layers"] - 1
        (VALUES_OF_THE_LAST if last else VALUES_OF_A_LAYER)(data, f"{where}.data")
        prompt = len(self._log.opening["tokens"])
        first, rows = (0, prompt) if step == 0 else (prompt + step - 1, 1)
        self.level = self.level or data["level"]
        if (data["step"], data["layer"], data["first_query"], data["level"]) != (step, layer, first, self.level):
            raise BadFile(where, "is of another place or level")
        self._check_tensors(found.tensors, rows, where)
        self._next += 1

    def finish(self) -> None:
        """There are no more frames."""
        if self._next != self._log.steps * self._model["layers"]:
            raise BadFile("The exact values", "are not those of every step and layer")

    def _check_tensors(self, tensors: Mapping[str, Tensor], rows: int, where: str) -> None:
        model = self._model
        wanted: dict[str, tuple[str, tuple[int, ...]]] = {
            name: ("F32", (model[count], rows, model["head_dim"]))
            for name, count in (("q", "heads"), ("k", "kv_heads"), ("v", "kv_heads"))
        }
        if self.level == "qkv":
            _only(tensors, wanted, {}, where)
            return
        widths = dict.fromkeys(("resid_in", "attn.normed", "attn.change", "mlp.normed", "mlp.change"), model["d"])
        wide = {"mlp.raised": model["d_mlp"]} | ({"mlp.gate": model["d_mlp"]} if "mlp.gate" in tensors else {})
        for name, width in (widths | wide).items():
            # F32 where a number does not fit into F16.
            dtype = tensors[name].dtype if name in tensors and tensors[name].dtype in ("F16", "F32") else "F16"
            wanted[name] = (dtype, (rows, width))
        _only(tensors, wanted, {"rope": ("F32", (model["head_dim"] // 2,))}, where)


def described(metadata: Mapping[str, str], where: str, seq: int, run: str | None) -> str:
    """The kind that a frame's metadata says, once all of it is as it must be: `seq`, and of `run` unless that is None.

    Raises BadFile.
    """
    version(metadata, where)
    if set(metadata) != {"v", "kind", "seq", "run", "data"}:
        raise BadFile(where, "is not described by v, kind, seq, run and data")
    if metadata["seq"] != str(seq):
        raise BadFile(where, f"has the number {metadata['seq'][:20]!r}")
    if not RUN.fullmatch(metadata["run"]) or run not in (None, metadata["run"]):
        raise BadFile(where, f"is of another run, {metadata['run'][:80]!r}")
    return metadata["kind"]


def version(metadata: Mapping[str, str], where: str) -> None:
    """Refuses what this reader does not know. Raises BadFile."""
    stated = metadata.get("v")
    if stated is not None and stated != VERSION and re.fullmatch(r"[1-9]\d{0,5}", stated):
        raise BadFile(where, f"is of a newer KVScope: its schema version is {stated}, and this one reads {VERSION}")
    if stated != VERSION:
        raise BadFile(where, "is not of KVScope: it has no schema version")


def _only(
    tensors: Mapping[str, Tensor],
    wanted: Mapping[str, tuple[str, tuple[int, ...]]],
    older: Mapping[str, tuple[str, tuple[int, ...]]],
    where: str,
) -> None:
    """Refuses a frame whose tensors are not those `wanted`, and perhaps those that logs of an `older` kind lack."""
    for name in wanted:
        if name not in tensors:
            raise BadFile(f"{where}: tensor {name!r}", "is missing")
    for name, tensor in tensors.items():
        expected = wanted.get(name) or older.get(name)
        if expected is None:
            raise BadFile(f"{where}: tensor {name[:80]!r}", "does not belong there")
        if (tensor.dtype, tensor.shape) != expected:
            raise BadFile(f"{where}: tensor {name!r}", f"is not {expected[0]} {list(expected[1])}")
