"""Checks a whole log from an untrusted source before it is stored: each frame by model.log.schema, and their order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from kvscope.model.log.check_serving import ServingCheck, tokens_of
from kvscope.model.log.frames import MAX_FRAME_BYTES, MAX_OPENING_BYTES, VALUES, foreign_version
from kvscope.model.log.schema import (
    FRAMES,
    KV,
    MOST_TOP,
    Asked,
    Close,
    FrameData,
    Layer,
    Open,
    Pass,
    Round,
    Serving,
    Step,
    Token,
    Values,
    check_tensors,
    missing_in,
    not_finite,
    observed,
    read_data,
    rows_of,
)
from kvscope.model.log.untrusted import BadFile, array, layout, read_json

if TYPE_CHECKING:
    import numpy as np

RUN = re.compile(r"[0-9A-Za-z_-]{1,64}")
KINDS_OF_A_RUN = ("open", "layer", "step", "close")
KINDS_OF_A_WORKLOAD = ("open", "asked", "pass", "round", "close")
MOST_CELLS = 64 * 1024 * 1024
"""Largest product of layers, heads and rows of one step."""
MAX_VALUES_HEADER_BYTES = 1024 * 1024
"""Largest header of a frame of exact values, enough for the lens of all layers; its tensors may be larger."""


class LogCheck:
    """Checks the frames of one log in order, a run's or a workload's. Raises BadFile at the first invalid frame."""

    opening: Open
    """Data of the first frame, set by the first call of `take`."""

    def __init__(self) -> None:
        self.steps = 0
        """Number of complete steps."""
        self.run = ""
        self._next = 0
        self._closed = False
        self._cells = 0
        self._not_finite: str | None = None
        self._parts: list[tuple[range, range, range]] = []
        self._sizes: dict[str, int] = {}
        self._serving: ServingCheck | None = None
        """Checks a workload, which has passes in place of steps; None for a run."""

    @property
    def passes(self) -> int | None:
        """Returns the number of passes of a workload; None for a run."""
        return None if self._serving is None else self._serving.passes

    @property
    def positions(self) -> int:
        """Returns the number of rows of the complete steps; the last step's token has no row yet."""
        return self._prompt + self.steps - 1 if self.steps else 0

    def take(self, payload: bytes) -> None:
        """Checks the next frame."""
        where = f"parts[{self._next}]"
        if self._closed:
            raise BadFile(where, "follows the end of the run")
        most = MAX_FRAME_BYTES if self._next else MAX_OPENING_BYTES
        if len(payload) > most:
            raise BadFile(where, f"has {len(payload)} bytes; this frame has at most {most}")
        frame = layout(payload, where)
        kind = described(frame.metadata, where, self._next, self.run or None)
        kinds = KINDS_OF_A_RUN if self._serving is None else KINDS_OF_A_WORKLOAD
        if kind not in kinds or (kind == "open") != (self._next == 0):
            raise BadFile(where, f"is of the kind {kind!r}, which is not allowed there")
        data: FrameData = read_data(FRAMES[kind], read_json(frame.metadata["data"], f"{where}.data"), f"{where}.data")
        arrays = {name: array(payload, tensor) for name, tensor in frame.tensors.items()}
        self._refuse_missing(data, where)
        expected = observed(data.tensors) if self._by_others else data.tensors
        sizes = check_tensors(expected, arrays, self._sizes, where)
        self.run = frame.metadata["run"]
        if isinstance(data, Open):
            self._open(data, where)
        elif isinstance(data, Layer):
            self._layer(data, sizes, where)
            self._refuse_later_keys(data.first_query, arrays["attention"], where)
            self._not_finite = self._not_finite or not_finite(data.tensors, arrays, where)
        elif isinstance(data, Step):
            self._step(data, sizes["n"], where)
        elif isinstance(data, Pass) and self._serving is not None:
            self._serving.take_pass(data, where)
            self._refuse_unknown(tokens_of(data), f"{where}.data.members")
        elif isinstance(data, Asked) and self._serving is not None:
            self._serving.take_asked(data, where)
        elif isinstance(data, Round) and self._serving is not None:
            self._serving.take_round(data, where)
        elif isinstance(data, Close):
            self._close(data, where)
        self._next += 1

    def finish(self) -> None:
        """Checks that the log is complete: there are no more frames."""
        if not self._closed:
            raise BadFile("The log", "has no end: its last frame must be of the kind 'close'")
        if not (self.steps if self.passes is None else self.passes):
            raise BadFile("The log", f"has no complete {'step' if self.passes is None else 'pass'} to show")

    @property
    def _by_others(self) -> bool:
        """Whether another program computed the run, so that fields and tensors may be absent."""
        return self.opening.model.computed_by is not None

    def _refuse_missing(self, data: FrameData, where: str) -> None:
        """Refuses a field that only another program's run may lack."""
        if isinstance(data, Open):
            self.opening = data
        if not self._by_others and (field := missing_in(data)) is not None:
            raise BadFile(f"{where}.data{field}", "is missing")

    def _open(self, data: Open, where: str) -> None:
        if self._by_others and (data.study or data.changed or data.parent or data.reused):
            raise BadFile(where, "is of a run that another program computed, and has what only KVScope computes")
        if data.study is not None and not isinstance(data.study, Serving):
            raise BadFile(where, "is a run derived from another run; only other runs and workloads can be saved")
        if data.model.kv_heads and data.model.heads % data.model.kv_heads:
            raise BadFile(f"{where}.data.model.heads", "is no multiple of kv_heads")
        if data.model.windows is not None and len(data.model.windows) != data.model.layers:
            raise BadFile(f"{where}.data.model.windows", "are not one for each layer")
        if data.reused >= len(data.tokens):
            raise BadFile(f"{where}.data.reused", f"is {data.reused}; a prompt's last token is computed in any case")
        for index, change in enumerate(data.changed.changes if data.changed else ()):
            for name, count in change.counts(data.model.model_dump()).items():
                if (getattr(change, name) or 0) >= count:
                    message = f"is {getattr(change, name)}; the model has {count}"
                    raise BadFile(f"{where}.data.changed.changes[{index}].{name}", message)
        self._sizes = data.model.sizes
        self._refuse_unknown(data.tokens, f"{where}.data.tokens")
        if data.study is not None:
            first = data.study.requests[0]
            if (data.prompt, len(data.tokens)) != (first.prompt, first.tokens):
                raise BadFile(where, "opens with another prompt than that of its first request")
            assert data.block_size is not None
            self._serving = ServingCheck(data.study, data.block_size, where)

    def _layer(self, data: Layer, sizes: Mapping[str, int], where: str) -> None:
        part = (
            range(data.first_layer, data.first_layer + sizes["part_layers"]),
            range(data.first_head, data.first_head + sizes["part_heads"]),
            range(data.first_query, data.first_query + sizes["queries"]),
        )
        limits = (range(self._sizes["layers"]), range(self._sizes["heads"]), self._rows)
        inside = all(a and a.start >= b.start and a.stop <= b.stop for a, b in zip(part, limits, strict=True))
        if data.step != self.steps or not inside or sizes["keys"] != part[2].stop:
            raise BadFile(where, f"is no part of step {self.steps}")
        self._parts.append(part)
        self._cells += prod(map(len, part))

    def _step(self, data: Step, candidates: int, where: str) -> None:
        newest = self._rows[-1]
        if data.step != self.steps or data.position != newest:
            raise BadFile(where, f"is not step {self.steps}, at position {newest}")
        if data.phase != ("decode" if self.steps else "prefill"):
            raise BadFile(f"{where}.data.phase", "is not that of the step")
        if self._cells != self._sizes["layers"] * self._sizes["heads"] * len(self._rows):
            raise BadFile(where, "ends a step with missing parts")
        self._refuse_overlaps(where)
        if self._not_finite:
            raise BadFile(self._not_finite, "has a value that is not a finite number, in a step that is complete")
        if not len(data.top_tokens) <= candidates <= MOST_TOP:
            raise BadFile(f"{where}: tensor 'top_ids'", f"has {candidates} tokens, or too few for data.top_tokens")
        self._refuse_more(data, where)
        self._refuse_unknown([data.token], f"{where}.data.token")
        self._refuse_unknown(data.top_tokens, f"{where}.data.top_tokens")
        self.steps += 1
        self._cells, self._parts = 0, []

    def _refuse_more(self, data: Step, where: str) -> None:
        """Refuses too many positions, blocks or passes: readers loop over as many as the log states."""
        if data.kv is not None:
            self._refuse_cache(data.kv, data.position + 1, f"{where}.data.kv")
        ms = data.ms
        if ms and (len(ms.chunks) > len(self._rows) or len(ms.layers or ()) > self._sizes["layers"]):
            raise BadFile(f"{where}.data.ms", "has the times of more passes or layers than there are")

    def _refuse_cache(self, kv: KV, positions: int, where: str) -> None:
        blocks, size = kv.blocks or 0, self.opening.block_size or 0
        if kv.positions > positions:
            raise BadFile(f"{where}.positions", f"are more than the {positions} that there are")
        if not blocks == len(kv.block_table or ()) == len(kv.refcounts or ()) or (blocks - 1) * size > kv.positions:
            raise BadFile(f"{where}.blocks", "are more than its positions fill, or other than its tables say")
        if kv.windowed and (kv.windowed.positions > kv.positions or (kv.windowed.blocks or 0) > blocks):
            raise BadFile(f"{where}.windowed", "is more than what all layers hold")

    def _refuse_later_keys(self, first_query: int, attention: np.ndarray, where: str) -> None:
        """Refuses attention of a query to a key that comes after it."""
        for query in range(attention.shape[2] - 1):  # the last one has no later key
            position = first_query + query
            if attention[:, :, query, position + 1 :].any():
                raise BadFile(f"{where}: tensor 'attention'", f"has a query that sees later keys, {position}")

    def _refuse_overlaps(self, where: str) -> None:
        """Refuses a row that occurs twice. `_step` has checked the number of rows."""
        import numpy as np

        rows = self._rows
        shape = self._sizes["layers"], self._sizes["heads"], len(rows)
        if prod(shape) > MOST_CELLS:
            raise BadFile(where, f"ends a step of {prod(shape)} rows of attention; at most {MOST_CELLS} are allowed")
        covered = np.zeros(shape, bool)
        for layers, heads, queries in self._parts:
            part = covered[layers.start : layers.stop, heads.start : heads.stop]
            part = part[:, :, queries.start - rows.start : queries.stop - rows.start]
            if part.any():
                raise BadFile(where, "ends a step with overlapping parts")
            part[:] = True

    def _refuse_unknown(self, tokens: Iterable[Token], where: str) -> None:
        vocab = self._sizes["vocab"]
        for token in tokens:
            if token.id >= vocab:
                raise BadFile(where, f"has the token {token.id}, and the vocabulary has {vocab}")

    def _close(self, data: Close, where: str) -> None:
        if data.steps != self.steps:
            raise BadFile(f"{where}.data.steps", f"is not {self.steps}, as many as there are")
        self._closed = True

    @property
    def _prompt(self) -> int:
        return len(self.opening.tokens)

    @property
    def _rows(self) -> range:
        """Returns the positions that the current step computes."""
        return rows_of(self._prompt, self.steps, self.opening.reused)


