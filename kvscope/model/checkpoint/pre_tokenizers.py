"""Split texts before byte pairs are joined, by GGUF's name of the rule (`tokenizer.ggml.pre`).

Names and patterns are llama.cpp's (src/llama-vocab.cpp): each pattern splits the pieces that the patterns before it
left. tests/model/checkpoint/test_pre_tokenizers.py compares with the output of llama.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokenizers import Regex, pre_tokenizers

_ENDINGS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_QWEN35 = _QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"((?=[\p{L}])([^a-z]))", r"((?=[\p{L}])([^A-Z]))"
_WORD = r"[^\r\n\p{L}\p{N}]?"
_TEKKEN = rf"{_WORD}{_UPPER}*{_LOWER}+|{_WORD}{_UPPER}+{_LOWER}*|\p{{N}}|{_REST}"
_GPT4O = rf"{_WORD}{_UPPER}*{_LOWER}+{_ENDINGS}?|{_WORD}{_UPPER}+{_LOWER}*{_ENDINGS}?|\p{{N}}{{1,3}}|{_REST}"
_SENTENCE = r" ?[^(\s|.,!?…。，、।۔،)]+"
_DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_LLAMA3_NAMES = ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2")
_PATTERNS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("gpt-2", "mpt", "olmo", "jais", "phi-2", "gigachat", "mellum", "a.x-4.0", "exaone4", "trillion"): (GPT2,),
    ("granite-docling",): (GPT2,),
    ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"): (r"\p{N}", GPT2),
    (*_LLAMA3_NAMES, "dbrx", "smaug-bpe", "chatglm-bpe", "glm4"): (_LLAMA3,),
    ("qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "kormo", "f2llmv2", "hunyuan", "grok-2", "solar-open"): (
        _QWEN2,
    ),
    ("qwen35",): (_QWEN35,),
    ("laguna",): (r"[^\n]+|[\n]+", _QWEN2),
    ("ufakzeka",): (_QWEN2.removeprefix(f"{_ENDINGS}|"),),
    ("seed-coder",): (_QWEN2.replace(r"[^\s\p{L}\p{N}]+[\r\n]*", r"[^\s\p{L}\p{N}\r\n]+"),),
    ("bailingmoe", "bailingmoe2", "llada-moe"): (_QWEN2.replace(r"\s*[\r\n]+", r"\s*[\r\n]"),),
    ("minicpm5",): (r"\p{N}{1,3}", _LLAMA3.replace("{1,3}", "+")),
    ("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"): (
        r"\p{N}{1,3}",
        r"[\u4e00-\u9fa5\u3040-\u30ff]+",
        _DEEPSEEK,
    ),
    ("deepseek-coder",): (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"(?:(?=\S)[\u0800-\u9fa5\uac00-\ud7ff])+", r"\p{N}"),
    ("tekken",): (_TEKKEN,),
    ("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"): (_GPT4O,),
    ("falcon",): (r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"),
    ("poro-chat", "bloom", "gpt3-finnish"): (_SENTENCE,),
    ("viking",): (_SENTENCE, r"\p{N}"),
    ("default",): (r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"),
}
PATTERNS: Mapping[str, tuple[str, ...]] = {name: each for names, each in _PATTERNS.items() for name in names}
BEGINNING = frozenset((*_LLAMA3_NAMES, "tekken"))
"""Names with which a text begins with the BOS token, unless the file says otherwise."""
WHOLE_WORDS = BEGINNING | {"minicpm5"}
"""Names with which a word that is a token is used whole, not joined from pairs."""


def pre_tokenizer(name: str) -> pre_tokenizers.PreTokenizer:
    """Returns the pre-tokenizer that splits texts and encodes them as bytes. Raises KeyError for an unknown name."""
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in PATTERNS[name]]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
