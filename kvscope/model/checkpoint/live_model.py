"""Takes over a model of `transformers` that is in this process: its weights, its configuration and its tokenizer.

This module does not import transformers: it uses only methods of the objects that the caller passes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from kvscope.model.api import NotTakenOver, Progress, Refused
from kvscope.model.checkpoint import Checkpoint
from kvscope.model.checkpoint.hf_folder import HEADS, FolderModel, read_tensors

_HEAD = "lm_head.weight"
"""The name of the LM head in memory; files of some families have another."""
_JOINED_EXPERTS = "mlp.experts.gate_up_proj"
"""The end of the name of all experts' weights in one tensor, in memory only: files have each expert's."""


_PACKAGES = ("transformers", "torch")
"""Packages whose `forward` the family of a model implies."""


def fingerprint(model: object, tokenizer: Any) -> str:
    """Returns a text that changes with the tokenizer, and when a tensor of the model is replaced or changed in place
    (not through `.data`).

    Raises Refused("model") for an object that is no model, and NotTakenOver for one that computes with more than its
    weights.
    """
    module = _causal(model)
    if own := _own_computation(module):
        raise NotTakenOver("model", f"model has {own}, which a copy of its weights leaves out.")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    splits = hash(backend.to_str()) if backend is not None else id(tokenizer)
    weights = hash(tuple((tensor.data_ptr(), tensor._version) for tensor in module.state_dict().values()))
    return f"{id(model)} {weights} {splits}"


def _own_computation(module: Any) -> str | None:
    """Returns what changes the computation of a module, or of one in it, beside its weights; None if nothing does."""
    for name, each in module.named_modules():
        where = f"its module {name}" if name else "it"
        if each._forward_hooks or each._forward_pre_hooks:
            return f"hooks on {where}"
        package = getattr(type(each).forward, "__module__", "").partition(".")[0]
        if "forward" in vars(each) or package not in _PACKAGES:
            return f"another forward in {where}"
    return None


def take_over(
    model: object, tokenizer: Any, progress: Callable[[Progress], None], dtype: torch.dtype = torch.float32
) -> Checkpoint:
    """Copies a causal language model of `transformers` into a checkpoint: converted to fp32, matrices then rounded to
    `dtype`. Its files are not read or downloaded again.

    Raises NotTakenOver unless it is of a family that can be loaded, with its own weights and nothing else, and Refused
    as `checked`.
    """
    module = checked(model, tokenizer)
    try:
        return _copied(module, tokenizer, progress, dtype)
    except Refused as why:
        raise NotTakenOver(why.field, why.message, limit=why.limit) from None


def _copied(module: Any, tokenizer: Any, progress: Callable[[Progress], None], dtype: torch.dtype) -> Checkpoint:
    tensors = dict(module.state_dict())
    head = HEADS.get(module.config.model_type)
    if head and _HEAD in tensors:
        tensors[head] = tensors.pop(_HEAD)
    kind = type(module).__name__
    if any(each.endswith(_JOINED_EXPERTS) for each in tensors):
        message = f"model is a {kind}, whose experts are joined in memory; save it with save_pretrained, and name"
        message += " the folder."
        raise Refused("model", message)
    name = str(getattr(module.config, "_name_or_path", "") or kind)
    with TemporaryDirectory(prefix="kvscope-") as folder:
        for part in (module.config, getattr(module, "generation_config", None), tokenizer):
            if part is not None:
                part.save_pretrained(folder)
        read: FolderModel = read_tensors(Path(folder), tensors, progress, kind, dtype)
    return Checkpoint(read.config, read.weights, read.tokenizer, name, _sha256(tensors), kind, read.stored)


def checked(model: Any, tokenizer: Any) -> Any:
    """Returns the model, if it is a causal language model of `transformers` whose weights are in memory, and the
    tokenizer fits. Raises Refused("model") and Refused("tokenizer").
    """
    module = _causal(model)
    if tokenizer is None:
        raise Refused("tokenizer", "tokenizer is missing; pass the model's own: AutoTokenizer.from_pretrained(…).")
    if not (hasattr(tokenizer, "save_pretrained") and hasattr(tokenizer, "__len__")):
        raise Refused("tokenizer", f"tokenizer is a {type(tokenizer).__name__}; it must be one of transformers.")
    rows = module.get_input_embeddings().weight.shape[0]
    if len(tokenizer) > rows:
        message = f"tokenizer has {len(tokenizer):,} tokens, and the model's embedding {rows:,} rows;"
        message += " pass the model's own."
        raise Refused("tokenizer", message, limit=rows)
    if strange := next((name for name, each in module.state_dict().items() if each.device.type == "meta"), None):
        raise Refused("model", f"model has no weights in memory: {strange} is on the meta device. Load it completely.")
    return module


def _causal(model: Any) -> Any:
    kind = type(model).__name__
    if not (isinstance(model, nn.Module) and hasattr(model, "config") and hasattr(model, "get_output_embeddings")):
        raise Refused("model", f"model is a {kind}; it must be a name, a path, or a causal LM of transformers.")
    if getattr(model.config, "is_encoder_decoder", False):
        raise Refused("model", f"model is a {kind}, an encoder-decoder; load a decoder-only one: AutoModelForCausalLM.")
    head: Any = model.get_output_embeddings
    if head() is None:
        raise Refused("model", f"model is a {kind}, which has no LM head; load it with AutoModelForCausalLM.")
    return model


def _sha256(tensors: dict[str, Tensor]) -> str:
    """Computes the hex digest of names and contents of the tensors, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}\n".encode())
        digest.update(tensors[name].detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
