"""Makes the log of a run from what another program returned of it: `kvscope.from_cache`.

Three forms are read: a cache of TransformerLens, by the names of its hook points; outputs of `transformers`, of one
forward pass or of `generate`; and arrays by name. This module imports neither library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kvscope.model.api import Refused
from kvscope.model.engine.distribution import NotFinite
from kvscope.model.engine.records import KVState
from kvscope.model.linear import name_of
from kvscope.model.log import schema
from kvscope.model.log.untrusted import BadFile
from kvscope.model.observed.lens import is_near
from kvscope.model.observed.log import ObservedLog, ObservedPass, is_exact
from kvscope.model.observed.names import names_of
from kvscope.model.observed.outputs import attention_of, causal, one_shape, rows_in, windows_of
from kvscope.model.settings import Sampling

MOST_OFF = 0.02
"""How far the sum of a row of attention weights may be from 1: weights in half precision are rounded."""
_HOOK = re.compile(r"blocks\.(\d+)\.(.+)")
ARRAYS = {"attention": 4, "q": 4, "k": 4, "v": 4, "residual": 3}
"""Arrays by name, with their number of axes: [layer, head, query, key], [layer, head, position, width] and [layer,
position, width]."""


def log_of(
    run: str, cache: Any, tokens: Any, logits: Any, tokenizer: Any, model: Mapping[str, Any] | None
) -> tuple[list[bytes], list[bytes]]:
    """Returns the log of a run and its frames of exact values, from what another program returned (`kvscope.from_cache`
    says what the arguments may be). Raises Refused, naming the argument.
    """
    if tokenizer is None or not hasattr(tokenizer, "convert_ids_to_tokens"):
        message = "tokenizer must be the one with which the tokens were made, of transformers;"
        raise Refused("tokenizer", f"{message} of a HookedTransformer it is model.tokenizer.")
    ids = None if tokens is None else _ids(tokens)
    if any(str(name).startswith(("cross_", "encoder_", "decoder_")) for name in getattr(cache, "keys", list)()):
        message = f"cache is a {type(cache).__name__}, of an encoder-decoder;"
        raise Refused("cache", f"{message} pass the outputs of a decoder-only model (AutoModelForCausalLM).")
    if hasattr(cache, "sequences") and hasattr(cache, "attentions"):
        by, chosen, passes = f"transformers ({type(cache).__name__})", None, _of_generate(cache, logits)
        ids = _ids(cache.sequences) if ids is None else ids
    elif hasattr(cache, "attentions"):
        by, chosen, passes = f"transformers ({type(cache).__name__})", Sampling(), [_of_forward(cache, logits)]
    elif hasattr(cache, "keys"):
        hooked = any(_HOOK.fullmatch(str(name)) for name in cache.keys())  # noqa: SIM118 - not every cache is a mapping
        by = "TransformerLens" if hooked else "another program"
        chosen, passes = Sampling(), [_of_hooks(cache, logits) if hooked else _of_arrays(cache, logits)]
    else:
        message = f"cache is a {type(cache).__name__}; it must be a cache of TransformerLens, outputs of transformers,"
        raise Refused("cache", f"{message} or arrays by name: {', '.join(ARRAYS)}.")
    if ids is None:
        raise Refused("tokens", "tokens is missing; pass the ids of all tokens that the model read.")
    prompt = passes[0].length
    _check_tokens(ids, prompt, len(passes), len(passes[0].logits), tokenizer)
    info = _info(
        passes[0], {"computed_by": by} | _known(cache) | dict(model or {}), getattr(cache, "past_key_values", None)
    )
    names = names_of(tokenizer)
    log = ObservedLog(run, info, names, chosen)
    payloads = [log.begin(names.decode(ids[:prompt])[: schema.MOST_PROMPT], False, ids[:prompt]).payload]
    for step, observed in enumerate(passes):
        try:
            frames, _ = log.step(observed, None if chosen else ids[prompt + step])
        except NotFinite:
            raise Refused("logits", f"logits of step {step} have NaN or infinity.") from None
        payloads += [frame.payload for frame in frames]
    return [*payloads, log.close("stopped").payload], log.exact


def _of_forward(outputs: Any, logits: Any) -> ObservedPass:
    given = getattr(outputs, "logits", None) if logits is None else logits
    return _of_outputs(outputs, outputs.attentions, given, 0, None, "the forward pass")


def _of_generate(outputs: Any, logits: Any) -> list[ObservedPass]:
    """Returns the passes of `generate`: that of the prompt, then one per token."""
    if not outputs.attentions or not outputs.attentions[0] or outputs.attentions[0][0] is None:
        attention_of(None, None, 0, "cache", "generate")
    all_logits = getattr(outputs, "logits", None) if logits is None else logits
    if all_logits is None or len(all_logits) != len(outputs.attentions):
        message = "logits of each step are missing; call generate with output_logits=True (scores are"
        raise Refused("logits", f"{message} not enough: they are changed by the settings of generate).")
    passes: list[ObservedPass] = []
    total = outputs.attentions[0][0].shape[-1] + len(outputs.attentions) - 1
    for each, row in zip(outputs.attentions, all_logits, strict=True):
        first = passes[-1].first + passes[-1].length if passes else 0
        passes.append(_of_outputs(outputs, each, row, first, total, "generate"))
    return passes


def _of_outputs(
    outputs: Any, attentions: Any, logits: Any, first: int, positions: int | None, what: str
) -> ObservedPass:
    """Returns a pass of `outputs`, whose rows begin at position `first`. `positions`: how many the cache of the outputs
    has read; None: those up to this pass.
    """
    attention = attention_of(attentions, None, first, "cache", what)
    rows = range(first, first + attention.shape[2])
    cached = rows_in(getattr(outputs, "past_key_values", None), rows, positions or rows.stop, len(attention))
    k, v = cached or (None, None)
    return _checked(ObservedPass(first, attention, _last_logits(logits, len(rows)), k=k, v=v), sinks=True)


def _of_hooks(cache: Any, logits: Any) -> ObservedPass:
    """Returns the pass that TransformerLens cached under the names of its hook points."""
    names = {str(name) for name in cache.keys()}  # noqa: SIM118
    layers = 1 + max(int(match[1]) for match in map(_HOOK.fullmatch, names) if match)
    patterns = [f"blocks.{layer}.attn.hook_pattern" for layer in range(layers)]
    if missing := [name for name in patterns if name not in names]:
        message = f"cache lacks {missing[0]}, the attention of {len(missing)} of {layers} layers;"
        raise Refused("cache", f"{message} call run_with_cache without names_filter, or let it pass every layer.")
    config = getattr(getattr(cache, "model", None), "cfg", None)
    if config is not None and config.n_layers != layers:
        raise Refused("cache", f"cache has {layers} layers, and its model {config.n_layers}; pass a whole cache.")

    def stacked(hook: str, axes: int) -> Tensor | None:
        full = [f"blocks.{layer}.{hook}" for layer in range(layers)]
        if not names.issuperset(full):
            return None
        return torch.stack([_without_batch(cache[name], axes, name) for name in full])

    def by_head(*hooks: str) -> Tensor | None:
        rows = next((each for hook in hooks if (each := stacked(f"attn.{hook}", 3)) is not None), None)
        return None if rows is None else rows.transpose(1, 2)  # layer, position, head → layer, head, position

    arrays = {
        "attention": stacked("attn.hook_pattern", 3),
        "q": by_head("hook_rot_q", "hook_q"),
        "k": by_head("hook_rot_k", "hook_k"),
        "v": by_head("hook_v"),
        "residual": stacked("hook_resid_post", 2),
    }
    observed = _of_arrays({name: array for name, array in arrays.items() if array is not None}, logits)
    return replace(observed, lens=_hooked_lens(getattr(cache, "model", None), observed))


def _hooked_lens(model: Any, observed: ObservedPass) -> Tensor | None:
    """Returns logits after each layer by the final norm and the unembedding of the cache's model, if they give the
    logits of the pass.
    """
    if observed.residual is None or not (hasattr(model, "ln_final") and hasattr(model, "unembed")):
        return None
    parameter = next(model.parameters())
    with torch.inference_mode():
        rows = observed.residual[:, -1:].to(parameter.device, parameter.dtype)
        logits: Tensor = model.unembed(model.ln_final(rows))[:, 0].float().cpu()
    return logits if is_near(logits[-1], observed.logits) else None


def _of_arrays(arrays: Mapping[str, Any], logits: Any) -> ObservedPass:
    """Returns the pass with these arrays of `ARRAYS`."""
    given = {str(name): arrays[name] for name in arrays.keys()}  # noqa: SIM118
    if unknown := set(given) - set(ARRAYS):
        message = f"cache has {sorted(unknown)[0]!r}, which is not known; it may have {', '.join(ARRAYS)}."
        raise Refused("cache", message)
    if "attention" not in given:
        raise Refused("cache", "cache lacks attention, an array [layer, head, query, key] of weights after softmax.")
    tensors = {}
    for name, array in given.items():
        tensors[name] = tensor = _tensor(array, name, "cache").detach().cpu()
        if tensor.dim() != ARRAYS[name] or not tensor.numel():
            message = f"cache[{name!r}] has the shape {list(tensor.shape)}; it must have {ARRAYS[name]} axes"
            raise Refused("cache", f"{message}, the layer first.")
        if not bool(tensor.isfinite().all()):
            after = "; pass weights after softmax" if name == "attention" else ""
            raise Refused("cache", f"cache[{name!r}] has a value that is not a finite number{after}.")
    attention = tensors.pop("attention").float()
    layers, heads, rows, keys = attention.shape
    if rows != keys:
        message = f"the attention has {rows} queries and {keys} keys; it must be of one pass over all tokens."
        raise Refused("cache", message)
    for name, tensor in tensors.items():
        length = tensor.shape[1 if name == "residual" else 2]
        if (tensor.shape[0], length) != (layers, rows):
            message = f"cache[{name!r}] is of {tensor.shape[0]} layers and {length} positions, and the attention of"
            raise Refused("cache", f"{message} {layers} and {rows}.")
    q, k, v = tensors.get("q"), tensors.get("k"), tensors.get("v")
    if (k is None) != (v is None) or (k is not None and v is not None and k.shape != v.shape):
        raise Refused("cache", "k and v belong together: pass both, of the same shape, or neither.")
    if (k is not None and heads % k.shape[1]) or (q is not None and q.shape[1] != heads):
        raise Refused("cache", f"q must have the {heads} heads of the attention, and k and v a number that divides it.")
    if q is not None and k is not None and q.shape[3] != k.shape[3]:
        raise Refused("cache", f"q has the width {q.shape[3]} and k {k.shape[3]}; they must be equal.")
    last = _last_logits(logits, rows)
    observed = ObservedPass(0, causal(attention, 0, "cache"), last, q, k, v, tensors.get("residual"))
    return _checked(observed, sinks=False)


def _checked(observed: ObservedPass, *, sinks: bool) -> ObservedPass:
    """Returns the pass with the size of its K and V. `sinks`: a row may have a sum below 1, of a model that leaves out
    the weight of its attention sinks. Raises Refused if the weights are none.
    """
    attention = observed.attention
    sums = attention.sum(-1)
    if (
        float(attention.min()) < 0
        or float(sums.max()) > 1 + MOST_OFF
        or (not sinks and float(sums.min()) < 1 - MOST_OFF)
    ):
        worst = float(sums.flatten()[(sums - 1).abs().argmax()])
        message = f"cache: a row of the attention has the sum {worst:.3g}, not 1; pass weights after softmax,"
        raise Refused("cache", f"{message} which TransformerLens calls hook_pattern.")
    if observed.k is None or observed.v is None:
        return observed
    written = observed.k.nbytes + observed.v.nbytes
    positions = observed.first + observed.length
    return replace(observed, cache=KVState(positions, written, written // observed.length * positions, paged=None))


def _last_logits(logits: Any, rows: int) -> Tensor:
    """Returns the logits [V] of the newest row, from [V], [rows, V] or [1, rows, V]. Raises Refused("logits")."""
    if logits is None:
        raise Refused("logits", "logits is missing; pass those of the pass, at least of its last position.")
    tensor = _without_batch(logits, 2, "logits", "logits").detach().cpu().float()
    if tensor.dim() == 2 and tensor.shape[0] not in (1, rows):
        message = (
            f"logits are of {tensor.shape[0]} positions, and the attention of {rows}; pass those of the same pass."
        )
        raise Refused("logits", message)
    last = tensor[-1] if tensor.dim() == 2 else tensor
    if last.dim() != 1 or len(last) < 2:
        raise Refused("logits", f"logits have the shape {list(tensor.shape)}; it must be [positions, vocabulary].")
    return last


def _without_batch(array: Any, axes: int, name: str, field: str = "cache") -> Tensor:
    tensor = _tensor(array, name, field)
    if tensor.dim() != axes + 1:
        return tensor
    if len(tensor) != 1:
        raise Refused(field, f"{name} is of {len(tensor)} sequences; pass one of them.")
    return tensor[0]


def _tensor(array: Any, name: str, field: str) -> Tensor:
    if isinstance(array, Tensor):
        return array
    try:
        return torch.as_tensor(np.ascontiguousarray(array))  # torch takes no array that runs backwards
    except (TypeError, ValueError, RuntimeError):
        raise Refused(
            field, f"{name} must be a tensor or an array of numbers; it is a {type(array).__name__}."
        ) from None


def _ids(tokens: Any) -> list[int]:
    tensor = _without_batch(tokens, 1, "tokens", "tokens")
    if tensor.dim() != 1 or not len(tensor) or tensor.is_floating_point() or tensor.is_complex():
        raise Refused(
            "tokens", "tokens must be the ids of one sequence: a list, an array or a tensor of whole numbers."
        )
    ids: list[int] = tensor.tolist()
    return ids


def _check_tokens(ids: Sequence[int], prompt: int, steps: int, vocab: int, tokenizer: Any) -> None:
    """Refuses tokens that are not those of the passes. Each pass of `generate` has chosen one."""
    expected = prompt if steps == 1 else prompt + steps
    if len(ids) not in (expected, prompt + steps):
        message = (
            f"tokens has {len(ids)} ids, and the attention is of {expected} tokens; pass the tokens of the same run."
        )
        raise Refused("tokens", message)
    if not all(0 <= token < vocab for token in ids):
        raise Refused("tokens", f"tokens has the id {max(ids)}, and the logits are of {vocab:,} tokens.")
    if len(tokenizer) > vocab or max(ids) >= len(tokenizer):
        message = f"tokenizer has {len(tokenizer):,} tokens, the logits {vocab:,}, and tokens the id {max(ids)};"
        raise Refused("tokenizer", f"{message} pass the model's own.")


def _known(cache: Any) -> dict[str, Any]:
    """Returns the facts of a model of TransformerLens that its cache refers to."""
    config = getattr(getattr(cache, "model", None), "cfg", None)
    names = {"name": "model_name", "d_mlp": "d_mlp", "context": "n_ctx", "score_width": "attn_scale"}
    facts = {ours: getattr(config, theirs, None) for ours, theirs in names.items()}
    root = float(facts.pop("score_width") or 0)
    if root > 0:  # -1 stands for √d_head
        facts["score_width"] = round(root**2, 6)
    return {name: fact for name, fact in facts.items() if fact}


def _info(observed: ObservedPass, facts: dict[str, Any], cache: Any) -> dict[str, Any]:
    """Returns the model as in an `open` frame: what the arrays and a cache object say, and the facts. Raises
    Refused("model").
    """
    layers, heads = observed.attention.shape[:2]
    measured: dict[str, Any] = {"layers": layers, "heads": heads, "vocab": len(observed.logits)}
    keys = one_shape(cache) if observed.k is None else observed.k[0]
    if keys is not None:
        measured |= {"kv_heads": keys.shape[0], "head_dim": keys.shape[2]}
        facts = {
            "dtype": name_of(keys.dtype),
            "element_bytes": keys.element_size(),
            "windows": windows_of(cache),
        } | facts
        facts = {name: fact for name, fact in facts.items() if fact is not None}
        if "score_width" not in facts and is_exact(observed, keys.shape[2]):
            measured["score_width"] = float(keys.shape[2])
    if observed.residual is not None:
        measured["d"] = observed.residual.shape[2]
    if unknown := set(facts) - set(schema.Model.model_fields):
        message = (
            f"model has {sorted(unknown)[0]!r}, which no log has; facts are {', '.join(schema.Model.model_fields)}."
        )
        raise Refused("model", message)
    for name in set(measured) & set(facts):
        if facts[name] != measured[name]:
            raise Refused("model", f"model says {name} is {facts[name]!r}, and the arrays have {measured[name]}.")
    info = {"name": "unnamed model", **facts, **measured}
    try:
        schema.read_data(schema.Model, info, "model")
    except BadFile as error:
        raise Refused("model", str(error)) from None
    return info
