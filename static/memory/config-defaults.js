/** What the configuration classes of `transformers` (5.23) give a size that a config.json leaves out, by `model_type`. */

/** Sizes of a decoder in the order below; null: it has none of its own. */
const sizes = (d, inner, layers, heads, kvHeads, vocab, context) => ({
  hidden_size: d,
  intermediate_size: inner,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  ...(kvHeads && { num_key_value_heads: kvHeads }),
  vocab_size: vocab,
  max_position_embeddings: context,
});

/** K/V heads are as many as heads where null: the classes say so themselves. */
const BY_FAMILY = {
  llama: sizes(4096, 11_008, 32, 32, null, 32_000, 2048),
  mistral: sizes(4096, 14_336, 32, 32, 8, 32_000, 131_072),
  mixtral: sizes(4096, 14_336, 32, 32, 8, 32_000, 131_072),
  phi3: sizes(3072, 8192, 32, 32, null, 32_064, 4096),
  qwen2: sizes(4096, 22_016, 32, 32, 32, 151_936, 32_768),
  qwen3: sizes(4096, 22_016, 32, 32, 32, 151_936, 32_768),
  qwen3_moe: { ...sizes(2048, 6144, 24, 32, 4, 151_936, 32_768), moe_intermediate_size: 768 },
  gemma: sizes(3072, 24_576, 28, 16, 16, 256_000, 8192),
  gemma2: sizes(2304, 9216, 26, 8, 4, 256_000, 8192),
  gemma3_text: sizes(2304, 9216, 26, 8, 4, 262_208, 131_072),
  olmo2: sizes(4096, 11_008, 32, 32, null, 50_304, 2048),
  olmo3: sizes(4096, 11_008, 32, 32, null, 50_304, 2048),
  cohere: sizes(8192, 22_528, 40, 64, null, 256_000, 8192),
  cohere2: sizes(8192, 22_528, 40, 64, null, 256_000, 8192),
  starcoder2: sizes(3072, 12_288, 30, 24, 2, 49_152, 4096),
  phi: sizes(2048, 8192, 24, 32, null, 51_200, 2048),
  gpt_neox: sizes(6144, 24_576, 44, 64, null, 50_432, 2048),
  gpt_oss: sizes(2880, 2880, 36, 64, 8, 201_088, 131_072),
};

/** @returns {Object<string, number>} by field */
export function defaultsOf(family) {
  return BY_FAMILY[family] ?? {};
}
