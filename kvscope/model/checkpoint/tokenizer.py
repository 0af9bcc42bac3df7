"""Convert text to token ids and back, with the `tokenizers` library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import tokenizers
from pydantic_core import to_json

from kvscope.model.api import Refused
from kvscope.model.checkpoint.chat import ChatTemplate

_END_OF_TURN = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<|end_of_turn|>", "<end_of_turn>")
_SPACE_MARK = "▁"
_TOKENS_REMEMBERED = 2**14


@dataclass(frozen=True, slots=True)
class Extras:
    """Facts that are not in the vocabulary: the special tokens' names, the chat template, the ids that end a text.

    `chat_template`: unchecked, from the checkpoint; `ChatTemplate` checks it. `scores`: of pieces of SentencePiece that
    neighbours may form (`sentencepiece_bpe.tokenizer_of`); None for other tokenizers.
    """

    special_names: dict[str, str]
    chat_template: object
    eos: tuple[int, ...]
    scores: Mapping[str, float] | None = None


def end_ids(inner: tokenizers.Tokenizer, declared: set[int]) -> tuple[int, ...]:
    """Returns the declared end tokens and those whose names mean the end of a turn in a conversation, sorted."""
    special = inner.get_added_tokens_decoder()
    turns = {token for token, added in special.items() if added.special and added.content in _END_OF_TURN}
    # Checked by name, because ids may have gaps: the largest id may be above the number of names.
    return tuple(sorted(turns | {token for token in declared if token >= 0 and inner.id_to_token(token) is not None}))


def failed_inside(error: BaseException) -> bool:
    """Returns whether the library raised the error: an Exception, or PanicException of Rust, a BaseException."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


class Tokenizer:
    """A model's vocabulary and rules. As in `transformers`, a string such as `<|im_end|>` becomes its special token."""

    def __init__(self, inner: tokenizers.Tokenizer, extras: Extras, to_bytes: Callable[[str], bytes]):
        """`to_bytes` converts the name of an ordinary vocabulary entry to bytes: `byte_level` or `byte_fallback`."""
        self.inner = inner
        self.to_bytes = to_bytes
        self.template = ChatTemplate(extras.chat_template, extras.special_names)
        self.scores = extras.scores
        self.eos = extras.eos
        self._added = inner.get_added_tokens_decoder()
        self.rows: int | None = None
        """Rows of the model's embedding: larger ids are refused. None before `fit`."""
        self.token_json: Callable[[int], bytes] = lru_cache(_TOKENS_REMEMBERED)(
            lambda token: to_json(self.token(token))
        )
        """Returns `token` as JSON. The likely tokens of one step are often likely in another one too."""

    def fit(self, rows: int, source: str) -> None:
        """Uses this tokenizer for a model whose embedding has `rows` rows. `source`: the model's name in messages.

        Raises Refused("model") if every text would be refused: a token around it has no row, or tokenizing fails.
        """
        self.rows = rows
        around = self._ids("", special=False, field="model")
        if (beyond := next((token for token in around if token >= rows), None)) is not None:
            message = (
                f"The tokenizer of {source} puts the token {self._name(beyond)!r} (id {beyond:,}) around every text,"
                f" for which the model has no embedding: its embedding table has {rows:,} rows."
            )
            raise Refused("model", message, limit=rows - 1)

    @property
    def vocab(self) -> int:
        """Number of ids with a name; a model's embedding may have more rows."""
        return self.inner.get_vocab_size(with_added_tokens=True)

    @property
    def ordinary(self) -> list[int]:
        """The ids of the vocabulary's own entries, without added and special tokens, that the model has rows for."""
        most = self.vocab if self.rows is None else min(self.vocab, self.rows)
        return [token for token in range(most) if token not in self._added]

    @property
    def has_chat(self) -> bool:
        """Whether the model has a usable chat template."""
        return self.template.refusal is None

    def encode(self, text: str, *, special: bool = False, field: str = "prompt") -> list[int]:
        """Returns a text's ids. Raises Refused, naming `field`, for a token without a row in the model's embedding.

        A plain prompt gets the tokens that the model's tokenizer adds around every text (Llama 3: a first
        `<|begin_of_text|>`; most others: none). With `special`, the text already has them, like the result of `chat`,
        and none is added. A byte without a token in the vocabulary is dropped: SmolLM2 lacks some control characters,
        and F1 and F2, the first bytes of the characters from U+40000 on.
        """
        ids = self._ids(text, special=special, field=field)
        if self.rows is not None and (beyond := next((token for token in ids if token >= self.rows), None)) is not None:
            message = (
                f"{field} has the token {self._name(beyond)!r} (id {beyond:,}), for which this model has no"
                f" embedding: its embedding table has {self.rows:,} rows. Remove it."
            )
            raise Refused(field, message, limit=self.rows - 1)
        return ids

    def _ids(self, text: str, *, special: bool, field: str) -> list[int]:
        """Returns the library's ids. Raises Refused, naming `field`, if it cannot tokenize the text."""
        try:
            return list(self.inner.encode(text, add_special_tokens=not special).ids)
        except BaseException as error:
            if not failed_inside(error):
                raise
            raise Refused(field, f"The model's tokenizer cannot tokenize a text: {error}.") from None

    def _name(self, token: int) -> str:
        return self.token_bytes(token).decode("utf-8", "replace")[:80]

    def token_bytes(self, token: int) -> bytes:
        """Returns a token's bytes, which alone may not be valid UTF-8. Empty for an id without a name.

        Added tokens are decoded like the vocabulary (Gemma's `▁▁` is 2 spaces), except if the result is not valid
        UTF-8: `café` added to a byte-level vocabulary stays `café`. (`transformers` writes `caf\ufffd`.)
        """
        name = self.inner.id_to_token(token)
        if name is None:
            return b""
        raw = self.to_bytes(name)
        return raw if token not in self._added or len(raw) == 1 or _is_text(raw) else name.encode()

    def token(self, token: int) -> dict[str, Any]:
        """Returns a token in the form that docs/frames.md describes."""
        raw = self.token_bytes(token)
        special = token in self._added and self._added[token].special
        return {"id": token, "text": raw.decode("utf-8", "replace"), "bytes": raw.hex(), "special": special}

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of the ids' joined bytes, with special tokens; U+FFFD for bytes that are not UTF-8."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")

    def chat(self, messages: Sequence[dict[str, str]]) -> str:
        """Formats messages ({"role", "content"}) by the model's chat template, up to the beginning of the answer.

        Raises Refused("chat") if the model has no template or the template rejects the messages.
        """
        return self.template.render(messages)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def byte_alphabet() -> dict[str, int]:
    """Returns GPT-2's printable character for each byte: printable Latin-1 is itself, the rest begin at U+0100."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTE_OF = byte_alphabet()


def byte_level(name: str) -> bytes:
    """Returns the bytes of a vocabulary entry in GPT-2's byte alphabet."""
    try:
        return bytes(_BYTE_OF[char] for char in name)
    except KeyError:
        return name.encode()


def byte_fallback(name: str) -> bytes:
    """Returns the bytes of a SentencePiece entry: `<0xE2>` is one byte, `▁` a space."""
    if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
        return bytes.fromhex(name[3:5])
    return name.replace(_SPACE_MARK, " ").encode()
