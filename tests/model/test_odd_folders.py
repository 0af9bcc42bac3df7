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
from tests.support.loaded import engine_of, loaded, logits_of_rows
from tests.support.refused import refusal
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


def cases(**by_folder: dict[str, Any]) -> list[Any]:
    """By the folder that is changed and the name of the case: the change, and what is said of it if it is refused."""
    return [
        pytest.param(folder, *(case if isinstance(case, tuple) else (case,)), id=name)
        for folder, named in by_folder.items()
        for name, case in named.items()
    ]


Q, UP = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.up_proj.weight"
SAME_IDS = cases(
    plain={
        "two tokens with one id": edited(TOKENIZER, model__vocab__in=5),
        "bytes without tokens": edited(
            TOKENIZER, model__vocab=lambda vocab: {k: at for k, at in vocab.items() if k not in "Ãéª"}
        ),
        "an end that no token has": edited("generation_config.json", eos_token_id=99999),
        "an end of -1": edited("generation_config.json", eos_token_id=-1),
        "a first token that is in no vocabulary": edited(SETTINGS, bos_token="<bos>"),
        "no special tokens in tokenizer.json": edited(TOKENIZER, added_tokens=[]),
        "no settings": without(SETTINGS),
        "another token first": around(7),
        "no token first": around(),
        "merges as texts": edited(TOKENIZER, model__merges=[" ".join(pair) for pair in MERGES]),
        "merges as pairs": edited(TOKENIZER, model__merges=[list(pair) for pair in MERGES]),
        "ignore_merges": edited(TOKENIZER, model__ignore_merges=True),
        "byte_fallback beside bytes": edited(TOKENIZER, model__byte_fallback=True),
        "an unknown token that is not there": edited(TOKENIZER, model__unk_token="<nope>"),
        "no pre-tokenizer": edited(TOKENIZER, pre_tokenizer=None),
        "special tokens cut like others": edited(SETTINGS, split_special_tokens=True),
    },
    roomy={
        "rows without tokens": both(),
        "a gap in the ids": later(50),
        "an added token where the ids have a gap": edited(
            TOKENIZER, added_tokens=lambda added: [*added, {**EXTRA, "id": N + 5, "normalized": False}]
        ),
        "an added token with the id of another": edited(
            TOKENIZER, added_tokens=lambda added: [*added, {**EXTRA, "id": 5, "normalized": False}]
        ),
    },
)
SAME_LOGITS = cases(
    plain={
        "kinds of numbers mixed": tensors(lambda found: found | {Q: found[Q].half(), UP: found[UP].bfloat16()}),
        "no prefix": tensors(lambda found: {k.removeprefix("model."): each for k, each in found.items()}),
    },
    shards={
        "shards": both(),
        "one file beside shards of other weights": single_beside,
        "an index that names a tensor too many": edited(INDEX, weight_map__x=shard(1)),
    },
)


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
SAME_MODEL = cases(
    plain={
        "torch.compile": prefixed("_orig_mod."),
        "data parallel": prefixed("module."),
        "data parallel around torch.compile": prefixed("module._orig_mod."),
        "an adapter merged into its base": prefixed("base_model.model."),
        "the text model of a larger one": prefixed("language_model."),
        "a trainer's own prefix": prefixed("policy.actor."),
        "the text model inside, its head outside": tensors(
            lambda found: {k.replace("model.", "model.language_model.", 1): each for k, each in found.items()}
        ),
        "weights in a folder below": below(),
        "links as in the hub's cache": linked,
        "a byte order mark in config.json": marked("config.json"),
        "a byte order mark in tokenizer_config.json": marked(SETTINGS),
        "a byte order mark in tokenizer.json": marked(TOKENIZER),
        "a byte order mark in generation_config.json": marked("generation_config.json"),
        "config.json in UTF-16": marked("config.json", "utf-16"),
        "an optimizer's state beside": written("optimizer.bin", b"\x80"),
    },
    shards={"a byte order mark in the index": marked(INDEX)},
)
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
QUANTIZED = cases(
    plain={
        "MLX": (
            both(as_quantized(".weight", ".scales", ".biases"), edited("config.json", quantization={"bits": 4})),
            "by MLX",
        ),
        "MLX without its key": (as_quantized(".weight", ".scales", ".biases"), "by MLX"),
        "AutoGPTQ": (both(as_quantized(*GPTQ_PARTS), edited("quantize_config.json", bits=4)), "by GPTQ"),
        "AutoAWQ": (both(as_quantized(*GPTQ_PARTS[:3]), edited("quant_config.json", w_bit=4)), "by AWQ"),
        "nothing says which": (as_quantized(*GPTQ_PARTS), "by GPTQ or AWQ"),
        "bitsandbytes, 4 bits": (as_quantized(".weight", ".weight.absmax", ".weight.quant_map"), "by bitsandbytes"),
        "bitsandbytes, 8 bits": (as_quantized(".weight", ".SCB", dtype=torch.int8), "by bitsandbytes"),
        "compressed-tensors": (as_quantized(".weight_packed", ".weight_scale"), "by compressed-tensors"),
        "FP8 in blocks": (as_quantized(".weight", ".weight_scale_inv"), "by FP8"),
        "HQQ": (as_quantized(".W_q", ".meta"), "by HQQ"),
        "torchao": (as_quantized("._weight_qdata", "._weight_scale"), "by torchao"),
        "MXFP4": (as_quantized("_blocks", "_scales"), "by MXFP4"),
        "named in config.json": (
            both(as_quantized(*GPTQ_PARTS), edited("config.json", quantization_config={"quant_method": "auto-round"})),
            "by auto-round",
        ),
        "a GGUF file beside": (both(as_quantized(*GPTQ_PARTS), written("a.gguf", b"GGUF")), "use a.gguf"),
        "whole weights that would be quantized": (
            edited("config.json", quantization_config={"quant_method": "bitsandbytes"}),
            "remove quantization_config",
        ),
    }
)
FILES = cases(
    plain={
        "an adapter alone": (
            both(renamed("config.json", "adapter_config.json"), renamed(SINGLE, "adapter_model.safetensors")),
            "an adapter without its base model",
        ),
        "an adapter beside a model": (edited("adapter_config.json", r=8), "adapter_config.json), which would not"),
        "an adapter inside": (
            tensors(lambda found: found | {f"{Q[:-7]}.lora_A.default.weight": torch.zeros(2, 2)}),
            "lora_A.default.weight'. Merge it",
        ),
        "a wrapper inside": (
            tensors(
                lambda found: {name.replace("self_attn", "_orig_mod.self_attn"): each for name, each in found.items()}
            ),
            f"no tensor '{Q}', but 'model.layers.0._orig_mod.self_attn.q_proj.weight'",
        ),
        "two prefixes": (
            tensors(lambda found: {("a." if "layers.1" in name else "") + name: each for name, each in found.items()}),
            "but 'a.model.layers.1.",
        ),
        "all in a checkpoint below": (moved("checkpoint-500"), "weights in checkpoint-500: name"),
        "weights below without an index": (moved("original", SINGLE), "weights in original: name"),
        "a name in another case": (renamed(SINGLE, "Model.safetensors"), "but Model.safetensors: rename it"),
        "config.json in another case": (renamed("config.json", "Config.json"), "but Config.json: rename it"),
        "settings in another case": (renamed(SETTINGS, "Tokenizer_Config.json"), "but Tokenizer_Config.json"),
        "a link to nothing": (
            both(without(SINGLE), lambda folder: (folder / SINGLE).symlink_to("../blobs/0")),
            "a link to ../blobs/0, which is missing",
        ),
        "pickled weights": (both(without(SINGLE), written("pytorch_model.bin", b"PK")), "(pytorch_model.bin)"),
        "only what training leaves": (both(without(SINGLE), written("training_args.bin", b"PK")), "has no model.s"),
        "Mistral's own format": (renamed(SINGLE, "consolidated.safetensors"), "Mistral's own format"),
        "Meta's own format": (
            both(without(SINGLE, "config.json", TOKENIZER), written("params.json", b"{}")),
            "(params.json)",
        ),
        "a comma too many": (written("config.json", b'{\n"a": 1,\n}'), "config.json of odd is not valid JSON: "),
        "a comment": (written(SETTINGS, b'{\n// x\n"a": 1}'), f"{SETTINGS} of odd is not valid JSON: "),
        "single quotes": (written("generation_config.json", b"{'a': 1}"), "in line 1, column 2"),
        "not a number": (edited("config.json", rms_norm_eps=float("nan")), "rms_norm_eps = nan"),
        "another encoding": (written("config.json", b'{"a": "\xe9"}'), "config.json of odd is not valid JSON"),
    },
    shards={"an index that leads outside": (edited(INDEX, weight_map__x="../x.safetensors"), "which is outside")},
)
REFUSED = cases(
    plain={
        "a token around every text without a row": (around(9999), "id 9,999) around every text"),
        "a token around every text without an id": (around(named=False), "cannot tokenize a text"),
        "added_tokens_decoder with a taken id": (
            edited(SETTINGS, added_tokens_decoder={"7": {"content": "<extra>"}}),
            "'<extra>' is token 7 by added_tokens.json or tokenizer_config.json",
        ),
        "unknown normalizer": (edited(TOKENIZER, normalizer={"type": "Frob"}), "normalizer has the type 'Frob'; B"),
        "unknown step of a pre-tokenizer": (
            edited(TOKENIZER, pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Frob"}]}),
            "pre_tokenizer has the type 'Frob'; BertPreTokenizer, ByteLevel",
        ),
        "unknown model": (edited(TOKENIZER, model__type="Frob"), "model has the type 'Frob'; BPE, Unigram"),
        "unknown decoder": (edited(TOKENIZER, decoder={"type": "Frob"}), "decoder has the type 'Frob'; BPEDecoder"),
        "no decoder": (edited(TOKENIZER, decoder=None), "decoder is neither ByteLevel nor ByteFallback but missing"),
        "a decoder that is a text": (edited(TOKENIZER, decoder="ByteLevel"), "decoder is 'ByteLevel', not an obj"),
        "no model": (edited(TOKENIZER, model=None), "model is None, not an object"),
        "merges of both forms": (edited(TOKENIZER, model__merges=["Ġ t", ["h", "e"]]), "merges has ['h', 'e']; all"),
        "a merge of three": (edited(TOKENIZER, model__merges=[["a", "b", "c"]]), "merges has ['a', 'b', 'c']"),
        "a merge of no tokens": (edited(TOKENIZER, model__merges=["q zz"]), "`zz` out of vocabulary"),
        "no merges": (edited(TOKENIZER, model__merges=None), "model has no merges"),
        "an id that is a text": (edited(TOKENIZER, model__vocab__a="x"), "vocab gives 'a' the id 'x'"),
        "a negative id": (edited(TOKENIZER, model__vocab__a=-1), "gives 'a' the id -1"),
        "a prefix inside words": (
            edited(TOKENIZER, model__continuing_subword_prefix="##"),
            "continuing_subword_prefix = '##', which is not supported",
        ),
        "a list": (written(TOKENIZER, b"[]"), "tokenizer.json of odd is not a valid JSON object"),
        "cut off": (
            written(TOKENIZER, lambda data: data[:300]),
            "tokenizer.json of odd is not valid JSON: Unterminated",
        ),
        "no tokenizer": (without(TOKENIZER), "neither tokenizer.json nor tokenizer.model"),
        "a tensor too many": (tensors(lambda found: found | {f"{Q[:-6]}bias": torch.ones(32)}), "q_proj.bias"),
        "a value that is not finite": (
            tensors(lambda found: found | {UP: found[UP] * torch.nan}),
            "blocks.0.mlp.gate_up.weight",
        ),
        "doubles": (tensors(lambda found: found | {Q: found[Q].double()}), f"'{Q}' as F64; F32, F16, BF16"),
        "8-bit floats": (tensors(lambda found: found | {Q: found[Q].to(torch.float8_e4m3fn)}), "as F8_E4M3;"),
        "turned": (tensors(lambda found: found | {UP: found[UP].T.contiguous()}), "[32, 48], not the [48, 32]"),
        "no head": (tensors(lambda found: found.pop("lm_head.weight") is None), "no tensor 'lm_head.weight', and"),
        "header cut off": (written("model.safetensors", lambda data: data[:50]), "is truncated or corrupted"),
        "data cut off": (written("model.safetensors", lambda data: data[:-4]), "is truncated or corrupted"),
        "a Git LFS pointer": (
            written("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 1\n"),
            "model.safetensors of odd is a Git LFS pointer",
        ),
        "more rows said than there are": (edited("config.json", vocab_size=N + 1), "[263, 32], not the [264, 32]"),
    },
    roomy={"added_tokens.json with a gap": (edited("added_tokens.json", **{"<extra>": N + 5}), "by added_tokens.json")},
    shards={
        "a shard that is missing": (without(shard(2)), f"{shard(2)}, which {INDEX} names, is missing"),
        "a shard that never was": (edited(INDEX, weight_map__x="nope.safetensors"), "nope.safetensors, which"),
        "a tensor in two shards": (again_in(2, 1), f"{shard(1)} and {shard(2)} both have the tensor"),
        "shards without an index": (without(INDEX), "neither model.safetensors nor model.safetensors.index"),
        "an index of nothing": (edited(INDEX, weight_map=[]), f"{INDEX} of odd lists no weights"),
    },
    pieces={
        "a new first token beside SentencePiece": (
            edited(SETTINGS, bos_token="<bos>"),
            f"'<bos>' (id {N + SPARE}) around every text",
        ),
        "tokenizer.model cut off": (
            written("tokenizer.model", lambda data: data[: len(data) // 2]),
            "tokenizer.model of odd is not a SentencePiece model",
        ),
    },
)


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


@pytest.fixture
def folder(folders: dict[str, Path], tmp_path: Path, kind: str, change: Change) -> Path:
    """Of a case."""
    return odd(folders, tmp_path, kind, change)


@pytest.mark.parametrize(("kind", "change"), SAME_IDS)
def test_texts_are_cut_as_transformers_cuts_them(folder: Path) -> None:
    ours, theirs = loaded(folder).tokenizer, transformers.AutoTokenizer.from_pretrained(folder)
    assert [ours.encode(text) for text in TEXTS] == [theirs(text)["input_ids"] for text in TEXTS]
    assert ours.template.special_names == {key: str(token) for key, token in theirs.special_tokens_map.items()}


@pytest.mark.parametrize(("kind", "change"), SAME_LOGITS)
def test_weights_are_those_that_transformers_reads(folder: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    with torch.inference_mode():
        theirs = model.eval()(torch.tensor([IDS])).logits[0]
    assert float((logits_of_rows(engine_of(folder), IDS) - theirs).abs().max()) < 1e-4


@pytest.mark.parametrize(("kind", "change"), SAME_MODEL)
def test_the_same_model_in_other_files_is_the_same(folder: Path, folders: dict[str, Path], kind: str) -> None:
    ours, plain = loaded(folder), loaded(folders[kind])
    assert ours.config == plain.config
    assert all(torch.equal(weight, plain.weights[key]) for key, weight in ours.weights.items())
    assert [ours.tokenizer.encode(text) for text in TEXTS] == [plain.tokenizer.encode(text) for text in TEXTS]


@pytest.mark.parametrize(("kind", "change", "said"), [*QUANTIZED, *FILES, *REFUSED])
def test_what_cannot_be_meant_is_refused_by_name(folder: Path, said: str) -> None:
    error = refusal(loaded, folder)
    assert error.field == "model"
    assert said in str(error)


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
