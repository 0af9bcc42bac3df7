"""A config of each family in which no field is what the family's class has for it."""

from __future__ import annotations

from typing import Any

from kvscope.model.families import FAMILIES

TEXT = [name for name, family in FAMILIES.items() if "text" not in family]
ALONE = [name for name in TEXT if not name.endswith("vl_text") and not name.endswith("vl_moe_text")]
NO_SIZE = (
    *("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "query_pre_attn_scalar", "rope_theta"),
    *("rope_local_base_freq", "rotary_pct", "rotary_emb_base", "attn_logit_softcapping", "final_logit_softcapping"),
    "use_parallel_residual",
)
"""Fields that change no size."""
OTHER: dict[str, int] = {
    "hidden_size": 1024,
    "intermediate_size": 1536,
    "num_hidden_layers": 7,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "head_dim": 96,
    "vocab_size": 4000,
    "max_position_embeddings": 4096,
    "sliding_window": 64,
    "sliding_window_pattern": 3,
    "max_window_layers": 2,
    "n_embd": 512,
    "n_layer": 5,
    "n_head": 8,
    "n_positions": 600,
    "num_local_experts": 6,
    "num_experts": 6,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 80,
    "decoder_sparse_step": 2,
    "shared_expert_intermediate_size": 48,
    "linear_conv_kernel_dim": 3,
    "linear_key_head_dim": 24,
    "linear_value_head_dim": 40,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "intermediate_size_mlp": 700,
    "interleave_moe_layer_step": 2,
    "no_rope_layer_interval": 3,
    "attention_chunk_size": 32,
    "num_kv_shared_layers": 1,
    "vocab_size_per_layer_input": 4000,
    "hidden_size_per_layer_input": 24,
    "altup_num_inputs": 3,
    "laurel_rank": 12,
    "kv_lora_rank": 64,
    "q_lora_rank": 96,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 32,
    "v_head_dim": 48,
    "n_routed_experts": 16,
    "n_shared_experts": 1,
    "first_k_dense_replace": 2,
}
KEPT: dict[str, dict[str, Any]] = {
    "nemotron": {"num_key_value_heads": 16, "hidden_size": 1536},  # whose own number of heads divides it
    "falcon": {"new_decoder_architecture": False},  # with its other flags turned it is a model that does not run
    "deepseek_v2": {"num_experts_per_tok": 3, "topk_method": "greedy", "n_group": 1, "topk_group": 1},
    "deepseek_v3": {"n_group": 2, "topk_group": 1},
}


def changed(family: str) -> dict[str, Any]:
    """A config of the family with no field as its class has it."""
    defaults = FAMILIES[family]["defaults"].items()
    fields = {
        name: not value if isinstance(value, bool) else OTHER[name] for name, value in defaults if name not in NO_SIZE
    }
    return fields | KEPT.get(family, {})
