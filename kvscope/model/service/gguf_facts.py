"""What a browser must know to read a GGUF file by itself (static/engine/gguf): the tables of the readers here."""

from __future__ import annotations

from typing import Any

from gguf import GGML_QUANT_SIZES

from kvscope.model.checkpoint.gguf_file import ARCHS, DIVISORS, MODULES, NEUTRAL, PAIRED, USED
from kvscope.model.checkpoint.gguf_tokenizer import END_NAMES, FILL_INS, NAMES, NO_ENDS
from kvscope.model.checkpoint.packed_tokenizer import splitting
from kvscope.model.checkpoint.pre_tokenizers import BEGINNING, PATTERNS, WHOLE_WORDS
from kvscope.model.families import fixed_parts, joined
from kvscope.model.gguf_header import DEFAULT_ALIGNMENT, VERSIONS, format_of
from kvscope.model.held import GROUPED, LANES
from kvscope.model.native.packed import ALIGNMENT
from kvscope.model.native.products import KINDS
from kvscope.model.service.info import OF_CONFIG
from kvscope.model.service.longest import BROWSER_NEW_TOKENS, BROWSER_PROMPT_TOKENS

_LIKE_LLAMA = {"norm": "rms", "mlp": "swiglu", "positions": "rotary", "post_norms": False}
"""Properties of the families that a browser reads."""


def gguf_facts(most_bytes: int) -> dict[str, Any]:
    """Returns JSON for static/engine/gguf. `most_bytes`: of packed tensors.

    versions       of the format that can be read
    alignment      of tensors in a file that does not name it, and `packed_alignment` of packed ones, in bytes
    types          by GGML's number, [name, weights of a block, bytes of a block, name of the format in messages]
    groups         by GGML's name, the format in which weights in groups are held, as `held.Grouped`
    kinds          by format, its number in C; `lanes`: outputs of a panel
    architectures  by GGUF's name: {arch, qk_norm, is_paired}, the last as `gguf_file.PAIRED`; `others`: those that
                   only a server reads
    described      the fields of a configuration that the `model` object of an `open` frame has
    modules        KVScope's name of a module → GGUF's; `divisors`: the tensor with divisors of rotary frequencies
    used, neutral  settings that are read or change nothing, and values at which others change nothing
    tokenizer      {splits, pre}: pre-tokenizers as `packed_tokenizer.described` has them, and the one of each name; the
                   names with which texts begin with BOS (`beginning`), or whole words are tokens (`whole_words`); and
                   `ends`, `fill_ins`, `no_ends` and `names` of special tokens, as `gguf_tokenizer` has them
    limits         of a run: `prompt_tokens` and `new_tokens`; of a model: `bytes`
    """
    return {
        "versions": list(VERSIONS),
        "alignment": DEFAULT_ALIGNMENT,
        "packed_alignment": ALIGNMENT,
        "types": {int(kind): [kind.name, *sizes, format_of(kind)] for kind, sizes in GGML_QUANT_SIZES.items()},
        "groups": {name: each._asdict() for name, each in GROUPED.items()},
        "kinds": KINDS,
        "lanes": LANES,
        "architectures": {name: _family(arch) for name, arch in ARCHS.items() if _is_like_llama(arch)},
        "described": list(OF_CONFIG),
        "others": [name for name, arch in ARCHS.items() if not _is_like_llama(arch)],
        "modules": MODULES,
        "divisors": DIVISORS,
        "used": sorted(USED),
        "neutral": NEUTRAL,
        "tokenizer": _tokenizer(),
        "limits": {"prompt_tokens": BROWSER_PROMPT_TOKENS, "new_tokens": BROWSER_NEW_TOKENS, "bytes": most_bytes},
    }


def _is_like_llama(family: str) -> bool:
    parts = fixed_parts(family)
    return not joined(family) and all(parts[name] == value for name, value in _LIKE_LLAMA.items())


def _family(arch: str) -> dict[str, Any]:
    return {"arch": arch, "qk_norm": fixed_parts(arch)["qk_norm"], "is_paired": arch in PAIRED}


def _tokenizer() -> dict[str, Any]:
    splits = list(dict.fromkeys(PATTERNS.values()))
    names = {patterns: name for name, patterns in PATTERNS.items()}
    return {
        "splits": [splitting(names[patterns]) for patterns in splits],
        "pre": {name: splits.index(patterns) for name, patterns in PATTERNS.items()},
        "beginning": sorted(BEGINNING),
        "whole_words": sorted(WHOLE_WORDS),
        "ends": sorted(END_NAMES),
        "fill_ins": FILL_INS,
        "no_ends": [[sorted(all_of), token] for all_of, token in NO_ENDS],
        "names": NAMES,
    }
