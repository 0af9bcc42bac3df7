"""Hugging Face folders whose tokenizer or weights are odd: a token without a row, files that contradict each other,
parts of an unknown type, shards that are missing.

What is right is what `transformers` and `tokenizers` do with the same files, or a refusal that names the file and what
is wrong in it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from kvscope.model.api import Refused
from kvscope.model.checkpoint import Checkpoint, load
from kvscope.model.engine.engine import Engine
from kvscope.model.transformer import Transformer
from tests.support.tiny_files import MERGES, TEMPLATE, VOCAB, write_folder, write_pieces, write_tokenizer

N = len(VOCAB)
SPARE = 137
"""Rows of the embedding beyond the tokens, in the folders called roomy."""
TEXTS = ["a the in <extra>x", "in</s><|im_end|> é", ""]
IDS = [5, 40, 7, 260, 33, 9, 100, 8]
TOKENIZER, SETTINGS, INDEX = "tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json"
EXTRA = {"content": "<extra>", "special": False, "single_word": False, "lstrip": False, "rstrip": False}
Raw = dict[str, Any]
Change = Callable[[Path], object]


def edited(file: str, **changes: Any) -> Change:
    """Keys of a JSON file; `__` leads to a key of what is inside. A function makes a value of the old one."""

    def change(folder: Path) -> None:
        path = folder / file
        raw = json.loads(path.read_text()) if path.exists() else {}
        for key, value in changes.items():
            *outer, last = key.split("__")
            inside = raw
            for each in outer:
                inside = inside[each]
            inside[last] = value(inside[last]) if callable(value) else value
        path.write_text(json.dumps(raw))

    return change


def written(file: str, content: bytes | Callable[[bytes], bytes]) -> Change:
    def change(folder: Path) -> None:
        path = folder / file
        path.write_bytes(content if isinstance(content, bytes) else content(path.read_bytes()))

    return change


def without(*files: str) -> Change:
    return lambda folder: [(folder / file).unlink() for file in files]


def both(*changes: Change) -> Change:
    return lambda folder: [change(folder) for change in changes]


def tensors(change: Callable[[Raw], Raw | None], file: str = "model.safetensors") -> Change:
    def changed(folder: Path) -> None:
        found = load_file(folder / file)
        save_file(change(found) or found, folder / file, metadata={"format": "pt"})

    return changed


def around(*ids: int, named: bool = True) -> Change:
    """A post-processor that puts a token before each text."""
    first = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    texts = [{"Sequence": {"id": each, "type_id": 0}} for each in "AB"]
    told = {"<s>": {"id": "<s>", "ids": list(ids), "tokens": ["<s>"] * len(ids)}} if named else {}
    template = {"type": "TemplateProcessing", "single": [first, texts[0]], "pair": texts, "special_tokens": told}
    return edited(TOKENIZER, post_processor=template)


def later(by: int) -> Change:
    """A gap in the ids: those from 201 on come later."""
    return edited(
        TOKENIZER, model__vocab=lambda vocab: {name: at + by if at > 200 else at for name, at in vocab.items()}
    )


def pieces(size: int) -> Change:
    """A SentencePiece model in the place of tokenizer.json."""
    return lambda folder: [write_pieces(folder, vocab_size=size), (folder / TOKENIZER).unlink()]


def shard(number: int) -> str:
    return f"model-0000{number}-of-00006.safetensors"


def again_in(second: int, first: int) -> Change:
    def change(folder: Path) -> None:
        name, tensor = next(iter(load_file(folder / shard(first)).items()))
        tensors(lambda found: found | {name: tensor + 1}, shard(second))(folder)

    return change


def single_beside(folder: Path) -> None:
    whole = {name: each * 2 for part in folder.glob("model-*") for name, each in load_file(part).items()}
    save_file(whole, folder / "model.safetensors", metadata={"format": "pt"})


Q, UP = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.up_proj.weight"
SAME_IDS: dict[str, tuple[str, Change]] = {
    # rows
    "rows without tokens": ("roomy", both()),
    "a gap in the ids": ("roomy", later(50)),
    "an added token where the ids have a gap": (
        "roomy",
        edited(TOKENIZER, added_tokens=lambda added: [*added, {**EXTRA, "id": N + 5, "normalized": False}]),
    ),
    "an added token with the id of another": (
        "roomy",
        edited(TOKENIZER, added_tokens=lambda added: [*added, {**EXTRA, "id": 5, "normalized": False}]),
    ),
    "two tokens with one id": ("plain", edited(TOKENIZER, model__vocab__in=5)),
    "bytes without tokens": (
        "plain",
        edited(TOKENIZER, model__vocab=lambda vocab: {k: at for k, at in vocab.items() if k not in "Ãéª"}),
    ),
    "an end that no token has": ("plain", edited("generation_config.json", eos_token_id=99999)),
    "an end of -1": ("plain", edited("generation_config.json", eos_token_id=-1)),
    "a first token that is in no vocabulary": ("plain", edited(SETTINGS, bos_token="<bos>")),
    "no special tokens in tokenizer.json": ("plain", edited(TOKENIZER, added_tokens=[])),
    "no settings": ("plain", without(SETTINGS)),
    "another token first": ("plain", around(7)),
    "no token first": ("plain", around()),
    # how texts are cut
    "merges as texts": ("plain", edited(TOKENIZER, model__merges=[" ".join(pair) for pair in MERGES])),
    "merges as pairs": ("plain", edited(TOKENIZER, model__merges=[list(pair) for pair in MERGES])),
    "ignore_merges": ("plain", edited(TOKENIZER, model__ignore_merges=True)),
    "byte_fallback beside bytes": ("plain", edited(TOKENIZER, model__byte_fallback=True)),
    "an unknown token that is not there": ("plain", edited(TOKENIZER, model__unk_token="<nope>")),
    "no pre-tokenizer": ("plain", edited(TOKENIZER, pre_tokenizer=None)),
    "special tokens cut like others": ("plain", edited(SETTINGS, split_special_tokens=True)),
    "named extra tokens": ("roomy", edited(SETTINGS, extra_special_tokens={"image_token": "<extra>"})),
    "a class that says nothing": ("plain", edited(SETTINGS, tokenizer_class="FrobTokenizer", add_bos_token=True)),
    "the class of another family": ("plain", edited(SETTINGS, tokenizer_class="GPT2Tokenizer", add_eos_token=True)),
}
SAME_LOGITS: dict[str, tuple[str, Change]] = {
    "shards": ("shards", both()),
    "one file beside shards of other weights": ("shards", single_beside),
    "an index that names a tensor too many": ("shards", edited(INDEX, weight_map__x=shard(1))),
    "kinds of numbers mixed": ("plain", tensors(lambda found: found | {Q: found[Q].half(), UP: found[UP].bfloat16()})),
    "no prefix": ("plain", tensors(lambda found: {k.removeprefix("model."): each for k, each in found.items()})),
}


def prefixed(prefix: str) -> Change:
    return tensors(lambda found: {prefix + name: each for name, each in found.items()})


def below(part: str = "weights/part one.safetensors") -> Change:
    """The weights in a folder below, which the index names."""

    def change(folder: Path) -> None:
        names = list(load_file(folder / SINGLE))
        (folder / part).parent.mkdir()
        (folder / SINGLE).rename(folder / part)
        (folder / INDEX).write_text(json.dumps({"weight_map": dict.fromkeys(names, part)}))

    return change


def moved(into: str, *files: str) -> Change:
    def change(folder: Path) -> None:
        (folder / into).mkdir()
        for file in files or [path.name for path in folder.iterdir() if path.is_file()]:
            (folder / file).rename(folder / into / file)

    return change


def renamed(file: str, name: str) -> Change:
    return lambda folder: (folder / file).rename(folder / name)


def linked(folder: Path) -> None:
    """As in the hub's cache: names are links to files elsewhere."""
    elsewhere = folder.parent / "blobs"
    elsewhere.mkdir()
    for number, path in enumerate(sorted(folder.iterdir())):
        path.rename(elsewhere / str(number))
        path.symlink_to(elsewhere / str(number))


