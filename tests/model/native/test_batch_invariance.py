"""A row's logits have the same bits in any batch: other rows, divisions of its prompt, threads and observers.

KVSCOPE_BATCHES says how many random batches of each model (40); KVSCOPE_BATCHES_MODEL=default adds the default model.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from torch import Tensor

from kvscope.model.engine.changes import Changes
from kvscope.model.engine.engine import Engine
from kvscope.model.grouped import PLAIN, Groups
from kvscope.model.kv_cache import Sequence as Cached
from kvscope.model.native import Native
from kvscope.model.service import load_service
from kvscope.model.transformer import Transformer
from tests.support.grouped import grouped_weights, plainly
from tests.support.native_models import CHANGED, MODELS
from tests.support.tiny import prompt, tiny_config

BATCHES = int(os.environ.get("KVSCOPE_BATCHES", "40"))
REAL = os.environ.get("KVSCOPE_BATCHES_MODEL")
LENGTHS = (1, 5, 17, 40, 23, 12, 8)
EXPERTS = {"arch": "qwen3_moe", "d_expert": 32}
FORMATS = {str(dtype): dtype for dtype in PLAIN}


def tiny(name: str, native: Native) -> Engine:
    changes = {**(EXPERTS if name == "experts" else MODELS.get(name, {}))}
    kind = changes.pop("kind", Kind.Q4_1)
    config = tiny_config(**{"d_mlp": 64, **changes})
    weights = grouped_weights(config, kind)
    if name in FORMATS:
        weights = {
            slot: (Groups.plain(weight.to(FORMATS[name])),) if weight.dim() == 2 else weight
            for slot, weight in plainly(weights).items()
        }
    model = Transformer.from_weights(config, weights, products=native.products)
    engine = Engine(model, capacity=1024)
    engine.runner.steps = native.steps(model, engine.cache)
    assert engine.runner.steps is not None
    return engine


def one_by_one(engine: Engine, ids: list[int]) -> Tensor:
    """Logits [len(ids), V] of a sequence that is alone, each row in a pass of its own, on one thread."""
    torch.set_num_threads(1)
    cached = Cached()
    logits = [engine.runner.run([engine.scheduler.entry(cached, [token])]).logits for token in ids]
    engine.cache.release(cached)
    return torch.cat(logits)


class Batches:
    """Random batches of sequences that come and go. Counts the logits compared and those that differ."""

    def __init__(self, engine: Engine, texts: list[list[int]], seed: int):
        self.engine, self.texts, self.chance = engine, texts, random.Random(seed)
        self.alone = [one_by_one(engine, each) for each in texts]
        self.cached = [Cached() for _ in texts]
        self.compared = self.differing = 0

    def run(self, batches: int) -> None:
        for _ in range(batches):
            torch.set_num_threads(self.chance.randint(1, 3))
            self.next_batch()
        for sequence in self.cached:
            self.engine.cache.release(sequence)

    def next_batch(self) -> None:
        chance, entries, places = self.chance, [], []
        for text in chance.sample(range(len(self.texts)), chance.randint(1, len(self.texts))):
            if self.cached[text].length == len(self.texts[text]):
                self.engine.cache.release(self.cached[text])
            first = self.cached[text].length
            some = self.texts[text][first : first + chance.choice((1, 1, 1, 2, 3, 7, 30, 64))]
            entries.append(self.engine.scheduler.entry(self.cached[text], some, outputs=len(some)))
            places.append((text, first))
        company = [Cached() for _ in range(chance.randint(0, 3))]
        for sequence in company:
            changes = chance.choice((None, Changes("", (CHANGED[1], CHANGED[3]))))
            entry = self.engine.scheduler.entry(sequence, prompt(chance.randint(1, 9), vocab=8))
            entries.append(replace(entry, changes=changes))
        watched = {"blocks.0.attn.weights": lambda value: None} if chance.random() < 0.2 else None
        done = self.engine.runner.run(entries, watched, capture=chance.random() < 0.3)
        assert done.by == "native"
        for place, index in enumerate(done.order):
            if index < len(places):
                text, first = places[index]
                rows = torch.stack([each.logits for each in done.distributions_of(place)])
                expected = self.alone[text][first : first + len(rows)]
                self.compared += rows.numel()
                self.differing += int((rows.view(torch.int32) != expected.view(torch.int32)).sum())
        for sequence in company:
            self.engine.cache.release(sequence)


@pytest.mark.parametrize(
    "name", ["llama", "mistral", "qwen3", "gemma3", "gpt2", "groups of 8 bits", "heads of 6", "experts", *FORMATS]
)
def test_no_bit_of_a_rows_logits_depends_on_its_batch(name: str, native: Native) -> None:
    engine = tiny(name, native)
    batches = Batches(engine, [prompt(length, seed=length) for length in LENGTHS], seed=len(name))
    batches.run(BATCHES)
    print(f"{BATCHES:,} batches of {name}: {batches.differing:,} of {batches.compared:,} logits differ")
    assert batches.differing == 0
    assert batches.compared > BATCHES


@pytest.mark.skipif(REAL is None, reason="KVSCOPE_BATCHES_MODEL names no model")
def test_no_bit_of_the_default_models_logits_depends_on_its_batch() -> None:
    service = load_service(None, "cpu", "float32", lambda progress: None, compiled=True)
    vocab = service.engine.transformer.config.vocab
    batches = Batches(service.engine, [prompt(length, length, vocab) for length in LENGTHS], seed=0)
    batches.run(BATCHES)
    print(f"{BATCHES:,} batches: {batches.differing:,} of {batches.compared:,} logits differ")
    assert batches.differing == 0
