"""Read a Hugging Face model folder: config.json, *.safetensors, tokenizer.json. Pickled weights are never read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Set
from contextlib import ExitStack
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint.fetch import sha256_of
from kvscope.model.checkpoint.hf_config import config_from_hf
from kvscope.model.checkpoint.hf_tokenizer import tokenizer_from_hf
from kvscope.model.checkpoint.json_file import read_json, why_missing
from kvscope.model.checkpoint.layout import fill, qkv_rows, slots
from kvscope.model.checkpoint.quantized import check_not_quantized
from kvscope.model.checkpoint.recognise import model_below, other_format, what_is_here
from kvscope.model.checkpoint.tokenizer import Tokenizer
from kvscope.model.checkpoint.weight_files import weight_files
from kvscope.model.config import ModelConfig
from kvscope.model.families import FAMILIES
from kvscope.model.linear import name_of
from kvscope.model.transformer import Weight

_LLAMA_MODULES = {
    "embed": "embed_tokens",
    "norm": "norm",
    "attn.norm": "input_layernorm",
    "attn.q": "self_attn.q_proj",
    "attn.k": "self_attn.k_proj",
    "attn.v": "self_attn.v_proj",
    "attn.q_norm": "self_attn.q_norm",
    "attn.k_norm": "self_attn.k_norm",
    "attn.out": "self_attn.o_proj",
    "mlp.norm": "post_attention_layernorm",
    "mlp.gate": "mlp.gate_proj",
    "mlp.up": "mlp.up_proj",
    "mlp.down": "mlp.down_proj",
    "mlp.router": "mlp.gate",
}
_GEMMA_MODULES = _LLAMA_MODULES | {
    "attn.post_norm": "post_attention_layernorm",
    "mlp.norm": "pre_feedforward_layernorm",
    "mlp.post_norm": "post_feedforward_layernorm",
}
_PHI3_MODULES = _LLAMA_MODULES | {"attn.qkv": "self_attn.qkv_proj", "mlp.gate_up": "mlp.gate_up_proj"}
_GPT2_MODULES = {
    "embed": "wte",
    "positions": "wpe",
    "norm": "ln_f",
    "attn.norm": "ln_1",
    "attn.qkv": "attn.c_attn",
    "attn.out": "attn.c_proj",
    "mlp.norm": "ln_2",
    "mlp.up": "mlp.c_fc",
    "mlp.down": "mlp.c_proj",
}
_GPT_NEOX_MODULES = {
    "embed": "embed_in",
    "norm": "final_layer_norm",
    "attn.norm": "input_layernorm",
    "attn.qkv": "attention.query_key_value",
    "attn.out": "attention.dense",
    "mlp.norm": "post_attention_layernorm",
    "mlp.up": "mlp.dense_h_to_4h",
    "mlp.down": "mlp.dense_4h_to_h",
}
_MODULES = {
    "gpt2": _GPT2_MODULES,
    "gemma2": _GEMMA_MODULES,
    "gemma3_text": _GEMMA_MODULES,
    "phi3": _PHI3_MODULES,
    "gpt_neox": _GPT_NEOX_MODULES,
}
"""The names in families that do not use Llama's names."""
_BASES = {"gpt2": "transformer.", "gpt_neox": "gpt_neox."}
"""What the names begin with in a whole model, if that is not `model.` …"""
HEADS = {"gpt_neox": "embed_out.weight"}
"""… and the name of its head, if that is not `lm_head.weight`."""
_CONV1D = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
"""GPT-2 stores these as [in, out]."""
_BUFFERS = (".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq")
"""Masks and frequencies in old checkpoints; they are recomputed, not loaded."""
_DTYPES = ("F32", "F16", "BF16")


@dataclass(frozen=True, slots=True)
class FolderModel:
    """The contents of a folder. `sha256`: of its safetensors files one after the other, in the order of their names."""

    config: ModelConfig
    weights: dict[str, Weight]
    tokenizer: Tokenizer
    sha256: str
    stored: dict[str, int]
    """Bytes of the weights that were read, by format in the files."""


