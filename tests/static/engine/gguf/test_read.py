"""A page reads a GGUF file into the same bytes and descriptions that the server packs of it, or names the problem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind

from kvscope.model.checkpoint.fetch import fetch
from kvscope.model.checkpoint.packed_tokenizer import splitting
from kvscope.model.gguf_header import format_of
from kvscope.model.service.for_browser import BrowserModel, load_for_browser
from kvscope.model.service.gguf_facts import gguf_facts
from tests.support.grouped import write_grouped, write_k_quants
from tests.support.node import answer_of
from tests.support.tiny_files import VOCAB, gguf_metadata, gguf_tensors, write_gguf

SCRIPT = Path(__file__).with_name("read-file.js")
GROUPED = (Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.Q8_0)


@dataclass(frozen=True)
class Read:
    """What a page and a server make of one file; `tensors`: the page's packed tensors."""

    page: dict[str, Any]
    tensors: bytes
    server: BrowserModel

    @property
    def details(self) -> dict[str, Any]:
        details: dict[str, Any] = json.loads(self.server.files[self.server.description["details"]["file"]]())
        return details

    @property
    def server_tensors(self) -> bytes:
        return b"".join(self.server.files[part["file"]]() for part in self.server.description["parts"])


Reading = Callable[[Path], Read]


@pytest.fixture
def site(tmp_path: Path) -> dict[str, Any]:
    """The details of a site's own model, which is another one than the files."""
    write_grouped(tmp_path / "site.gguf", "qwen3")
    model = _packed(tmp_path / "site.gguf", tmp_path)
    details: dict[str, Any] = json.loads(model.files[model.description["details"]["file"]]())
    return details


@pytest.fixture
def reading(tmp_path: Path, site: dict[str, Any]) -> Reading:
    def read(file: Path) -> Read:
        weights = tmp_path / "weights.bin"
        page = answer_of(SCRIPT, {"file": str(file), "details": site, "weights": str(weights)})
        assert "refused" not in page, page
        return Read(page, weights.read_bytes(), _packed(file, tmp_path))

    return read


def _packed(file: Path, folder: Path) -> BrowserModel:
    (folder / "kernels.wasm").write_bytes(b"\0asm code")
    return load_for_browser(str(file), folder / "kernels.wasm", lambda progress: None)


def _assert_same(read: Read) -> None:
    expected = read.details
    assert read.tensors == read.server_tensors
    assert read.page["packed"] == expected["packed"]
    assert read.page["info"] == read.server.description["model"]
    assert read.page["limits"] == read.server.description["limits"]


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3"])
def test_each_family_is_read_as_the_server_reads_it(arch: str, tmp_path: Path, reading: Reading) -> None:
    write_grouped(tmp_path / "tiny.gguf", arch)
    _assert_same(reading(tmp_path / "tiny.gguf"))


@pytest.mark.parametrize("kind", GROUPED, ids=lambda kind: kind.name)
def test_each_format_of_groups_has_the_same_bytes(kind: Kind, tmp_path: Path, reading: Reading) -> None:
    write_grouped(tmp_path / "tiny.gguf", "llama", False, weight=kind)
    read = reading(tmp_path / "tiny.gguf")
    assert read.page["info"]["weights"]["stored"].keys() == {format_of(kind), "float32"}
    _assert_same(read)


def test_k_quants_have_the_same_bytes(tmp_path: Path, reading: Reading) -> None:
    write_k_quants(tmp_path / "wide.gguf")
    _assert_same(reading(tmp_path / "wide.gguf"))


def test_half_precision_and_linear_scaling_have_the_same_bytes(tmp_path: Path, reading: Reading) -> None:
    matrices = {name: Kind.F16 for name, value in gguf_tensors().items() if value.ndim == 2 and "ffn" not in name}
    write_gguf(tmp_path / "tiny.gguf", kinds=matrices, rope__scaling__factor=4.0, rope__scaling__type="linear")
    read = reading(tmp_path / "tiny.gguf")
    assert set(read.page["packed"]["cost"]["weights"]) == {"float16", "float32"}
    _assert_same(read)


