from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.tokenizer import Tokenizer
from tests.support.texts import TEXTS
from tests.support.tiny_files import VOCAB, gguf_metadata


@pytest.fixture(scope="module")
def tiny() -> Tokenizer:
    return tokenizer_from_gguf(gguf_metadata(), "tiny.gguf")


def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(tiny: Tokenizer) -> None:
    for text in TEXTS:
        ids = tiny.encode(text)
        assert b"".join(tiny.token_bytes(token) for token in ids) == text.encode()
        assert tiny.decode(ids) == text


@given(st.text())
def test_any_text_comes_back(tiny: Tokenizer, text: str) -> None:
    assert tiny.decode(tiny.encode(text)) == text


def test_a_special_string_in_a_text_is_its_token(tiny: Tokenizer) -> None:
    the = VOCAB.index("Ġthe")
    assert tiny.encode("<|im_start|> the<|im_end|>") == [1, the, 2]
    assert tiny.encode("<|im_start|> the<|im_end|>", special=True) == [1, the, 2]


def test_a_token_tells_its_bytes_and_whether_it_is_special(tiny: Tokenizer) -> None:
    the, e_acute = VOCAB.index("Ġthe"), VOCAB.index("Ã")
    assert tiny.token(the) == {"id": the, "text": " the", "bytes": "20746865", "special": False}
    assert tiny.token(1) == {"id": 1, "text": "<|im_start|>", "bytes": b"<|im_start|>".hex(), "special": True}
    assert tiny.token(e_acute) == {"id": e_acute, "text": "\ufffd", "bytes": "c3", "special": False}
    assert tiny.token(len(VOCAB)) == {"id": len(VOCAB), "text": "", "bytes": "", "special": False}
