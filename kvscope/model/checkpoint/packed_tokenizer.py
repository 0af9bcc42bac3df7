"""Describe a tokenizer for the copy of it in a browser (static/engine/text), which gives the same ids.

The library there, `@huggingface/tokenizers`, has the rules of `tokenizers` under the same names, and computes some of
them otherwise. Rules are written in a form that both compute alike; what has no such form is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kvscope.model.api import Refused
from kvscope.model.checkpoint.chat import ChatTemplate
from kvscope.model.checkpoint.pre_tokenizers import GPT2, pre_tokenizer
from kvscope.model.checkpoint.tokenizer import Tokenizer, byte_alphabet, byte_level

_NORMALIZERS = ("NFC", "NFD", "NFKC", "NFKD", "Prepend", "Replace")
_ADDED_FLAGS = ("single_word", "lstrip", "rstrip")
_ASKED = ("Hello", '  two\n\nlines of "é" \\ <|x|> 😀\t')
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def described(tokenizer: Tokenizer) -> dict[str, Any]:
    """Returns JSON from which static/engine/text/tokenizer.js makes the tokenizer:

    names           of the tokens, by id; null for an id without a name
    bytes           how a name becomes bytes: "byte_level", or "byte_fallback" (tokenizer.py)
    added           {id, content, normalized, special} of the tokens that are matched as whole strings
    normalizers     rules with the fields of a tokenizer.json, in the order in which they are applied
    pre_tokenizers  the same; of a SentencePiece model none
    merges          "a b": the names that neighbours are joined from, first ones first
    ignore_merges   whether a word that is a token is not joined from others
    scores          in place of merges, of a SentencePiece model: by id, the score of a piece that neighbours may form,
                    else null. The neighbours whose piece has the highest score are joined first
    around          {first, last}: the ids that are put around each text
    chat            {template, names, examples}: the Jinja text; the special tokens that it names; and [prompt, text] of
                    some prompts, with which the browser checks its own Jinja. `text` is null if it depends on the date.
                    Without a template {refusal}, which says why
    eos             ids that end a text
    rows            of the model's embedding: larger ids are refused

    Raises Refused("model") if a browser would not give the same ids.
    """
    inner = tokenizer.inner
    model = _part(inner.model)
    ids = inner.get_vocab(with_added_tokens=True)
    names: list[str | None] = [None] * (max(ids.values()) + 1)
    for name, number in ids.items():
        names[number] = name
    is_byte_level = tokenizer.to_bytes is byte_level
    scores = tokenizer.scores
    return {
        "names": names,
        "bytes": "byte_level" if is_byte_level else "byte_fallback",
        "added": list(_added(tokenizer)),
        "normalizers": list(_steps(inner.normalizer, "normalizers", _normalizer)),
        "pre_tokenizers": [] if scores is not None else _pre_tokenizers(inner.pre_tokenizer, model, is_byte_level),
        "merges": _merges(model, is_byte_level),
        "ignore_merges": model["ignore_merges"],
        "scores": None if scores is None else [None if name is None else scores.get(name) for name in names],
        "around": _around(inner),
        "chat": _chat(tokenizer.template),
        "eos": list(tokenizer.eos),
        "rows": tokenizer.rows,
    }


def splitting(name: str) -> list[dict[str, Any]]:
    """Returns the steps that split texts by GGUF's name of the rule, as `described` has them."""
    return list(_steps(pre_tokenizer(name), "pretokenizers", _pre_tokenizer))


def _refuse(what: str) -> Refused:
    return Refused("model", f"The model's tokenizer cannot run in a browser: {what}.")


def _part(component: Any) -> dict[str, Any]:
    """Returns a part of the library's tokenizer as in a tokenizer.json."""
    part: dict[str, Any] = json.loads(component.__getstate__())
    return part


def _steps(component: Any, inside: str, written: Any) -> Iterator[dict[str, Any]]:
    """Yields the steps of a normalizer or pre-tokenizer, each as `written` writes it."""
    waiting = [] if component is None else [_part(component)]
    while waiting:
        step = waiting.pop(0)
        if step["type"] == "Sequence":
            waiting = step[inside] + waiting
        else:
            yield from written(step)


