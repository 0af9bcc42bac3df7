"""`python -m tools.bench.smaller`: measures what the default model loses with K and V stored smaller, on twenty
prompts.

Each prompt is answered greedily; then its tokens are computed with each form of cache. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass

from kvscope.model.activations.smaller import Loss, compared
from kvscope.model.checkpoint import load
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import StepRecord
from kvscope.model.settings import Sampling
from kvscope.model.small_cache import Form
from kvscope.model.transformer import Transformer

PROMPTS = (
    "The animal didn't cross the street because it was too",
    "Once upon a time, in a small village by the sea,",
    "The capital of France is",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return",
    "Water boils at a temperature of",
    "1, 2, 4, 8, 16, 32,",
    "Dear Sir or Madam, I am writing to complain about",
    "The three primary colours are",
    "In 1969, for the first time, people",
    "SELECT name, COUNT(*) FROM orders WHERE",
    "My grandmother always said that the best bread is",
    "A transformer reads all tokens of a prompt at once, and then",
    "cat: Katze, dog: Hund, house:",
    "To be, or not to be, that is",
    "The doctor told the nurse that she",
    "<html>\n<head>\n<title>",
    "If it rains tomorrow, we will stay at home and",
    "Photosynthesis is the process by which plants",
    "Alice gave Bob the book because he",
    "The stock market fell sharply on Monday after",
)


@dataclass(frozen=True, slots=True)
class Row:
    form: Form
    losses: list[Loss]
    exact: bool
    """Whether the tensors had the bytes of the formula, each time."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.smaller", description=__doc__)
    parser.add_argument("--tokens", type=int, default=24, help="greedy tokens per prompt")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    options = parser.parse_args()
    checkpoint = load(None, lambda _: None)
    config = checkpoint.config
    transformer = Transformer.from_weights(config, checkpoint.weights, options.device)
    runs = [
        answered(transformer, checkpoint.tokenizer.encode(prompt), options.tokens, options.device) for prompt in PROMPTS
    ]
    heads = config.kv_heads
    forms = [Form("bfloat16", heads), Form("int8", heads), Form("int4", heads), Form("float32", 1)]
    print(
        "| stored as | B a token | bytes = formula | KL, median | KL, most | attention, most | same text | parts at |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for form in forms:
        losses = [compared(transformer, ids, options.tokens, form, options.device) for ids in runs]
        size = form.position_bytes(config)
        exact = all(loss.bytes == len(ids) * size for loss, ids in zip(losses, runs, strict=True))
        print(line(Row(form, losses, exact), size))


def answered(transformer: Transformer, ids: list[int], count: int, device: str) -> list[int]:
    """Returns the prompt's tokens and those that a greedy run chose after them, except the last."""
    engine = Engine(transformer, capacity=512, device=device)
    engine.admit("run", ids, Sampling(), count)
    found = list(ids)
    while engine.busy:
        found += [record.choice.token for record in engine.advance() if isinstance(record, StepRecord)]
    return found[:-1]


def line(row: Row, size: int) -> str:
    kls = [statistics.mean(loss.kl) for loss in row.losses]
    changes = [abs(loss.furthest.was - loss.furthest.became) for loss in row.losses]
    parts = [next((at for at, (was, now) in enumerate(loss.likeliest) if was != now), None) for loss in row.losses]
    parted = sorted(at for at in parts if at is not None)
    where = f"steps {parted[0]} to {parted[-1]}, median {statistics.median(parted):g}" if parted else "nowhere"
    name = f"{row.form.dtype}, {row.form.kv_heads} KV head{'' if row.form.kv_heads == 1 else 's'}"
    cells = (
        *(name, f"{size:,}", "yes" if row.exact else "NO", f"{statistics.median(kls):.2g}", f"{max(kls):.2g}"),
        *(f"{max(changes):.3f}", f"{parts.count(None)} of {len(parts)}", where),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