def test_bfloat16_divisors_and_a_window_have_the_same_bytes(tmp_path: Path, reading: Reading) -> None:
    tensors = {**gguf_tensors(), "rope_freqs.weight": np.array([1, 2, 4.5, 8], np.float32)}
    matrices = {name: Kind.BF16 for name, value in tensors.items() if value.ndim == 2}
    write_gguf(tmp_path / "tiny.gguf", tensors=tensors, kinds=matrices, attention__sliding_window=9)
    read = reading(tmp_path / "tiny.gguf")
    assert read.page["info"]["windows"] == [9, 9]
    assert read.page["packed"]["rotations"][0]["frequencies"][3] < 0.001
    _assert_same(read)


def test_a_matrix_of_parts_in_several_formats_keeps_each(tmp_path: Path, reading: Reading) -> None:
    write_grouped(tmp_path / "tiny.gguf", attn_v=Kind.Q8_0, ffn_up=Kind.Q4_0)
    _assert_same(reading(tmp_path / "tiny.gguf"))


def test_the_default_model_is_read_as_the_site_packs_it(reading: Reading) -> None:
    read = reading(fetch(lambda progress: None))
    _assert_same(read)
    _assert_same_tokenizer(read)


def _assert_same_tokenizer(read: Read) -> None:
    """But for the texts of the chat template, which only a server can compute beforehand."""
    page, server = ({**each["tokenizer"]} for each in (read.page, read.details))
    chat, expected = page.pop("chat"), server.pop("chat")
    assert page == server
    assert {**chat, "examples": []} == {**expected, "examples": []}


@pytest.mark.parametrize("pre", sorted(gguf_facts(0)["tokenizer"]["pre"]))
def test_each_rule_that_splits_words_is_described_as_on_a_server(pre: str, site: dict[str, Any]) -> None:
    assert site["gguf"]["tokenizer"]["splits"][site["gguf"]["tokenizer"]["pre"][pre]] == splitting(pre)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pre": "llama-bpe", "bos_token_id": 1},
        {"pre": "qwen2", "add_eos_token": True, "eot_token_id": 2},
        {"pre": None, "token_type": None},
        {"padding_token_id": 1, "fim_pad_token_id": 5},
    ],
    ids=str,
)
def test_the_tokenizer_of_a_file_is_that_of_the_server(
    changes: dict[str, Any], tmp_path: Path, reading: Reading
) -> None:
    write_gguf(tmp_path / "tiny.gguf", tokenizer=gguf_metadata(**changes))
    _assert_same_tokenizer(reading(tmp_path / "tiny.gguf"))


