from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from hypothesis import given, settings
from hypothesis import strategies as st

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint import load
from kvscope.model.checkpoint.gguf_file import read_gguf
from kvscope.model.checkpoint.layout import slots
from kvscope.model.gguf_header import format_of
from tests.support import refused
from tests.support.loaded import ignore
from tests.support.tiny_files import gguf_tensors, write_gguf


def refusal(path: Path) -> str:
    error = refused.refusal(read_gguf, path, ignore)
    assert error.field == "model"
    assert path.name in str(error)
    return str(error)


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "gemma3", "gpt2"])
def test_every_weight_has_its_name_and_shape(tmp_path: Path, arch: str) -> None:
    write_gguf(tmp_path / "a.gguf", arch, **({"attention__key_length": 8} if arch == "qwen3" else {}))
    model = read_gguf(tmp_path / "a.gguf", ignore)
    assert {name: tuple(w.shape) for name, w in model.weights.items()} == {s.name: s.shape for s in slots(model.config)}
    assert all(w.dtype == torch.float32 and w.is_contiguous() for w in model.weights.values())
    config = model.config
    assert (config.arch, config.layers, config.heads, config.head_dim, config.d) == (
        {"gemma3": "gemma3_text"}.get(arch, arch),
        *(2, 4, 8, 32),
    )
    assert config.kv_heads == (4 if arch == "gpt2" else 2)
    assert config.tied
    assert config.qk_norm == (arch in ("qwen3", "gemma3"))
    assert config.post_norms == (config.mlp == "geglu") == (arch == "gemma3")
    assert config.qkv_bias == (arch in ("qwen2", "gpt2"))
    assert config.out_bias == config.mlp_bias == (arch == "gpt2")
    assert (config.positions == "learned") == (config.norm == "layer") == (config.mlp == "gelu") == (arch == "gpt2")


def test_gemma_has_what_llama_cpp_takes_where_a_file_says_nothing(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf", "gemma3", attention__sliding_window=4, rope__freq_base=1e6)
    config = read_gguf(tmp_path / "a.gguf", ignore).config
    assert config.windows == [4, 4]
    assert (config.rope_theta, config.local_rope_theta) == (1e6, 1e4)
    assert (config.embedding_scale, config.score_scale) == (math.sqrt(32), 1 / math.sqrt(8))


def test_gemma_has_what_its_file_says(tmp_path: Path) -> None:
    keys = {"attention__sliding_window": 4, "attention__sliding_window_pattern": 2, "rope__freq_base_swa": 500.0}
    write_gguf(tmp_path / "a.gguf", "gemma3", rope__scaling__factor=8.0, **keys)
    config = read_gguf(tmp_path / "a.gguf", ignore).config
    assert config.windows == [4, None]
    assert config.local_rope_theta == 500.0
    assert config.rope_scaling == {"rope_type": "linear", "factor": 8.0}


@pytest.mark.parametrize(("layers", "divisor"), [(2, 8), (46, 16)])
def test_gemma_2_has_what_llama_cpp_takes_where_a_file_says_nothing(tmp_path: Path, layers: int, divisor: int) -> None:
    keys = {"block_count": layers, "attention__head_count": 2, "attention__key_length": 8}
    tensors = gguf_tensors("gemma2", layers=layers)
    for layer in range(layers):
        tensors[f"blk.{layer}.attn_q.weight"] = tensors[f"blk.{layer}.attn_q.weight"][:16]
        tensors[f"blk.{layer}.attn_output.weight"] = tensors[f"blk.{layer}.attn_output.weight"][:, :16]
    write_gguf(tmp_path / "a.gguf", "gemma2", tensors, omit=("rope.freq_base",), **keys)
    config = read_gguf(tmp_path / "a.gguf", ignore).config
    assert (config.windows or [])[:4] == [4096, None, 4096, None][:layers]
    assert (config.score_cap, config.logit_cap) == (50.0, 30.0)
    assert (config.rope_theta, config.embedding_scale) == (1e4, math.sqrt(32))
    # Only the 27B model, which has 46 layers, divides scores by the root of width ÷ heads.
    assert config.score_scale == 1 / math.sqrt(divisor)


def test_gemma_2_has_what_its_file_says(tmp_path: Path) -> None:
    keys = {"attn_logit_softcapping": 20.0, "final_logit_softcapping": 10.0, "attention__sliding_window": 4}
    write_gguf(tmp_path / "a.gguf", "gemma2", **keys)
    config = read_gguf(tmp_path / "a.gguf", ignore).config
    assert (config.score_cap, config.logit_cap, config.windows) == (20.0, 10.0, [4, None])


NEOX = {"use_parallel_residual": True, "rope__dimension_count": 4}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"use_parallel_residual": 1}, "gptneox.use_parallel_residual is 1, neither true nor false"),
        ({"rope__dimension_count": 16}, "gptneox.rope.dimension_count is 16, for heads of width 8"),
        ({"rope__dimension_count": 3}, "gptneox.rope.dimension_count is 3, for heads of width 8"),
        ({"attn_logit_softcapping": 50.0}, "sets gptneox.attn_logit_softcapping to 50.0"),
        ({"attention__value_length": 4}, "sets gptneox.attention.value_length to 4"),
    ],
)
def test_a_setting_of_gpt_neox_that_is_not_computed_is_named(tmp_path: Path, change: Any, fault: str) -> None:
    write_gguf(tmp_path / "a.gguf", "gptneox", **NEOX | change)
    assert fault in refusal(tmp_path / "a.gguf")