def marked(file: str, encoding: str = "utf-8-sig") -> Change:
    return written(file, lambda data: data.decode().encode(encoding))


SINGLE = "model.safetensors"
SAME_MODEL: dict[str, tuple[str, Change]] = {
    "torch.compile": ("plain", prefixed("_orig_mod.")),
    "data parallel": ("plain", prefixed("module.")),
    "data parallel around torch.compile": ("plain", prefixed("module._orig_mod.")),
    "an adapter merged into its base": ("plain", prefixed("base_model.model.")),
    "the text model of a larger one": ("plain", prefixed("language_model.")),
    "a trainer's own prefix": ("plain", prefixed("policy.actor.")),
    "the text model inside, its head outside": (
        "plain",
        tensors(lambda found: {k.replace("model.", "model.language_model.", 1): each for k, each in found.items()}),
    ),
    "weights in a folder below": ("plain", below()),
    "links as in the hub's cache": ("plain", linked),
    "a byte order mark in config.json": ("plain", marked("config.json")),
    "a byte order mark in tokenizer_config.json": ("plain", marked(SETTINGS)),
    "a byte order mark in tokenizer.json": ("plain", marked(TOKENIZER)),
    "a byte order mark in the index": ("shards", marked(INDEX)),
    "a byte order mark in generation_config.json": ("plain", marked("generation_config.json")),
    "config.json in UTF-16": ("plain", marked("config.json", "utf-16")),
    "an optimizer's state beside": ("plain", written("optimizer.bin", b"\x80")),
}
"""Changes after which a folder holds the same model."""


