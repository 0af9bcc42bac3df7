from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, normalizers, pre_tokenizers

from kvscope.model.api import Refused
from kvscope.model.checkpoint.chat import ChatTemplate
from kvscope.model.checkpoint.fetch import FILE, cache_folder, fetch
from kvscope.model.checkpoint.gguf_header import mapped, read_header
from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.hf_tokenizer import tokenizer_from_hf
from kvscope.model.checkpoint.tokenizer import Tokenizer, byte_alphabet
from tests.support.tiny_files import MERGES, SPECIALS, VOCAB, write_tokenizer

TEXTS = [
    "",
    " ",
    "   ",
    "\n\n\t  x \n",
    "Hello world",
    "The animal didn't cross the street because it was too tired.",
    "a1234567890b 12 345 3.14159 1 000 000",
    "def f(x):\n    return x ** 2  # naïve\n\n",
    "日本語のテキスト と 漢字",
    "Привет, мир! مرحبا بالعالم नमस्ते",
    "👍🏽 and 👨‍👩‍👧 and 🏳️‍🌈",
    "e\u0301 vs é, \u00a0no-break\u2003em space\u200bzero width",
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|im_end|",
    "<|im_end|><|im_end|> <|endoftext|>x<repo_name>y",
    "x" * 300,
]


def gguf_metadata(**changes: Any) -> dict[str, Any]:
    raw = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": VOCAB,
        "token_type": [3 if token in SPECIALS else 1 for token in VOCAB],
        "merges": [" ".join(pair) for pair in MERGES],
        "eos_token_id": 0,
    } | changes
    return {f"tokenizer.ggml.{key}": value for key, value in raw.items() if value is not None}


@pytest.fixture(scope="module")
def tiny() -> Tokenizer:
    return tokenizer_from_gguf(gguf_metadata(), "tiny.gguf")


@pytest.mark.parametrize("text", TEXTS)
def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(tiny: Tokenizer, text: str) -> None:
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


def test_a_character_split_over_tokens_is_whole_again_when_decoded(tiny: Tokenizer) -> None:
    ids = tiny.encode("é")
    assert len(ids) == 2
    assert [tiny.token(token)["text"] for token in ids] == ["\ufffd", "\ufffd"]
    assert tiny.decode(ids) == "é"


def test_the_byte_alphabet_is_one_to_one() -> None:
    assert sorted(byte_alphabet().values()) == list(range(256))
    assert byte_alphabet()["Ġ"] == 0x20
    assert byte_alphabet()["Ċ"] == 0x0A


def test_smollm_splits_digits_from_what_is_around_them() -> None:
    # With a merge of a space and a digit in the vocabulary, only the split keeps them apart.
    vocab = [*VOCAB, "Ġ1", "12"]
    changes = {
        "tokens": vocab,
        "merges": [*(" ".join(pair) for pair in MERGES), "Ġ 1", "1 2"],
        "token_type": [3 if token in SPECIALS else 1 for token in vocab],
    }
    smollm = tokenizer_from_gguf(gguf_metadata(**changes), "a.gguf")
    gpt2 = tokenizer_from_gguf(gguf_metadata(pre="gpt-2", **changes), "a.gguf")
    space, one, two = (VOCAB.index(token) for token in "Ġ12")
    assert smollm.encode(" 12") == [space, one, two]
    assert gpt2.encode(" 12") == [len(VOCAB), two]


# How the public tokenizer.json of Llama 3 and Qwen2 split text, written out once more.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.parametrize(("pre", "pattern"), [("llama-bpe", LLAMA3), ("qwen2", QWEN2)])
@pytest.mark.parametrize("text", TEXTS)
def test_named_splits_equal_the_published_ones(pre: str, pattern: str, text: str) -> None:
    # Merging whatever is adjacent shows the boundaries: every word becomes as few tokens as its length allows.
    ours = tokenizer_from_gguf(gguf_metadata(pre=pre, bos_token_id=1), "a.gguf")._inner
    normalized = normalizers.NFC().normalize_str(text) if pre == "qwen2" else text
    split = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    assert ours.pre_tokenizer.pre_tokenize_str(normalized) == split.pre_tokenize_str(normalized)


def test_qwen2_composes_characters_before_it_splits() -> None:
    qwen2 = tokenizer_from_gguf(gguf_metadata(pre="qwen2"), "a.gguf")
    assert qwen2.decode(qwen2.encode("e\u0301")) == unicodedata.normalize("NFC", "e\u0301")


