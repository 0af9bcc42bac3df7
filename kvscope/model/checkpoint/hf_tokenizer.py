"""Build a `Tokenizer` from the files of a Hugging Face folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors

from kvscope.model.api import Refused
from kvscope.model.checkpoint.json_file import read_json, read_optional, why_missing
from kvscope.model.checkpoint.sentencepiece_bpe import NotSupported, put_around, read_pieces, tokenizer_of
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_fallback, byte_level, end_ids, failed_inside
from kvscope.model.checkpoint.tokenizer_class import BYTE_FALLBACK, BYTE_LEVEL, class_of, steps_of

_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_JSON, _PIECES = "tokenizer.json", "tokenizer.model"


def _subclasses(base: Any) -> frozenset[str]:
    return frozenset(each.__name__ for each in base.__subclasses__())


_PARTS = {
    "normalizer": _subclasses(normalizers.Normalizer),
    "pre_tokenizer": _subclasses(pre_tokenizers.PreTokenizer),
    "model": _subclasses(models.Model),
    "post_processor": _subclasses(processors.PostProcessor),
    "decoder": _subclasses(decoders.Decoder),
}
"""The typed parts of a tokenizer.json, and the types that the library knows; its error messages name neither."""


def tokenizer_from_hf(folder: Path, name: str) -> Tokenizer:
    """Builds the tokenizer from tokenizer.json, or else SentencePiece's tokenizer.model, tokenizer_config.json,
    special_tokens_map.json, added_tokens.json, generation_config.json, config.json and chat_template.jinja.

    Raises Refused("model"), naming the folder as `name`.
    """
    config = read_optional(folder / "tokenizer_config.json", name)
    pieces = not (folder / _JSON).is_file() and (folder / _PIECES).is_file()
    if not pieces and not (folder / _JSON).is_file() and not why_missing(folder / _JSON):
        raise Refused("model", f"The folder {name} has no tokenizer: neither {_JSON} nor {_PIECES}.")
    raw = {} if pieces else _checked(folder, name)
    try:
        rules = class_of(config, read_optional(folder / "config.json", name), raw)
    except ValueError as error:
        raise Refused("model", f"The folder {name} {error}.") from None
    scores = None
    if pieces:
        (inner, scores), kinds = _from_pieces(folder / _PIECES, name), {BYTE_FALLBACK}
    else:
        rules.rebuild(raw, config)
        inner, kinds = (
            _from_json(raw, name),
            {str(step["type"]) for step in steps_of(raw.get("decoder")) if "type" in step},
        )
    if BYTE_LEVEL in kinds:
        to_bytes = byte_level
    elif BYTE_FALLBACK in kinds:
        to_bytes = byte_fallback
    else:
        raise Refused(
            "model",
            f"{_JSON} of {name} is of a kind that is not supported: its decoder is neither ByteLevel nor ByteFallback"
            f" but {', '.join(sorted(kinds)) or 'missing'}.",
        )
    inner.encode_special_tokens = config.get("split_special_tokens") is True
    inner.no_truncation()
    inner.no_padding()
    names = _special_names(folder, config, rules.names, name)
    _add_tokens(inner, _declared_tokens(folder, config, name), _extra_tokens(config), names, name)
    texts = {key: token.content for key, token in names.items()}
    if pieces:
        # A tokenizer.json itself states the tokens around texts, and `transformers` uses those.
        first, last = config.get("add_bos_token", True), config.get("add_eos_token", False)
        put_around(inner, texts.get("bos_token") if first else None, texts.get("eos_token") if last else None)
    declared = _declared_ends(folder, name)
    if not declared and (eos := inner.token_to_id(texts.get("eos_token", ""))) is not None:
        declared = {eos}
    return Tokenizer(inner, Extras(texts, _template(folder, config), end_ids(inner, declared), scores), to_bytes)


def _from_json(raw: dict[str, Any], name: str) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(raw))
    except BaseException as error:
        if not failed_inside(error):
            raise
        raise Refused("model", f"{_JSON} of {name} cannot be read: {error}.") from None


def _checked(folder: Path, name: str) -> dict[str, Any]:
    """Reads tokenizer.json and refuses faults that the library would not name. Raises Refused("model")."""
    raw = read_json(folder / _JSON, name)
    if (fault := _fault(raw)) is not None:
        raise Refused("model", f"{_JSON} of {name} cannot be read: its {fault}.")
    raw["model"]["dropout"] = None  # meant for training: it would split the same text differently each time
    return raw


def _from_pieces(path: Path, name: str) -> tuple[tokenizers.Tokenizer, dict[str, float]]:
    try:
        return tokenizer_of(read_pieces(path))
    except NotSupported as error:
        raise Refused("model", f"{path.name} of {name} {error}.") from None
    except OSError as error:
        raise Refused("model", f"{path.name} of {name} cannot be read: {error.strerror or error}.") from None


def _fault(raw: dict[str, Any]) -> str | None:
    """Returns a fault of a tokenizer.json that the library would refuse without naming it, or None."""
    for part, allowed in _PARTS.items():
        whole = raw.get(part)
        if not isinstance(whole, dict) and (whole is not None or part == "model"):
            return f"{part} is {whole!r}, not an object"
        for step in steps_of(whole):
            if (kind := step.get("type")) is not None and kind not in allowed:
                return f"{part} has the type {kind!r}; {', '.join(sorted(allowed))} can be read"
    model = raw["model"]
    if model.get("type", "BPE") != "BPE":
        return None
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            return f"model has {key} = {model[key]!r}, which is not supported"
    vocab, merges = model.get("vocab"), model.get("merges")
    if not isinstance(vocab, dict) or not isinstance(merges, list):
        return f"model has no {'merges' if isinstance(vocab, dict) else 'vocab'} of the form that a BPE has"
    for token, number in vocab.items():
        if type(number) is not int or not 0 <= number < 1 << 32:
            return f"model.vocab gives {token!r} the id {number!r}, not a whole number"
    kind = type(merges[0]) if merges else str
    for merge in merges:
        two = merge.split(" ") if kind is str and isinstance(merge, str) else merge
        if type(merge) is not kind or not isinstance(two, list) or len(two) != 2:
            return f"model.merges has {merge!r}; all have to be of the form 'a b', or all of the form ['a', 'b']"
    return None


def _special_names(
    folder: Path, config: dict[str, Any], of_class: Mapping[str, str], name: str
) -> dict[str, AddedToken]:
    """Returns the special tokens by their names in templates: of the class, overridden by the files.

    special_tokens_map.json overrides tokenizer_config.json, unless the latter lists all added tokens.
    """
    special: dict[str, Any] = dict(of_class)
    special |= {key: value for key, value in config.items() if key.endswith("_token") and not key.startswith("add_")}
    if isinstance(extra := config.get("extra_special_tokens"), dict):
        special |= extra
    if "added_tokens_decoder" not in config:
        special |= read_optional(folder / "special_tokens_map.json", name)
    ordered = {**dict.fromkeys(_NAMES), **{key: special[key] for key in special if key.endswith("_token")}}
    return {key: token for key, value in ordered.items() if (token := _token(value, special=True)) is not None}


def _extra_tokens(config: dict[str, Any]) -> list[AddedToken]:
    """Returns the special tokens without a name."""
    listed = config.get("extra_special_tokens") or config.get("additional_special_tokens") or []
    values = listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else []
    return [token for value in values if (token := _token(value, special=True)) is not None]


def _declared_tokens(folder: Path, config: dict[str, Any], name: str) -> list[tuple[int, AddedToken]]:
    """Returns the tokens with ids in added_tokens.json and tokenizer_config.json, sorted by id."""
    tokens = {
        number: AddedToken(text, special=False, normalized=False)
        for text, number in read_optional(folder / "added_tokens.json", name).items()
        if type(number) is int
    }
    decoder = config.get("added_tokens_decoder")
    for number, entry in decoder.items() if isinstance(decoder, dict) else ():
        if str(number).isdecimal() and (token := _token(entry, special=bool(_flag(entry, "special")))) is not None:
            tokens[int(number)] = token
    return sorted(tokens.items(), key=lambda item: item[0])


def _add_tokens(
    inner: tokenizers.Tokenizer,
    declared: list[tuple[int, AddedToken]],
    extra: list[AddedToken],
    names: dict[str, AddedToken],
    name: str,
) -> None:
    """Adds these tokens to the tokenizer; a token without an id gets the next one. Raises Refused."""
    added = {token.content for token in inner.get_added_tokens_decoder().values()}
    special = {token.content: token for token in names.values()}
    for number, token in declared:
        if token.content not in added:
            inner.add_tokens([special.get(token.content, token)])
            added.add(token.content)
        if (got := inner.token_to_id(token.content)) != number:
            raise Refused(
                "model",
                f"The files of {name} contradict each other: {token.content!r} is token {number} by added_tokens.json"
                f" or tokenizer_config.json (added_tokens_decoder), and {got} by the vocabulary.",
            )
    inner.add_special_tokens([token for token in (*special.values(), *extra) if token.content not in added])


def _token(value: Any, *, special: bool) -> AddedToken | None:
    """Parses a token: its text, or an object with the text in `content`. None for anything else."""
    content = value.get("content") if isinstance(value, dict) else value
    if not isinstance(content, str) or not content:
        return None
    flags = {key: bool(_flag(value, key)) for key in ("lstrip", "rstrip", "single_word", "normalized")}
    return AddedToken(content, special=special, **flags)


def _flag(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _declared_ends(folder: Path, name: str) -> set[int]:
    """Returns the ids in `eos_token_id`, a number or a list, of generation_config.json, or else of config.json."""
    for file in ("generation_config.json", "config.json"):
        value = read_optional(folder / file, name).get("eos_token_id")
        ids = {token for token in (value if isinstance(value, list) else [value]) if type(token) is int}
        if ids:
            return ids
    return set()


def _template(folder: Path, config: dict[str, Any]) -> object:
    """Returns the chat template: chat_template.jinja, or one text or several with names in tokenizer_config.json."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        content = file.read_bytes()
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return content  # not a text; ChatTemplate refuses it when it is used
    return config.get("chat_template")
