"""Detect quantized weights in a Hugging Face folder, and their method, from its config, files and tensor names."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from kvscope.model.api import Refused

_CONFIGS = ("quantization_config", "quantization", "compression_config")
"""Keys of config.json that `transformers`, MLX and early compressed-tensors write."""
_FILES = {
    "quantize_config.json": "GPTQ",
    "quant_config.json": "AWQ",
    "hf_quant_config.json": "NVIDIA ModelOpt",
    "quant_strategy.json": "AutoRound",
}
_ENDINGS = {
    ".qweight": "GPTQ or AWQ",
    ".qzeros": "GPTQ or AWQ",
    ".quant_map": "bitsandbytes (4 bits)",
    ".absmax": "bitsandbytes (4 bits)",
    ".SCB": "bitsandbytes (8 bits)",
    ".W_q": "HQQ",
    ".weight_packed": "compressed-tensors",
    ".weight_scale_inv": "FP8 with a scale per block",
    ".weight_scale": "compressed-tensors or FP8",
    ".weight_scale_2": "NVFP4",
    "_blocks": "MXFP4",
    ".weight._data": "quanto",
    "weight_qdata": "torchao",
    ".weight_quantizer._scale": "NVIDIA ModelOpt",
    ".codebooks": "AQLM",
    ".biases": "MLX",
}
"""Endings of the names of tensors that only quantized weights have."""


def check_not_quantized(raw: dict[str, Any], folder: Path, tensors: Collection[str], source: str) -> None:
    """Refuses quantized weights. `raw`: the contents of config.json.

    Raises Refused("model"), which names `source`, the method and what to use instead.
    """
    key = next((key for key in _CONFIGS if raw.get(key) is not None), None)
    file = next((file for file in _FILES if (folder / file).is_file()), None)
    ending, name = next(
        ((ending, name) for ending in _ENDINGS for name in tensors if name.endswith(ending)), (None, None)
    )
    if ending is not None:
        by, why = _ENDINGS[ending], f"it has the tensor {name!r}"
        if file is not None:
            by, why = _FILES[file], f"{why} and the file {file}"
        if key is not None:
            by, why = _method(raw, key) or by, f"{why}, and config.json has {key}"
        raise Refused("model", f"The folder {source} is quantized by {by}: {why}. {_instead(folder)}.")
    if key is not None:
        by = _method(raw, key) or "a method it does not name"
        fault = f"has {key}, so the model is quantized by {by} when it is loaded"
        raise Refused(
            "model",
            f"The config.json of {source} {fault}. {_instead(folder)}."
            f" If its weights are whole, remove {key} to load them as they are.",
        )


def _method(raw: dict[str, Any], key: str) -> str | None:
    """Returns the name of the method in config.json, or else the method that the key implies, or None."""
    inside = raw[key] if isinstance(raw[key], dict) else {}
    method = inside.get("quant_method") or {"quantization": "MLX", "compression_config": "compressed-tensors"}.get(key)
    return None if method is None else str(method)


def _instead(folder: Path) -> str:
    here = next((path.name for path in sorted(folder.glob("*.gguf"))), None)
    use = "a GGUF file of the model, or the folder that this one was made from" if here is None else here
    return f"Only GGUF files can be read quantized: use {use}"
