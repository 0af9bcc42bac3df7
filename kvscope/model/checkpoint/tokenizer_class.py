"""Change a tokenizer.json as the tokenizer classes of `transformers` 5 do.

Some classes take only the vocabulary, merges and post-processor from the file and define the other steps
(`TokenizersBackend.convert_to_native_format`); any other class uses the whole file. `AutoTokenizer.from_pretrained`
has the rule for which class reads a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kvscope.model.checkpoint.pre_tokenizers import PATTERNS

Json = dict[str, Any]
BYTE_LEVEL, BYTE_FALLBACK = "ByteLevel", "ByteFallback"
_END = "<|endoftext|>"
_SPACE = "▁"


@dataclass(frozen=True, slots=True)
class TokenizerClass:
    """A class that defines steps. `names`: special tokens that a folder may override; `spelling`: the decoder of its
    tokens; `rebuild`: changes a tokenizer.json, given tokenizer_config.json.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    spelling: str = ""
    rebuild: Callable[[Json, Json], None] = lambda raw, config: None


AS_THE_FILE_SAYS = TokenizerClass()


def _of_llama(raw: Json, config: Json) -> None:
    prefix = config.get("add_prefix_space") is not False
    scheme = "never" if not prefix else "always" if config.get("legacy") else "first"
    raw["normalizer"] = None
    raw["pre_tokenizer"] = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": scheme, "split": False}
    _sentencepiece(raw, None)


def _of_gemma(raw: Json, config: Json) -> None:
    spaces = {"String": " "}
    raw["normalizer"] = {"type": "Replace", "pattern": spaces, "content": _SPACE}
    raw["pre_tokenizer"] = {"type": "Split", "pattern": spaces, "behavior": "MergedWithPrevious", "invert": False}
    unknown = config.get("unk_token", "<unk>")
    _sentencepiece(raw, unknown.get("content") if isinstance(unknown, dict) else unknown)


def _sentencepiece(raw: Json, unknown: str | None) -> None:
    replaced = {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}
    raw["decoder"] = {"type": "Sequence", "decoders": [replaced, {"type": BYTE_FALLBACK}, {"type": "Fuse"}]}
    _model(raw, unk_token=unknown, fuse_unk=True, byte_fallback=True)


