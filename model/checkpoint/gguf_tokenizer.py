"""A `Tokenizer` built from the metadata of a GGUF file.

GGUF names a pre-tokenizer instead of describing it. The rules below are those of the public `tokenizer.json` of the
models that the names stand for: SmolLM2, GPT-2, Llama 3 and Qwen2.
"""

from __future__ import annotations

from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from kvscope.model.api import Refused
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_level, end_ids

_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CONTROL, _USER_DEFINED = 3, 4


def tokenizer_from_gguf(metadata: dict[str, Any], file: str) -> Tokenizer:
    """Raises Refused("model"), naming `file`, when the vocabulary is of another kind or incomplete."""

    def refuse(fault: str) -> Refused:
        return Refused("model", f"{file} {fault}.")

    def key(name: str, kind: type, default: Any = None) -> Any:
        value = metadata.get(f"tokenizer.ggml.{name}", default)
        if value is not None and not isinstance(value, kind):
            raise refuse(f"is corrupted: its tokenizer.ggml.{name} is not of type {kind.__name__}")
        return value

    if (model := key("model", str)) != "gpt2":
        raise refuse(f"has a tokenizer of type {model!r}; byte-level BPE ('gpt2') can be read")
    tokens, kinds, merges = key("tokens", list), key("token_type", list), key("merges", list)
    if not tokens or merges is None or (kinds is not None and len(kinds) != len(tokens)):
        raise refuse("is incomplete: its vocabulary, token types or merges are missing")
    pre = key("pre", str, "default")
    try:
        pairs = [tuple(merge.split(" ", 1)) for merge in merges]
        vocab = {token: index for index, token in enumerate(tokens)}
        bpe = models.BPE(vocab=vocab, merges=pairs, ignore_merges=pre == "llama-bpe")
    except Exception as error:  # The library raises bare Exception for a merge of unknown tokens.
        raise refuse(f"is corrupted: its merges do not fit its vocabulary ({error})") from None
    inner = tokenizers.Tokenizer(bpe)
    steps = _pre_tokenizer(pre)
    if steps is None:
        raise refuse(f"splits words in a way, {pre!r}, that is not supported")
    inner.pre_tokenizer = pre_tokenizers.Sequence(steps)
    if pre == "qwen2":
        inner.normalizer = normalizers.NFC()
    inner.decoder = decoders.ByteLevel()
    for kind, special in ((_CONTROL, True), (_USER_DEFINED, False)):
        added = [token for token, its in zip(tokens, kinds or (), strict=False) if its == kind]
        inner.add_tokens([AddedToken(token, special=special, normalized=False) for token in added])
    names = {
        f"{name}_token": tokens[index]
        for name, field in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"))
        if (index := key(f"{field}_token_id", int)) is not None and 0 <= index < len(tokens)
    }
    if key("add_bos_token", bool, pre == "llama-bpe") and "bos_token" in names:
        bos = names["bos_token"]
        inner.post_processor = processors.TemplateProcessing(
            single=[bos, "$A"], pair=[bos, "$A", "$B"], special_tokens=[(bos, inner.token_to_id(bos))]
        )
    ends = {key("eos_token_id", int), key("eot_token_id", int)}
    template = metadata.get("tokenizer.chat_template")
    if template is not None and not isinstance(template, str):
        raise refuse("is corrupted: its chat template is not a text")
    return Tokenizer(inner, Extras(names, template, end_ids(inner, ends - {None})), byte_level)


def _pre_tokenizer(name: str) -> list[pre_tokenizers.PreTokenizer] | None:
    match name:
        case "gpt-2" | "default":
            return [pre_tokenizers.ByteLevel(add_prefix_space=False)]
        case "smollm":
            return [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        case "llama-bpe" | "qwen2":
            pattern = Regex(_WORDS % ("{1,3}" if name == "llama-bpe" else ""))
            bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
            return [pre_tokenizers.Split(pattern, "isolated"), bytes_only]
    return None
