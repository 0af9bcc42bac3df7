"""A `Tokenizer` built from the metadata of a GGUF file.

GGUF names a pre-tokenizer instead of describing it (model/checkpoint/pre_tokenizers.py). Defaults are llama.cpp's.
"""

from __future__ import annotations

import logging
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers

from kvscope.model.api import Refused
from kvscope.model.checkpoint.pre_tokenizers import PATTERNS, WHOLE_WORDS, pre_tokenizer
from kvscope.model.checkpoint.sentencepiece_bpe import (
    CONTROL,
    USER_DEFINED,
    NotSupported,
    Pieces,
    put_first,
    tokenizer_of,
)
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_fallback, byte_level, end_ids

END_NAMES = (
    *("<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|end_of_turn|>", "<end_of_turn>", "<|endoftext|>"),
    *("<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<eos>", "<end_of_utterance>", "<|return|>", "<|call|>"),
    "<｜end▁of▁sentence｜>",
)
"""Tokens that end a text by their names alone, as llama.cpp has it: many files name one of several."""
_NAMES = (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"), ("sep", "seperator"))
"""What `transformers` calls a special token, and what GGUF calls it."""

log = logging.getLogger(__name__)


def tokenizer_from_gguf(metadata: dict[str, Any], file: str) -> Tokenizer:
    """Raises Refused("model"), naming `file`, when the vocabulary is of another kind or incomplete."""
    fields = _Fields(metadata, file)
    model = fields("model", str)
    if model == "gpt2":
        inner, to_bytes, first = _byte_level_bpe(fields), byte_level, fields("pre", str, "default") in WHOLE_WORDS
    elif model == "llama":
        inner, to_bytes, first = _sentencepiece(fields), byte_fallback, True
    else:
        raise fields.refuse(
            f"has a tokenizer of type {model!r}; byte-level BPE ('gpt2') and SentencePiece BPE ('llama') can be read"
        )
    tokens = fields.tokens
    defaults = {"bos": 1, "eos": 2, "unknown": 0} if model == "llama" else {}
    names = {
        f"{name}_token": tokens[index]
        for name, field in _NAMES
        if (index := fields(f"{field}_token_id", int, defaults.get(field))) is not None and 0 <= index < len(tokens)
    }
    last = names.get("eos_token") if fields("add_eos_token", bool, False) else None
    if fields("add_bos_token", bool, first) and "bos_token" in names:
        put_first(inner, names["bos_token"], last)
    elif last is not None:
        raise fields.refuse(
            "ends each text with a token of its own but does not begin it with one, which is not supported"
        )
    ends = {fields(f"{name}_token_id", int, defaults.get(name)) for name in ("eos", "eot", "eom")} - {None}
    named = {index for index, token in enumerate(tokens) if token in END_NAMES and fields.kind(index) == CONTROL}
    template = metadata.get("tokenizer.chat_template")
    if template is not None and not isinstance(template, str):
        raise fields.refuse("is corrupted: its chat template is not a text")
    return Tokenizer(inner, Extras(names, template, end_ids(inner, ends | named)), to_bytes)


class _Fields:
    """Checked access to the keys `tokenizer.ggml.…` of a file."""

    def __init__(self, metadata: dict[str, Any], file: str) -> None:
        self._metadata, self._file = metadata, file
        self.tokens: list[str] = self("tokens", list) or []
        self.kinds: list[int] | None = self("token_type", list)
        if not self.tokens or (self.kinds is not None and len(self.kinds) != len(self.tokens)):
            raise self.refuse("is incomplete: its vocabulary or its token types are missing")

    def __call__(self, name: str, kind: type, default: Any = None) -> Any:
        value = self._metadata.get(f"tokenizer.ggml.{name}", default)
        if value is not None and not isinstance(value, kind):
            raise self.refuse(f"is corrupted: its tokenizer.ggml.{name} is not of type {kind.__name__}")
        return value

    def kind(self, index: int) -> int | None:
        """What kind of token it is, None where the file does not say."""
        return self.kinds[index] if self.kinds is not None else None

    def refuse(self, fault: str) -> Refused:
        return Refused("model", f"{self._file} {fault}.")

    @property
    def file(self) -> str:
        return self._file


def _byte_level_bpe(fields: _Fields) -> tokenizers.Tokenizer:
    merges, pre = fields("merges", list), fields("pre", str)
    if merges is None:
        raise fields.refuse("is incomplete: its merges are missing")
    if pre is None or pre == "default":
        log.warning(
            "%s does not say how its tokenizer cuts words (tokenizer.ggml.pre); as llama.cpp does then", fields.file
        )
        pre = "default"
    if pre not in PATTERNS:
        raise fields.refuse(f"cuts words in a way, {pre!r}, that is not supported; {', '.join(sorted(PATTERNS))} are")
    try:
        pairs = [tuple(merge.split(" ", 1)) for merge in merges]
        vocab = {token: index for index, token in enumerate(fields.tokens)}
        bpe = models.BPE(vocab=vocab, merges=pairs, ignore_merges=pre in WHOLE_WORDS)
    except Exception as error:  # The library raises bare Exception for a merge of unknown tokens.
        raise fields.refuse(f"is corrupted: its merges do not fit its vocabulary ({error})") from None
    inner = tokenizers.Tokenizer(bpe)
    inner.pre_tokenizer = pre_tokenizer(pre)
    if pre == "qwen2":
        inner.normalizer = normalizers.NFC()
    inner.decoder = decoders.ByteLevel()
    for kind, special in ((CONTROL, True), (USER_DEFINED, False)):
        added = [token for token, its in zip(fields.tokens, fields.kinds or (), strict=False) if its == kind]
        inner.add_tokens([AddedToken(token, special=special, normalized=False) for token in added])
    return inner


def _sentencepiece(fields: _Fields) -> tokenizers.Tokenizer:
    scores = fields("scores", list)
    if scores is None or len(scores) != len(fields.tokens) or fields.kinds is None:
        raise fields.refuse("is incomplete: the scores or the kinds of its SentencePiece vocabulary are missing")
    prefix, unknown = fields("add_space_prefix", bool, True), fields("unknown_token_id", int, 0)
    if not 0 <= unknown < len(fields.tokens):
        raise fields.refuse(f"is corrupted: its tokenizer.ggml.unknown_token_id is {unknown}")
    try:
        return tokenizer_of(Pieces(fields.tokens, scores, fields.kinds, prefix, unknown))
    except NotSupported as error:
        raise fields.refuse(str(error)) from None
