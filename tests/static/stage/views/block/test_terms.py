"""What the page says a number inside a block is made of adds up to the number that the engine gave."""

from __future__ import annotations

import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load

from kvscope.model.activations.answers import block_values
from kvscope.model.activations.weights import weight_row
from kvscope.model.checkpoint import Checkpoint
from kvscope.model.checkpoint import load as load_checkpoint
from kvscope.model.engine.engine import Engine
from kvscope.model.service.info import describe
from kvscope.model.transformer import Transformer
from tests.support.node import answer_of
from tests.support.tiny import prompt, tiny_checkpoint, tiny_engine

SCRIPT = Path(__file__).parent / "terms-answers.js"
CELLS, BLOCKS = 200, 8
OF_A_HEAD = ("attn.q", "attn.k", "attn.v", "attn.q_raw", "attn.k_raw", "attn.q_rot", "attn.k_rot", "attn.mixed")
OF_A_ROW = (
    *("attn.normed", "attn.change", "resid_mid", "resid_out"),
    *("mlp.normed", "mlp.gate", "mlp.raised", "mlp.hidden", "mlp.change"),
)


def cells(engine: Engine, ids: list[int], count: int) -> list[dict[str, Any]]:
    """`count` numbers of random operations and places, in a few random blocks, with what the engine gave."""
    drawn = random.Random(len(ids))
    found: list[dict[str, Any]] = []
    config = engine.transformer.config
    places = [(drawn.randrange(config.layers), drawn.randrange(3, len(ids))) for _ in range(BLOCKS)]
    blocks = {place: block_values(engine, ids[: place[1] + 1], place[0]) for place in places}
    while len(found) < count:
        layer, query = drawn.choice(places)
        values = blocks[layer, query]
        tensors = load(values)
        name = drawn.choice([name for name in (*OF_A_HEAD, *OF_A_ROW, "attn.scores") if name in tensors])
        part, index, key = None, drawn.randrange(tensors[name].shape[-1]), None
        where: tuple[int, ...] = (index,)
        if tensors[name].dim() == 2:
            part = drawn.randrange(len(tensors[name]))
            where = (part, index)
        if name == "attn.scores":
            index, key = None, index
        at = {"tensor": name, "part": part, "index": index, "key": key}
        found.append({"layer": layer, "query": query, "values": values, "at": at, "is": float(tensors[name][where])})
    return found


def answered(model: dict[str, Any], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`model`: as a log describes it."""
    places = list({(each["layer"], each["query"]): each["values"] for each in found}.items())
    blocks = [
        {"model": model, "query": query, "layer": layer, "values": b64encode(values).decode()}
        for (layer, query), values in places
    ]
    numbers = {place: number for number, (place, _) in enumerate(places)}
    asked = [
        {"block": numbers[each["layer"], each["query"]], "at": each["at"]}
        | ({"learned": each["learned"]} if "learned" in each else {})
        for each in found
    ]
    answers: list[dict[str, Any]] = answer_of(SCRIPT, {"blocks": blocks, "cells": asked})
    return answers


def furthest(checkpoint: Checkpoint, transformer: Transformer, found: list[dict[str, Any]]) -> float:
    """The largest difference between terms and number, in shares of the sum of the absolute terms."""
    model = describe(checkpoint, transformer, "cpu")
    for cell, answer in zip(found, answered(model, found), strict=True):
        if request := answer.get("request"):
            row = weight_row(transformer, cell["layer"], request["of"], request["index"])
            cell["learned"] = b64encode(row).decode()
    answers = answered(model, found)
    return max(
        abs(answer["sum"] - cell["is"]) / max(answer["size"], 1e-12)
        for cell, answer in zip(found, answers, strict=True)
    )


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "gpt2", "gemma2", "gpt_neox"])
def test_the_terms_of_random_numbers_add_up(arch: str) -> None:
    engine = tiny_engine(arch)
    found = cells(engine, prompt(12), CELLS)
    named = {cell["at"]["tensor"] for cell in found}
    expected = {*OF_A_HEAD, *OF_A_ROW, "attn.scores"}
    expected -= {"mlp.gate"} if arch in ("gpt2", "gpt_neox") else set()
    expected -= set() if arch == "qwen3" else {"attn.q_raw", "attn.k_raw"}
    assert named == expected
    assert furthest(tiny_checkpoint(arch), engine.transformer, found) < 1e-5


@pytest.mark.real
@pytest.mark.timeout(300)
def test_the_terms_of_random_numbers_of_the_default_model_add_up() -> None:
    checkpoint = load_checkpoint(None, lambda _: None)
    transformer = Transformer.from_weights(checkpoint.config, checkpoint.weights)
    ids = checkpoint.tokenizer.encode("The animal didn't cross the street because it was too tired")
    assert furthest(checkpoint, transformer, cells(Engine(transformer, capacity=256), ids, CELLS)) < 1e-5
