"""A `Tokenizer` built from the files of a Hugging Face folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tokenizers

from kvscope.model.api import Refused
from kvscope.model.checkpoint.tokenizer import Extras, Tokenizer, byte_fallback, byte_level, end_ids

_NAMES = ("bos_token", "eos_token", "unk_token", "pad_token")


def tokenizer_from_hf(folder: Path, name: str) -> Tokenizer:
    """From tokenizer.json, and where they exist the configurations beside it and chat_template.jinja.

    Raises Refused("model"), naming the folder as `name`.
    """
    path = folder / "tokenizer.json"
    try:
        text = path.read_text(encoding="utf-8")
        inner = tokenizers.Tokenizer.from_str(text)
        kinds = _kinds(json.loads(text))
    except FileNotFoundError:
        raise Refused("model", f"The folder {name} has no tokenizer.json.") from None
    except Exception as error:  # The library raises bare Exception for a file that is not what it should be.
        raise Refused("model", f"tokenizer.json of {name} cannot be read: {error}.") from None
    if "ByteLevel" in kinds:
        to_bytes = byte_level
    elif "ByteFallback" in kinds:
        to_bytes = byte_fallback
    else:
        raise Refused(
            "model",
            f"tokenizer.json of {name} is of a kind that is not supported: neither byte-level nor byte fallback.",
        )
    inner.no_truncation()
    inner.no_padding()
    config = _optional(folder / "tokenizer_config.json", name)
    names = {key: token for key in _NAMES if (token := _token_name(config.get(key))) is not None}
    declared = _declared_ends(folder, name)
    if not declared and (eos := inner.token_to_id(names.get("eos_token", ""))) is not None:
        declared = {eos}
    return Tokenizer(inner, Extras(names, _template(folder, config), end_ids(inner, declared)), to_bytes)


def _kinds(raw: dict[str, Any]) -> set[str]:
    """The types of the decoder's steps, which tell how tokens are written."""
    decoder = raw.get("decoder") or {}
    return {step["type"] for step in decoder.get("decoders", [decoder]) if "type" in step}


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