def test_a_first_token_is_added_to_a_prompt_but_not_to_a_text_that_brings_its_own() -> None:
    tokenizer = tokenizer_from_gguf(gguf_metadata(add_bos_token=True, bos_token_id=1), "a.gguf")
    plain = tokenizer_from_gguf(gguf_metadata(add_bos_token=False, bos_token_id=1), "a.gguf")
    assert tokenizer.encode(" the") == [1, *plain.encode(" the")]
    assert tokenizer.encode("") == [1]
    assert tokenizer.encode(" the", special=True) == plain.encode(" the") == [VOCAB.index("Ġthe")]


def test_a_text_ends_at_the_declared_token_and_at_the_end_of_a_turn(tiny: Tokenizer) -> None:
    assert tiny.eos == (0, 2)


@pytest.mark.parametrize(
    ("names", "ending"),
    [
        (["<|eot_id|>", "<end_of_turn>", "</s>"], [True, True, True]),
        (["<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"], [True, True, True]),
        (["<|return|>", "<|call|>", "<|end|>"], [True, True, False]),
        (["<turn|>", "<|tool_response>", "</s>"], [True, True, False]),
        (["<|end_of_turn|>"], [False]),
    ],
)
@pytest.mark.parametrize("kind", [1, 3, 4], ids=["normal", "control", "user-defined"])
def test_the_tokens_that_end_a_text_are_llama_cpps(names: list[str], ending: list[bool], kind: int) -> None:
    # What llama_vocab_is_eog of llama-cpp-python 0.3.36 says of files with these tokens, whatever their kind.
    tokens = [*VOCAB, *names]
    kinds = [3 if token in SPECIALS else kind if token in names else 1 for token in tokens]
    tokenizer = tokenizer_from_gguf(gguf_metadata(tokens=tokens, token_type=kinds), "a.gguf")
    added = [len(VOCAB) + number for number, ends in enumerate(ending) if ends]
    assert tokenizer.eos == (0, 2, *added)
    for token in added:  # found as it is written, too
        assert tokenizer.encode(f"x{tokens[token]}y")[1] == token


def test_a_last_token_is_added_where_the_file_says_so() -> None:
    tokenizer = tokenizer_from_gguf(gguf_metadata(add_eos_token=True), "a.gguf")
    assert tokenizer.encode(" the") == [VOCAB.index("Ġthe"), 0]


def test_a_user_defined_token_is_one_token_but_not_special() -> None:
    tokens = [*VOCAB, "<tool_call>"]
    kinds = [*([3] * 3), *([1] * (len(VOCAB) - 3)), 4]
    tokenizer = tokenizer_from_gguf(gguf_metadata(tokens=tokens, token_type=kinds), "a.gguf")
    assert tokenizer.encode("<tool_call>") == [len(VOCAB)]
    assert tokenizer.token(len(VOCAB)) == {
        "id": len(VOCAB),
        "text": "<tool_call>",
        "bytes": b"<tool_call>".hex(),
        "special": False,
    }


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": "llama"}, "scores"),
        ({"model": "t5"}, "'t5'"),
        ({"model": None}, "None"),
        ({"pre": "kimi-k2"}, "'kimi-k2'"),
        ({"tokens": None}, "incomplete"),
        ({"merges": None}, "incomplete"),
        ({"token_type": [1]}, "incomplete"),
        ({"merges": ["q unknown"]}, "merges"),
        ({"merges": ["noblank"]}, "merges"),
        ({"merges": [7]}, "merges"),
        ({"tokens": [7]}, "incomplete"),
        ({"tokens": "abc"}, "tokens"),
        ({"eos_token_id": "2"}, "eos_token_id"),
        ({"add_bos_token": True}, "bos_token_id"),
        ({"add_bos_token": True, "bos_token_id": 9999}, "9999"),
        ({"tokens": [*VOCAB[:-1], VOCAB[0]]}, "twice"),
    ],
)
def test_a_vocabulary_that_cannot_be_used_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=r"a\.gguf") as caught:
        tokenizer_from_gguf(gguf_metadata(**changes), "a.gguf")
    assert said in str(caught.value)


