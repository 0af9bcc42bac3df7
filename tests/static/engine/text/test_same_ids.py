"""The browser's tokenizer gives the ids, tokens and chat texts that the server gives, or the model is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from kvscope.model.checkpoint.chat import ChatTemplate
from kvscope.model.checkpoint.fetch import fetch
from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.hf_tokenizer import tokenizer_from_hf
from kvscope.model.checkpoint.packed_tokenizer import described
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_fallback, byte_level
from kvscope.model.gguf_header import mapped, read_header
from tests.support.live_server import ROOT
from tests.support.node import answer_of
from tests.support.refused import refusal
from tests.support.texts import TEXTS, mixed_texts
from tests.support.tiny_files import MERGES, SPECIALS, TEMPLATE, VOCAB, gguf_metadata, write_pieces, write_tokenizer

SCRIPT = Path(__file__).parent / "answers.js"
RECORDED: dict[str, Any] = json.loads((ROOT / "tests" / "fixtures" / "pre_tokenizers.json").read_text("ascii"))
README = (ROOT / "README.md").read_text("utf-8")
LONG = [README[:2000], "x" * 5000, " " * 300, "\n" * 200, "the " * 400]
ALL = [*TEXTS, *RECORDED["texts"], *LONG, *mixed_texts(200)]
ASKED = [{"role": "user", "content": "a < b & 'c' ✓"}]
CONVERSATIONS = [ASKED, [{"role": "system", "content": " Be brief. "}, *ASKED, {"role": "assistant", "content": "\n"}]]


def in_browser(*asked: dict[str, Any]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = answer_of(SCRIPT, asked)
    return answers


def fitted(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.fit(len(described(tokenizer)["names"]), "a")
    return tokenizer


def differing(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """The texts of which the browser gives other ids, if it gives the same tokens."""
    names = described(tokenizer)["names"]
    every = range(len(names) + 1)
    (answer,) = in_browser({"described": described(tokenizer), "texts": texts, "tokens": list(every)})
    assert answer["tokens"] == [tokenizer.token(token) for token in every]
    assert (answer["vocab"], tuple(answer["eos"])) == (tokenizer.vocab, tokenizer.eos)
    inside = [tokenizer.encode(text, special=True) for text in texts]
    ours = zip(texts, map(tokenizer.encode, texts), inside, strict=True)
    theirs = zip(answer["ids"], answer["inside"], strict=True)
    return [text for (text, *own), other in zip(ours, theirs, strict=True) if own != list(other)]


@pytest.mark.real
def test_the_default_models_texts_tokens_and_prompts_are_the_same() -> None:
    path = fetch(lambda _: None)
    tokenizer = fitted(tokenizer_from_gguf(read_header(mapped(path)).metadata, path.name))
    assert differing(tokenizer, ALL) == []
    prompts = [text for text in ALL if text]
    (answer,) = in_browser({"described": described(tokenizer), "prompts": prompts, "conversations": CONVERSATIONS})
    asked = ([{"role": "user", "content": prompt}] for prompt in prompts)
    assert answer["chat"] == [tokenizer.encode(tokenizer.chat(messages), special=True) for messages in asked]
    assert answer["rendered"] == [tokenizer.chat(messages) for messages in CONVERSATIONS]
    assert answer["hasChat"]


@pytest.mark.parametrize("name", RECORDED["ids"])
def test_each_rule_that_splits_words_splits_them_alike(name: str) -> None:
    """Llama 3's, Qwen's and others: this vocabulary has merges across every place where one of them splits."""
    kinds = [3 if token in SPECIALS else 1 for token in RECORDED["vocabulary"]]
    vocabulary = {"tokens": RECORDED["vocabulary"], "merges": RECORDED["merges"], "token_type": kinds}
    tokenizer = tokenizer_from_gguf(gguf_metadata(pre=name, bos_token_id=1, **vocabulary), "a.gguf")
    assert differing(fitted(tokenizer), ALL) == []


@pytest.mark.parametrize("prefix", [True, False])
def test_a_sentencepiece_model_joins_pieces_alike(tmp_path: Path, prefix: bool) -> None:
    folder = write_pieces(tmp_path, add_dummy_prefix=prefix, user_defined_symbols=["<tool>", "▁▁"])
    texts = [*ALL, "x<tool>  y", "a</s>b <s> c", "<unk><0x41>"]
    assert differing(fitted(tokenizer_from_hf(folder, "a")), texts) == []


def test_the_leftmost_of_equal_scores_is_joined_first() -> None:
    pieces = [*"▁abcd", "ab", "bc", "cd", "abc", "bcd", "▁a", "▁ab", "dß", "▁▁"]
    for ranks in ([0.0] * len(pieces), [-float(rank) for rank in range(len(pieces))]):
        fields = {
            "model": "llama",
            "tokens": ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces],
            "scores": [*[0.0] * 259, *ranks],
            "token_type": [2, 3, 3, *[6] * 256, *[1] * (len(pieces) - 1), 4],
        }
        tokenizer = tokenizer_from_gguf({f"tokenizer.ggml.{key}": value for key, value in fields.items()}, "a.gguf")
        chance = random.Random(4)
        texts = ["".join(chance.choices("abcd ßé", k=30)) for _ in range(100)]
        assert differing(fitted(tokenizer), texts) == []


def test_a_folders_byte_level_tokenizer_is_the_same(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, ["café", "<tool>"])
    texts = [*ALL, "a\x85b \ufeffc", "² ½ ٣ Ⅷ", "café <tool>x"]
    assert differing(fitted(tokenizer_from_hf(tmp_path, "a")), texts) == []


def byte_level_tokenizer(
    *, model: dict[str, Any] | None = None, added: Sequence[AddedToken] = (), lacking: Sequence[str] = (), **parts: Any
) -> Tokenizer:
    """A tokenizer of `VOCAB` without the tokens `lacking` and with the tokens `added`. `model`: settings of its model;
    `parts`: of the library's tokenizer."""
    vocab = {token: number for number, token in enumerate(VOCAB) if token not in lacking}
    inner = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=list(MERGES), **(model or {})))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    inner.add_special_tokens(list(SPECIALS))
    for name, value in parts.items():
        setattr(inner, name, value)
    inner.add_tokens(list(added))
    tokenizer = Tokenizer(inner, Extras({"bos_token": SPECIALS[1]}, TEMPLATE, (0,)), byte_level)
    tokenizer.rows = 10_000
    return tokenizer


