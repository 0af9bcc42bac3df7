"""The description of a model, without one."""

from typing import Any


def described(layers: int = 2, heads: int = 4, kv_heads: int = 2, vocab: int = 259) -> dict[str, Any]:
    """The `model` object of an `open` frame."""
    sizes = {"layers": layers, "heads": heads, "kv_heads": kv_heads, "vocab": vocab}
    sizes |= {"head_dim": 8, "d": 12, "d_mlp": 20, "context": 2048, "score_width": 8, "parameters": 1000}
    kinds = {"norm": "rms", "gated": True, "activation": "silu", "positions": "rotary", "tied": True}
    kinds |= {"qk_norm": False, "post_norms": False, "embedding_scale": 1.0, "experts": None, "windows": None}
    held = {"dtype": "float32", "element_bytes": 4, "weight_dtype": "float32", "weight_bytes": 4000}
    held["weights"] = {"stored": {"float32": 4000}, "held": {"float32": 4000}}
    return {"name": "tiny", "sha256": "f" * 64, "arch": "llama", **sizes, **kinds, **held, "device": "cpu", "eos": [0]}
