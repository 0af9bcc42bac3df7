"""The tokens of a tokenizer of `transformers`, as frames describe them. Uses only methods of the object."""

from __future__ import annotations

import json
from typing import Any

from kvscope.model.api import Refused
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_fallback, byte_level
from kvscope.model.checkpoint.tokenizer_class import BYTE_LEVEL, steps_of


def names_of(tokenizer: Any) -> Tokenizer:
    """Returns the vocabulary of a fast or slow tokenizer. It names tokens; the tokenizer itself splits texts."""
    inner: Any = _Vocabulary(tokenizer)
    return Tokenizer(inner, Extras({}, None, ()), byte_level if _is_byte_level(tokenizer) else byte_fallback)


def ids_of(tokenizer: Any, prompt: str, chat: bool) -> list[int]:
    """Returns the tokens of a prompt, in the tokenizer's chat template if `chat`. Raises Refused."""
    try:
        if chat:
            said = [{"role": "user", "content": prompt}]
            text = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
            return list(tokenizer(text, add_special_tokens=False)["input_ids"])
        return list(tokenizer(prompt)["input_ids"])
    except Exception as error:
        field = "chat" if chat else "prompt"
        raise Refused(field, f"{field}: the tokenizer cannot tokenize the prompt: {error}") from None


class _Vocabulary:
    """What `Tokenizer` asks of a vocabulary."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer, self._size = tokenizer, len(tokenizer)

    def id_to_token(self, token: int) -> str | None:
        return self._tokenizer.convert_ids_to_tokens(token) if token < self._size else None

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        return dict(self._tokenizer.added_tokens_decoder)


def _is_byte_level(tokenizer: Any) -> bool:
    """Returns whether names of tokens are in GPT-2's byte alphabet. A slow tokenizer then has a `byte_decoder`."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or backend.decoder is None:
        return hasattr(tokenizer, "byte_decoder")
    return BYTE_LEVEL in {str(step.get("type")) for step in steps_of(json.loads(backend.decoder.__getstate__()))}
