from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint.hf_folder import read_folder
from kvscope.model.checkpoint.layout import slots
from tests.support.tiny_files import VOCAB, write_folder

ARCHS = ["llama", "mistral", "qwen2", "qwen3", "gpt2"]


def ignore(_: Progress) -> None:
    pass


def refusal(folder: Path) -> str:
    with pytest.raises(Refused) as caught:
        read_folder(folder, ignore)
    assert caught.value.field == "model"
    assert folder.name in str(caught.value)
    return str(caught.value)


def edit(folder: Path, file: str = "config.json", **changes: Any) -> None:
    """Change keys of a JSON file; None removes one."""
    raw = json.loads((folder / file).read_text()) | changes
    (folder / file).write_text(json.dumps({key: value for key, value in raw.items() if value is not None}))


@pytest.mark.parametrize("arch", ARCHS)
def test_every_weight_has_its_name_and_shape(tmp_path: Path, arch: str) -> None:
    write_folder(tmp_path, arch)
    model = read_folder(tmp_path, ignore)
    assert {name: tuple(w.shape) for name, w in model.weights.items()} == {s.name: s.shape for s in slots(model.config)}
    assert all(w.dtype == torch.float32 and w.is_contiguous() for w in model.weights.values())


@pytest.mark.parametrize("arch", ARCHS)
def test_the_configuration_is_the_saved_models(tmp_path: Path, arch: str) -> None:
    saved = write_folder(tmp_path, arch).config
    config = read_folder(tmp_path, ignore).config
    assert (config.arch, config.layers, config.heads, config.d) == (arch, 2, 4, 32)
    assert (config.vocab, config.context) == (len(VOCAB), 64)
    assert config.kv_heads == (4 if arch == "gpt2" else 2)
    assert config.head_dim == (128 if arch == "qwen3" else 8)
    assert config.d_mlp == (128 if arch == "gpt2" else 48)
    assert config.norm_eps == (saved.layer_norm_epsilon if arch == "gpt2" else saved.rms_norm_eps)
    assert config.positions == ("learned" if arch == "gpt2" else "rotary")
    assert config.rope_theta == 10000.0
    assert config.qkv_bias == (arch in ("gpt2", "qwen2"))
    assert config.out_bias == config.mlp_bias == (arch == "gpt2")
    assert config.qk_norm == (arch == "qwen3")
    assert config.tied == (arch == "gpt2")
    assert config.window == (4096 if arch == "mistral" else None)


def test_fused_weights_hold_their_parts_in_order(tmp_path: Path) -> None:
    state = write_folder(tmp_path, "qwen2").state_dict()
    weights = read_folder(tmp_path, ignore).weights
    p = "model.layers.1."
    for kind in ("weight", "bias"):
        whole = torch.cat([state[f"{p}self_attn.{part}_proj.{kind}"] for part in "qkv"])
        assert torch.equal(weights[f"blocks.1.attn.qkv.{kind}"], whole)
    gate_up = torch.cat([state[f"{p}mlp.gate_proj.weight"], state[f"{p}mlp.up_proj.weight"]])
    assert torch.equal(weights["blocks.1.mlp.gate_up.weight"], gate_up)
    assert torch.equal(weights["blocks.1.attn.norm.weight"], state[f"{p}input_layernorm.weight"])
    assert torch.equal(weights["blocks.1.mlp.norm.weight"], state[f"{p}post_attention_layernorm.weight"])


def test_gpt2_matrices_are_turned(tmp_path: Path) -> None:
    state = write_folder(tmp_path, "gpt2").state_dict()
    weights = read_folder(tmp_path, ignore).weights
    p = "transformer.h.0."
    names = {"attn.qkv": "attn.c_attn", "attn.out": "attn.c_proj", "mlp.up": "mlp.c_fc", "mlp.down": "mlp.c_proj"}
    for ours, theirs in names.items():
        assert torch.equal(weights[f"blocks.0.{ours}.weight"], state[f"{p}{theirs}.weight"].T)
        assert torch.equal(weights[f"blocks.0.{ours}.bias"], state[f"{p}{theirs}.bias"])
    assert torch.equal(weights["positions.weight"], state["transformer.wpe.weight"])


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
    one, many = read_folder(tmp_path / "one", ignore), read_folder(tmp_path / "many", ignore)
    assert all(torch.equal(one.weights[name], many.weights[name]) for name in one.weights)
    assert many.sha256 == hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def test_llamas_biases_are_read(tmp_path: Path) -> None:
    state = write_folder(tmp_path, "llama", attention_bias=True, mlp_bias=True).state_dict()
    model = read_folder(tmp_path, ignore)
    assert model.config.qkv_bias
    assert model.config.out_bias
    assert model.config.mlp_bias
    assert torch.equal(model.weights["blocks.0.attn.out.bias"], state["model.layers.0.self_attn.o_proj.bias"])


def test_an_explicit_head_dim_wins(tmp_path: Path) -> None:
    write_folder(tmp_path, "mistral", head_dim=16)
    config = read_folder(tmp_path, ignore).config
    assert (config.head_dim, config.d) == (16, 32)


LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}


def test_llama3_scaling_is_read_in_its_new_and_its_old_spelling(tmp_path: Path) -> None:
    write_folder(tmp_path, "llama", rope_parameters={"rope_type": "llama3", "rope_theta": 500000.0, **LLAMA3})
    new = read_folder(tmp_path, ignore).config
    edit(tmp_path, rope_parameters=None, rope_theta=500000.0, rope_scaling={"rope_type": "llama3", **LLAMA3})
    old = read_folder(tmp_path, ignore).config
    assert new == old
    assert new.rope_theta == 500000.0
    assert new.rope_scaling == {"rope_type": "llama3", **LLAMA3}