def read_folder(
    folder: Path,
    progress: Callable[[Progress], None],
    name: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> FolderModel:
    """Reads a whole folder: converted to fp32, matrices then rounded to `dtype`. `name`: the folder's name in messages.

    Raises Refused("model").
    """
    name = name or folder.resolve().name
    file = folder / "config.json"
    is_there = file.is_file() or why_missing(file)
    if not is_there and (what := model_below(folder) or what_is_here(folder)) is not None:
        raise Refused("model", f"The folder {name} has no config.json. It holds {what}.")
    raw = read_json(file, name)
    config = config_from_hf(raw, name)
    files = weight_files(folder, name)
    with ExitStack() as stack:
        tensors = _Tensors(_opened(files, name, stack), config, name)
        read = _read(folder, raw, tensors, name, progress, dtype)
    return FolderModel(*read, sha256_of(*files), dict(tensors.stored))


def read_tensors(
    folder: Path,
    tensors: Mapping[str, torch.Tensor],
    progress: Callable[[Progress], None],
    name: str,
    dtype: torch.dtype,
) -> FolderModel:
    """Reads a model like `read_folder`, with weights from `tensors`, named as in a file, in place of files: the folder
    has the configuration and the tokenizer. The result has no hash. Raises Refused("model").
    """
    raw = read_json(folder / "config.json", name)
    held = _Tensors(dict.fromkeys(tensors, (_Held(tensors), folder)), config_from_hf(raw, name), name)
    return FolderModel(*_read(folder, raw, held, name, progress, dtype), "", dict(held.stored))


def _read(
    folder: Path,
    raw: dict[str, Any],
    tensors: _Tensors,
    name: str,
    progress: Callable[[Progress], None],
    dtype: torch.dtype,
) -> tuple[ModelConfig, dict[str, Weight], Tokenizer]:
    check_not_quantized(raw, folder, tensors.names, name)
    tokenizer = tokenizer_from_hf(folder, name)
    if tensors.config.tied and tensors.has_another_head:
        # As in transformers: the flag counts only if the head is missing, and here it is not.
        tensors.config = replace(tensors.config, tied=False)
    tensors.check()
    return tensors.config, fill(tensors.config, tensors.read, name, progress, dtype), tokenizer


_NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}


@dataclass(frozen=True, slots=True)
class _Held:
    """Tensors in memory, with the methods of an opened safetensors file."""

    tensors: Mapping[str, torch.Tensor]

    def get_tensor(self, name: str) -> torch.Tensor:
        return self.tensors[name].detach()

    def get_slice(self, name: str) -> _HeldSlice:
        return _HeldSlice(self.tensors[name])


@dataclass(frozen=True, slots=True)
class _HeldSlice:
    tensor: torch.Tensor

    def get_shape(self) -> list[int]:
        return list(self.tensor.shape)

    def get_dtype(self) -> str:
        return _NAMES.get(self.tensor.dtype, str(self.tensor.dtype))


def _opened(files: list[Path], source: str, stack: ExitStack) -> dict[str, tuple[Any, Path]]:
    """Returns the handle of the file that has each tensor, and the file. Raises Refused("model")."""
    handles: dict[str, tuple[Any, Path]] = {}
    for path in files:
        try:
            handle = stack.enter_context(safe_open(path, framework="pt"))
        except (SafetensorError, OSError) as error:
            what = other_format(path) or f"is truncated or corrupted ({error})"
            raise Refused("model", f"{path.name} of {source} {what}.") from None
        if twice := sorted(handles.keys() & set(handle.keys())):
            first = handles[twice[0]][1].name
            fault = f"{first} and {path.name} both have the tensor {twice[0]!r}"
            raise Refused("model", f"The folder {source} is corrupted: {fault}.")
        handles |= dict.fromkeys(handle.keys(), (handle, path))
    return handles


