/** The sizes in published config.json files, without what the calculator does not look at. */

const llama3 = (changes) => ({
  ...{ model_type: "llama", hidden_size: 4096, intermediate_size: 14_336, num_hidden_layers: 32 },
  ...{ num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 128_256, max_position_embeddings: 8192 },
  ...{ rope_theta: 500_000, rope_scaling: null, tie_word_embeddings: false },
  ...changes,
});

/** By the id in models.json. */
export const CONFIGS = {
  "llama-3-8b": llama3(),
  "llama-3-70b": llama3({
    ...{ hidden_size: 8192, intermediate_size: 28_672, num_attention_heads: 64, num_hidden_layers: 80 },
  }),
  "llama-3.2-1b": llama3({
    ...{ hidden_size: 2048, intermediate_size: 8192, num_hidden_layers: 16, head_dim: 64, tie_word_embeddings: true },
    ...{ max_position_embeddings: 131_072, rope_scaling: { factor: 32, rope_type: "llama3" } },
  }),
  "qwen2.5-72b": {
    ...{ model_type: "qwen2", hidden_size: 8192, intermediate_size: 29_568, num_hidden_layers: 80 },
    ...{ num_attention_heads: 64, num_key_value_heads: 8, vocab_size: 152_064, max_position_embeddings: 131_072 },
    ...{ max_window_layers: 80, sliding_window: null, use_sliding_window: false, tie_word_embeddings: false },
  },
  "qwen3-0.6b": {
    ...{ model_type: "qwen3", hidden_size: 1024, intermediate_size: 3072, num_hidden_layers: 28, head_dim: 128 },
    ...{ num_attention_heads: 16, num_key_value_heads: 8, vocab_size: 151_936, max_position_embeddings: 40_960 },
    ...{ max_window_layers: 28, sliding_window: null, use_sliding_window: false, tie_word_embeddings: true },
  },
  "mistral-7b-v0.1": {
    ...{ model_type: "mistral", hidden_size: 4096, intermediate_size: 14_336, num_hidden_layers: 32 },
    ...{ num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 32_000, max_position_embeddings: 32_768 },
    ...{ sliding_window: 4096, tie_word_embeddings: false },
  },
  "mixtral-8x7b": {
    ...{ model_type: "mixtral", hidden_size: 4096, intermediate_size: 14_336, num_hidden_layers: 32 },
    ...{ num_attention_heads: 32, num_key_value_heads: 8, vocab_size: 32_000, max_position_embeddings: 32_768 },
    ...{ num_local_experts: 8, num_experts_per_tok: 2, sliding_window: null, tie_word_embeddings: false },
  },
  "phi-3-mini-4k": {
    ...{ model_type: "phi3", hidden_size: 3072, intermediate_size: 8192, num_hidden_layers: 32 },
    ...{ num_attention_heads: 32, num_key_value_heads: 32, vocab_size: 32_064, max_position_embeddings: 4096 },
    ...{ sliding_window: 2047, tie_word_embeddings: false },
  },
  "gemma-2-9b": {
    ...{ model_type: "gemma2", hidden_size: 3584, intermediate_size: 14_336, num_hidden_layers: 42, head_dim: 256 },
    ...{ num_attention_heads: 16, num_key_value_heads: 8, vocab_size: 256_000, max_position_embeddings: 8192 },
    ...{ sliding_window: 4096, sliding_window_size: 4096, eos_token_id: 1 },
  },
  "gemma-3-1b": {
    ...{ model_type: "gemma3_text", hidden_size: 1152, intermediate_size: 6912, num_hidden_layers: 26, head_dim: 256 },
    ...{ num_attention_heads: 4, num_key_value_heads: 1, vocab_size: 262_144, max_position_embeddings: 32_768 },
    ...{ sliding_window: 512, sliding_window_pattern: 6 },
  },
  gpt2: {
    ...{ model_type: "gpt2", n_embd: 768, n_layer: 12, n_head: 12, n_ctx: 1024, n_positions: 1024, vocab_size: 50_257 },
  },
  santacoder: {
    ...{ model_type: "gpt_bigcode", n_embd: 2048, n_layer: 24, n_head: 16, n_inner: 8192, n_positions: 2048 },
    ...{ multi_query: true, vocab_size: 49_280 },
  },
  "falcon-7b": {
    ...{ model_type: "falcon", hidden_size: 4544, n_layer: 32, n_head: 71, vocab_size: 65_024 },
    ...{ multi_query: true, parallel_attn: true, bias: false },
  },
  "deepseek-v2-lite": {
    ...{ model_type: "deepseek_v2", hidden_size: 2048, intermediate_size: 10_944, moe_intermediate_size: 1408 },
    ...{ num_hidden_layers: 27, num_attention_heads: 16, num_key_value_heads: 16, vocab_size: 102_400 },
    ...{ kv_lora_rank: 512, q_lora_rank: null, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 },
    ...{ first_k_dense_replace: 1, moe_layer_freq: 1, n_routed_experts: 64, n_shared_experts: 2 },
    ...{ num_experts_per_tok: 6, max_position_embeddings: 163_840, tie_word_embeddings: false },
  },
  "deepseek-v3": {
    ...{ model_type: "deepseek_v3", hidden_size: 7168, intermediate_size: 18_432, moe_intermediate_size: 2048 },
    ...{ num_hidden_layers: 61, num_attention_heads: 128, num_key_value_heads: 128, vocab_size: 129_280 },
    ...{ kv_lora_rank: 512, q_lora_rank: 1536, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 },
    ...{ first_k_dense_replace: 3, moe_layer_freq: 1, n_routed_experts: 256, n_shared_experts: 1 },
    ...{ num_experts_per_tok: 8, max_position_embeddings: 163_840, tie_word_embeddings: false },
    ...{ num_nextn_predict_layers: 1, quantization_config: { fmt: "e4m3", quant_method: "fp8" } },
  },
  "llama-3.1-405b": llama3({
    ...{ hidden_size: 16_384, intermediate_size: 53_248, num_attention_heads: 128, num_hidden_layers: 126 },
    ...{ max_position_embeddings: 131_072, rope_scaling: { factor: 8, rope_type: "llama3" } },
  }),
  "qwen3-30b-a3b": {
    ...{ model_type: "qwen3_moe", hidden_size: 2048, intermediate_size: 6144, moe_intermediate_size: 768 },
    ...{ num_hidden_layers: 48, num_attention_heads: 32, num_key_value_heads: 4, head_dim: 128, vocab_size: 151_936 },
    ...{ num_experts: 128, num_experts_per_tok: 8, decoder_sparse_step: 1, mlp_only_layers: [], norm_topk_prob: true },
    ...{ max_position_embeddings: 40_960, max_window_layers: 48, use_sliding_window: false, sliding_window: null },
    ...{ tie_word_embeddings: false, router_aux_loss_coef: 0.001 },
  },
  "qwen3-next-80b-a3b": {
    ...{ model_type: "qwen3_next", hidden_size: 2048, intermediate_size: 5120, moe_intermediate_size: 512 },
    ...{ num_hidden_layers: 48, num_attention_heads: 16, num_key_value_heads: 2, head_dim: 256, vocab_size: 151_936 },
    ...{ num_experts: 512, num_experts_per_tok: 10, shared_expert_intermediate_size: 512, decoder_sparse_step: 1 },
    ...{ full_attention_interval: 4, linear_conv_kernel_dim: 4, linear_key_head_dim: 128, linear_value_head_dim: 128 },
    ...{ linear_num_key_heads: 16, linear_num_value_heads: 32, mlp_only_layers: [], partial_rotary_factor: 0.25 },
    ...{ max_position_embeddings: 262_144, tie_word_embeddings: false, use_sliding_window: false },
  },
  "gpt-oss-20b": {
    ...{ model_type: "gpt_oss", hidden_size: 2880, intermediate_size: 2880, num_hidden_layers: 24, head_dim: 64 },
    ...{ num_attention_heads: 64, num_key_value_heads: 8, vocab_size: 201_088, attention_bias: true },
    ...{ num_local_experts: 32, num_experts_per_tok: 4, experts_per_token: 4, sliding_window: 128, swiglu_limit: 7 },
    ...{ initial_context_length: 4096, max_position_embeddings: 131_072, tie_word_embeddings: false },
    layer_types: Array.from({ length: 24 }, (_, layer) => (layer % 2 ? "full_attention" : "sliding_attention")),
    quantization_config: { quant_method: "mxfp4" },
  },
  "command-r": {
    ...{
      model_type: "cohere",
      hidden_size: 8192,
      intermediate_size: 22_528,
      num_hidden_layers: 40,
      use_qk_norm: false,
    },
    ...{ num_attention_heads: 64, num_key_value_heads: 64, vocab_size: 256_000, logit_scale: 0.0625 },
    ...{ max_position_embeddings: 8192, model_max_length: 131_072, layer_norm_eps: 1e-5, hidden_act: "silu" },
  },
};

CONFIGS["deepseek-r1"] = CONFIGS["deepseek-v3"];
