"""Reads a run from its log's frames (docs/frames.md) in Python.

    run = LogReader(frame.payload for frame in split(Path("session.safetensors").read_bytes()))
    run.attention(step=3, layer=13, head=8)

The page does the same in static/shared/log/run.js.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any

from kvscope.model.companding import decompand
from kvscope.model.log import frames as codec
from kvscope.model.log.frames import VALUES, BadFrame, Header
from kvscope.model.log.schema import NORMS, rows_of

if TYPE_CHECKING:
    import numpy as np


PLACE = ("first_layer", "first_head", "first_query")
"""Fields that say where a part of a step begins."""


class NotThere(LookupError):
    """The log does not have this step, layer or head; the message is a sentence."""


class LogReader:
    """Reads one run from `payloads`: its log from the first frame on, and `values` frames anywhere among them.

    If the log is still growing, or was cut short between frames, the reader has its complete steps and ignores parts of
    a step without a `step` frame. A method decodes tensors and imports numpy only when it is called.

    Methods raise NotThere if the log lacks the value and BadFrame if its frames contradict each other. No method
    allocates memory by a size that a frame only states. Check a file from an untrusted source first
    (kvscope.model.log.check.LogCheck).
    """

    def __init__(self, payloads: Iterable[bytes]) -> None:
        """Reads the frames. Raises BadFrame if they are not a log."""
        self.run = ""
        """Id of the run."""
        self.open: dict[str, Any] = {}
        """Data of the `open` frame."""
        self.reused = 0
        """Number of the prompt's rows that were read from the cache; no step of this log computed them."""
        self.steps: list[dict[str, Any]] = []
        """Data of the `step` frames."""
        self.depths: list[dict[str, Any]] = []
        """Data of the `beams` frames, which a beam search has in place of steps."""
        self.joined: list[dict[str, Any]] = []
        """Data of the `asked` frames, one for each request that joined a running workload."""
        self.passes: list[dict[str, Any]] = []
        """Data of the `pass` frames, which a workload has in place of steps."""
        self.rounds: list[dict[str, Any]] = []
        """Data of the `round` frames, each after the passes of its round."""
        self.close: dict[str, Any] | None = None
        """Data of the `close` frame; None while the run goes on, or if the log was cut short."""
        self.values_level: str | None = None
        """Level of the stored exact values, "qkv" or "block"; None if the log has none."""
        self._parts: dict[int, list[tuple[dict[str, Any], bytes]]] = {}
        self._step_payloads: list[bytes] = []
        self._values: dict[tuple[int, int], tuple[dict[str, Any], bytes]] = {}
        seq = 0
        for payload in payloads:
            header = codec.header(payload)
            try:
                self._take(header, payload, seq)
            except (LookupError, TypeError) as error:
                raise BadFrame(f"frame {header.seq} ({header.kind}) is incomplete: {error!r}") from None
            seq += header.kind != VALUES
        if not self.run:
            raise BadFrame("it contains no frame")

    def _take(self, header: Header, payload: bytes, seq: int) -> None:
        data = header.data
        if header.kind == VALUES:
            self._values[data["step"], data["layer"]] = data, payload
            self.values_level = data["level"]
            return
        if header.seq != seq or (header.kind == "open") != (seq == 0):
            raise BadFrame(f"frame {header.seq} ({header.kind}) is in the place of frame {seq}")
        if seq and header.run != self.run:
            raise BadFrame(f"frame {seq} belongs to another run")
        if header.kind == "open":
            self.run, self.open = header.run, data
            self._prompt_length, self._layers, self._heads = (
                len(data["tokens"]),
                int(data["model"]["layers"]),
                int(data["model"]["heads"]),
            )
            self.reused = data["reused"]
            if type(self.reused) is not int or not 0 <= self.reused <= self._prompt_length:
                raise BadFrame(f"frame {seq} (open) lacks the number of rows read from the cache")
        elif header.kind == "layer":
            if not all(type(data[name]) is int and data[name] >= 0 for name in ("step", *PLACE)):
                raise BadFrame(f"frame {seq} (layer) lacks its step, layers or rows")
            self._parts.setdefault(data["step"], []).append((data, payload))
        elif header.kind == "step":
            if data["step"] != len(self.steps):
                raise BadFrame(f"frame {seq} is step {data['step']}, in the place of step {len(self.steps)}")
            self.steps.append({**data, "token": dict(data["token"])})
            self._step_payloads.append(payload)
        elif header.kind == "beams":
            self.depths.append(data)
        elif header.kind == "asked":
            self.joined.append(data)
        elif header.kind == "pass":
            self.passes.append(data)
        elif header.kind == "round":
            self.rounds.append(data)
        elif header.kind == "close":
            self.close = data
        else:
            raise BadFrame(f"frame {seq} is of the kind {header.kind!r}, which is not read here")

    @property
    def prompt(self) -> str:
        """Returns the prompt as typed."""
        return str(self.open["prompt"])

    @property
    def prompt_length(self) -> int:
        """Returns how many tokens of the prompt the model read."""
        return self._prompt_length

    @property
    def tokens(self) -> list[dict[str, Any]]:
        """Returns the prompt's tokens, then each step's: {id, text, bytes, special}, and more if a step chose it."""
        return [*self.open["tokens"], *(step["token"] for step in self.steps)]

    @property
    def reason(self) -> str | None:
        """Returns why the run ended: eos, length, stopped, failed or interrupted; None without a `close` frame."""
        return None if self.close is None else str(self.close["reason"])

    def rows(self, step: int) -> range:
        """Returns the positions that a step computed: in step 0 the prompt's, without its cached rows; later one."""
        _within("step", step, len(self.steps))
        return rows_of(self._prompt_length, step, self.reused)

    def attention(self, step: int, layer: int, head: int) -> np.ndarray:
        """Returns weights within 0.004 of the model's, float32 [rows(step), keys from 0 to the last row's]."""
        return decompand(self.companded(step, layer, head))

    def companded(self, step: int, layer: int, head: int) -> np.ndarray:
        """Returns the attention weights w as the log stores them, U8 [queries, keys]: round(255·√w)."""
        self._place(step, layer, head)
        return self._assembled(step, range(layer, layer + 1), range(head, head + 1))[0, 0]

    def companded_step(self, step: int) -> np.ndarray:
        """Returns the stored attention weights of a step, U8 [layers, heads, queries, keys]."""
        self._place(step, 0, 0)
        return self._assembled(step, range(self._layers), range(self._heads))

    def companded_run(self) -> np.ndarray:
        """Returns the stored weights of all steps, U8 [layers, heads, positions, positions]; a decode step is a row."""
        import numpy as np

        steps = [self.companded_step(step) for step in range(len(self.steps))]
        if not steps:
            raise NotThere("This log has no complete step.")
        positions = steps[-1].shape[-1]
        whole = np.zeros((self._layers, self._heads, positions, positions), np.uint8)
        for step, part in enumerate(steps):
            rows = self.rows(step)
            whole[:, :, rows.start : rows.stop, : rows.stop] = part
        return whole

    def experts(self, layer: int, position: int) -> list[tuple[int, float]]:
        """Returns the experts of a layer's MLP that a position's row went through, with their shares, largest first.

        The list is empty if the layer has no experts. Raises NotThere if no step of this log computed the row.
        """
        step = max(0, position - self._prompt_length + 1)
        _within("layer", layer, self._layers)
        if step >= len(self.steps) or position not in self.rows(step):
            raise NotThere(f"No step of this log computed the row of position {position}.")
        for data, payload in self._parts.get(step, []):
            tensors = codec.tensors(payload)
            row, part = position - data["first_query"], layer - data["first_layer"]
            if (chosen := tensors.get("experts")) is None or not (
                0 <= part < len(chosen) and 0 <= row < len(chosen[part])
            ):
                continue
            pairs = zip(chosen[part, row].tolist(), tensors["expert_shares"][part, row].tolist(), strict=True)
            return [(expert, share) for expert, share in pairs if expert >= 0]
        return []

    def norms(self, step: int) -> dict[str, np.ndarray]:
        """Returns the lengths of a step's new rows by name, float32: `q_norm` [layers, heads, queries], `k_norm` and
        `v_norm` [layers, kv_heads, queries], `residual_norm` [layers, queries].
        """
        import numpy as np

        rows = self.rows(step)
        pieces_by_name: dict[str, list[tuple[dict[str, Any], np.ndarray]]] = {}
        for data, payload in self._parts.get(step, []):
            for name, tensor in codec.tensors(payload).items():
                if name in NORMS:
                    pieces_by_name.setdefault(name, []).append((data, tensor))
        result = {}
        for name, pieces in pieces_by_name.items():
            shape = (self._layers, *pieces[0][1].shape[1:-1], len(rows))
            if sum(piece.size for _, piece in pieces) != prod(shape):
                raise BadFrame(f"step {step} lacks a part of {name}")
            whole = np.zeros(shape, np.float32)
            for data, piece in pieces:
                query = data["first_query"] - rows.start
                part = whole[data["first_layer"] :][: len(piece), ..., query : query + piece.shape[-1]]
                _put(part, piece, f"step {step}: {name}")
            result[name] = whole
        return result

    def top_ids(self, step: int) -> np.ndarray:
        """Returns the tokens with the largest raw logits after a step, best first, int32 [n]."""
        return self._step_tensor(step, "top_ids")

    def top_logits(self, step: int) -> np.ndarray:
        """Returns the raw logits of `top_ids`, float32 [n]. exp(logit − steps[step]["log_z"]) is the probability."""
        return self._step_tensor(step, "top_logits")

    def exact(self, step: int, layer: int) -> dict[str, np.ndarray]:
        """Returns exact values by name, float32 (docs/frames.md, `values`); values stored as F16 are rounded."""
        import numpy as np

        payload = self._stored(step, layer)[1]
        return {name: tensor.astype(np.float32) for name, tensor in codec.tensors(payload).items()}

    @property
    def has_lens(self) -> bool:
        """Returns whether the exact values of the last layer have the lens, as those of KVScope's own runs do."""
        data, _ = self._values.get((0, self._layers - 1), ({}, b""))
        return isinstance(data.get("lens"), dict)

    def lens(self, step: int) -> dict[str, Any]:
        """Returns what the newest row predicts after each layer: {token, layers: [{layer, top, chosen}]}."""
        data, _ = self._stored(step, self._layers - 1)
        if not isinstance(data.get("lens"), dict):
            raise BadFrame(f"the exact values of step {step} lack the lens")
        return dict(data["lens"])

    def _stored(self, step: int, layer: int) -> tuple[dict[str, Any], bytes]:
        self._place(step, layer, 0)
        if (step, layer) not in self._values:
            raise NotThere(f"No exact values of step {step} in layer {layer} are stored here.")
        return self._values[step, layer]

    def _step_tensor(self, step: int, name: str) -> np.ndarray:
        _within("step", step, len(self.steps))
        tensors = codec.tensors(self._step_payloads[step])
        if name not in tensors:
            raise BadFrame(f"step {step} lacks {name}")
        return tensors[name]

    def _place(self, step: int, layer: int, head: int) -> None:
        _within("step", step, len(self.steps))
        _within("layer", layer, self._layers)
        _within("head", head, self._heads)

    def _assembled(self, step: int, layers: range, heads: range) -> np.ndarray:
        """Returns a step's stored attention weights, joined from its parts, U8 [layers, heads, queries, keys]."""
        import numpy as np

        rows, pieces = self.rows(step), []
        if step not in self._parts:
            raise NotThere(
                f"This log has no attention weights of step {step}. Repeated runs and beam searches store none."
            )
        for data, payload in self._parts[step]:
            shape, values = codec.octets(payload, "attention")
            if len(shape) != 4 or shape[3] != data["first_query"] + shape[2]:
                raise BadFrame(f"step {step}: attention is not [layers, heads, queries, keys]")
            first = data["first_layer"], data["first_head"]
            layer, head = (
                range(max(needed.start, at), min(needed.stop, at + size))
                for needed, at, size in zip((layers, heads), first, shape, strict=False)
            )
            if layer and head:
                part = np.frombuffer(values, np.uint8).reshape(shape)
                part = part[layer.start - first[0] :, head.start - first[1] :][: len(layer), : len(head)]
                pieces.append((layer, head, data["first_query"] - rows.start, part))
        if sum(prod(part.shape[:3]) for *_, part in pieces) != len(layers) * len(heads) * len(rows):
            raise BadFrame(f"step {step} lacks a part of its attention")
        whole = np.zeros((len(layers), len(heads), len(rows), rows.stop), np.uint8)
        for layer, head, query, part in pieces:
            place = whole[layer.start - layers.start :, head.start - heads.start :][: len(layer), : len(head)]
            _put(place[:, :, query : query + part.shape[2], : part.shape[3]], part, f"step {step}: attention")
        return whole


def _within(name: str, value: int, count: int) -> None:
    if not 0 <= value < count:
        there = f"0 to {count - 1}" if count else "none"
        raise NotThere(f"{name} is {value}; the log has {there}.")


def _put(place: np.ndarray, part: np.ndarray, what: str) -> None:
    if place.shape != part.shape:
        raise BadFrame(f"{what} has a part that does not fit there")
    place[:] = part
