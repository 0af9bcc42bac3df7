"""Small configs of each family, by a name: the `model_type` and its fields."""

from __future__ import annotations

from typing import Any

WINDOW = 5
LLAMA = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GPT2 = {"vocab_size": 50, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
FALCON = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
DEEPSEEK = {
    **LLAMA,
    "num_key_value_heads": 4,
    "kv_lora_rank": 12,
    "q_lora_rank": 20,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 6,
    "n_routed_experts": 8,
    "n_shared_experts": 2,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "first_k_dense_replace": 1,
    "n_group": 2,
    "topk_group": 1,
}
PAD = {"pad_token_id": 0}
QWEN_MOE = {**LLAMA, "head_dim": 8, "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
QWEN_NEXT = {
    **QWEN_MOE,
    "num_hidden_layers": 6,
    "shared_expert_intermediate_size": 20,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 6,
}
LLAMA4 = {
    **LLAMA,
    **PAD,
    "num_hidden_layers": 5,
    "head_dim": 8,
    "intermediate_size_mlp": 40,
    "num_local_experts": 4,
    "attention_chunk_size": WINDOW,
}
GEMMA3N = {
    **LLAMA,
    "num_hidden_layers": 10,
    "head_dim": 16,
    "sliding_window": WINDOW,
    "num_kv_shared_layers": 4,
    "vocab_size_per_layer_input": 50,
    "hidden_size_per_layer_input": 6,
    "laurel_rank": 3,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", LLAMA),
    "llama-mha-tied": ("llama", {**LLAMA, "num_key_value_heads": 4, "tie_word_embeddings": True}),
    "llama-mqa": ("llama", {**LLAMA, "num_key_value_heads": 1}),
    "qwen2": ("qwen2", LLAMA),
    "qwen2-window": ("qwen2", {**LLAMA, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 2}),
    "qwen3": ("qwen3", {**LLAMA, "head_dim": 16}),
    "qwen3-moe": ("qwen3_moe", QWEN_MOE),
    "mistral": ("mistral", {**LLAMA, "sliding_window": WINDOW}),
    "mistral-whole": ("mistral", {**LLAMA, "sliding_window": None}),
    "mixtral": ("mixtral", {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "phi3": ("phi3", {**LLAMA, "sliding_window": WINDOW, "pad_token_id": 0}),
    "gemma": ("gemma", {**LLAMA, "head_dim": 16}),
    "gemma2": ("gemma2", {**LLAMA, "head_dim": 16, "sliding_window": WINDOW}),
    "gemma3": ("gemma3_text", {**LLAMA, "num_hidden_layers": 7, "head_dim": 16, "sliding_window": WINDOW}),
    "qwen3-moe-some-dense": ("qwen3_moe", {**QWEN_MOE, "mlp_only_layers": [0]}),
    "olmo2": ("olmo2", LLAMA),
    "olmo3": ("olmo3", {**LLAMA, "num_hidden_layers": 5, "sliding_window": WINDOW}),
    "cohere": ("cohere", LLAMA),
    "cohere2": ("cohere2", {**LLAMA, "num_hidden_layers": 5, "head_dim": 8, "sliding_window": WINDOW}),
    "starcoder2": ("starcoder2", {**LLAMA, "sliding_window": None}),
    "phi": ("phi", LLAMA),
    "gpt-neox": ("gpt_neox", {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}),
    "gpt-oss": (
        "gpt_oss",
        {**LLAMA, "head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": WINDOW},
    ),
    "biases": ("llama", {**LLAMA, "attention_bias": True, "mlp_bias": True}),
    "gemma-biases": ("gemma2", {**LLAMA, "head_dim": 16, "sliding_window": WINDOW, "attention_bias": True}),
    "cohere-norms": ("cohere", {**LLAMA, "use_qk_norm": True}),
    "phi-norms": ("phi", {**LLAMA, "qk_layernorm": True}),
    "starcoder2-plain": ("starcoder2", {**LLAMA, "use_bias": False}),
    "smollm3": ("smollm3", {**LLAMA, **PAD}),
    "glm4": ("glm4", {**LLAMA, **PAD, "head_dim": 8}),
    "granite": ("granite", LLAMA),
    "ministral3": ("ministral3", {**LLAMA, "sliding_window": WINDOW}),
    "qwen3-moe-window": ("qwen3_moe", {**QWEN_MOE, "use_sliding_window": True, "sliding_window": WINDOW}),
    "qwen3-next": ("qwen3_next", QWEN_NEXT),
    "qwen3-next-named": (
        "qwen3_next",
        {**QWEN_NEXT, "layer_types": [*["full_attention"] * 4, "linear_attention", "full_attention"]},
    ),
    "qwen3-next-some-dense": ("qwen3_next", {**QWEN_NEXT, "mlp_only_layers": [1], "decoder_sparse_step": 2}),
    "llama4": ("llama4_text", LLAMA4),
    "llama4-interleaved": ("llama4_text", {**LLAMA4, "interleave_moe_layer_step": 2, "no_rope_layer_interval": 2}),
    "llama4-listed": ("llama4_text", {**LLAMA4, "moe_layers": [0, 3], "no_rope_layers": [1, 0, 0, 1, 1]}),
    "gemma3n": ("gemma3n_text", GEMMA3N),
    "gemma3n-unshared": ("gemma3n_text", {**GEMMA3N, "num_kv_shared_layers": 0, "altup_num_inputs": 2}),
    "gpt2": ("gpt2", GPT2),
    "gpt-bigcode": ("gpt_bigcode", GPT2),
    "falcon": ("falcon", FALCON),
    "falcon-new": ("falcon", {**FALCON, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "deepseek-v2": ("deepseek_v2", {**DEEPSEEK, "topk_method": "greedy"}),
    "deepseek-v2-lite": ("deepseek_v2", {**DEEPSEEK, "q_lora_rank": None}),
    "deepseek-v3": ("deepseek_v3", {**DEEPSEEK, "num_nextn_predict_layers": 0}),
}
