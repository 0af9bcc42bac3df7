"""A `Tokenizer` built from the files of a Hugging Face folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, processors

from kvscope.model.api import Refused
from kvscope.model.checkpoint.sentencepiece_bpe import NotSupported, read_pieces, tokenizer_of
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_fallback, byte_level, end_ids

_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_JSON, _PIECES = "tokenizer.json", "tokenizer.model"


def tokenizer_from_hf(folder: Path, name: str) -> Tokenizer:
    """From tokenizer.json, or else SentencePiece's tokenizer.model, and from what the files beside it add to it:
    tokenizer_config.json, special_tokens_map.json, added_tokens.json, generation_config.json, config.json and
    chat_template.jinja.

    Raises Refused("model"), naming the folder as `name`.
    """
    config = _optional(folder / "tokenizer_config.json", name)
    if (folder / _JSON).is_file():
        inner, kinds = _from_json(folder / _JSON, name, config.get("add_prefix_space"))
    elif (folder / _PIECES).is_file():
        inner, kinds = _from_pieces(folder / _PIECES, name), {"ByteFallback"}
    else:
        raise Refused("model", f"The folder {name} has no tokenizer: neither {_JSON} nor {_PIECES}.")
    if "ByteLevel" in kinds:
        to_bytes = byte_level
    elif "ByteFallback" in kinds:
        to_bytes = byte_fallback
    else:
        raise Refused(
            "model",
            f"{_JSON} of {name} is of a kind that is not supported: neither byte-level nor byte fallback.",
        )
    inner.no_truncation()
    inner.no_padding()
    named = _optional(folder / "special_tokens_map.json", name) | {
        key: config[key] for key in _NAMES if config.get(key)
    }
    names = {key: token for key in _NAMES if (token := _token_name(named.get(key))) is not None}
    _add_tokens(inner, _declared_tokens(folder, config, name), set(names.values()), name)
    if not (folder / _JSON).is_file():
        _set_ends_of_texts(inner, names, config)
    declared = _declared_ends(folder, name)
    if not declared and (eos := inner.token_to_id(names.get("eos_token", ""))) is not None:
        declared = {eos}
    return Tokenizer(inner, Extras(names, _template(folder, config), end_ids(inner, declared)), to_bytes)


def _from_json(path: Path, name: str, prefix: Any) -> tuple[tokenizers.Tokenizer, set[str]]:
    """The tokenizer, and the types of its decoder's steps. `prefix`: whether a space is put before texts; None: as the
    file says.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(prefix, bool):
            _set_prefix(raw, prefix)
        return tokenizers.Tokenizer.from_str(json.dumps(raw)), _kinds(raw)
    except Exception as error:  # The library raises bare Exception for a file that is not what it should be.
        raise Refused("model", f"{path.name} of {name} cannot be read: {error}.") from None


def _from_pieces(path: Path, name: str) -> tokenizers.Tokenizer:
    try:
        return tokenizer_of(read_pieces(path))
    except NotSupported as error:
        raise Refused("model", f"{path.name} of {name} {error}.") from None
    except OSError as error:
        raise Refused("model", f"{path.name} of {name} cannot be read: {error.strerror or error}.") from None


def _set_prefix(raw: dict[str, Any], prefix: bool) -> None:
    """Let a tokenizer.json put a space before texts, or not."""
    for step in _steps(raw, "pre_tokenizer", "pretokenizers"):
        if step.get("type") == "ByteLevel" and step.get("use_regex", True):
            step["add_prefix_space"] = prefix
        elif step.get("type") == "Metaspace" and not prefix:
            step["prepend_scheme"] = "never"
    if not prefix and (raw.get("normalizer") or {}).get("type") == "Sequence":
        rest = [step for step in raw["normalizer"]["normalizers"] if step.get("type") != "Prepend"]
        raw["normalizer"]["normalizers"] = rest