def test_a_sliding_window_counts_where_the_architecture_uses_it(tmp_path: Path) -> None:
    write_folder(tmp_path, "mistral", sliding_window=7)
    assert read_folder(tmp_path, ignore).config.window == 7
    raw = json.loads((tmp_path / "config.json").read_text()) | {"sliding_window": None}
    (tmp_path / "config.json").write_text(json.dumps(raw))
    assert read_folder(tmp_path, ignore).config.window is None


@pytest.mark.parametrize(("used", "first", "window"), [(False, 0, None), (True, 0, 7), (True, 2, None)])
def test_qwens_sliding_window_counts_only_where_switched_on(
    tmp_path: Path, used: bool, first: int, window: int | None
) -> None:
    write_folder(tmp_path, "qwen2")
    edit(tmp_path, layer_types=None, use_sliding_window=used, sliding_window=7, max_window_layers=first)
    assert read_folder(tmp_path, ignore).config.window == window


def test_progress_counts_up_to_the_bytes_of_the_weights(tmp_path: Path) -> None:
    write_folder(tmp_path, "llama")
    seen: list[Progress] = []
    model = read_folder(tmp_path, seen.append)
    assert seen[-1].done == seen[-1].total == sum(w.nbytes for w in model.weights.values())
    assert set(model.stored) <= {"float32", "float16", "bfloat16"}
    assert sum(model.stored.values()) > 0


class TestRefusals:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        write_folder(tmp_path, "llama")
        return tmp_path

    def test_pickled_weights(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        torch.save(weights, folder / "pytorch_model.bin")
        assert "never read" in refusal(folder)

    @pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
    def test_a_missing_file(self, folder: Path, file: str) -> None:
        (folder / file).unlink()
        assert file in refusal(folder)

    @pytest.mark.parametrize(
        "file", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"]
    )
    @pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b""])
    def test_a_file_that_is_not_json(self, folder: Path, file: str, content: bytes) -> None:
        (folder / file).write_bytes(content)
        assert file in refusal(folder)

    @pytest.mark.parametrize("keep", [0, 4, 100, -1])
    def test_truncated_weights(self, folder: Path, keep: int) -> None:
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:keep])
        assert "model.safetensors" in refusal(folder)

    def test_a_missing_shard(self, tmp_path: Path) -> None:
        write_folder(tmp_path, "llama", shard="20KB")
        shard = sorted(tmp_path.glob("*.safetensors"))[1]
        shard.unlink()
        assert shard.name in refusal(tmp_path)

    def test_a_shard_outside_the_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "inner"
        write_folder(folder, "llama")
        (folder / "model.safetensors").rename(tmp_path / "outside.safetensors")
        (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../outside.safetensors"}}')
        assert "../outside.safetensors" in refusal(folder)

    def test_a_missing_tensor(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        del weights["model.layers.1.mlp.up_proj.weight"]
        save_file(weights, folder / "model.safetensors")
        assert "model.layers.1.mlp.up_proj.weight" in refusal(folder)

    def test_a_tensor_of_another_shape(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights["model.norm.weight"] = torch.ones(31)
        save_file(weights, folder / "model.safetensors")
        assert "[31], not the [32]" in refusal(folder)

    def test_a_tensor_that_would_be_ignored(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        save_file(weights | {"model.layers.0.self_attn.q_proj.bias": torch.ones(32)}, folder / "model.safetensors")
        assert "q_proj.bias" in refusal(folder)

    def test_integer_weights(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights["model.norm.weight"] = torch.ones(32, dtype=torch.int8)
        save_file(weights, folder / "model.safetensors")
        assert "I8" in refusal(folder)

    def test_a_value_that_is_not_finite(self, folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights["model.layers.0.mlp.down_proj.weight"][3, 4] = torch.nan
        save_file(weights, folder / "model.safetensors")
        assert "blocks.0.mlp.down.weight" in refusal(folder)

    @pytest.mark.parametrize(
        "change",
        [
            {"model_type": "mamba"},
            {"hidden_act": "gelu"},
            {"quantization_config": {"bits": 4}},
            {"num_hidden_layers": 0},
            {"hidden_size": "32"},
            {"vocab_size": None},
            {"num_key_value_heads": 3},
            {"rms_norm_eps": -1.0},
            {"partial_rotary_factor": 0.5},
            {"rope_parameters": {"rope_type": "yarn", "factor": -4.0}},
            {"rope_parameters": {"factor": 4.0}},
            {"rope_scaling": {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}},
            {"rope_scaling": {"type": "linear"}},
            {"rope_scaling": {"rope_type": "xdrope", "factor": 2.0}},
            {"rope_parameters": {"rope_type": "llama3", "factor": 4.0}},
            {"rope_parameters": {"full_attention": {"rope_type": "default"}}},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_a_setting_that_is_not_supported_or_absurd(self, folder: Path, change: dict[str, Any]) -> None:
        edit(folder, **change)
        assert "config.json" in refusal(folder)

    @pytest.mark.parametrize(
        "change",
        [
            {"activation_function": "relu"},
            {"scale_attn_by_inverse_layer_idx": True},
            {"scale_attn_weights": False},
            {"n_head": 5},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_a_gpt2_setting_that_is_not_supported(self, tmp_path: Path, change: dict[str, Any]) -> None:
        write_folder(tmp_path, "gpt2")
        edit(tmp_path, **change)
        assert "config.json" in refusal(tmp_path)

    def test_a_window_on_some_layers_only(self, tmp_path: Path) -> None:
        write_folder(tmp_path, "qwen2")
        edit(tmp_path, layer_types=None, use_sliding_window=True, sliding_window=7, max_window_layers=1)
        assert "only some layers" in refusal(tmp_path)
