"""Tiny models of all kinds that native code computes, and changes of what they compute."""

from __future__ import annotations

from typing import Any

import torch
from gguf import GGMLQuantizationType as Kind

from kvscope.model.engine.changes import Edit

MODELS: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"arch": "mistral"},  # a window of 9
    "qwen2": {"arch": "qwen2"},  # biases
    "qwen3": {"arch": "qwen3"},  # norms of Q and K
    "heads of 20": {"head_dim": 20, "heads": 8},
    "heads of 6": {"arch": "qwen3", "head_dim": 6, "heads": 16, "kv_heads": 4},
    "a head each": {"kv_heads": 4},
    "one for all": {"kv_heads": 1},
    "an MLP of 224": {"d_mlp": 224},
    "groups of 8 bits": {"kind": Kind.Q8_0},
    "gemma3": {"arch": "gemma3_text"},  # norms after each half, GELU, windows in some layers
    "gpt2": {"arch": "gpt2"},  # LayerNorm, learned positions, no gate
    "wider positions": {"rope_scaling": {"rope_type": "divisors", "divisors": [1.0, 2, 3, 4], "attention_factor": 1.5}},
}

CHANGED = [
    Edit("embedded", 0, 3, 0.0),
    Edit("blocks.0.attn.mixed", 0, None, 0.0, head=1),
    Edit("blocks.0.attn.k_rot", 2, 4, 0.5, head=0),
    Edit("blocks.1.attn.v", 1, None, 2.0),
    Edit("blocks.1.attn.change", 1, 5, 0.0, torch.arange(64.0).view(2, 32).repeat(4, 1)),
    Edit("blocks.0.mlp.change", 0, None, 1.0, torch.ones(32)),
    Edit("blocks.1.attn.mixed", 1, 6, 0.0, torch.arange(256.0).view(8, 4, 8)[:, 2], head=2),  # a head of patched rows
    Edit("blocks.1.resid_out", 3, 7, 0.0, base="blocks.1.resid_in"),
    Edit("blocks.0.resid_out", 3, 7, 1.5, torch.ones(32), base="blocks.0.resid_in"),
]