def _of_qwen2(raw: Json, config: Json) -> None:
    split = {"type": "Split", "pattern": {"Regex": PATTERNS["qwen2"][0]}, "behavior": "Isolated", "invert": False}
    raw["normalizer"] = {"type": "NFC"}
    raw["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, _byte_level(config, use_regex=False)]}
    raw["decoder"] = _byte_level(config, use_regex=True)
    _model(raw, unk_token=None, fuse_unk=False, byte_fallback=False)


def _of_gpt2(raw: Json, config: Json) -> None:
    """Sets the prefix space. Keeps the file's other steps, which `transformers` drops: one splits SmolLM2's digits."""
    for step in steps_of(raw.get("pre_tokenizer")):
        if step.get("type") == BYTE_LEVEL:
            step["add_prefix_space"] = bool(config.get("add_prefix_space"))


def _byte_level(config: Json, *, use_regex: bool) -> Json:
    prefix = bool(config.get("add_prefix_space"))
    return {"type": BYTE_LEVEL, "add_prefix_space": prefix, "trim_offsets": True, "use_regex": use_regex}


def _model(raw: Json, **settings: Any) -> None:
    model = raw.get("model")
    if isinstance(model, dict) and model.get("type", "BPE") == "BPE":
        raw["model"] = model | settings | {"ignore_merges": False}


def steps_of(part: Any) -> Iterator[Json]:
    """Yields a part of a tokenizer.json and all steps nested in it."""
    if isinstance(part, dict):
        yield part
        for value in part.values():
            for each in value if isinstance(value, list) else ():
                yield from steps_of(each)


CLASSES: Mapping[str, TokenizerClass] = {
    "LlamaTokenizer": TokenizerClass(
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}, BYTE_FALLBACK, _of_llama
    ),
    "GemmaTokenizer": TokenizerClass(
        {
            "bos_token": "<bos>",
            "eos_token": "<eos>",
            "unk_token": "<unk>",
            "pad_token": "<pad>",
            "mask_token": "<mask>",
        },
        BYTE_FALLBACK,
        _of_gemma,
    ),
    "GPT2Tokenizer": TokenizerClass({"bos_token": _END, "eos_token": _END, "unk_token": _END}, BYTE_LEVEL, _of_gpt2),
    "Qwen2Tokenizer": TokenizerClass({"eos_token": _END, "unk_token": _END, "pad_token": _END}, BYTE_LEVEL, _of_qwen2),
}
_NOT_KNOWN = (
    "Albert Bart Barthez Bert BigBird Blenderbot CLIP Camembert CodeGen CodeLlama Cohere Deberta DebertaV2 Esmc "
    "Funnel GPTNeoX Herbert LED Lasr LayoutLMv2 LayoutLMv3 LayoutXLM Luke Lxmert MBart MBart50 MLuke MPNet "
    "MarkupLM MobileBert Mvp Nllb Nougat OpenAIGPT Pegasus Qwen3_5 Reformer RemBert RoFormer Roberta SeamlessM4T "
    "Siglip2 Splinter SqueezeBert T5 Tipsv2 Udop VideoPrism Whisper XGLM XLMRoberta XLNet"
)
NOT_KNOWN = frozenset(f"{name}Tokenizer" for name in _NOT_KNOWN.split(" "))
"""Other classes of `transformers` that define steps."""
_OF_FAMILY = {
    "qwen2": "Qwen2Tokenizer",
    "qwen3": "Qwen2Tokenizer",
    "qwen3_moe": "Qwen2Tokenizer",
    "gpt2": "GPT2Tokenizer",
    "gemma3_text": "GemmaTokenizer",
}
"""The class of a model family if a folder names none; for Qwen 2, even if it names another."""
_FILE_COUNTS = ("mistral", "phi3")
"""Families that use the whole tokenizer.json, whatever class a folder names."""


def class_of(config: Json, model: Json, raw: Json) -> TokenizerClass:
    """Returns the class for a folder. `config`: tokenizer_config.json; `model`: config.json; `raw`: tokenizer.json.

    Raises ValueError, to complete "<folder> …", for a class with unknown steps, and for a class whose decoder is of
    another kind than tokenizer.json's.
    """
    family = model.get("model_type")
    named = str(config.get("tokenizer_class") or model.get("tokenizer_class") or "").removesuffix("Fast")
    name = "" if family in _FILE_COUNTS else named or _OF_FAMILY.get(str(family), "")
    if family == "qwen2":
        name = _OF_FAMILY[family]
    spellings = {step.get("type") for part in ("pre_tokenizer", "decoder") for step in steps_of(raw.get(part))}
    if name == "LlamaTokenizer" and BYTE_LEVEL in spellings:
        return AS_THE_FILE_SAYS  # Llama 3
    if name in NOT_KNOWN:
        known = ", ".join(CLASSES)
        fault = f"has tokenizer_class = {name!r}, a class with steps of its own; those of {known} are known"
        raise ValueError(f"{fault}. To go by tokenizer.json alone, make it 'PreTrainedTokenizerFast'")
    rules = CLASSES.get(name, AS_THE_FILE_SAYS)
    other = {BYTE_LEVEL: BYTE_FALLBACK, BYTE_FALLBACK: BYTE_LEVEL}.get(rules.spelling)
    if other in spellings:
        why = f"tokenizer_class {named!r}" if name == named else f"model_type {family!r}"
        raise ValueError(
            f"contradicts itself: its tokenizer.json is of the kind {other}, and by its {why} it is read by {name},"
            f" which is of the kind {rules.spelling}"
        )
    return rules
