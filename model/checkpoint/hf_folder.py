"""A Hugging Face model folder: config.json, *.safetensors, tokenizer.json. Pickled weights are never read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint.fetch import sha256_of
from kvscope.model.checkpoint.hf_config import config_from_hf
from kvscope.model.checkpoint.hf_tokenizer import tokenizer_from_hf
from kvscope.model.checkpoint.layout import fill, slots
from kvscope.model.checkpoint.recognise import other_format, what_is_here
from kvscope.model.checkpoint.tokenizer import Tokenizer
from kvscope.model.config import ModelConfig
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
_GEMMA3_MODULES = _LLAMA_MODULES | {
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
_MODULES = {"gpt2": _GPT2_MODULES, "gemma3_text": _GEMMA3_MODULES, "phi3": _PHI3_MODULES}
"""Of the families whose names are not Llama's."""
_CONV1D = ("attn.c_attn.weight", "attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
"""GPT-2 keeps these as [in, out]."""
_BUFFERS = (".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq")
"""Masks and frequencies that old checkpoints saved along; they are recomputed, not loaded."""
_DTYPES = ("F32", "F16", "BF16")
_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True, slots=True)
class FolderModel:
    """What a folder holds. `sha256` is of its safetensors files one after the other, in the order of their names."""

    config: ModelConfig
    weights: dict[str, Weight]
    tokenizer: Tokenizer
    sha256: str
    stored: dict[str, int]
    """Bytes of the weights that were read, by what the files store them as."""


def read_folder(
    folder: Path,
    progress: Callable[[Progress], None],
    name: str | None = None,
    dtype: torch.dtype = torch.float32,
) -> FolderModel:
    """Read a whole folder, upcast to fp32, matrices then rounded to `dtype`. `name` is what messages call it.

    Raises Refused("model").
    """
    name = name or folder.resolve().name
    if not (folder / "config.json").is_file() and (what := what_is_here(folder)) is not None:
        raise Refused("model", f"The folder {name} has no config.json. It holds {what}.")
    config = config_from_hf(read_json(folder / "config.json", name), name)
    files = _weight_files(folder, name)
    tokenizer = tokenizer_from_hf(folder, name)
    with ExitStack() as stack:
        tensors = _Tensors(files, config, name, stack)
        if config.tied and tensors.has_another_head:
            # As in transformers: the flag says what to do about a head that is missing, and this one is not.
            config = tensors.config = replace(config, tied=False)
        tensors.check()
        weights = fill(config, tensors.read, name, progress, dtype)
    return FolderModel(config, weights, tokenizer, sha256_of(*files), dict(tensors.stored))


