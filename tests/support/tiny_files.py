"""Tiny random checkpoints, written by the libraries that write real ones."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers

from kvscope.model.checkpoint.tokenizer import byte_alphabet

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = (("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("i", "n"))
VOCAB = [*SPECIALS, *byte_alphabet(), *("".join(pair) for pair in MERGES)]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant"
)


def write_tokenizer(folder: Path, words: Sequence[str] = ()) -> None:
    """A byte-level tokenizer.json and tokenizer_config.json with `VOCAB`, and after it a token for each of `words`."""
    inner = tokenizers.Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(VOCAB)}, merges=list(MERGES)))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(list(SPECIALS))
    inner.add_tokens(list(words))
    inner.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": TEMPLATE}
    config |= {"eos_token": "<|endoftext|>", "bos_token": {"content": "<|im_start|>"}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_pieces(folder: Path, **changes: Any) -> Path:
    """A small tokenizer.model in `folder`, which is returned, made as Llama 2's was."""
    from sentencepiece import SentencePieceTrainer

    readme = str(Path(__file__).parents[2] / "README.md")
    settings = {"input": readme, "model_prefix": str(folder / "tokenizer"), "vocab_size": 600, "model_type": "bpe"}
    settings |= {"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    settings |= {"split_digits": True, "max_sentence_length": 20_000, "minloglevel": 2}
    SentencePieceTrainer.train(**(settings | changes))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    return folder


def write_folder(
    folder: Path,
    arch: str,
    *,
    shard: str | None = None,
    dtype: str = "float32",
    words: Sequence[str] = (),
    std: float = 0.5,
    **settings: Any,
) -> Any:
    """A random `transformers` model of 2 layers saved in `folder`, with a tokenizer; returns the model.

    `words` are tokens beyond `VOCAB`; `std` is the standard deviation of all weights.
    """
    import transformers

    torch.manual_seed(0)
    if arch == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    else:
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "max_position_embeddings": 64}
        sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    ids = {"bos_token_id": 1, "eos_token_id": 0, "pad_token_id": None}
    vocab = len(VOCAB) + len(words)
    config = transformers.AutoConfig.for_model(arch, vocab_size=vocab, **{**sizes, **ids, **settings})
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    for parameter in model.parameters():
        # Biases start at 0 and norms at 1, which a swapped pair of them would survive.
        torch.nn.init.normal_(parameter, std=std)
    model.save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
    write_tokenizer(folder, words)
    return model


def gguf_metadata(**changes: Any) -> dict[str, Any]:
    """A GGUF file's tokenizer with `VOCAB`; `changes` replaces keys below `tokenizer.ggml.`, None leaves one out."""
    raw = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": VOCAB,
        "token_type": [3 if token in SPECIALS else 1 for token in VOCAB],
        "merges": [" ".join(pair) for pair in MERGES],
        "eos_token_id": 0,
    } | changes
    return {f"tokenizer.ggml.{key}": value for key, value in raw.items() if value is not None}


def gguf_tensors(arch: str = "llama", layers: int = 2) -> dict[str, np.ndarray]:
    """Random tensors under GGUF's names: 4 heads, 2 K/V heads, width 32, MLP 64."""
    rng = np.random.default_rng(0)
    d, kv, mlp = 32, 16, 64
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(VOCAB), d), "output_norm.weight": (d,)}
    if arch in ("gpt2", "gptneox"):
        shapes |= {"output_norm.bias": (d,)}
        shapes |= {"position_embd.weight": (64, d)} if arch == "gpt2" else {"output.weight": (len(VOCAB), d)}
    for layer in range(layers):
        p = f"blk.{layer}."
        shapes |= {f"{p}attn_norm.weight": (d,), f"{p}ffn_norm.weight": (d,)}
        shapes |= {f"{p}attn_output.weight": (d, d), f"{p}ffn_up.weight": (mlp, d), f"{p}ffn_down.weight": (d, mlp)}
        if arch in ("gpt2", "gptneox"):
            shapes |= {f"{p}attn_norm.bias": (d,), f"{p}ffn_norm.bias": (d,), f"{p}attn_output.bias": (d,)}
            shapes |= {f"{p}attn_qkv.weight": (3 * d, d), f"{p}attn_qkv.bias": (3 * d,)}
            shapes |= {f"{p}ffn_up.bias": (mlp,), f"{p}ffn_down.bias": (d,)}
            continue
        shapes |= {f"{p}attn_q.weight": (d, d), f"{p}attn_k.weight": (kv, d), f"{p}attn_v.weight": (kv, d)}
        shapes |= {f"{p}ffn_gate.weight": (mlp, d)}
        if arch == "qwen2":
            shapes |= {f"{p}attn_q.bias": (d,), f"{p}attn_k.bias": (kv,), f"{p}attn_v.bias": (kv,)}
        if arch in ("gemma2", "gemma3"):
            shapes |= {f"{p}post_attention_norm.weight": (d,), f"{p}post_ffw_norm.weight": (d,)}
        if arch in ("qwen3", "gemma3"):
            shapes |= {f"{p}attn_q_norm.weight": (8,), f"{p}attn_k_norm.weight": (8,)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def write_gguf(
    path: Path,
    arch: str = "llama",
    tensors: dict[str, np.ndarray] | None = None,
    kinds: dict[str, gguf.GGMLQuantizationType] | None = None,
    omit: tuple[str, ...] = (),
    split: int = 0,
    tokenizer: dict[str, Any] | None = None,
    **metadata: Any,
) -> dict[str, np.ndarray]:
    """A GGUF file of `tensors` (or random ones); `kinds` quantizes some, or says what those in bytes are.

    `metadata` replaces keys, `__` for a dot. `split`: make several files of so many tensors each; 0 for one file.
    `tokenizer`: its keys, where they are not those of `gguf_metadata()`.
    """
    tensors = gguf_tensors(arch) if tensors is None else tensors
    values: dict[str, Any] = {"block_count": 2, "context_length": 64, "embedding_length": 32, "feed_forward_length": 64}
    values["attention.head_count"] = 4
    if arch in ("gpt2", "gptneox"):
        values["attention.layer_norm_epsilon"] = 1e-5
    else:
        values |= {"attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 10000.0}
    values |= {key.replace("__", "."): value for key, value in metadata.items()}
    writer = gguf.GGUFWriter(path, arch, split_max_tensors=split)
    adders: dict[type, Any] = {
        bool: writer.add_bool,
        int: writer.add_uint32,
        float: writer.add_float32,
        str: writer.add_string,
        list: writer.add_array,
    }
    keys = {f"{arch}.{key}": value for key, value in values.items() if key not in omit}
    for key, value in (keys | (gguf_metadata() if tokenizer is None else tokenizer)).items():
        adders[type(value)](key, value)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in tensors.items():
        if name in omit:
            continue
        kind = (kinds or {}).get(name)
        if kind is None:
            writer.add_tensor(name, tensor)
        else:
            blocks = tensor if tensor.dtype == np.uint8 else gguf.quants.quantize(tensor, kind)
            writer.add_tensor(name, blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors
