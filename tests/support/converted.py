"""A model of `transformers` as a GGUF file, with the names, keys and orders that llama.cpp's converter gives it.

Of llama.cpp's converter, the classes Gemma2Model and GPTNeoXModel: Gemma's norms are stored plus 1; GPT-NeoX's q, k and
v, which alternate from head to head in a folder, are joined part by part. The `gguf` package has the names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np

from tests.support.tiny_files import write_gguf

ARCHS = {"gemma2": gguf.MODEL_ARCH.GEMMA2, "gpt_neox": gguf.MODEL_ARCH.GPTNEOX}


def write_converted(path: Path, model: Any, omit: tuple[str, ...] = (), **metadata: Any) -> Path:
    """Writes the weights and settings of a Gemma 2 or GPT-NeoX model; returns the path."""
    config, arch = model.config, ARCHS[model.config.model_type]
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    tensors: dict[str, np.ndarray] = {}
    for name, parameter in model.state_dict().items():
        if name == "lm_head.weight":
            if config.tie_word_embeddings:
                continue
            name = "embed_out.weight"  # as in GPT-NeoX's files
        values = parameter.float().numpy()
        if config.model_type == "gemma2" and name.endswith("norm.weight"):
            values = values + 1
        if "query_key_value" in name:
            values = values.reshape(config.num_attention_heads, 3, -1, *values.shape[1:]).swapaxes(0, 1)
            values = values.reshape(parameter.shape)
        stored = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert stored is not None, name
        tensors[stored] = np.ascontiguousarray(values)
    keys = _of_gemma2(config) if config.model_type == "gemma2" else _of_gpt_neox(config)
    dropped = ("attention.head_count_kv", "attention.layer_norm_rms_epsilon", "rope.freq_base")
    left_out = tuple(key for key in dropped if key not in keys)
    write_gguf(path, gguf.MODEL_ARCH_NAMES[arch], tensors, omit=(*left_out, *omit), **_shared(config) | keys | metadata)
    return path


def _shared(config: Any) -> dict[str, Any]:
    return {
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
    }


def _of_gemma2(config: Any) -> dict[str, Any]:
    return {
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "attention.key_length": config.head_dim,
        "attention.value_length": config.head_dim,
        "attn_logit_softcapping": config.attn_logit_softcapping,
        "final_logit_softcapping": config.final_logit_softcapping,
        "attention.sliding_window": config.sliding_window,
    }


def _of_gpt_neox(config: Any) -> dict[str, Any]:
    head_dim = config.hidden_size // config.num_attention_heads
    return {
        "rope.dimension_count": int(config.rope_parameters["partial_rotary_factor"] * head_dim),
        "use_parallel_residual": config.use_parallel_residual,
        "attention.layer_norm_epsilon": config.layer_norm_eps,
    }