def test_gpt_neox_must_say_whether_its_halves_read_the_same_row(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf", "gptneox", **NEOX)
    assert read_gguf(tmp_path / "a.gguf", ignore).config.parallel
    write_gguf(tmp_path / "a.gguf", "gptneox", omit=("use_parallel_residual",), **NEOX)
    assert "use_parallel_residual is None" in refusal(tmp_path / "a.gguf")


def test_groups_of_q_and_k_are_put_in_pairs_as_their_numbers_are(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf", "gptneox", kinds={"blk.0.attn_qkv.weight": Kind.Q8_0}, **NEOX)
    dense, grouped = (read_gguf(tmp_path / "a.gguf", ignore, grouped=each).weights for each in (False, True))
    (part,) = grouped["blocks.0.attn.qkv.weight"]
    assert torch.equal(part.dense(), dense["blocks.0.attn.qkv.weight"])


def test_q_and_k_rows_of_llama_are_put_back_in_order(tmp_path: Path) -> None:
    stored = write_gguf(tmp_path / "a.gguf")
    weights = read_gguf(tmp_path / "a.gguf", ignore).weights
    for name, heads, first in (("attn_q", 4, 0), ("attn_k", 2, 32)):
        rows = stored[f"blk.1.{name}.weight"]
        for head in range(heads):
            for pair in range(4):
                for half in range(2):
                    # llama.cpp rotates neighbours (2i, 2i + 1), this model i and i + head_dim/2.
                    ours = weights["blocks.1.attn.qkv.weight"][first + head * 8 + half * 4 + pair].numpy()
                    assert np.array_equal(ours, rows[head * 8 + 2 * pair + half])
    assert np.array_equal(weights["blocks.1.attn.qkv.weight"][48:].numpy(), stored["blk.1.attn_v.weight"])


def test_q_and_k_rows_of_qwen_are_left_alone(tmp_path: Path) -> None:
    stored = write_gguf(tmp_path / "a.gguf", "qwen2")
    weights = read_gguf(tmp_path / "a.gguf", ignore).weights
    for kind in ("weight", "bias"):
        whole = np.concatenate([stored[f"blk.0.attn_{part}.{kind}"] for part in "qkv"])
        assert np.array_equal(weights[f"blocks.0.attn.qkv.{kind}"].numpy(), whole)


@pytest.mark.parametrize("kind", [Kind.F16, Kind.BF16, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0])
def test_quantized_tensors_equal_the_librarys_dequantization(tmp_path: Path, kind: Kind) -> None:
    names = ("token_embd.weight", "blk.0.ffn_down.weight", "blk.1.attn_v.weight")
    stored = write_gguf(tmp_path / "a.gguf", kinds=dict.fromkeys(names, kind))
    weights = read_gguf(tmp_path / "a.gguf", ignore).weights
    found = (weights["embed.weight"], weights["blocks.0.mlp.down.weight"], weights["blocks.1.attn.qkv.weight"][48:])
    for name, values in zip(names, found, strict=True):
        expected = gguf.quants.dequantize(gguf.quants.quantize(stored[name], kind), kind)
        assert np.array_equal(values.numpy(), expected)


def test_a_tensor_larger_than_one_chunk_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = write_gguf(tmp_path / "a.gguf", kinds={"token_embd.weight": Kind.Q8_0})
    whole = read_gguf(tmp_path / "a.gguf", ignore).weights["embed.weight"]
    monkeypatch.setattr("kvscope.model.checkpoint.gguf_file._CHUNK_ELEMENTS", 7 * 32)
    pieces = read_gguf(tmp_path / "a.gguf", ignore).weights["embed.weight"]
    assert torch.equal(whole, pieces)
    assert np.abs(pieces.numpy() - stored["token_embd.weight"]).max() < 0.05


def test_an_output_matrix_of_its_own_unties_the_model(tmp_path: Path) -> None:
    tensors = gguf_tensors()
    tensors["output.weight"] = tensors["token_embd.weight"] + 1
    write_gguf(tmp_path / "a.gguf", tensors=tensors)
    model = read_gguf(tmp_path / "a.gguf", ignore)
    assert not model.config.tied
    assert np.array_equal(model.weights["lm_head.weight"].numpy(), tensors["output.weight"])


DIVISORS = [1.0, 2.0, 3.5, 32.0]


@pytest.mark.parametrize(
    ("keys", "tensor", "expected"),
    [
        ({}, None, None),
        ({"rope__scaling__factor": 4.0}, None, {"rope_type": "linear", "factor": 4.0}),
        ({"rope__scale_linear": 4.0}, None, {"rope_type": "linear", "factor": 4.0}),
        ({"rope__scaling__factor": 2.0, "rope__scale_linear": 4.0}, None, {"rope_type": "linear", "factor": 2.0}),
        ({"rope__scaling__type": "linear", "rope__scaling__factor": 1.0}, None, None),
        ({"rope__scaling__type": "none", "rope__scaling__factor": 4.0}, None, None),
        ({"rope__scaling__type": "yarn", "rope__scaling__factor": 1.0}, None, None),
        ({}, "rope_freqs", {"rope_type": "divisors", "divisors": DIVISORS, "attention_factor": 1.0}),
        (
            {"rope__scaling__type": "longrope", "rope__scaling__attn_factor": 1.5},
            "rope_factors_short",
            {"rope_type": "divisors", "divisors": DIVISORS, "attention_factor": 1.5},
        ),
        (
            {"rope__scaling__type": "yarn", "rope__scaling__factor": 4.0, "rope__scaling__original_context_length": 16},
            None,
            {
                "rope_type": "yarn",
                "factor": 4.0,
                "original_max_position_embeddings": 16,
                "beta_fast": 32.0,
                "beta_slow": 1.0,
                "truncate": True,
                "attention_factor": 0.1 * math.log(4) + 1,
            },
        ),
    ],
    ids=str,
)
def test_positions_are_scaled_as_llama_cpp_reads_it(
    tmp_path: Path, keys: dict[str, Any], tensor: str | None, expected: dict[str, Any] | None
) -> None:
    tensors = gguf_tensors()
    if tensor is not None:
        tensors[f"{tensor}.weight"] = np.array(DIVISORS, dtype=np.float32)
    write_gguf(tmp_path / "a.gguf", tensors=tensors, **keys)
    assert read_gguf(tmp_path / "a.gguf", ignore).config.rope_scaling == expected


class TestParts:
    """A model that llama.cpp has split."""

    @pytest.fixture
    def parts(self, tmp_path: Path) -> list[Path]:
        write_gguf(tmp_path / "whole.gguf")
        write_gguf(tmp_path / "a.gguf", split=8)
        return sorted(tmp_path.glob("a-*.gguf"))

    def test_any_part_names_the_whole(self, parts: list[Path]) -> None:
        assert len(parts) > 2
        whole = read_gguf(parts[0].with_name("whole.gguf"), ignore)
        for part in (parts[0], parts[-1]):
            loaded = read_gguf(part, ignore)
            assert loaded.config == whole.config
            assert all(torch.equal(loaded.weights[name], weight) for name, weight in whole.weights.items())
        assert len({(each.name, each.sha256) for each in (load(str(part), ignore) for part in parts)}) == 1

    def test_a_part_that_is_missing_is_named(self, parts: list[Path]) -> None:
        parts[1].unlink()
        said = refusal(parts[0])
        assert f"is part 1 of {len(parts)}" in said
        assert parts[1].name in said

    def test_a_part_that_was_renamed(self, parts: list[Path]) -> None:
        renamed = parts[0].rename(parts[0].with_name("model.gguf"))
        assert "was renamed" in refusal(renamed)


def test_progress_counts_up_to_the_bytes_of_the_weights(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf")
    seen: list[Progress] = []
    weights = read_gguf(tmp_path / "a.gguf", seen.append).weights
    assert seen[-1].done == seen[-1].total == sum(w.nbytes for w in weights.values())
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert {p.phase for p in seen} == {"loading"}
    assert len(seen) == len(weights) + 1


def test_what_the_file_stores_is_counted_by_format(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf")
    model = read_gguf(tmp_path / "a.gguf", ignore)
    assert model.stored == {"float32": sum(w.nbytes for w in model.weights.values())}
    named = {Kind.F16: "float16", Kind.IQ2_XXS: "2-bit groups", Kind.Q4_1: "4-bit groups", Kind.Q6_K: "6-bit groups"}
    assert {kind: format_of(kind) for kind in named} == named


def test_a_missing_file(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path / "a.gguf")


def test_a_file_cut_short(tmp_path: Path) -> None:
    write_gguf(tmp_path / "a.gguf")
    whole = (tmp_path / "a.gguf").read_bytes()
    for keep in (5, 20, 30, 200, 2000, -1):  # the last tensor needs no padding here, so the last byte is data
        (tmp_path / "a.gguf").write_bytes(whole[:keep])
        assert "truncated" in refusal(tmp_path / "a.gguf")


@pytest.fixture(scope="module")
def whole_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "a.gguf"
    write_gguf(path)
    return path.read_bytes()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_corrupted_header_loads_or_is_refused_but_never_fails_otherwise(
    tmp_path_factory: pytest.TempPathFactory, whole_file: bytes, bytes_written: list[tuple[int, int]]
) -> None:
    damaged = bytearray(whole_file)
    header = whole_file.rindex(b".weight") + 40
    for place, value in bytes_written:
        damaged[place % header] = value
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(damaged)
    with contextlib.suppress(Refused):
        read_gguf(path, ignore)
