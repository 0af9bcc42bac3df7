from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from kvscope.model.activations.embedding import neighbourhood
from kvscope.model.checkpoint import load
from kvscope.model.checkpoint.fetch import sha256_of
from kvscope.model.checkpoint.random_experts import random_experts
from kvscope.model.packaged import DEFAULT
from tests.support.loaded import ignore
from tests.support.refused import refusal
from tests.support.tiny_files import VOCAB, write_folder, write_gguf


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
    error = refusal(load, model, ignore)
    assert (error.field, bool(str(error))) == ("model", True)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("model.safetensors", (2).to_bytes(8, "little") + b"{}", "safetensors file: use its folder"),
        ("a.gguf", (2).to_bytes(8, "little") + b"{}", "safetensors file: use its folder"),
        ("config.json", b'{"model_type": "llama"}', "JSON file: use its folder"),
        ("pytorch_model.bin", b"PK\x03\x04" + bytes(90), "never read"),
        ("model.pth", b"\x80\x02}q\x00", "pickled"),
        ("a.gguf", b"<!DOCTYPE html><html>", "web page"),
        ("b.gguf", b"\n <html>", "web page"),
        ("a.gguf", b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
        ("a.gguf", b"tjgg\x03\x00\x00\x00", "before GGUF"),
        ("model.h5", b"\x89HDF\r\n", "HDF5"),
        ("a.gguf", b"", "is empty"),
        ("a.gguf", b"GGUF", "is truncated"),
        ("notes.txt", b"hello", "is not a GGUF file"),
    ],
)
def test_a_file_is_known_by_how_it_begins(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert said in str(refusal(load, str(tmp_path / name), ignore))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "holds nothing"),
        (["a.gguf", "b.gguf"], "GGUF files: name one of them (a.gguf, b.gguf)"),
        (["adapter_config.json", "adapter_model.safetensors"], "an adapter"),
        (["model_index.json"], "pictures"),
        (["model.onnx"], "ONNX"),
        (["tokenizer.json"], "a tokenizer, but no model"),
        (["README.md"], "no config.json"),
    ],
)
def test_a_folder_without_a_model_says_what_it_holds(tmp_path: Path, files: list[str], said: str) -> None:
    for file in files:
        (tmp_path / file).write_text("{}")
    assert said in str(refusal(load, str(tmp_path), ignore))


def test_an_lm_head_in_the_file_counts_whatever_the_config_says(tmp_path: Path) -> None:
    write_folder(tmp_path, "llama", tie_word_embeddings=True)
    file = tmp_path / "model.safetensors"
    stored = load_file(file)
    assert load(str(tmp_path), ignore).config.tied
    save_file(stored | {"lm_head.weight": stored["model.embed_tokens.weight"].clone()}, file)
    assert load(str(tmp_path), ignore).config.tied
    own = torch.randn_like(stored["model.embed_tokens.weight"])
    save_file(stored | {"lm_head.weight": own}, file, metadata={"format": "pt"})
    loaded = load(str(tmp_path), ignore)
    assert not loaded.config.tied
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).lm_head.weight
    assert torch.equal(loaded.weights["lm_head.weight"], theirs)


@pytest.mark.real
def test_the_default_model_loads() -> None:
    loaded = load(None, ignore)
    config = loaded.config
    assert (loaded.name, loaded.sha256) == ("SmolLM2-135M-Instruct", DEFAULT.sha256)
    assert (config.layers, config.heads, config.kv_heads, config.d, config.head_dim) == (30, 9, 3, 576, 64)
    assert (config.vocab, config.context, config.rope_theta, config.tied) == (49152, 8192, 100000.0, True)
    assert sum(weight.numel() for weight in loaded.weights.values()) == 134_515_008
    assert all(weight.dtype == torch.float32 for weight in loaded.weights.values())
    (cat,) = loaded.tokenizer.encode(" cat")
    table = loaded.weights["embed.weight"]
    found = neighbourhood(lambda ids: table[ids], len(table), cat)
    assert " cats" in [loaded.tokenizer.decode([other]) for other, _ in found.nearest]


def test_the_model_with_random_experts_is_always_the_same() -> None:
    (config, weights, sha256), again = random_experts(300), random_experts(300)
    assert (config.experts, config.experts_chosen, config.vocab) == (8, 2, 300)
    assert sha256 == again[2]
    assert all(torch.equal(weight, again[1][name]) for name, weight in weights.items())