class _Tensors:
    """The tensors of a model, by name: each with a handle that reads it, and its file."""

    def __init__(self, handles: dict[str, tuple[Any, Path]], config: ModelConfig, source: str):
        self.config, self._source, self._handles = config, source, handles
        self.stored: Counter[str] = Counter()
        """Bytes of the tensors that were read, by format in the files."""
        self._base, self._head = self._prefixes()

    @property
    def names(self) -> Set[str]:
        return self._handles.keys()

    def _prefixes(self) -> tuple[str, str]:
        """Returns the prefix of all names except the head's, and the head's name.

        The embedding's name shows the prefix: usually `model.`; empty if the model was saved without its head; longer
        if it was part of another model or wrapped: `_orig_mod.model.`, `module.model.`, `model.language_model.`.
        """
        usual, head = _BASES.get(self.config.arch, "model."), HEADS.get(self.config.arch, "lm_head.weight")
        embed = _MODULES.get(self.config.arch, _LLAMA_MODULES)["embed"] + ".weight"
        prefixes = [name.removesuffix(embed) for name in self._handles if f".{name}".endswith(f".{embed}")]
        base = prefixes[0] if len(prefixes) == 1 else usual
        heads = [name for name in self._handles if f".{name}".endswith(f".{head}")]
        # The head may be in any outer module, so its prefix must be a beginning of the embedding's prefix.
        return base, heads[0] if len(heads) == 1 and base.startswith(heads[0].removesuffix(head)) else head

    @property
    def has_another_head(self) -> bool:
        """Whether there is an LM head that differs from the embedding."""
        head, embed = self._head, self._name("embed.weight")
        if not {head, embed} <= self._handles.keys():
            return False
        return not torch.equal(*(self._handles[name][0].get_tensor(name) for name in (head, embed)))

    def _name(self, part: str) -> str:
        """Returns a part's name in the files: `blocks.3.attn.q.weight` → `model.layers.3.self_attn.q_proj.weight`."""
        module, kind = part.rsplit(".", 1)
        modules = _MODULES.get(self.config.arch, _LLAMA_MODULES)
        if module == "lm_head":
            return self._head if kind == "weight" else part
        if module.startswith("blocks."):
            _, layer, inner = module.split(".", 2)
            if inner.startswith("mlp.experts."):
                return f"{self._base}layers.{layer}.{inner}_proj.{kind}"
            stem = "h" if self.config.arch == "gpt2" else "layers"
            return f"{self._base}{stem}.{layer}.{modules[inner]}.{kind}"
        return f"{self._base}{modules[module]}.{kind}"

    def _turned(self, name: str) -> bool:
        return self.config.arch == "gpt2" and name.endswith(_CONV1D)

    def check(self) -> None:
        """Checks that all parts exist with their shapes and a known type, and no tensor is ignored. Raises Refused."""
        shapes = {self._name(part): [rows, *slot.shape[1:]] for slot in slots(self.config) for part, rows in slot.parts}
        known = {self._head, *shapes}  # a tied checkpoint may have a head too
        unknown = sorted(key for key in self._handles.keys() - known if not key.endswith(_BUFFERS))
        if adapter := next((key for key in unknown if ".lora_" in key), None):
            fault = f"holds an adapter that is not merged into its model: it has the tensor {adapter!r}. Merge it first"
            raise Refused("model", f"The folder {self._source} {fault}.")
        for name, shape in shapes.items():
            self._check_one(name, shape[::-1] if self._turned(name) else shape, unknown)
        if unknown:
            fault = f"holds tensors that its architecture {self.config.arch!r} does not have here"
            raise Refused("model", f"The folder {self._source} {fault}, such as {unknown[0]!r}.")

    def _check_one(self, name: str, shape: list[int], unknown: list[str]) -> None:
        if name not in self._handles:
            if like := get_close_matches(name, unknown, 1):
                fault = f"has no tensor {name!r}, but {like[0]!r}: rename its tensors"
            elif name == self._head:
                fault = f"has no tensor {name!r}, and its config.json says that the embedding does not serve as one"
                fault += " (tie_word_embeddings is false)"
            else:
                fault = f"is incomplete: the tensor {name!r} is missing"
            raise Refused("model", f"The folder {self._source} {fault}.")
        handle, path = self._handles[name]
        stored = handle.get_slice(name)
        if stored.get_shape() != shape:
            fault = f"the tensor {name!r} has shape {stored.get_shape()}, not the {shape} that config.json calls for"
            raise Refused("model", f"{path.name} of {self._source} is corrupted: {fault}.")
        if stored.get_dtype() not in _DTYPES:
            fault = f"stores {name!r} as {stored.get_dtype()}; {', '.join(_DTYPES)} can be read"
            raise Refused("model", f"{path.name} of {self._source} {fault}.")

    def read(self, part: str, out: torch.Tensor) -> None:
        name = self._name(part)
        tensor = self._handles[name][0].get_tensor(name)
        self.stored[name_of(tensor.dtype)] += tensor.nbytes
        out.copy_(tensor.T if self._turned(name) else tensor)
        computed = FAMILIES[self.config.arch]["computed"]
        by_head = "joined_by_head" in computed
        if part.rsplit(".", 2)[-2] == "qkv" and (by_head or self.config.rotary_dim is not None):
            out.copy_(out[qkv_rows(self.config, by_head)])
        if "norms_add_one" in computed and part.endswith("norm.weight"):
            out += 1