ALIKE: dict[str, dict[str, Any]] = {
    "digits one by one": {
        "pre_tokenizer": pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
        )
    },
    "digits together": {
        "pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.ByteLevel(False)])
    },
    "bytes that the vocabulary lacks": {"lacking": ("b", "ñ", "Ċ", "|", ")", "-")},
    "words that are tokens": {"model": {"ignore_merges": True}},
    "composed characters": {"normalizer": normalizers.NFC()},
    "decomposed and replaced": {
        "normalizer": normalizers.Sequence(
            [normalizers.NFKD(), normalizers.Replace(".", "…"), normalizers.Prepend("t")]
        )
    },
    "tokens around": {
        "post_processor": processors.TemplateProcessing(
            single="<|im_start|> $A <|im_end|> <|endoftext|>",
            special_tokens=[(name, number) for number, name in enumerate(SPECIALS)],
        )
    },
    "tokens matched before and after the normalizer": {
        "normalizer": normalizers.NFC(),
        "added": [
            AddedToken("é!", normalized=True),
            AddedToken("!!", normalized=False),
            AddedToken("the ", normalized=True),
        ],
    },
    "tokens matched in two rounds without a normalizer": {
        "added": [AddedToken("x!", normalized=True), AddedToken("!!", normalized=False)]
    },
}


@pytest.mark.parametrize("changes", ALIKE.values(), ids=ALIKE)
def test_rules_of_a_folder_are_the_same(changes: dict[str, Any]) -> None:
    texts = [*ALL, "x!! e\u0301! é!!! the the  x!x!!", "1٣½ 12²", "a|b-c (\xf1) \n", "hbe ibn tbhbe"]
    assert differing(byte_level_tokenizer(**changes), texts) == []


def test_merges_of_names_with_bytes_in_place_of_what_is_missing_are_the_same() -> None:
    """The kind of Llama 2's tokenizer.json: no rule splits words, and what has no token is written in bytes."""
    names = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁abcdet", "▁a", "ab", "▁ab", "te", "▁▁"]
    merges = [("▁", "a"), ("a", "b"), ("▁a", "b"), ("t", "e"), ("▁", "▁")]
    vocab = {name: number for number, name in enumerate(names)}
    inner = tokenizers.Tokenizer(
        models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    inner.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    inner.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    inner.add_special_tokens(["<unk>", "<s>"])
    tokenizer = fitted(Tokenizer(inner, Extras({}, None, ()), byte_fallback))
    assert differing(tokenizer, [*ALL, "<s> ab<s>ab  abate é"]) == []


def split(behaviour: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(" "), behaviour), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another pre-tokenizer": (
        {"pre_tokenizer": pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(False)])},
        "its pre-tokenizer Whitespace () is not supported there",
    ),
    "a split that leaves out": ({"pre_tokenizer": split("removed")}, "behavior = 'Removed', invert = False"),
    "a split that joins": ({"pre_tokenizer": split("merged_with_next")}, "behavior = 'MergedWithNext'"),
    "a space in front": ({"pre_tokenizer": pre_tokenizers.ByteLevel(True)}, "add_prefix_space = True"),
    "no bytes": ({"pre_tokenizer": pre_tokenizers.Digits()}, "does not end with its only step ByteLevel"),
    "another normalizer": ({"normalizer": normalizers.Lowercase()}, "its normalizer Lowercase is not supported"),
    "a pattern": ({"normalizer": normalizers.Replace(Regex("a+"), "b")}, "its normalizer Replace has a pattern"),
    "a whole word": ({"added": [AddedToken("x", single_word=True)]}, "its token 'x' has single_word"),
    "spaces before": ({"added": [AddedToken("x", lstrip=True)]}, "its token 'x' has lstrip"),
    "names that are split": ({"encode_special_tokens": True}, "split_special_tokens"),
    "bytes without a token": ({"lacking": ("Ā",), "model": {"ignore_merges": True}}, "lacks 1 of the 256 bytes"),
    "an unknown token": ({"lacking": ("Ā",), "model": {"unk_token": "Ġt"}}, "lacks 1 of the 256 bytes"),
}


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_rules_that_the_browser_computes_otherwise_are_refused(changes: dict[str, Any], said: str) -> None:
    error = refusal(described, byte_level_tokenizer(**changes))
    assert error.field == "model"
    assert str(error).startswith("The model's tokenizer cannot run in a browser: ")
    assert said in str(error)


