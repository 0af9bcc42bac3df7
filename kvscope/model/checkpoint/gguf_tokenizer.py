"""Build a `Tokenizer` from the metadata of a GGUF file.

GGUF names a pre-tokenizer instead of describing it (model/checkpoint/pre_tokenizers.py). Defaults are llama.cpp's.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers

from kvscope.model.api import Refused
from kvscope.model.checkpoint.pre_tokenizers import BEGINNING, PATTERNS, WHOLE_WORDS, pre_tokenizer
from kvscope.model.checkpoint.sentencepiece_bpe import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    USER_DEFINED,
    NotSupported,
    Pieces,
    put_around,
    tokenizer_of,
)
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_fallback, byte_level

END_NAMES = frozenset(
    (
        *("<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>"),
        *("</s>", "<eos>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "[e~[", "<turn|>", "<end_of_utterance>"),
        *("<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<|tool_response>", "<｜end▁of▁sentence｜>"),
    )
)
"""Tokens that end a text because of their names, as in llama.cpp, whatever their kind in the file."""
FILL_INS = {
    "fim_pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    "fim_rep": ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    "fim_sep": ("<|file_sep|>",),
}
"""Tokens for gaps in code and between files, which end a text too; found by their keys, or else by these names."""
NO_ENDS = (
    ({"<|return|>", "<|call|>"}, "<|end|>"),
    ({"<|flush|>", "<|calls|>"}, "<|end|>"),
    ({"<|flush|>", "<|call|>"}, "<|end|>"),
    ({"<|tool_response>"}, "</s>"),
)
"""If a vocabulary has all tokens of the first element, the second does not end a text."""
NAMES = (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"), ("sep", "seperator"))
"""The name of each special token in `transformers` and in GGUF."""

log = logging.getLogger(__name__)


def tokenizer_from_gguf(metadata: dict[str, Any], file: str) -> Tokenizer:
    """Builds the tokenizer. Raises Refused("model"), naming `file`, for another kind of vocabulary or a faulty one."""
    fields = _Fields(metadata, file)
    model = fields("model", str)
    scores = None
    if model == "gpt2":
        inner, to_bytes, first = _byte_level_bpe(fields), byte_level, fields("pre", str, "default") in BEGINNING
    elif model == "llama":
        (inner, scores), to_bytes, first = _sentencepiece(fields), byte_fallback, True
    else:
        raise fields.refuse(
            f"has a tokenizer of type {model!r}; byte-level BPE ('gpt2') and SentencePiece BPE ('llama') can be read"
        )
    inner.add_tokens(fields.added_tokens())
    tokens = fields.tokens
    defaults = {"bos": 1, "eos": 2, "unknown": 0} if model == "llama" else {}
    names = {
        f"{name}_token": tokens[index]
        for name, field in NAMES
        if (index := fields(f"{field}_token_id", int, defaults.get(field))) is not None and 0 <= index < len(tokens)
    }
    around = {"bos": fields("add_bos_token", bool, first), "eos": fields("add_eos_token", bool, False)}
    for name, added in around.items():
        if added and f"{name}_token" not in names:
            number = fields(f"{name}_token_id", int)
            fault = "puts a token around each text that it does not have: "
            raise fields.refuse(f"{fault}its tokenizer.ggml.{name}_token_id is {number}")
    put_around(inner, *(names[f"{name}_token"] if added else None for name, added in around.items()))
    declared = {fields(f"{name}_token_id", int, defaults.get(name)) for name in ("eos", "eot", "eom")} - {None}
    template = metadata.get("tokenizer.chat_template")
    return Tokenizer(inner, Extras(names, template, fields.ends(declared), scores), to_bytes)


class _Fields:
    """Checked access to the keys `tokenizer.ggml.…` of a file."""

    def __init__(self, metadata: dict[str, Any], file: str) -> None:
        self._metadata, self.file = metadata, file
        # llama.cpp gives an empty token this name, too.
        names = self.several("tokens", str) or []
        self.tokens: list[str] = [name or f"[EMPTY_{at}]" for at, name in enumerate(names)]
        if not self.tokens:
            raise self.refuse("is incomplete: its vocabulary (tokenizer.ggml.tokens) is missing")
        if len(set(self.tokens)) != len(self.tokens):
            twice = Counter(self.tokens).most_common(1)[0][0]
            raise self.refuse(f"is corrupted: the token {twice!r} is in its vocabulary twice")
        self.kinds: list[int] | None = self.one_each("token_type", int)

    def __call__(self, name: str, kind: type, default: Any = None) -> Any:
        value = self._metadata.get(f"tokenizer.ggml.{name}", default)
        if value is not None and not isinstance(value, kind):
            raise self.refuse(f"is corrupted: its tokenizer.ggml.{name} is not of type {kind.__name__}")
        return value

    def several(self, name: str, kind: type) -> list[Any] | None:
        """Returns a list whose elements are all of type `kind`."""
        values = self(name, list)
        if (other := next((each for each in values or () if type(each) is not kind), None)) is not None:
            raise self.refuse(f"is corrupted: its tokenizer.ggml.{name} has {other!r}, not of type {kind.__name__}")
        return values

    def one_each(self, name: str, kind: type) -> list[Any] | None:
        """Returns a list with one element per token."""
        values = self.several(name, kind)
        if values is not None and len(values) != len(self.tokens):
            fault = f"its tokenizer.ggml.{name} has {len(values):,} values for {len(self.tokens):,} tokens"
            raise self.refuse(f"contradicts itself: {fault}")
        return values

    def added_tokens(self) -> list[AddedToken]:
        """Returns the tokens that are matched as whole strings in a text, before any other rule."""
        ends, kinds = self.named_ends(), self.kinds or [NORMAL] * len(self.tokens)
        return [
            AddedToken(token, special=kind != USER_DEFINED or token in ends, normalized=False)
            for token, kind in zip(self.tokens, kinds, strict=True)
            if kind in (UNKNOWN, CONTROL, USER_DEFINED) or token in ends
        ]

    def ends(self, declared: set[int]) -> tuple[int, ...]:
        """Returns the ids that end a text: the declared ones and those of tokens with such names."""
        named = self.named_ends()
        return tuple(sorted({index for index, token in enumerate(self.tokens) if token in named or index in declared}))

    def named_ends(self) -> set[str]:
        """Returns the tokens that end a text because of their names or keys."""
        vocab = set(self.tokens)
        ends = set(END_NAMES & vocab)
        for key, names in FILL_INS.items():
            number = self(f"{key}_token_id", int)
            if number is not None and 0 <= number < len(self.tokens):
                ends.add(self.tokens[number])
            elif (name := next((name for name in names if name in vocab), None)) is not None:
                ends.add(name)
        return ends - {token for all_of, token in NO_ENDS if all_of <= vocab}

    def refuse(self, fault: str) -> Refused:
        return Refused("model", f"{self.file} {fault}.")


def _byte_level_bpe(fields: _Fields) -> tokenizers.Tokenizer:
    merges, pre = fields.several("merges", str), fields("pre", str)
    if merges is None:
        raise fields.refuse("is incomplete: its merges are missing")
    if (odd := next((each for each in merges if " " not in each[1:-1]), None)) is not None:
        raise fields.refuse(f"is corrupted: its tokenizer.ggml.merges has {odd!r}, which are not two tokens")
    if pre is None or pre == "default":
        log.warning(
            "%s has no tokenizer.ggml.pre, which selects how words are split: KVScope splits as llama.cpp does"
            " ('default'), which may differ from how the model was trained",
            fields.file,
        )
        pre = "default"
    if pre not in PATTERNS:
        raise fields.refuse(f"cuts words in a way, {pre!r}, that is not supported; {', '.join(sorted(PATTERNS))} are")
    vocab = {token: index for index, token in enumerate(fields.tokens)}
    try:
        pairs = [tuple(merge.split(" ", 1)) for merge in merges]
        bpe = models.BPE(vocab=vocab, merges=pairs, ignore_merges=pre in WHOLE_WORDS)
    except Exception as error:  # The library raises bare Exception for a merge of unknown tokens.
        raise fields.refuse(f"is corrupted: its merges do not fit its vocabulary ({error})") from None
    inner = tokenizers.Tokenizer(bpe)
    inner.pre_tokenizer = pre_tokenizer(pre)
    if pre == "qwen2":
        inner.normalizer = normalizers.NFC()
    inner.decoder = decoders.ByteLevel()
    return inner


def _sentencepiece(fields: _Fields) -> tuple[tokenizers.Tokenizer, dict[str, float]]:
    scores = fields.one_each("scores", float)
    if scores is None or fields.kinds is None:
        what = "scores" if scores is None else "token_type"
        raise fields.refuse(f"is incomplete: its SentencePiece vocabulary has no tokenizer.ggml.{what}")
    prefix, unknown = fields("add_space_prefix", bool, True), fields("unknown_token_id", int, 0)
    if not 0 <= unknown < len(fields.tokens):
        raise fields.refuse(f"is corrupted: its tokenizer.ggml.unknown_token_id is {unknown}")
    try:
        # llama.cpp joins neighbours to pieces of every kind.
        return tokenizer_of(Pieces(fields.tokens, scores, fields.kinds, prefix, unknown), joined=range(1, 7))
    except NotSupported as error:
        raise fields.refuse(str(error)) from None