class ValuesCheck:
    """Checks the `values` frames stored with `log`, by step and then by layer, after `log` itself was checked.

    `layers`: those that have values, in order. Raises BadFile at the first invalid frame.
    """

    def __init__(self, log: LogCheck, layers: Sequence[int]) -> None:
        self._log, self._layers = log, layers
        self._model_layers = log.opening.model.layers
        self._gated = log.opening.model.gated
        self._by_others = log.opening.model.computed_by is not None
        self._next = 0
        self.level = ""

    def take(self, payload: bytes) -> None:
        """Checks the next frame."""
        if not self._layers:
            raise BadFile("The exact values", "are not those of every step")
        step, at = divmod(self._next, len(self._layers))
        layer = self._layers[at]
        where = f"values[step {step}, layer {layer}]"
        if step >= self._log.steps or layer >= self._model_layers:
            raise BadFile(where, "belongs to no step of the run, or to no layer of its model")
        frame = layout(payload, where, MAX_VALUES_HEADER_BYTES)
        if described(frame.metadata, where, step * self._model_layers + layer, self._log.run) != VALUES:
            raise BadFile(where, f"is not of the kind {VALUES!r}")
        data = read_data(Values, read_json(frame.metadata["data"], f"{where}.data"), f"{where}.data")
        if layer == self._model_layers - 1 and data.lens is None and not self._by_others:
            raise BadFile(f"{where}.data.lens", "is missing")
        if data.level != "qkv" and (data.level == "kv") != self._by_others:
            raise BadFile(f"{where}.data.level", f"is {data.level!r}, which this run cannot have")
        rows = rows_of(len(self._log.opening.tokens), step)
        self.level = self.level or data.level
        if (data.step, data.layer, data.first_query, data.level) != (step, layer, rows.start, self.level):
            raise BadFile(where, "belongs to another step, layer or level")
        arrays = {name: array(payload, tensor) for name, tensor in frame.tensors.items()}
        check_tensors(data.tensors, arrays, {**self._log.opening.model.sizes, "T": len(rows)}, where)
        if data.level == "block" and ("mlp.gate" in arrays) != self._gated:
            reason = "is missing" if self._gated else "belongs to a gate that the model does not have"
            raise BadFile(f"{where}: tensor 'mlp.gate'", reason)
        self._next += 1

    def finish(self) -> None:
        """Checks that no frame is missing: there are no more frames."""
        if self._next != self._log.steps * len(self._layers):
            raise BadFile("The exact values", "are not those of every step")


def described(metadata: Mapping[str, str], where: str, seq: int, run: str | None) -> str:
    """Checks a frame's metadata and returns its kind. It must have the number `seq` and the id `run`, if not None.

    Raises BadFile.
    """
    check_version(metadata, where)
    if set(metadata) != {"v", "kind", "seq", "run", "data"}:
        raise BadFile(where, "is not described by v, kind, seq, run and data")
    if metadata["seq"] != str(seq):
        raise BadFile(where, f"has the number {metadata['seq'][:20]!r}")
    if not RUN.fullmatch(metadata["run"]) or run not in (None, metadata["run"]):
        raise BadFile(where, f"belongs to another run, {metadata['run'][:80]!r}")
    return metadata["kind"]


def check_version(metadata: Mapping[str, str], where: str) -> None:
    """Checks that this KVScope reads the version of a frame or file. Raises BadFile if not."""
    if reason := foreign_version(metadata):
        raise BadFile(where, reason)
