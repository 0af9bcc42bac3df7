"""Runs a causal language model of `transformers` by its own module, and observes what the module returns.

This module does not import transformers: it uses only methods and outputs of the module that the caller passes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor, nn

from kvscope.model.api import Frame, Refused, RunRequest
from kvscope.model.checkpoint.live_model import checked
from kvscope.model.engine.distribution import NotFinite
from kvscope.model.linear import name_of
from kvscope.model.observed.lens import Lens
from kvscope.model.observed.log import ObservedLog, ObservedPass
from kvscope.model.observed.names import ids_of, names_of
from kvscope.model.observed.outputs import one_shape, pass_of, windows_of
from kvscope.model.service.limits import within


class ModuleRun:
    """One run of a module. `advance` computes a step at a time; it holds the module until the run has ended. The
    module's weights are not copied; its attention implementation is "eager" during each pass, as only that returns
    attention weights.
    """

    def __init__(self, model: object, tokenizer: Any, request: RunRequest) -> None:
        """Raises Refused for a model that is no causal one, a tokenizer that does not fit, and a prompt too long."""
        module = checked(model, tokenizer)
        self._module: nn.Module | None = module
        self._request = request
        self._ids = ids_of(tokenizer, request.prompt, request.chat)
        if not self._ids:
            raise Refused("prompt", "The prompt is empty; it must have at least one token.")
        context = getattr(module.config, "max_position_embeddings", None)
        if context:
            if len(self._ids) >= context:
                message = f"The prompt has {len(self._ids):,} tokens; the model takes {context:,}, with the answer's."
                raise Refused("prompt", message, limit=context)
            room = context - len(self._ids)
            within("max_new_tokens", request.max_new_tokens, 1, room, f"after a prompt of {len(self._ids):,} tokens ")
        self._names = names_of(tokenizer)
        self._eos = _ends(module)
        self._log: ObservedLog | None = None
        self._prompt = len(self._ids)
        self._cache: Any = None
        self._kind, self._layers = type(module).__name__, getattr(module.config, "num_hidden_layers", None)
        self._lens = Lens.of(module)
        self._width = 0
        self._stopped = False

    def control(self, run: str, action: str) -> str:
        """Ends the run before its next step, with the action "stop"."""
        assert action == "stop"
        self._stopped = True
        return "closed"

    def advance(self) -> list[Frame]:
        """Computes the next step, at first the prefill; returns its frames, with the `open` frame before those of step
        0, and the last frame after those of the last step. Raises Refused for a module that does not return what a log
        needs.
        """
        if self._stopped:
            return [self._close("stopped")]
        try:
            frames, token = self._step()
        except NotFinite as error:
            if self._log is None:
                raise Refused("model", f"model cannot be run: {error}.") from None
            return [self._close("failed", f"{error}.")]
        self._ids.append(token)
        if token in self._eos:
            frames.append(self._close("eos"))
        elif len(self._ids) - self._prompt >= self._request.max_new_tokens:
            frames.append(self._close("length"))
        return frames

    @property
    def exact(self) -> list[bytes]:
        """The frames of exact values so far (docs/frames.md, `values`)."""
        return self._log.exact if self._log else []

    def _step(self) -> tuple[list[Frame], int]:
        first = 0 if self._log is None else len(self._ids) - 1
        outputs, milliseconds, residual, lens = self._observe(first)
        self._cache = getattr(outputs, "past_key_values", None)
        observed = pass_of(outputs, self._layers, first, "model", f"the {self._kind}")
        observed = replace(
            observed,
            residual=residual,
            lens=lens,
            rows=len(self._ids) if self._cache is None else None,
            forward_ms=milliseconds,
        )
        begun: list[Frame] = []
        if self._log is None:
            request = self._request
            info = self._info(observed)
            self._log = ObservedLog(request.run, info, self._names, request.sampling)
            begun = [self._log.begin(request.prompt, request.chat, self._ids, request.max_new_tokens)]
        frames, token = self._log.step(observed)
        return [*begun, *frames], token

    def _observe(self, first: int) -> tuple[Any, float, Tensor | None, Tensor | None]:
        """Returns the outputs of the pass of the rows from `first` on, its milliseconds, and what the lens observed:
        the residual stream, and the logits of the newest row after each layer.
        """
        module: Any = self._module
        rows = self._ids if self._cache is None else self._ids[first:]
        ids = torch.tensor([rows], device=module.device)
        with _observable(module), torch.inference_mode():
            with self._lens.watching():
                started = time.perf_counter()
                try:
                    outputs = module(
                        input_ids=ids,
                        attention_mask=torch.ones((1, len(self._ids)), dtype=torch.long, device=module.device),
                        past_key_values=self._cache,
                        use_cache=True,
                        output_attentions=True,
                        output_hidden_states=True,
                        return_dict=True,
                    )
                except (TypeError, ValueError, NotImplementedError) as error:
                    raise Refused("model", f"model: the {self._kind} cannot be observed: {error}") from None
                if ids.is_cuda:
                    torch.cuda.synchronize(ids.device)
                milliseconds = (time.perf_counter() - started) * 1000
            self._width = outputs.hidden_states[0].shape[-1]
            residual = self._lens.residual(outputs.hidden_states, len(self._ids) - first)
            lens = None
            if residual is not None:
                lens = self._lens.logits(residual[:, -1], self._ids[-1], outputs.logits[0, -1])
        return outputs, milliseconds, residual, lens

    def _info(self, observed: ObservedPass) -> dict[str, Any]:
        """Returns what is known of the model, as in an `open` frame."""
        module: Any = self._module
        parameters = list(module.parameters())
        held = Counter[str]()
        for each in parameters:
            held[name_of(each.dtype)] += each.nbytes
        embedding, head = module.get_input_embeddings(), module.get_output_embeddings()
        layers, heads = observed.attention.shape[:2]
        name = str(getattr(module.config, "_name_or_path", "") or self._kind)
        known = {
            "arch": getattr(module.config, "model_type", None),
            "d": self._width,
            "context": getattr(module.config, "max_position_embeddings", None),
            "windows": windows_of(self._cache),
            "tied": embedding.weight is head.weight,
            "weight_dtype": held.most_common(1)[0][0],
            "weight_bytes": sum(held.values()),
            "weights": {"stored": {}, "held": dict(held)},
            "parameters": sum(each.numel() for each in parameters),
            "device": str(module.device),
            "eos": self._eos,
        }
        if (keys := one_shape(self._cache)) is not None:
            known |= {"kv_heads": keys.shape[0], "head_dim": keys.shape[2]}
            known |= {"dtype": name_of(keys.dtype), "element_bytes": keys.element_size()}
        return {
            "computed_by": f"{self._kind} of transformers {version('transformers')}",
            "name": name,
            "layers": layers,
            "heads": heads,
            "vocab": len(observed.logits),
            **{field: value for field, value in known.items() if value is not None},
        }

    def _close(self, reason: str, error: str | None = None) -> Frame:
        assert self._log is not None
        self._module, self._cache, self._lens = None, None, Lens()
        return self._log.close(reason, error)


@contextmanager
def _observable(module: Any) -> Iterator[None]:
    """Puts the module in evaluation mode, with an attention that returns its weights, and afterwards back."""
    training, before = module.training, getattr(module.config, "_attn_implementation", None)
    switches = hasattr(module, "set_attn_implementation") and before not in (None, "eager")
    try:
        module.eval()
        if switches:
            module.set_attn_implementation("eager")
        yield
    finally:
        module.train(training)
        if switches:
            module.set_attn_implementation(before)


def _ends(module: Any) -> list[int]:
    """Returns the tokens that end a text."""
    for config in (getattr(module, "generation_config", None), module.config):
        ends = getattr(config, "eos_token_id", None)
        if ends is not None:
            return [int(each) for each in (ends if isinstance(ends, list | tuple) else [ends])]
    return []