def _normalizer(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if step["type"] not in _NORMALIZERS:
        raise _refuse(f"its normalizer {step['type']} is not supported there")
    if step["type"] == "Replace" and ("String" not in step["pattern"] or "$" in step["content"]):
        raise _refuse("its normalizer Replace has a pattern that is not supported there")
    yield step


def _pre_tokenizers(component: Any, model: dict[str, Any], is_byte_level: bool) -> list[dict[str, Any]]:
    steps = list(_steps(component, "pretokenizers", _pre_tokenizer))
    if [step["type"] for step in steps if step["type"] != "Split"] != ["ByteLevel"] * is_byte_level or (
        is_byte_level and steps[-1] != _BYTE_LEVEL
    ):
        raise _refuse("its pre-tokenizer does not end with its only step ByteLevel, and its decoder is ByteLevel")
    return [*steps, *_dropping(model)] if is_byte_level else steps


def _pre_tokenizer(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields steps that split like this one. The library in a browser takes other digits and spaces for such."""
    match step:
        case {"type": "Split", "behavior": "Isolated", "invert": False}:
            yield step
        case {"type": "Digits", "individual_digits": bool(each)}:
            yield _split(r"\p{N}" if each else r"\p{N}+")
        case {"type": "ByteLevel", "add_prefix_space": False, "use_regex": bool(is_split)}:
            if is_split:
                yield _split(GPT2)
            yield _BYTE_LEVEL
        case _:
            settings = ", ".join(f"{key} = {value!r}" for key, value in step.items() if key not in ("type", "pattern"))
            raise _refuse(f"its pre-tokenizer {step['type']} ({settings}) is not supported there")


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _dropping(model: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields a step that drops the bytes without a token before neighbours are joined, as `tokenizers` does."""
    missing = [char for char in byte_alphabet() if char not in model["vocab"]]
    if missing and (model["ignore_merges"] or model["unk_token"] is not None):
        raise _refuse(f"its vocabulary lacks {len(missing)} of the 256 bytes")
    if missing:
        yield {"type": "Replace", "pattern": {"Regex": "|".join(map(re.escape, missing))}, "content": ""}


def _merges(model: dict[str, Any], is_byte_level: bool) -> list[str]:
    if model["type"] != "BPE":
        raise _refuse(f"its model is {model['type']}, not BPE")
    if not is_byte_level:
        if not model["byte_fallback"] or any(f"<0x{byte:02X}>" not in model["vocab"] for byte in range(256)):
            raise _refuse("its vocabulary has no token for each byte")
    elif model["byte_fallback"]:
        raise _refuse("its model has byte_fallback, and its decoder is ByteLevel")
    if any(" " in name for pair in model["merges"] for name in pair):
        raise _refuse("a name in its merges has a space")
    return [" ".join(pair) for pair in model["merges"]]


def _added(tokenizer: Tokenizer) -> Iterator[dict[str, Any]]:
    if tokenizer.inner.encode_special_tokens:
        raise _refuse("it splits the names of special tokens (split_special_tokens)")
    for number, token in sorted(tokenizer.inner.get_added_tokens_decoder().items()):
        if flag := next((flag for flag in _ADDED_FLAGS if getattr(token, flag)), None):
            raise _refuse(f"its token {token.content!r} has {flag}, which is not supported there")
        yield {"id": number, "content": token.content, "normalized": token.normalized, "special": token.special}


def _around(inner: Any) -> dict[str, list[int]]:
    encoded = inner.encode("a")
    inside = [at for at, is_around in enumerate(encoded.special_tokens_mask) if not is_around]
    if not inside:
        raise _refuse("its vocabulary has no token for the letter a")
    return {"first": encoded.ids[: inside[0]], "last": encoded.ids[inside[-1] + 1 :]}


def _chat(template: ChatTemplate) -> dict[str, Any]:
    """A template that fails here is not tried in the browser, which has no limits of time and size for it."""
    if template.refusal is not None:
        return {"refusal": template.refusal}
    return {"template": template.source(), "names": template.special_names, "examples": list(_examples(template))}


def _examples(template: ChatTemplate) -> Iterator[tuple[str, str | None]]:
    is_dated = "strftime_now" in template.source()
    for prompt in _ASKED:
        try:
            text = template.render([{"role": "user", "content": prompt}])
        except Refused:
            continue
        yield prompt, None if is_dated else text