def as_quantized(*endings: str, dtype: torch.dtype = torch.int32) -> Change:
    """The projections' weights as tensors with these endings in the place of `.weight`."""

    def change(found: Raw) -> Raw:
        for name in [name for name in found if name.endswith("proj.weight")]:
            stem = name.removesuffix(".weight")
            del found[name]
            found |= {stem + ending: torch.zeros(2, 2, dtype=dtype) for ending in endings}
        return found

    return tensors(change)


GPTQ_PARTS = (".qweight", ".qzeros", ".scales", ".g_idx")
QUANTIZED: dict[str, tuple[str, Change, str]] = {
    "MLX": (
        "plain",
        both(as_quantized(".weight", ".scales", ".biases"), edited("config.json", quantization={"bits": 4})),
        "by MLX",
    ),
    "MLX without its key": ("plain", as_quantized(".weight", ".scales", ".biases"), "by MLX"),
    "AutoGPTQ": ("plain", both(as_quantized(*GPTQ_PARTS), edited("quantize_config.json", bits=4)), "by GPTQ"),
    "AutoAWQ": ("plain", both(as_quantized(*GPTQ_PARTS[:3]), edited("quant_config.json", w_bit=4)), "by AWQ"),
    "nothing says which": ("plain", as_quantized(*GPTQ_PARTS), "by GPTQ or AWQ"),
    "bitsandbytes, 4 bits": (
        "plain",
        as_quantized(".weight", ".weight.absmax", ".weight.quant_map"),
        "by bitsandbytes",
    ),
    "bitsandbytes, 8 bits": ("plain", as_quantized(".weight", ".SCB", dtype=torch.int8), "by bitsandbytes"),
    "compressed-tensors": ("plain", as_quantized(".weight_packed", ".weight_scale"), "by compressed-tensors"),
    "FP8 in blocks": ("plain", as_quantized(".weight", ".weight_scale_inv"), "by FP8"),
    "HQQ": ("plain", as_quantized(".W_q", ".meta"), "by HQQ"),
    "torchao": ("plain", as_quantized("._weight_qdata", "._weight_scale"), "by torchao"),
    "MXFP4": ("plain", as_quantized("_blocks", "_scales"), "by MXFP4"),
    "named in config.json": (
        "plain",
        both(as_quantized(*GPTQ_PARTS), edited("config.json", quantization_config={"quant_method": "auto-round"})),
        "by auto-round",
    ),
    "a GGUF file beside": ("plain", both(as_quantized(*GPTQ_PARTS), written("a.gguf", b"GGUF")), "use a.gguf"),
    "whole weights that would be quantized": (
        "plain",
        edited("config.json", quantization_config={"quant_method": "bitsandbytes"}),
        "remove quantization_config",
    ),
}
FILES: dict[str, tuple[str, Change, str]] = {
    "an adapter alone": (
        "plain",
        both(renamed("config.json", "adapter_config.json"), renamed(SINGLE, "adapter_model.safetensors")),
        "an adapter without its base model",
    ),
    "an adapter beside a model": ("plain", edited("adapter_config.json", r=8), "adapter_config.json), which would not"),
    "an adapter inside": (
        "plain",
        tensors(lambda found: found | {f"{Q[:-7]}.lora_A.default.weight": torch.zeros(2, 2)}),
        "lora_A.default.weight'. Merge it",
    ),
    "a wrapper inside": (
        "plain",
        tensors(lambda found: {name.replace("self_attn", "_orig_mod.self_attn"): each for name, each in found.items()}),
        f"no tensor '{Q}', but 'model.layers.0._orig_mod.self_attn.q_proj.weight'",
    ),
    "two prefixes": (
        "plain",
        tensors(lambda found: {("a." if "layers.1" in name else "") + name: each for name, each in found.items()}),
        "but 'a.model.layers.1.",
    ),
    "all in a checkpoint below": ("plain", moved("checkpoint-500"), "weights in checkpoint-500: name"),
    "weights below without an index": ("plain", moved("original", SINGLE), "weights in original: name"),
    "an index that leads outside": ("shards", edited(INDEX, weight_map__x="../x.safetensors"), "which is outside"),
    "a name in another case": ("plain", renamed(SINGLE, "Model.safetensors"), "but Model.safetensors: rename it"),
    "config.json in another case": ("plain", renamed("config.json", "Config.json"), "but Config.json: rename it"),
    "settings in another case": ("plain", renamed(SETTINGS, "Tokenizer_Config.json"), "but Tokenizer_Config.json"),
    "a link to nothing": (
        "plain",
        both(without(SINGLE), lambda folder: (folder / SINGLE).symlink_to("../blobs/0")),
        "a link to ../blobs/0, which is missing",
    ),
    "pickled weights": ("plain", both(without(SINGLE), written("pytorch_model.bin", b"PK")), "(pytorch_model.bin)"),
    "only what training leaves": (
        "plain",
        both(without(SINGLE), written("training_args.bin", b"PK")),
        "has no model.s",
    ),
    "Mistral's own format": ("plain", renamed(SINGLE, "consolidated.safetensors"), "Mistral's own format"),
    "Meta's own format": (
        "plain",
        both(without(SINGLE, "config.json", TOKENIZER), written("params.json", b"{}")),
        "(params.json)",
    ),
    "a comma too many": ("plain", written("config.json", b'{\n"a": 1,\n}'), "config.json of odd is not valid JSON: "),
    "a comment": ("plain", written(SETTINGS, b'{\n// x\n"a": 1}'), f"{SETTINGS} of odd is not valid JSON: "),
    "single quotes": ("plain", written("generation_config.json", b"{'a': 1}"), "in line 1, column 2"),
    "not a number": ("plain", edited("config.json", rms_norm_eps=float("nan")), "rms_norm_eps = nan"),
    "another encoding": ("plain", written("config.json", b'{"a": "\xe9"}'), "config.json of odd is not valid JSON"),
}
REFUSED: dict[str, tuple[str, Change, str]] = {
    **QUANTIZED,
    **FILES,
    # rows
    "a token around every text without a row": ("plain", around(9999), "id 9,999) around every text"),
    "a new first token beside SentencePiece": (
        "pieces",
        edited(SETTINGS, bos_token="<bos>"),
        f"'<bos>' (id {N + SPARE}) around every text",
    ),
    "a token around every text without an id": ("plain", around(named=False), "cannot tokenize a text"),
    "added_tokens.json with a gap": (
        "roomy",
        edited("added_tokens.json", **{"<extra>": N + 5}),
        "by added_tokens.json",
    ),
    "added_tokens_decoder with a taken id": (
        "plain",
        edited(SETTINGS, added_tokens_decoder={"7": {"content": "<extra>"}}),
        "'<extra>' is token 7 by added_tokens.json or tokenizer_config.json",
    ),
    # tokenizer.json
    "unknown normalizer": (
        "plain",
        edited(TOKENIZER, normalizer={"type": "Frob"}),
        "normalizer has the type 'Frob'; B",
    ),
    "unknown step of a pre-tokenizer": (
        "plain",
        edited(TOKENIZER, pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Frob"}]}),
        "pre_tokenizer has the type 'Frob'; BertPreTokenizer, ByteLevel",
    ),
    "unknown model": ("plain", edited(TOKENIZER, model__type="Frob"), "model has the type 'Frob'; BPE, Unigram"),
    "unknown decoder": (
        "plain",
        edited(TOKENIZER, decoder={"type": "Frob"}),
        "decoder has the type 'Frob'; BPEDecoder",
    ),
    "no decoder": (
        "plain",
        edited(TOKENIZER, decoder=None),
        "decoder is neither ByteLevel nor ByteFallback but missing",
    ),
    "a decoder that is a text": ("plain", edited(TOKENIZER, decoder="ByteLevel"), "decoder is 'ByteLevel', not an obj"),
    "no model": ("plain", edited(TOKENIZER, model=None), "model is None, not an object"),
    "merges of both forms": (
        "plain",
        edited(TOKENIZER, model__merges=["Ġ t", ["h", "e"]]),
        "merges has ['h', 'e']; all",
    ),
    "a merge of three": ("plain", edited(TOKENIZER, model__merges=[["a", "b", "c"]]), "merges has ['a', 'b', 'c']"),
    "a merge of no tokens": ("plain", edited(TOKENIZER, model__merges=["q zz"]), "`zz` out of vocabulary"),
    "no merges": ("plain", edited(TOKENIZER, model__merges=None), "model has no merges"),
    "an id that is a text": ("plain", edited(TOKENIZER, model__vocab__a="x"), "vocab gives 'a' the id 'x'"),
    "a negative id": ("plain", edited(TOKENIZER, model__vocab__a=-1), "gives 'a' the id -1"),
    "a prefix inside words": (
        "plain",
        edited(TOKENIZER, model__continuing_subword_prefix="##"),
        "continuing_subword_prefix = '##', which is not supported",
    ),
    "a list": ("plain", written(TOKENIZER, b"[]"), "tokenizer.json of odd is not a valid JSON object"),
    "cut off": (
        "plain",
        written(TOKENIZER, lambda data: data[:300]),
        "tokenizer.json of odd is not valid JSON: Unterminated",
    ),
    "no tokenizer": ("plain", without(TOKENIZER), "neither tokenizer.json nor tokenizer.model"),
    "tokenizer.model cut off": (
        "pieces",
        written("tokenizer.model", lambda data: data[: len(data) // 2]),
        "tokenizer.model of odd is not a SentencePiece model",
    ),
    # weights
    "a shard that is missing": ("shards", without(shard(2)), f"{shard(2)}, which {INDEX} names, is missing"),
    "a shard that never was": ("shards", edited(INDEX, weight_map__x="nope.safetensors"), "nope.safetensors, which"),
    "a tensor in two shards": ("shards", again_in(2, 1), f"{shard(1)} and {shard(2)} both have the tensor"),
    "shards without an index": ("shards", without(INDEX), "neither model.safetensors nor model.safetensors.index"),
    "an index of nothing": ("shards", edited(INDEX, weight_map=[]), f"{INDEX} of odd lists no weights"),
    "doubles": ("plain", tensors(lambda found: found | {Q: found[Q].double()}), f"'{Q}' as F64; F32, F16, BF16"),
    "8-bit floats": ("plain", tensors(lambda found: found | {Q: found[Q].to(torch.float8_e4m3fn)}), "as F8_E4M3;"),
    "turned": ("plain", tensors(lambda found: found | {UP: found[UP].T.contiguous()}), "[32, 48], not the [48, 32]"),
    "no head": ("plain", tensors(lambda found: found.pop("lm_head.weight") is None), "no tensor 'lm_head.weight', and"),
    "header cut off": ("plain", written("model.safetensors", lambda data: data[:50]), "is truncated or corrupted"),
    "data cut off": ("plain", written("model.safetensors", lambda data: data[:-4]), "is truncated or corrupted"),
    "a Git LFS pointer": (
        "plain",
        written("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 1\n"),
        "model.safetensors of odd is a Git LFS pointer",
    ),
    "more rows said than there are": ("plain", edited("config.json", vocab_size=N + 1), "[263, 32], not the [264, 32]"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {name: tmp_path_factory.mktemp(name) for name in ("plain", "roomy", "shards", "pieces")}
    spare = [f"<{number}>" for number in range(SPARE)]
    for name, folder in made.items():
        write_folder(
            folder,
            "llama",
            tie_word_embeddings=False,
            words=spare if name in ("roomy", "pieces") else (),
            shard="20KB" if name == "shards" else None,
        )
        write_tokenizer(folder)
        names = {"bos_token": "<|im_start|>", "eos_token": "<|endoftext|>"}
        (folder / SETTINGS).write_text(json.dumps({**names, "chat_template": TEMPLATE}))
    pieces(N + SPARE)(made["pieces"])
    return made


def odd(folders: dict[str, Path], tmp_path: Path, kind: str, change: Change) -> Path:
    folder = tmp_path / "odd"
    shutil.copytree(folders[kind], folder)
    change(folder)
    return folder


def loaded(folder: Path) -> Checkpoint:
    return load(str(folder), lambda progress: None)


@pytest.mark.parametrize("name", SAME_IDS)
def test_texts_are_cut_as_transformers_cuts_them(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    folder = odd(folders, tmp_path, *SAME_IDS[name])
    ours, theirs = loaded(folder).tokenizer, transformers.AutoTokenizer.from_pretrained(folder)
    for text in TEXTS:
        assert ours.encode(text) == theirs(text)["input_ids"]
    names = {key: str(token) for key, token in theirs.special_tokens_map.items()}
    assert ours._template._names == names


@pytest.mark.parametrize("name", SAME_LOGITS)
def test_weights_are_those_that_transformers_reads(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    folder = odd(folders, tmp_path, *SAME_LOGITS[name])
    checkpoint = loaded(folder)
    engine = Engine(Transformer.from_weights(checkpoint.config, checkpoint.weights), capacity=64)
    rows: list[torch.Tensor] = []
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    with engine.replay(IDS, 0, {"blocks.1.resid_out": rows.append}), torch.inference_mode():
        ours, theirs = engine.transformer.decode_rows(rows[0]), model.eval()(torch.tensor([IDS])).logits[0]
    assert float((ours - theirs).abs().max()) < 1e-4


@pytest.mark.parametrize("name", SAME_MODEL)
def test_the_same_model_in_other_files_is_the_same(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    kind, change = SAME_MODEL[name]
    ours, plain = loaded(odd(folders, tmp_path, kind, change)), loaded(folders[kind])
    assert ours.config == plain.config
    assert all(torch.equal(weight, plain.weights[key]) for key, weight in ours.weights.items())
    assert [ours.tokenizer.encode(text) for text in TEXTS] == [plain.tokenizer.encode(text) for text in TEXTS]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused_by_name(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    kind, change, said = REFUSED[name]
    with pytest.raises(Refused) as caught:
        loaded(odd(folders, tmp_path, kind, change))
    assert caught.value.field == "model"
    assert said in str(caught.value)


def test_a_token_without_a_row_is_refused_where_it_is_typed(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = odd(folders, tmp_path, "plain", lambda folder: write_tokenizer(folder, ["<extra>"]))
    with pytest.raises(Refused, match=rf"'<extra>' \(id {N}\).*its embedding table has {N} rows"):
        loaded(folder).tokenizer.encode("x<extra>")


def test_an_end_beyond_a_gap_in_the_ids_ends_a_text(folders: dict[str, Path], tmp_path: Path) -> None:
    last = edited("generation_config.json", eos_token_id=N + 49)
    assert loaded(odd(folders, tmp_path, "roomy", both(later(50), last))).tokenizer.eos == (2, N + 49)


def test_a_text_is_cut_the_same_each_time(folders: dict[str, Path], tmp_path: Path) -> None:
    tokenizer = loaded(odd(folders, tmp_path, "plain", edited(TOKENIZER, model__dropout=0.5))).tokenizer
    assert {tuple(tokenizer.encode(" the the in")) for _ in range(9)} == {tuple(tokenizer.encode(" the the in"))}
    assert tokenizer.encode(" the") == [VOCAB.index("Ġthe")]


def test_a_number_that_is_none_is_passed_over(folders: dict[str, Path], tmp_path: Path) -> None:
    numbered = edited(SETTINGS, added_tokens_decoder={"²": {"content": "<extra>"}})
    assert len(loaded(odd(folders, tmp_path, "plain", numbered)).tokenizer.encode("<extra>")) > 1
