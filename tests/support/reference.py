"""A GGUF file as `transformers` reads it, the prompts that it is compared on, and what an engine gives of one."""

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from kvscope.model.engine.engine import Engine

GREEDY_TOKENS = 64
CODE = 'def fib(n: int) -> int:\n    """Fibonacci."""\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\nprint('
PROMPTS = {
    "one token": "Hello",
    "500 tokens": " ".join(f"On day {day} the keeper wrote what the sea had brought." for day in range(1, 60)),
    "code": CODE,
    "non-Latin": "Москва — столица России. 東京は日本の首都です。 القاهرة عاصمة",
    "emoji": "I feel 😀🎉👩‍👩‍👧‍👦 today because 🇫🇷",
    "chat": "Why is the sky blue?",
    "whitespace": "   \n\n\t  ",
    "digits": "31415926535897932384626433832795",
    "plain": "The animal didn't cross the street because it was too",
}


class Reference:
    """The model and tokenizer as `transformers` reads them."""

    def __init__(self, path: Path):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
            self.model = AutoModelForCausalLM.from_pretrained(
                path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="eager"
            ).eval()

    def encode(self, name: str) -> list[int]:
        if name == "chat":
            messages = [{"role": "user", "content": PROMPTS[name]}]
            text = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        return list(self.tokenizer(PROMPTS[name])["input_ids"])

    @torch.inference_mode()
    def prefill(self, ids: list[int]) -> tuple[Tensor, list[Tensor]]:
        """Logits [V] of the last row, and attention [H, Q, K] of every layer."""
        return _prefill(self.model, ids)

    @torch.inference_mode()
    def prefill_in_float64(self, ids: list[int]) -> tuple[Tensor, list[Tensor]]:
        """The same, all of it computed in float64 from the same float32 weights."""
        with float64_for_float32():
            return _prefill(self._in_float64, ids)

    @cached_property
    def _in_float64(self) -> Any:
        model = copy.deepcopy(self.model).double()
        with float64_for_float32():
            # Its frequencies are no weights: they are computed, in float32 so far.
            model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
        return model

    @torch.inference_mode()
    def largest(self, ids: list[int], count: int) -> list[int]:
        """The largest logit of each of the last `count` rows: what it would choose after each."""
        return list(map(int, self.model(torch.tensor([ids])).logits[0, -count:].argmax(-1)))


def _prefill(model: Any, ids: list[int]) -> tuple[Tensor, list[Tensor]]:
    out = model(torch.tensor([ids]), output_attentions=True)
    return out.logits[0, -1], [attention[0] for attention in out.attentions]


@contextmanager
def float64_for_float32() -> Iterator[None]:
    """`transformers` computes norms, softmax and rotary angles in float32 whatever a model's dtype; here in float64."""
    with (
        patch.multiple(torch, float=torch.float64, float32=torch.float64),
        patch.object(Tensor, "float", Tensor.double),
    ):
        yield


def prefill(engine: Engine, ids: list[int]) -> tuple[Tensor, list[Tensor]]:
    """Logits [V] of the last row and attention [H, Q, K] of every layer, from one pass over an empty cache."""
    layers: list[Tensor] = []
    final: list[Tensor] = []
    keep: dict[str, Callable[[Tensor], None]] = {
        f"blocks.{layer}.attn.weights": lambda weights: layers.append(weights[0].flatten(0, 1))
        for layer in range(engine.transformer.config.layers)
    }
    with engine.replay(ids, 0, {**keep, "final": final.append}):
        pass
    with torch.inference_mode():
        return engine.transformer.lm_head(final[0][-1:])[0], layers


def farthest(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference of two attentions [H, Q, K], over all layers."""
    return max(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True))
