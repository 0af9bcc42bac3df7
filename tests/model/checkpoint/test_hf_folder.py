from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from kvscope.model.api import Progress
from kvscope.model.checkpoint.hf_folder import read_folder
from kvscope.model.checkpoint.layout import slots
from kvscope.model.config import ModelConfig
from tests.support import refused
from tests.support.loaded import ignore
from tests.support.tiny_files import VOCAB, write_folder

ARCHS = ["llama", "mistral", "qwen2", "qwen3", "gpt2"]


def refusal(folder: Path) -> str:
    error = refused.refusal(read_folder, folder, ignore)
    assert error.field == "model"
    assert folder.name in str(error)
    return str(error)


@pytest.mark.parametrize("arch", ARCHS)
def test_the_configuration_is_the_saved_models(tmp_path: Path, arch: str) -> None:
    saved = write_folder(tmp_path, arch).config
    model = read_folder(tmp_path, ignore)
    assert {name: tuple(w.shape) for name, w in model.weights.items()} == {s.name: s.shape for s in slots(model.config)}
    assert all(w.dtype == torch.float32 and w.is_contiguous() for w in model.weights.values())
    eps = saved.layer_norm_epsilon if arch == "gpt2" else saved.rms_norm_eps
    own = {
        "llama": {},
        "mistral": {"window": 4096},
        "qwen2": {"qkv_bias": True},
        "qwen3": {"head_dim": 128, "qk_norm": True},
        "gpt2": {
            "kv_heads": 4,
            "d_mlp": 128,
            "norm": "layer",
            "mlp": "gelu",
            "positions": "learned",
            "tied": True,
            "qkv_bias": True,
            "out_bias": True,
            "mlp_bias": True,
        },
    }[arch]
    sizes = {"layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 8, "d": 32, "d_mlp": 48}
    sizes |= {"vocab": len(VOCAB), "context": 64, "norm_eps": eps}
    assert model.config == ModelConfig(arch=arch, **{**sizes, **own})


def test_gpt2_files_without_prefix_and_with_mask_buffers_load(tmp_path: Path) -> None:
    write_folder(tmp_path, "gpt2")
    file = tmp_path / "model.safetensors"
    before = read_folder(tmp_path, ignore).weights
    bare = {name.removeprefix("transformer."): tensor for name, tensor in load_file(file).items()}
    save_file(bare | {"h.0.attn.bias": torch.ones(1, 1, 64, 64)}, file)
    after = read_folder(tmp_path, ignore).weights
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_upcast_exactly(tmp_path: Path, dtype: str) -> None:
    state = write_folder(tmp_path, "llama", dtype=dtype).state_dict()
    weights = read_folder(tmp_path, ignore).weights
    assert torch.equal(weights["embed.weight"], state["model.embed_tokens.weight"].float())
    assert torch.equal(weights["lm_head.weight"], state["lm_head.weight"].float())


def test_shards_load_like_one_file(tmp_path: Path) -> None:
    write_folder(tmp_path / "one", "llama")
    write_folder(tmp_path / "many", "llama", shard="20KB")
    files = sorted((tmp_path / "many").glob("*.safetensors"))
    assert len(files) > 2
    one, many = (read_folder(tmp_path / name, ignore) for name in ("one", "many"))
    assert all(torch.equal(one.weights[name], many.weights[name]) for name in one.weights)
    assert many.sha256 == hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def test_progress_counts_up_to_the_bytes_of_the_weights(tmp_path: Path) -> None:
    write_folder(tmp_path, "llama")
    seen: list[Progress] = []
    model = read_folder(tmp_path, seen.append)
    assert seen[-1].done == seen[-1].total == sum(w.nbytes for w in model.weights.values())
    assert set(model.stored) <= {"float32", "float16", "bfloat16"}
    assert sum(model.stored.values()) > 0


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"])
def test_a_file_that_is_not_json(tmp_path: Path, file: str) -> None:
    write_folder(tmp_path, "llama")
    for content in (b"{", b"[1]", b"\xff\xfe", b""):
        (tmp_path / file).write_bytes(content)
        assert file in refusal(tmp_path)


def test_a_shard_outside_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    write_folder(folder, "llama")
    (folder / "model.safetensors").rename(tmp_path / "outside.safetensors")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../outside.safetensors"}}')
    assert "../outside.safetensors" in refusal(folder)