def _steps(raw: dict[str, Any], part: str, several: str) -> list[dict[str, Any]]:
    """The steps of a part of a tokenizer.json, which may be one alone, or none."""
    whole = raw.get(part) or {}
    return list(whole.get(several, [whole]))


def _declared_tokens(folder: Path, config: dict[str, Any], name: str) -> list[tuple[int, AddedToken]]:
    """Tokens that the files beside the tokenizer give ids to, by their ids."""
    found = {
        number: AddedToken(text, special=False, normalized=False)
        for text, number in _optional(folder / "added_tokens.json", name).items()
        if type(number) is int
    }
    for number, entry in (config.get("added_tokens_decoder") or {}).items():
        if str(number).isdigit() and isinstance(entry, dict) and isinstance(entry.get("content"), str):
            flags = {key: bool(entry.get(key)) for key in ("special", "lstrip", "rstrip", "single_word", "normalized")}
            found[int(number)] = AddedToken(entry["content"], **flags)
    return sorted(found.items(), key=lambda item: item[0])


def _add_tokens(
    inner: tokenizers.Tokenizer, declared: list[tuple[int, AddedToken]], special: set[str], name: str
) -> None:
    """Have these tokens, and the special ones that are in the vocabulary, found in texts. Raises Refused."""
    there = {token.content for token in inner.get_added_tokens_decoder().values()}
    for number, token in declared:
        if token.content not in there:
            inner.add_tokens([AddedToken(token.content, special=True) if token.content in special else token])
            there.add(token.content)
        if (got := inner.token_to_id(token.content)) != number:
            message = f"The files of {name} contradict each other: {token.content!r} is token {number} in one, {got} in"
            raise Refused("model", f"{message} another.")
    known = [token for token in sorted(special - there) if inner.token_to_id(token) is not None]
    inner.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in known])


def _set_ends_of_texts(inner: tokenizers.Tokenizer, names: dict[str, str], config: dict[str, Any]) -> None:
    """Begin, and perhaps end, each text with a special token, as SentencePiece's users do.

    (A tokenizer.json says itself what is put around texts, and `transformers` goes by that.)
    """
    wanted = (("bos_token", config.get("add_bos_token", True)), ("eos_token", config.get("add_eos_token", False)))
    first, last = ([names[key]] if add and key in names else [] for key, add in wanted)
    ids = [(token, inner.token_to_id(token)) for token in dict.fromkeys((*first, *last))]
    inner.post_processor = processors.TemplateProcessing(
        single=[*first, "$A", *last], pair=[*first, "$A", *last, *first, "$B", *last], special_tokens=ids
    )


def _kinds(raw: dict[str, Any]) -> set[str]:
    """The types of the decoder's steps, which tell how tokens are written."""
    return {step["type"] for step in _steps(raw, "decoder", "decoders") if "type" in step}


def _optional(path: Path, name: str) -> dict[str, Any]:
    """A JSON object, empty when there is no such file. Raises Refused when it is not one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise Refused("model", f"{path.name} of {name} is not a valid JSON object.")
    return value


def _token_name(value: Any) -> str | None:
    """A special token's name, which is written as itself or as an object that has it as `content`."""
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) else None


def _declared_ends(folder: Path, name: str) -> set[int]:
    """`eos_token_id` of the generation's configuration, else of the model's: a number or a list of them."""
    for file in ("generation_config.json", "config.json"):
        value = _optional(folder / file, name).get("eos_token_id")
        found = {token for token in (value if isinstance(value, list) else [value]) if type(token) is int}
        if found:
            return found
    return set()


def _template(folder: Path, config: dict[str, Any]) -> str | None:
    """The chat template: its own file, or in tokenizer_config.json as one text or as several with names."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    value = config.get("chat_template")
    if isinstance(value, list):
        value = {entry.get("name"): entry.get("template") for entry in value if isinstance(entry, dict)}.get("default")
    return value if isinstance(value, str) else None
