"""One run, recorded or computed in this process, for scripts and notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kvscope.app.reader.errors import CannotRead, CannotRun, NotThere
from kvscope.app.reader.token import Token
from kvscope.app.travel.card import text_of
from kvscope.app.travel.importing import Imported
from kvscope.model.api import EffectOf, Switch, Switching
from kvscope.model.log import reader
from kvscope.model.log.frames import BadFrame, join, tensors
from kvscope.model.log.reader import LogReader
from kvscope.model.log.schema import rows_of
from kvscope.model.work_folder import whole_file

if TYPE_CHECKING:
    import numpy as np
    from plotly.graph_objects import Figure

    from kvscope.app.reader.live import Live
    from kvscope.app.reader.watching import OnStep


class Run:
    """A run, as `kvscope.open` and `kvscope.run` return it.

    A run of `kvscope.run` also has its model in this process: `change`, `branch`, `effects`, `head` and `block` need
    it, and `values` and `lens` compute what is not stored. `close`, or the end of a `with` block, ends this; what is
    recorded stays readable. A step, layer or head that the run does not have raises NotThere; the message names what
    it has. Questions that the model refuses raise CannotRun.
    """

    def __init__(self, content: Imported, live: Live | None = None) -> None:
        frames, exact = list(content.frames()), list(content.values.payloads() if content.values else ())
        values = replace(content.values, payloads=lambda: iter(exact)) if content.values else None
        self._content = Imported(content.words, lambda: iter(frames), values)
        self.log = LogReader(chain(frames, exact))
        """Everything else in the frames (kvscope.model.log.reader)."""
        self._live = live

    @property
    def prompt(self) -> str:
        """The prompt as typed."""
        return self.log.prompt

    @property
    def tokens(self) -> list[Token]:
        """The prompt's tokens as the model read them, then the token that each step chose."""
        return list(map(Token.of, self.log.tokens))

    @property
    def prompt_length(self) -> int:
        """How many tokens the prompt has."""
        return self.log.prompt_length

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The data of each step, as in docs/frames.md under `step`: phase, token, ms, kv and more."""
        return self.log.steps

    @property
    def passes(self) -> list[dict[str, Any]]:
        """The data of each pass of a workload, which has no steps, as in docs/frames.md under `pass`."""
        return self.log.passes

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """How each round of a workload ended, as in docs/frames.md under `round`."""
        return self.log.rounds

    @property
    def text(self) -> str:
        """The text of the chosen tokens, without special tokens."""
        return text_of(step["token"] for step in self.log.steps)

    @property
    def reason(self) -> str | None:
        """Why the run ended: "eos", "length", "stopped" (also by Ctrl-C), "failed" or "interrupted"."""
        return self.log.reason

    @property
    def model(self) -> dict[str, Any]:
        """The model, as in docs/frames.md under `open`: name, layers, heads and more."""
        return dict(self.log.open["model"])

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The changes of a changed run, as in docs/frames.md under "Changed runs"; empty for any other run."""
        changed = self.log.open["changed"]
        return list(changed["changes"]) if changed else []

    @property
    def title(self) -> str:
        """The title of a saved session, else ""."""
        return str(self._content.words["title"])

    @property
    def notes(self) -> list[dict[str, Any]]:
        """The notes of a saved session: {step, layer, head, text}."""
        return list(self._content.words["notes"])

    @property
    def level(self) -> str:
        """Which values are stored: only "attention"; exact "qkv" too; or every value inside a "block" too."""
        return self.log.values_level or "attention"

    def positions(self, step: int) -> range:
        """Returns the positions that a step computed: the whole prompt, later one; the queries of `attention`."""
        with _public_errors():
            return self.log.rows(step)

    def attention(self, step: int, layer: int, head: int) -> np.ndarray:
        """Returns attention weights, float32 [queries, keys], within 0.004 of the model's own (below 1e-5 near zero).

        Queries are `positions(step)`; keys are positions 0 to the last query. Keys after their query have weight 0.
        """
        with _public_errors():
            return self.log.attention(step, layer, head)

    def attentions(self, step: int | None = None) -> np.ndarray:
        """Returns all attention weights, float32 [layer, head, query, key], each as `attention` has it.

        Of a step, queries are `positions(step)`. Without a step, queries and keys are all positions: the row of a query
        is from the step that computed it, and NaN where no step of this run did (rows read from the cache).
        """
        from kvscope.model.companding import decompand

        with _public_errors():
            if step is not None:
                return decompand(self.log.companded_step(step))
            weights = decompand(self.log.companded_run())
            weights[:, :, : self.log.reused] = float("nan")
            return weights

    def values(self, step: int, layer: int) -> dict[str, np.ndarray]:
        """Returns the exact values of a step in a layer by name, float32, as in docs/frames.md under `values`: q, k and
        v in full precision, values inside the block rounded to 16 bits (`block` has them in full).

        Of a run that another program computed, they are what it returned of q, k and v. Raises NotThere if none are
        stored and the run's model is not in this process.
        """
        with _public_errors():
            by = self.model.get("computed_by")
            if self._stores(layer) or (self._live is None and by is None):
                return self.log.exact(step, layer)
            self.log.companded(step, layer, 0)
            if by is not None:
                raise NotThere(f"This run has no q, k and v: {by}, which computed it, did not return them.")
            live = self._of_model()
            (frame,) = live.values(step, [layer])
            return {name: tensor.astype("float32") for name, tensor in tensors(frame).items()}

    def head(self, step: int, layer: int, head: int) -> dict[str, np.ndarray]:
        """Returns the exact values of one head, float32: q [queries, width], k and v [keys, width], scores and weights
        [queries, keys], output [queries, width]. The model computes them. In step 0 queries are the whole prompt.
        """
        live = self._at(step, layer, head)
        first = rows_of(self.log.prompt_length, step).start
        return _tensors(live.asks("head", live.ids(step), first, layer, head))

    def block(self, step: int, layer: int, position: int | None = None) -> dict[str, np.ndarray]:
        """Returns every value of one block for the token at `position` (default: the newest of the step), float32, by
        the names of docs/frames.md under `block`: attn.normed, attn.weights, mlp.hidden, resid_out … The model computes
        them.
        """
        live = self._at(step, layer)
        ids = live.ids(step)
        return _tensors(live.asks("block", ids, layer, len(ids) - 1 if position is None else position))

    def lens(self, step: int) -> dict[str, Any]:
        """Returns what the newest row of a step predicts after each layer (logit lens): {token, layers: [{layer, top,
        chosen}]}, as in docs/frames.md under `lens`.

        Raises NotThere if it is not stored and the run's model is not in this process.
        """
        with _public_errors():
            by = self.model.get("computed_by")
            if self._stores(self.model["layers"] - 1) and (by is None or self.log.has_lens):
                return self.log.lens(step)
            if by is not None:
                raise NotThere(
                    "This run has no lens: it needs the rows after each layer and the final norm and head of the model."
                    f" What {by} returned lacks them, or they do not give its logits."
                )
            if self._live is None:
                raise NotThere(
                    "The lens needs exact values of the last layer, and none are stored with this run. Store them: "
                    'Run.save(values=True), `kvscope run --values`, or share the run with values "qkv" or "block".'
                )
            live = self._at(step)
            answer: dict[str, Any] = live.asks("lens", live.ids(step), self.steps[step]["token"]["id"])
            return answer

    def effects(
        self,
        step: int = -1,
        of: EffectOf = "heads",
        *,
        switch: Switch = "zero",
        source: str = "",
        foil: int | Token | None = None,
    ) -> dict[str, Any]:
        """Switches one part of the model at a time, and returns how the token of a step changes: the total effect.

        `of`: "heads", "attention", "mlp", "layers"; "tokens", each of which is left out in its turn; "residual_at",
        "attention_at" or "mlp_at", a layer at one position. `switch`: what replaces a part: "zero"; "mean" of its rows
        over the prompt; "resample", its rows in another prompt of the same length, `source`; "reference", the mean over
        the prompts in `source`, one per line (default: those that ship with KVScope). `foil`: the token that the step's
        is compared with; default: the likeliest other one.

        Returns for each part `logprob` and `logit` of the step's token, `foil_logprob` and `foil_logit`, and `kl` (in
        nats; logarithms are natural), NumPy float64 [layers, heads] of "heads", [layers], [positions] or [layers,
        positions]; `base`, the same of the step as it was; with "resample", `other`, of the other prompt followed by
        the run's answer up to this step, else None; and `foil`, the token. docs/frames.md has each under `effects`. The
        model computes them.
        """
        from kvscope.app.reader import effects

        against = None if foil is None else _id(foil)
        switching = Switching(switch, source, against, self.prompt_length, self.log.open["chat"])
        return effects.total(self._at(step), self._step(step), of, switching)

    def direct(self, step: int = -1, foil: int | Token | None = None) -> dict[str, Any]:
        """Returns what each part of the model itself writes towards the token of a step: its direct effect (direct
        logit attribution), with the final norm's scale held fixed.

        Returns NumPy float64 arrays whose last axis is [token, foil, mean]: the share of the logit of the step's token,
        of the foil's, and of the mean of all logits: `heads` [layers, heads, 3]; `attention`, `mlp` and `out_bias`
        [layers, 3]; `embedding` and `bias` [3]; `logits` [3], the model's own, before a cap if it caps them: the sum of
        all but `heads` and `out_bias`, up to rounding; and `foil`, the token: by default the likeliest one other than
        the step's.
        docs/frames.md has each under `direct`. The model computes them.
        """
        from kvscope.app.reader import effects

        return effects.direct(self._at(step), self._step(step), None if foil is None else _id(foil))

    def patterns(self) -> dict[str, np.ndarray]:
        """Returns two scores of each head, float64 [layers, heads], on random tokens that are read twice, whichever the
        run: the mean weight on the token before (`previous`), and on the token that followed the same one in the first
        reading (`induction`). The model computes them.
        """
        from kvscope.app.reader import effects

        return effects.patterns(self._of_model())

    def change(self, changes: Iterable[Mapping[str, Any]], *, on_step: OnStep | None = None) -> Run:
        """Computes the run again with changes, as in docs/frames.md under "Changed runs", and returns the new run:
        `run.change([{"site": "head", "op": "zero", "layer": 3, "head": 1}])`. They replace those that it has.
        """
        from kvscope.app.reader.live import changes_of
        from kvscope.app.reader.watching import watching

        checked = changes_of(changes)
        if not checked:
            raise CannotRun("changes is empty; name at least one change.")
        with watching(on_step) as on_frame:
            return _computed(self._of_model().changed(checked, on_frame))

    def branch(self, step: int, token: int | Token, *, on_step: OnStep | None = None) -> Run:
        """Returns a new run that has `token`, an id or one of `tokens`, as the choice of `step`, and goes on from there
        with the same settings.
        """
        from kvscope.app.reader.watching import watching

        live = self._at(step)
        with watching(on_step) as on_frame:
            return _computed(live.branched(step, _id(token), on_frame))

    def save(self, path: str | os.PathLike[str], *, values: bool | Iterable[int] = False) -> None:
        """Writes the run to a .safetensors file, which `kvscope.open` and the page open; or to an .mjs file, the script
        of a widget with the run inside, for MyST's {anywidget}.

        `values`: whether exact values are stored too, or of which layers; the last layer's always are then, because
        they have the lens. Values that are stored already stay. Raises CannotRun, OSError.
        """
        out, layers = Path(path), range(self.model["layers"])
        if out.suffix == ".mjs" and values is False:
            from kvscope.app.reader.player import session_file
            from kvscope.app.travel.widget_module import session_module

            with whole_file(out) as file:
                file.write(session_module(session_file(self._content, values=False)).encode())
            return
        if out.suffix != ".safetensors":
            raise CannotRun(f"path is {str(path)!r}; it must end in .safetensors, or without values in .mjs.")
        exact: Iterable[bytes] = self._content.values.payloads() if self._content.values else ()
        if values is not False:
            chosen = sorted(set(layers if values is True else values) | {layers[-1]})
            if not set(chosen) <= set(layers):
                raise CannotRun(f"values names a layer that the model does not have; it has 0 to {layers[-1]}.")
            if self._live is not None or not all(map(self._stores, chosen)):
                live = self._of_model()
                exact = chain.from_iterable(live.values(step, chosen) for step in range(len(self.steps)))
        content = join(self._content.frames(), values=exact)
        with whole_file(out) as file:
            file.write(content)

    def close(self) -> None:
        """Ends this run's use of its model. When its last open run is closed, the model's memory is freed."""
        if self._live is not None:
            self._live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.close()

    def opening(self) -> tuple[int, int, int]:
        """Returns the step, layer and head that the page shows first: as shared, else as `opening_head` chooses."""
        from kvscope.app.travel.opening_head import NothingToShow, opening_head

        chosen = self._content.words["open"]
        try:
            shown = opening_head(self._content.frames(), chosen)
        except NothingToShow as error:
            raise CannotRead(f"This run has no attention to show: {error}.") from None
        return chosen["step"] or 0, shown.layer, shown.head

    def figure(
        self, kind: str, *, step: int | None = None, layer: int | None = None, head: int | None = None
    ) -> Figure:
        """Returns a Plotly figure: "attention" of a head at a step (default: as `opening`); the KV "cache" or "time" of
        all steps; or the "lens", the prediction after each layer, which needs exact values or the run's model.

        Raises CannotRead for another kind, and NotThere if the run has no data for the figure.
        """
        from kvscope.app.reader import figures

        if kind == "attention" and None in (step, layer, head):
            first = self.opening()
            step, layer, head = (
                default if value is None else value for value, default in zip((step, layer, head), first, strict=True)
            )
        with _public_errors():
            return figures.figure(self.log, kind, self.lens, step=step, layer=layer, head=head)

    def _repr_html_(self) -> str:
        """Returns HTML that shows the run in a notebook's cell."""
        from kvscope.app.reader.player import player

        return player(self._content)

    def __repr__(self) -> str:
        prompt = self.prompt if len(self.prompt) <= 60 else f"{self.prompt[:59]}…"
        if study := self.log.open["study"]:
            more = f"{len(study['requests'])} requests, {len(self.passes)} passes"
        else:
            more = f"{self.prompt_length} + {len(self.steps)} tokens"
        return f"<Run of {self.model['name']}: {prompt!r}, {more}>"

    def _stores(self, layer: int) -> bool:
        """Returns whether the file has exact values of a layer."""
        values = self._content.values
        return values is not None and any(part["layer"] == layer for part in values.parts)

    def _of_model(self) -> Live:
        if self._live is None:
            if by := self.model.get("computed_by"):
                raise CannotRun(
                    f"This needs KVScope's own computation of the model, and {by} computed the run. What it returned "
                    "is in attention, values and lens; docs/models.md lists the families that KVScope computes itself."
                )
            raise NotThere(
                "This run was opened from a record, and its model is not in this process; kvscope.run computes a run "
                "with its model."
            )
        return self._live

    def _at(self, step: int, layer: int = 0, head: int = 0) -> Live:
        """Returns the run in this process. Raises NotThere for a step, layer or head that it does not have."""
        with _public_errors():
            self.log.companded(self._step(step), layer, head)
        return self._of_model()

    def _step(self, step: int) -> int:
        """Returns the number of a step; -1 is the last one."""
        return step if step >= 0 else len(self.steps) + step


def _id(token: int | Token) -> int:
    return token.id if isinstance(token, Token) else token


def _computed(live: Live) -> Run:
    return Run(live.content, live)


def _tensors(answer: bytes) -> dict[str, np.ndarray]:
    from safetensors.numpy import load

    return load(answer)


@contextmanager
def _public_errors() -> Iterator[None]:
    try:
        yield
    except reader.NotThere as error:
        raise NotThere(str(error)) from None
    except BadFrame as error:
        raise CannotRead(f"The run contradicts itself: {error}.") from None