class TestFolder:
    @pytest.mark.parametrize(
        ("file", "content"),
        [
            ("added_tokens.json", {"<tool_call>": len(VOCAB)}),
            ("tokenizer_config.json", {"added_tokens_decoder": {str(len(VOCAB)): {"content": "<tool_call>"}}}),
        ],
    )
    def test_tokens_that_a_file_beside_it_adds_are_found(self, tmp_path: Path, file: str, content: Any) -> None:
        write_tokenizer(tmp_path)
        (tmp_path / file).write_text(json.dumps(content))
        assert tokenizer_from_hf(tmp_path, "a").encode("x<tool_call>")[-1] == len(VOCAB)

    def test_files_that_give_a_token_two_ids_are_refused(self, tmp_path: Path) -> None:
        write_tokenizer(tmp_path)
        (tmp_path / "added_tokens.json").write_text(json.dumps({"<tool_call>": 999}))
        with pytest.raises(Refused, match="contradict each other"):
            tokenizer_from_hf(tmp_path, "a")

    def test_special_tokens_are_named_by_their_own_file_too(self, tmp_path: Path) -> None:
        write_tokenizer(tmp_path)
        (tmp_path / "tokenizer_config.json").unlink()
        names = {"eos_token": {"content": "<|im_start|>"}, "bos_token": "<|endoftext|>"}
        (tmp_path / "special_tokens_map.json").write_text(json.dumps(names))
        assert tokenizer_from_hf(tmp_path, "a").eos == (1, 2)  # and the end of a turn

    def test_a_space_first_is_what_the_config_says(self, tmp_path: Path) -> None:
        write_tokenizer(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True})
        )
        assert tokenizer_from_hf(tmp_path, "a").encode("the") == [VOCAB.index("Ġthe")]

    def test_equals_the_same_vocabulary_from_gguf(self, tmp_path: Path) -> None:
        write_tokenizer(tmp_path)
        folder = tokenizer_from_hf(tmp_path, "tiny")
        gguf = tokenizer_from_gguf(gguf_metadata(pre="gpt-2"), "a.gguf")
        for text in TEXTS:
            assert folder.encode(text) == gguf.encode(text)

    def test_ids_equal_transformers(self, tmp_path: Path) -> None:
        from transformers import PreTrainedTokenizerFast

        write_tokenizer(tmp_path)
        theirs = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
        ours = tokenizer_from_hf(tmp_path, "tiny")
        for text in TEXTS:
            assert ours.encode(text) == theirs(text)["input_ids"]

    def test_the_generations_end_tokens_come_before_the_models(self, tmp_path: Path) -> None:
        write_tokenizer(tmp_path)
        assert tokenizer_from_hf(tmp_path, "tiny").eos == (0, 2)
        (tmp_path / "config.json").write_text('{"eos_token_id": 5}')
        assert tokenizer_from_hf(tmp_path, "tiny").eos == (2, 5)
        (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, 9, 100000]}')
        assert tokenizer_from_hf(tmp_path, "tiny").eos == (2, 7, 9)

    def test_the_template_is_its_own_file_or_a_named_one(self, tmp_path: Path) -> None:
        write_tokenizer(tmp_path)
        file = tmp_path / "tokenizer_config.json"
        templates = [{"name": "tools", "template": "no"}, {"name": "default", "template": "yes {{ eos_token }}"}]
        file.write_text(json.dumps({"chat_template": templates, "eos_token": {"content": "<E>"}}))
        assert tokenizer_from_hf(tmp_path, "tiny").chat([]) == "yes <E>"
        (tmp_path / "chat_template.jinja").write_text("own file")
        assert tokenizer_from_hf(tmp_path, "tiny").chat([]) == "own file"

    @pytest.mark.parametrize(
        "files",
        [
            {"tokenizer_config": {"bos_token": "<|im_start|>"}, "special_tokens_map": {"eos_token": "<|im_end|>"}},
            {"tokenizer_config": {"eos_token": "<|endoftext|>"}, "special_tokens_map": {"eos_token": "<|im_end|>"}},
            {
                "tokenizer_config": {
                    "eos_token": "<|endoftext|>",
                    "added_tokens_decoder": {"0": {"content": "<|endoftext|>", "special": True}},
                },
                "special_tokens_map": {"eos_token": "<|im_end|>"},
            },
            {"tokenizer_config": {"additional_special_tokens": ["<tool>"]}},
            {"tokenizer_config": {"image_token": "<tool>", "pad_token": "<pad>"}},
            {"tokenizer_config": {}, "added_tokens": {"<tool>": len(VOCAB)}},
            {"tokenizer_config": {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}},
            {"tokenizer_config": {"tokenizer_class": "PreTrainedTokenizerFast", "add_prefix_space": True}},
            {"tokenizer_config": {"add_prefix_space": True}, "config": {"model_type": "qwen2"}},
        ],
    )
    def test_special_tokens_and_the_first_space_are_those_of_transformers(
        self, tmp_path: Path, files: dict[str, dict[str, Any]]
    ) -> None:
        from transformers import AutoTokenizer

        write_tokenizer(tmp_path)
        for name, content in ({"config": {"model_type": "llama"}} | files).items():
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        ours, theirs = tokenizer_from_hf(tmp_path, "tiny"), AutoTokenizer.from_pretrained(tmp_path)
        for text in ["the the", "hello <tool>x", "e\u0301 12"]:
            assert ours.encode(text) == theirs(text)["input_ids"]
        assert ours._template._names == {key: str(token) for key, token in theirs.special_tokens_map.items()}

    @pytest.mark.parametrize("template", [7, [{"name": "tool_use", "template": "x"}], "{% frob %}"])
    def test_a_template_that_is_none_leaves_plain_prompts(self, tmp_path: Path, template: Any) -> None:
        write_tokenizer(tmp_path)
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
        tokenizers = [tokenizer_from_hf(tmp_path, "tiny")]
        tokenizers.append(tokenizer_from_gguf({**gguf_metadata(), "tokenizer.chat_template": template}, "a.gguf"))
        (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
        tokenizers.append(tokenizer_from_hf(tmp_path, "tiny"))
        for tokenizer in tokenizers:
            assert tokenizer.encode(" the") == [VOCAB.index("Ġthe")]
            assert not tokenizer.has_chat
            with pytest.raises(Refused, match="template"):
                tokenizer.chat([{"role": "user", "content": "x"}])

    def test_padding_and_truncation_are_switched_off(self, tmp_path: Path) -> None:
        write_tokenizer(tmp_path)
        raw = json.loads((tmp_path / "tokenizer.json").read_text())
        raw["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
        (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
        assert len(tokenizer_from_hf(tmp_path, "tiny").encode("abcdef")) == 6

    def test_sentencepiece_names_are_turned_into_bytes(self, tmp_path: Path) -> None:
        vocab = {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, **{f"<0x{byte:02X}>": 4 + byte for byte in range(256)}}
        raw = {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": {
                "type": "Sequence",
                "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}],
            },
            "model": {
                "type": "BPE",
                "vocab": vocab,
                "merges": [["▁", "a"]],
                "byte_fallback": True,
                "unk_token": "<unk>",
            },
        }
        (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
        tokenizer = tokenizer_from_hf(tmp_path, "tiny")
        ids = tokenizer.encode(" aé")
        assert ids == [3, 4 + 0xC3, 4 + 0xA9]
        assert [tokenizer.token_bytes(token) for token in ids] == [b" a", b"\xc3", b"\xa9"]

    def test_another_kind_is_refused(self, tmp_path: Path) -> None:
        raw = {"version": "1.0", "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}
        (tmp_path / "tokenizer.json").write_text(json.dumps(raw | {"added_tokens": []}))
        with pytest.raises(Refused, match="kind"):
            tokenizer_from_hf(tmp_path, "tiny")


class TestChat:
    MESSAGES = ({"role": "user", "content": "a < b & 'c' ✓"},)

    def test_blocks_are_trimmed_and_nothing_is_escaped(self) -> None:
        source = "{% for m in messages %}\n  {% if m.role == 'user' %}\n[{{ m.content }}]\n  {% endif %}\n"
        source += "{% endfor %}\nend"
        assert ChatTemplate(source, {}).render(self.MESSAGES) == "[a < b & 'c' ✓]\nend"

    def test_the_generation_prompt_is_asked_for_and_names_are_known(self) -> None:
        source = "{{ bos_token }}{% if add_generation_prompt %}go{% endif %}{{ messages | tojson }}"
        assert ChatTemplate(source, {"bos_token": "<B>"}).render([{"role": "é", "content": "<"}]) == (
            '<B>go[{"role": "é", "content": "<"}]'
        )

    @pytest.mark.parametrize(
        "source",
        [
            "{{ messages | tojson(indent=1, separators=(',', ':'), sort_keys=true) }}",
            "{% if tools is not none %}T{% endif %}{% if documents is not none %}D{% endif %}x",
            "A\n  {%- generation -%}\n B {{ messages[0].content }}\n{% endgeneration %}\nC",
            "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
            "{{ strftime_now(format='%Y') }}",
            "{% for m in [1, 2, 3] %}{% if m == 2 %}{% break %}{% endif %}{{ m }}{% endfor %}",
        ],
    )
    def test_a_template_gives_what_transformers_gives(self, source: str) -> None:
        from transformers.utils.chat_template_utils import render_jinja_template

        theirs, _ = render_jinja_template([[*self.MESSAGES]], chat_template=source, add_generation_prompt=True)
        assert ChatTemplate(source, {}).render(self.MESSAGES) == theirs[0]

    def test_a_template_runs_only_when_somebody_chats(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ran: list[object] = []
        monkeypatch.setattr(ChatTemplate, "render", lambda *given: ran.append(given))
        template = ChatTemplate("x", {})
        assert not ran
        assert template.exists
        assert ran

    def test_a_model_without_a_template_takes_no_chat(self, tiny: Tokenizer) -> None:
        assert not tiny.has_chat
        with pytest.raises(Refused, match="no chat template") as caught:
            tiny.chat(self.MESSAGES)
        assert caught.value.field == "chat"

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("{% if tools is not none %}[TOOLS]{% endif %}{{ messages[0].content }}", "Hi"),
            ("{% if documents is none %}{{ messages[0].content }}{% endif %}", "Hi"),
            ("{% generation %}{{ messages[0].content }}{% endgeneration %}!", "Hi!"),
            ("{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}x{% endfor %}.", "."),
            ("{{ messages[0] | tojson }}", '{"role": "user", "content": "Hi"}'),
            ("{{ strftime_now('%Y') | length }}", "4"),
            ("{{ bos_token }}{{ pad_token is defined }}", "<s>False"),
        ],
    )
    def test_a_template_has_what_transformers_gives_it(self, source: str, expected: str) -> None:
        template = ChatTemplate(source, {"bos_token": "<s>"})
        assert template.exists
        assert template.render([{"role": "user", "content": "Hi"}]) == expected

    @pytest.mark.parametrize("source", ["{% nonsense %}", "{{ raise_exception('no') }}", "{{ missing.attribute }}"])
    def test_a_template_that_fails_leaves_plain_prompts(self, source: str) -> None:
        template = ChatTemplate(source, {})
        assert not template.exists
        with pytest.raises(Refused, match="a plain prompt works"):
            template.render(self.MESSAGES)

    @pytest.mark.parametrize(
        "source",
        [
            "{{ raise_exception('no system role') }}",
            "{% for %}",
            "{{ messages.append(1) }}",
            "{{ ''.__class__.__mro__[1].__subclasses__() }}",
            "{% for i in range(10000000000) %}{% endfor %}",
            "{{ missing.attribute }}",
            "{{ 1 / 0 }}",
        ],
    )
    def test_a_template_that_fails_or_reaches_out_is_refused(self, source: str) -> None:
        with pytest.raises(Refused) as caught:
            ChatTemplate(source, {}).render(self.MESSAGES)
        assert caught.value.field == "chat"


@pytest.fixture(scope="module")
def ours() -> Tokenizer:
    path = fetch(lambda _: None)
    return tokenizer_from_gguf(read_header(mapped(path)).metadata, path.name)


@pytest.fixture(scope="module")
def theirs(ours: Tokenizer) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(cache_folder(), gguf_file=FILE)


@pytest.fixture(scope="module")
def published(ours: Tokenizer) -> Any:
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(cache_folder(), gguf_file=FILE)
    theirs.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return theirs


@pytest.mark.real
class TestDefaultModel:
    """Against `transformers` reading the same file.

    transformers gives this vocabulary GPT-2's split alone; the published tokenizer.json of SmolLM2 first sets every
    digit apart. Only a non-ASCII digit or number (² ½ ٣ Ⅷ) tells the two from each other, so the reference is compared
    as it is on text without those, and on all text with the published split in its place.
    """

    @pytest.mark.parametrize("text", TEXTS)
    def test_ids_equal(self, ours: Tokenizer, theirs: Any, text: str) -> None:
        assert ours.encode(text) == theirs(text)["input_ids"]

    @settings(max_examples=300, deadline=None)
    @given(st.text())
    def test_ids_equal_for_any_text(self, ours: Tokenizer, theirs: Any, published: Any, text: str) -> None:
        ids = ours.encode(text)
        assert ids == published(text)["input_ids"]
        if not any(unicodedata.category(char).startswith("N") and not char.isascii() for char in text):
            assert ids == theirs(text)["input_ids"]

    def test_bytes_the_vocabulary_lacks_are_left_out_as_the_reference_leaves_them(
        self, ours: Tokenizer, theirs: Any
    ) -> None:
        # U+40000 is F1 80 80 80, and this vocabulary has no token for F1.
        assert ours.encode("a\U00040000") == theirs("a\U00040000")["input_ids"]
        assert ours.decode(ours.encode("a\U00040000")) == "a" + "\ufffd" * 3

    def test_other_scripts_digits_are_set_apart(self, ours: Tokenizer, published: Any) -> None:
        text = "x² ½ ١٢٣ Ⅷ"
        assert ours.encode(text) == published(text)["input_ids"]

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