def read_json(path: Path, folder: str) -> dict[str, Any]:
    """A JSON object from the folder called `folder`. Raises Refused("model")."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise Refused("model", f"The folder {folder} has no {path.name}.") from None
    except OSError as error:
        raise Refused("model", f"{path.name} of {folder} cannot be read: {error.strerror or error}.") from None
    except ValueError:  # Not UTF-8, or not JSON.
        raise Refused("model", f"{path.name} of {folder} is not valid JSON.") from None
    if not isinstance(value, dict):
        raise Refused("model", f"{path.name} of {folder} does not hold a JSON object.")
    return value


def _weight_files(folder: Path, name: str) -> list[Path]:
    if (folder / _SINGLE).is_file():  # also where there is an index beside it, as in transformers
        return [folder / _SINGLE]
    if (folder / _INDEX).is_file():
        shards = read_json(folder / _INDEX, name).get("weight_map")
        if not isinstance(shards, dict) or not shards:
            raise Refused("model", f"{_INDEX} of {name} lists no weights.")
        files = []
        for shard in sorted(set(map(str, shards.values()))):
            if Path(shard).name != shard or not (folder / shard).is_file():
                raise Refused("model", f"The folder {name} is incomplete: {shard}, which {_INDEX} names, is missing.")
            files.append(folder / shard)
        return files
    if others := sorted(path.name for path in folder.glob("*.safetensors") if path.is_file()):
        found = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
        raise Refused("model", f"The folder {name} has {found}, but neither {_SINGLE} nor {_INDEX}, which names parts.")
    if any(next(folder.glob(pattern), None) for pattern in _PICKLES):
        why = "only pickled ones, which can run any code and are never read; convert them to safetensors"
        raise Refused("model", f"The folder {name} has no safetensors weights, {why}.")
    holds = f" It holds {what}." if (what := what_is_here(folder)) is not None else ""
    raise Refused("model", f"The folder {name} has no {_SINGLE}.{holds}")


class _Tensors:
    """The tensors of a folder's files, by name."""

    def __init__(self, files: list[Path], config: ModelConfig, source: str, stack: ExitStack):
        self.config, self._source = config, source
        self.stored: Counter[str] = Counter()
        """Bytes of what was read, by what the files store it as."""
        self._handles: dict[str, tuple[Any, Path]] = {}
        for path in files:
            try:
                handle = stack.enter_context(safe_open(path, framework="pt"))
            except (SafetensorError, OSError) as error:
                what = other_format(path) or f"is truncated or corrupted ({error})"
                raise Refused("model", f"{path.name} of {source} {what}.") from None
            if twice := sorted(self._handles.keys() & set(handle.keys())):
                first = self._handles[twice[0]][1].name
                fault = f"{first} and {path.name} both have the tensor {twice[0]!r}"
                raise Refused("model", f"The folder {source} is corrupted: {fault}.")
            self._handles |= dict.fromkeys(handle.keys(), (handle, path))
        base = "transformer." if config.arch == "gpt2" else "model."
        self._base = ""  # a model that was saved without its head has no prefix
        if self._name("embed.weight") not in self._handles:
            self._base = base

    @property
    def has_another_head(self) -> bool:
        """Whether there is an LM head that differs from the embedding."""
        head, embed = "lm_head.weight", self._name("embed.weight")
        if not {head, embed} <= self._handles.keys():
            return False
        return not torch.equal(*(self._handles[name][0].get_tensor(name) for name in (head, embed)))

    def _name(self, part: str) -> str:
        """The folder's name of a part, e.g. `blocks.3.attn.q.weight` → `model.layers.3.self_attn.q_proj.weight`."""
        module, kind = part.rsplit(".", 1)
        modules = _MODULES.get(self.config.arch, _LLAMA_MODULES)
        if module == "lm_head":
            return part
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
        """All parts are there, of their shapes and a known type, and no tensor would be ignored. Raises Refused."""
        known = {"lm_head.weight"}  # A tied checkpoint may have it all the same.
        for slot in slots(self.config):
            for part, rows in slot.parts:
                name = self._name(part)
                known.add(name)
                shape = [rows, *slot.shape[1:]]
                self._check_one(name, shape[::-1] if self._turned(name) else shape)
        if unknown := sorted(key for key in self._handles.keys() - known if not key.endswith(_BUFFERS)):
            fault = f"holds tensors that its architecture {self.config.arch!r} does not have here"
            raise Refused("model", f"The folder {self._source} {fault}, such as {unknown[0]!r}.")

    def _check_one(self, name: str, shape: list[int]) -> None:
        if name not in self._handles:
            raise Refused("model", f"The folder {self._source} is incomplete: the tensor {name!r} is missing.")
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
        if self.config.rotary_dim is not None and part.endswith("attn.qkv.weight"):
            rotated = (self.config.heads + self.config.kv_heads) * self.config.head_dim
            out[:rotated] = paired(out[:rotated], self.config.head_dim, self.config.rotary_dim)
        if self.config.arch == "gemma3_text" and part.endswith("norm.weight"):
            out += 1  # its norms multiply by 1 + what is stored


def paired(rows: torch.Tensor, head_dim: int, rotated: int) -> torch.Tensor:
    """Rows of Q and K [heads·head_dim, …] of which the first `rotated` of each head are rotated in pairs (i, i +
    rotated/2), put in an order in which each pair is (i, i + head_dim/2). Products of q and k stay what they are.
    """
    heads = rows.view(-1, head_dim, *rows.shape[1:])
    half, rest = rotated // 2, rotated + (head_dim - rotated) // 2
    ends = (slice(half), slice(rotated, rest), slice(half, rotated), slice(rest, None))
    return torch.cat([heads[:, part] for part in ends], dim=1).flatten(0, 1)
