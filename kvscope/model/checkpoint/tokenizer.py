"""Text to token ids and back, over the `tokenizers` library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tokenizers

from kvscope.model.api import Refused
from kvscope.model.checkpoint.chat import ChatTemplate

_END_OF_TURN = ("<|im_end|>", "<|eot_id|>", "<|end|>", "<|end_of_turn|>", "<end_of_turn>")
_SPACE_MARK = "▁"


@dataclass(frozen=True, slots=True)
class Extras:
    """What the vocabulary does not say: the special tokens' names, the chat template, the ids that end a text.

    `chat_template`: as the checkpoint has it; `ChatTemplate` says whether it is one.
    """

    special_names: dict[str, str]
    chat_template: object
    eos: tuple[int, ...]


def end_ids(inner: tokenizers.Tokenizer, declared: set[int]) -> tuple[int, ...]:
    """The declared end tokens, and those that by their names end a turn of a conversation; sorted."""
    special = inner.get_added_tokens_decoder()
    turns = {token for token, added in special.items() if added.special and added.content in _END_OF_TURN}
    # By name: where ids have gaps, the last of them is beyond the number of names.
    return tuple(sorted(turns | {token for token in declared if token >= 0 and inner.id_to_token(token) is not None}))


def failed_inside(error: BaseException) -> bool:
    """Whether it is the library's: it raises bare Exceptions, and what its Rust code panics with is not even one."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


class Tokenizer:
    """A model's vocabulary with its rules.

    Strings such as `<|im_end|>` in a text become the special token they name, as in `transformers`.
    """

    def __init__(self, inner: tokenizers.Tokenizer, extras: Extras, to_bytes: Callable[[str], bytes]):
        """`to_bytes` turns the name of an ordinary vocabulary entry into its bytes: `byte_level` or `byte_fallback`."""
        self._inner = inner
        self._added = inner.get_added_tokens_decoder()
        self._to_bytes = to_bytes
        self._template = ChatTemplate(extras.chat_template, extras.special_names)
        self.eos = extras.eos
        self.rows: int | None = None
        """Rows of the model's embedding: ids from there on are refused. None where no model is known: see `fit`."""

    def fit(self, rows: int, source: str) -> None:
        """Be the tokenizer of a model whose embedding has so many rows. `source` names the model in messages.

        Raises Refused("model") where every text would be refused: what is put around it has no row, or fails.
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
        """How many ids have a name; a model's embedding may have more rows."""
        return self._inner.get_vocab_size(with_added_tokens=True)

    @property
    def has_chat(self) -> bool:
        """Whether `chat` can work."""
        return self._template.exists

    def encode(self, text: str, *, special: bool = False, field: str = "prompt") -> list[int]:
        """Ids of a text. Raises Refused, naming `field`, for a token that the model's embedding has no row for.

        A plain prompt gets the tokens that the model's own tokenizer puts around every text (Llama 3: a first
        `<|begin_of_text|>`; most others: none). With `special` the text is said to bring its own, as what `chat`
        returns does, and none is added. A byte that the vocabulary has no token for is left out: SmolLM2 lacks some
        control characters, and F1 and F2, with which the characters from U+40000 on begin.
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
        """As the library has them. Raises Refused, naming `field`, where it cannot cut the text."""
        try:
            return list(self._inner.encode(text, add_special_tokens=not special).ids)
        except BaseException as error:
            if not failed_inside(error):
                raise
            raise Refused(field, f"The model's tokenizer cannot tokenize a text: {error}.") from None

    def _name(self, token: int) -> str:
        return self.token_bytes(token).decode("utf-8", "replace")[:80]

    def token_bytes(self, token: int) -> bytes:
        """A token's bytes, not always valid UTF-8 alone. Empty for an unnamed id.

        Added tokens too are spelled as the vocabulary is (Gemma's `▁▁` is 2 spaces), but for those that would not be
        text then: `café` added to a byte-level vocabulary is what it says. (`transformers` writes `caf\ufffd`.)
        """
        name = self._inner.id_to_token(token)
        if name is None:
            return b""
        raw = self._to_bytes(name)
        return raw if token not in self._added or len(raw) == 1 or _is_text(raw) else name.encode()

    def token(self, token: int) -> dict[str, Any]:
        """A token as docs/frames.md describes it."""
        raw = self.token_bytes(token)
        special = token in self._added and self._added[token].special
        return {"id": token, "text": raw.decode("utf-8", "replace"), "bytes": raw.hex(), "special": special}

    def decode(self, ids: Sequence[int]) -> str:
        """The text the ids' bytes make together, special tokens included; U+FFFD for what is not UTF-8."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")

    def chat(self, messages: Sequence[dict[str, str]]) -> str:
        """The messages ({"role", "content"}) in the model's chat template, up to where the assistant's answer begins.

        Raises Refused("chat") when the model has no template or the template rejects the messages.
        """
        return self._template.render(messages)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte: printable Latin-1 is itself, the rest follow from U+0100 in order."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + index): byte for index, byte in enumerate(others)}


_BYTE_OF = byte_alphabet()


def byte_level(name: str) -> bytes:
    """The bytes of a vocabulary entry written in GPT-2's byte alphabet."""
    try:
        return bytes(_BYTE_OF[char] for char in name)
    except KeyError:
        return name.encode()


def byte_fallback(name: str) -> bytes:
    """The bytes of a SentencePiece entry: `<0xE2>` is one byte, `▁` a space."""
    if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
        return bytes.fromhex(name[3:5])
    return name.replace(_SPACE_MARK, " ").encode()