def test_what_the_server_refuses_the_browser_refuses_in_the_same_words() -> None:
    tokenizer = byte_level_tokenizer()
    tokenizer.rows = 200
    text = "a\u0300b"
    (answer,) = in_browser({"described": described(tokenizer), "texts": [text, "\ud800"]})
    error = refusal(tokenizer.encode, text)
    beyond = {
        "title": str(error),
        "detail": str(error),
        "status": error.status,
        "field": "prompt",
        "limit": error.limit,
    }
    assert answer["ids"][0] == {"refused": beyond}
    assert answer["ids"][1]["refused"]["detail"] == "prompt is not valid Unicode: it contains half of a surrogate pair."


TEMPLATES = {
    "a loop": TEMPLATE,
    "a namespace": "{%- set n = namespace(seen=false) -%}{%- for m in messages -%}{%- if m.role == 'system' -%}"
    "{%- set n.seen = true -%}{%- endif -%}{%- endfor -%}{{ 'x' if n.seen else 'y' }}",
    "filters and methods": "{{ bos_token }}{% for m in messages %}{{ m.content | trim }}|{{ m['content'].strip() }}"
    "{{ loop.index0 }}{{ m.role.upper() }}{% endfor %}{{ messages | length }}{{ messages[0].content.split(' ')[0] }}",
    "JSON": "{{ messages | tojson }}{{ messages | tojson(indent=2) }}",
    "trimmed blocks": "{% for m in messages %}\n  {% if m.role == 'user' %}\n[{{ m.content }}]\n  {% endif %}\n"
    "{% endfor %}",
    "a part": "{% set rest = messages[1:] %}{% for m in rest[::-1] %}{{ m.role ~ loop.index }}{% endfor %}",
    "what is not there": "a{{ foo }}{% if tools is not none %}T{% endif %}{% if x is defined %}D{% endif %}",
    "the date": "{{ strftime_now('%d %b %Y') }}",
    "a generation block": "A\n  {%- generation -%}\n B {{ messages[0].content }}\n{% endgeneration %}\nC",
}


def with_template(source: str) -> tuple[ChatTemplate, dict[str, Any]]:
    tokenizer = byte_level_tokenizer()
    tokenizer.template = ChatTemplate(source, {"bos_token": "<B>"})
    return tokenizer.template, described(tokenizer)


def test_chat_templates_give_the_same_texts() -> None:
    templates = [with_template(source) for source in TEMPLATES.values()]
    answers = in_browser(*({"described": each, "conversations": CONVERSATIONS} for _, each in templates))
    for name, (template, _), answer in zip(TEMPLATES, templates, answers, strict=True):
        assert answer["rendered"] == [template.render(messages) for messages in CONVERSATIONS], name


REJECTING = "{% if messages[0].role == 'system' %}{{ raise_exception('No system role. ') }}{% endif %}x"


def test_a_template_that_cannot_be_used_in_the_browser_says_why() -> None:
    sources = [REJECTING, "{{ frob(1) }}", "{{ add_generation_prompt }}", "{{ messages | groupby('role') | length }}"]
    templates = [with_template(source) for source in sources]
    answers = in_browser(*({"described": each, "conversations": CONVERSATIONS} for _, each in templates))
    assert [answer["hasChat"] for answer in answers] == [True, False, False, False]
    said = [answer["rendered"][1]["refused"] for answer in answers]
    assert [each["field"] for each in said] == ["chat"] * len(said)
    for at in (0, 1):
        assert said[at]["detail"] == str(refusal(templates[at][0].render, CONVERSATIONS[1]))
    other = "The model's chat template gives another text in this browser than on a server."
    assert said[2]["detail"] == f"{other} Without chat, a plain prompt works."
    assert said[3]["detail"].startswith("The model's chat template failed: ")
