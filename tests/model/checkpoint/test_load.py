from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint import load
from kvscope.model.checkpoint.fetch import SHA256, sha256_of
from tests.support.tiny_files import VOCAB, write_folder, write_gguf


def ignore(_: Progress) -> None:
    pass


def test_a_gguf_file_loads_with_its_tokenizer(tmp_path: Path) -> None:
    path = tmp_path / "tiny.Q8_0.gguf"
    write_gguf(path)
    loaded = load(str(path), ignore)
    assert (loaded.name, loaded.source, loaded.sha256) == ("tiny.Q8_0", "tiny.Q8_0.gguf", sha256_of(path))
    assert loaded.config.vocab == loaded.tokenizer.vocab == len(VOCAB)
    assert loaded.tokenizer.chat([{"role": "user", "content": "hi"}]).endswith("hi<|im_end|>\n<|im_start|>assistant")


def test_a_folder_loads_with_its_tokenizer(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    write_folder(folder, "llama")
    loaded = load(str(folder), ignore)
    assert (loaded.name, loaded.source) == ("my-model", "my-model")
    assert loaded.sha256 == sha256_of(folder / "model.safetensors")
    assert loaded.config.vocab == loaded.tokenizer.vocab == len(VOCAB)


@pytest.mark.parametrize("kind", ["gguf", "folder"])
@pytest.mark.parametrize("arch", ["llama", "gpt2"])
def test_matrices_and_the_embedding_can_be_kept_in_bfloat16(tmp_path: Path, kind: str, arch: str) -> None:
    path = tmp_path / ("tiny.gguf" if kind == "gguf" else "tiny")
    (write_gguf if kind == "gguf" else write_folder)(path, arch)
    usual, smaller = load(str(path), ignore), load(str(path), ignore, torch.bfloat16)
    rounded = {name for name, weight in smaller.weights.items() if weight.dtype == torch.bfloat16}
    matrices = {name for name, weight in usual.weights.items() if weight.dim() == 2}
    assert rounded == matrices - {"positions.weight"}
    for name, weight in usual.weights.items():
        assert torch.equal(smaller.weights[name], weight.bfloat16() if name in rounded else weight)
    assert smaller.sha256 == usual.sha256


@pytest.mark.parametrize("model", ["missing.gguf", "a/missing.gguf", "", "a/b/c", "org/na me", "../x/y", "https://a/b"])
def test_what_is_no_model_is_refused_by_name(model: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused) as caught:
        load(model, ignore)
    assert caught.value.field == "model"
    assert str(caught.value)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(Refused, match="folder"):
        load(str(tmp_path / "model.safetensors"), ignore)


@pytest.mark.real
def test_the_default_model_loads() -> None:
    loaded = load(None, ignore)
    config = loaded.config
    assert (loaded.name, loaded.sha256) == ("SmolLM2-135M-Instruct", SHA256)
    assert (config.layers, config.heads, config.kv_heads, config.d, config.head_dim) == (30, 9, 3, 576, 64)
    assert (config.vocab, config.context, config.rope_theta, config.tied) == (49152, 8192, 100000.0, True)
    assert sum(weight.numel() for weight in loaded.weights.values()) == 134_515_008
    assert all(weight.dtype == torch.float32 for weight in loaded.weights.values())
