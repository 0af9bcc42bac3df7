"""Tiny random models, and what tests of several modules ask of an engine."""

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers
from torch import Tensor

from kvscope.model.checkpoint import Checkpoint, Tokenizer
from kvscope.model.checkpoint.layout import slots
from kvscope.model.checkpoint.tokenizer import Extras, byte_alphabet, byte_level
from kvscope.model.config import ModelConfig
from kvscope.model.engine.batch import Entry, make_batch
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import CloseRecord, Record, RowsRecord, StepRecord
from kvscope.model.kv_cache import KVCache, Sequence
from kvscope.model.settings import Sampling
from kvscope.model.transformer import Transformer

GREEDY = Sampling()
SAMPLED = Sampling(strategy="sample", temperature=1.5, top_k=50, top_p=0.95, seed=11)
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}<|im_start|>"
_SIZES = {"layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 8, "d": 32, "d_mlp": 48, "vocab": 259, "context": 512}
_OF_ARCH: dict[str, dict[str, Any]] = {
    "llama": {"tied": True},
    "mistral": {"window": 9},
    "qwen2": {"qkv_bias": True},
    "qwen3": {"qk_norm": True, "head_dim": 16},
    "gemma3_text": {
        "head_dim": 16,
        "mlp": "geglu",
        "qk_norm": True,
        "post_norms": True,
        "embedding_scale": 32**0.5,
        "score_width": 25,
        "rope_theta": 1e6,
        "local_rope_theta": 1e4,
        "window": 9,
        "global_layers": (1,),
        "tied": True,
    },
    "gemma2": {
        "head_dim": 16,
        "mlp": "geglu",
        "post_norms": True,
        "embedding_scale": 32**0.5,
        "score_width": 25,
        "score_cap": 2.0,
        "logit_cap": 3.0,
        "window": 9,
        "global_layers": (1,),
        "tied": True,
    },
    "gpt_neox": {
        "kv_heads": 4,
        "rotary_dim": 2,
        "norm": "layer",
        "mlp": "gelu_erf",
        "parallel": True,
        "qkv_bias": True,
        "out_bias": True,
        "mlp_bias": True,
    },
    "qwen3_moe": {
        "head_dim": 16,
        "qk_norm": True,
        "layers": 3,
        "experts": 5,
        "experts_chosen": 2,
        "d_expert": 24,
        "shares_normalized": True,
        "dense_layers": (1,),
    },
    "gpt2": {
        "kv_heads": 4,
        "norm": "layer",
        "mlp": "gelu",
        "positions": "learned",
        "qkv_bias": True,
        "out_bias": True,
        "mlp_bias": True,
        "tied": True,
    },
}
ARCHS = tuple(arch for arch, own in _OF_ARCH.items() if "experts" not in own)
"""Those whose MLPs are one part."""


def tiny_config(arch: str = "llama", **changes: Any) -> ModelConfig:
    """2 layers, 4 heads of width 8 over 2 K/V heads, with what makes each architecture itself."""
    return ModelConfig(arch=arch, **{**_SIZES, **_OF_ARCH[arch], **changes})


def random_weights(config: ModelConfig, dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    """Always the same for the same config. Wide enough that attention is uneven and the best logits are far apart.

    `dtype`: of matrices and the embedding.
    """
    generator = torch.Generator().manual_seed(5)
    weights = {slot: torch.randn(slot.shape, generator=generator).mul_(0.3) for slot in slots(config)}
    return {slot.name: weight.to(dtype) if slot.matrix else weight for slot, weight in weights.items()}


def tiny_model(arch: str = "llama", dtype: torch.dtype = torch.float32, **changes: Any) -> Transformer:
    """A model of its own, for a test that changes it."""
    config = tiny_config(arch, **changes)
    return Transformer.from_weights(config, random_weights(config, dtype))


@cache
def shared_model(arch: str = "llama", dtype: torch.dtype = torch.float32, **changes: Any) -> Transformer:
    """The same model for every test that only runs it."""
    return tiny_model(arch, dtype, **changes)


def tiny_engine(
    arch: str = "llama", capacity: int = 1024, dtype: torch.dtype = torch.float32, **options: Any
) -> Engine:
    """An engine over the shared model."""
    return Engine(shared_model(arch, dtype), capacity=capacity, **options)


def tiny_tokenizer(eos: tuple[int, ...] = (0,), template: str | None = TEMPLATE) -> Tokenizer:
    """One token per byte after three special ones: 259 ids."""
    vocab = {name: index for index, name in enumerate([*SPECIALS, *byte_alphabet()])}
    inner = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(list(SPECIALS))
    return Tokenizer(inner, Extras({}, template, eos), byte_level)


def tiny_checkpoint(
    arch: str = "llama", *, eos: tuple[int, ...] = (), dtype: torch.dtype = torch.float32, **changes: Any
) -> Checkpoint:
    config = tiny_config(arch, **changes)
    return Checkpoint(config, random_weights(config, dtype), tiny_tokenizer(eos), "tiny", "0" * 64, "tiny.gguf")


def prompt(length: int, seed: int = 0, vocab: int = 259) -> list[int]:
    """Random ids."""
    return torch.randint(0, vocab, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def whole_logits(model: Transformer, ids: list[int]) -> Tensor:
    """Logits [len(ids), V] of every row, from one pass over an empty cache of its own."""
    pool, sequence = KVCache(model.config, len(ids) // 16 + 1), Sequence()
    entry = Entry(ids, 0, pool.extend(sequence, len(ids)), pool.slots(sequence))
    batch, _ = make_batch([entry], model.config.window)
    return model(replace(batch, out_rows=torch.arange(len(ids))), pool)


def greedy(model: Transformer, ids: list[int], count: int) -> list[int]:
    """The `count` tokens that follow `ids`, every one from a pass over the whole text."""
    ids = list(ids)
    for _ in range(count):
        ids.append(int(whole_logits(model, ids)[-1].argmax()))
    return ids[-count:]


def advance_all(engine: Engine) -> list[Record]:
    """Every record until no run is ready."""
    records: list[Record] = []
    while engine.busy:
        records += engine.advance()
    return records


def steps(records: list[Record], run: str) -> list[StepRecord]:
    return [record for record in records if isinstance(record, StepRecord) and record.run == run]


def rows(records: list[Record], run: str) -> list[RowsRecord]:
    return [record for record in records if isinstance(record, RowsRecord) and record.run == run]


def tokens(records: list[Record], run: str) -> list[int]:
    """The tokens a run chose."""
    return [record.choice.token for record in steps(records, run)]


def steps_of(
    engine: Engine, ids: list[int], new: int, sampling: Sampling = GREEDY, key: str = "a", **options: Any
) -> list[StepRecord]:
    """The steps of a run that is admitted now, computed with all others until no run is ready."""
    engine.admit(key, ids, sampling, new, **options)
    return steps(advance_all(engine), key)


def answer(
    engine: Engine, ids: list[int], new: int, sampling: Sampling = GREEDY, key: str = "a", **options: Any
) -> list[int]:
    """The tokens of such a run."""
    return [step.choice.token for step in steps_of(engine, ids, new, sampling, key, **options)]


def furthest(step: StepRecord, logits: Tensor) -> float:
    """The largest difference of a step's listed logits from those of [V]."""
    ids = torch.from_numpy(step.candidates.ids).long()
    return float((torch.from_numpy(step.candidates.logits) - logits[ids]).abs().max())


def closes(records: list[Record]) -> dict[str, CloseRecord]:
    """How each run ended."""
    return {record.run: record for record in records if isinstance(record, CloseRecord)}


def forget_all(engine: Engine) -> None:
    """Nothing of ended runs stays in the cache."""
    for key in list(engine.scheduler.kept):
        engine.scheduler.forget(key)


def check_cache(engine: Engine) -> None:
    """Every block is either free or counted once for each table it stands in."""
    held = [run.sequence for run in engine.scheduler.runs.values()] + [
        each.sequence for each in engine.scheduler.kept.values()
    ]
    held += [each.sequence for search in engine.scheduler.searches.values() for each in search.live]
    counted = Counter(block for sequence in held for block in sequence.table)
    assert engine.cache.refcounts == [counted[block] for block in range(engine.cache.blocks)]
    assert sorted(engine.cache._free) == [block for block in range(engine.cache.blocks) if not counted[block]]
    for sequence in held:
        assert len(sequence.table) == -(-sequence.length // 16)