def _pieces() -> dict[str, Any]:
    """A SentencePiece vocabulary with bytes, of as many tokens as the other tiny files have."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "b", "▁a"]
    names += [f"<extra_{number}>" for number in range(len(VOCAB) - len(names))]
    kinds = [2, 3, 3, *[6] * 256, *[1] * 4, *[4] * (len(VOCAB) - 263)]
    scores = [-float(number) for number in range(len(VOCAB))]
    return gguf_metadata(
        model="llama", pre=None, merges=None, eos_token_id=2, tokens=names, token_type=kinds, scores=scores
    )


@pytest.mark.parametrize("prefix", [True, False])
def test_a_sentencepiece_vocabulary_is_that_of_the_server(prefix: bool, tmp_path: Path, reading: Reading) -> None:
    tokenizer = _pieces() | {"tokenizer.ggml.add_space_prefix": prefix}
    write_gguf(tmp_path / "tiny.gguf", tokenizer=tokenizer)
    _assert_same_tokenizer(reading(tmp_path / "tiny.gguf"))


def _refusal(file: Path, details: dict[str, Any]) -> str:
    problem = answer_of(SCRIPT, {"file": str(file), "details": details})["refused"]
    assert problem["status"] in (422, 507)
    return str(problem["detail"])


def _wide() -> dict[str, np.ndarray]:
    """Tensors of which one has rows of a whole block of 256."""
    wide = {"ffn_gate": np.zeros((256, 32)), "ffn_up": np.zeros((256, 32)), "ffn_down": np.zeros((32, 256))}
    tensors = gguf_tensors() | {
        f"blk.{layer}.{name}.weight": value.astype(np.float32) for layer in (0, 1) for name, value in wide.items()
    }
    return tensors | {"blk.0.ffn_down.weight": np.zeros((32, 66), np.uint8)}


def _bytes(content: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(content)


def _written(*args: Any, **options: Any) -> Callable[[Path], object]:
    return lambda file: write_gguf(file, *args, **options)


def _cut(file: Path) -> None:
    write_gguf(file)
    file.write_bytes(file.read_bytes()[:-1000])


def _not_finite(file: Path) -> None:
    tensors = gguf_tensors()
    tensors["blk.1.ffn_norm.weight"][3] = np.nan
    write_gguf(file, tensors=tensors)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "another kind of file": (_bytes(b"PK" * 100), "not a GGUF file: it does not begin with the letters GGUF. Download"),
    "an empty file": (_bytes(b""), "not a GGUF file"),
    "a header without an end": (_bytes(b"GGUF\x03\0\0\0" + b"\x09" * 24), "its header does not end. Download"),
    "another version": (_bytes(b"GGUF\x09" + b"\0" * 60), "GGUF version 9, which this page cannot read. Use another"),
    "a truncated file": (_cut, "It is truncated: the tensor .* is not in it. Download the file again"),
    "another family": (
        _written("gemma3"),
        "family gemma3. .* Use another file, or a KVScope server, which computes gemma3",
    ),
    "an unknown family": (_written("rwkv7"), "family rwkv7. This page computes llama, qwen2, qwen3. Use another file."),
    "experts": (_written(expert_count=8), "mixture of experts, which this page does not compute. Use another"),
    "an unknown setting": (_written(attn_logit_softcapping=30.0), "sets llama.attn_logit_softcapping to 30, which may"),
    "another scaling": (
        _written(rope__scaling__type="yarn", rope__scaling__factor=4.0),
        "its positions by yarn",
    ),
    "a missing setting": (_written(omit=("block_count",)), "corrupted: its llama.block_count is undefined"),
    "a missing tensor": (
        _written(omit=("blk.1.attn_q.weight",)),
        "tensor blk.1.attn_q.weight is missing. Download",
    ),
    "an unknown tensor": (
        _written(tensors={**gguf_tensors(), "blk.0.extra.weight": np.ones(3, np.float32)}),
        "has the tensor blk.0.extra.weight, which models of its family do not have here",
    ),
    "another shape": (_written(feed_forward_length=32), "the tensor blk.0.ffn_gate.weight has the shape 64 × 32"),
    "an unknown format": (
        _written(tensors=_wide(), kinds={"blk.0.ffn_down.weight": Kind.TQ2_0}, feed_forward_length=256),
        "blk.0.ffn_down.weight as TQ2_0. Convert it to Q4_0, Q4_1, Q4_K_M, Q8_0 or F16",
    ),
    "numbers that are not finite": (
        _not_finite,
        "tensor blk.1.ffn_norm.weight holds values that are NaN",
    ),
    "another tokenizer": (
        _written(tokenizer=gguf_metadata(model="bert")),
        "of the type bert; this page knows",
    ),
    "no vocabulary": (_written(tokenizer=gguf_metadata(tokens=None)), "incomplete: it has no vocabulary"),
    "another vocabulary": (_written(tokenizer=gguf_metadata(tokens=VOCAB[:-1])), "and an embedding of .* rows"),
    "an unknown split": (
        _written(tokenizer=gguf_metadata(pre="new")),
        "that this page does not know, new. Use",
    ),
    "foreign merges": (_written(tokenizer=gguf_metadata(merges=["x y"])), "its merges do not fit its vocabulary"),
    "a token around texts that is missing": (
        _written(tokenizer=gguf_metadata(add_bos_token=True)),
        "puts a token around each text that it does not have",
    ),
}


@pytest.mark.parametrize(("write", "problem"), REFUSED.values(), ids=REFUSED)
def test_what_a_page_cannot_compute_is_refused_with_the_problem_and_the_remedy(
    write: Callable[[Path], object], problem: str, tmp_path: Path, site: dict[str, Any]
) -> None:
    write(tmp_path / "own.gguf")
    assert re.search(problem, _refusal(tmp_path / "own.gguf", site)), _refusal(tmp_path / "own.gguf", site)


def test_a_model_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path, site: dict[str, Any]) -> None:
    write_grouped(tmp_path / "own.gguf")
    site["gguf"]["limits"]["bytes"] = 1000
    refusal = _refusal(tmp_path / "own.gguf", site)
    assert re.search("It takes 17.7.kB, .* at most 1.00.kB. Use a smaller one", refusal)
