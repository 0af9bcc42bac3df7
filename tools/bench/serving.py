"""`python -m tools.bench.serving`: measures each of the engine's abilities on the same requests.

Every line is one workload whose rounds differ in one setting. Texts are compared token by token. Prints a table in
Markdown.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kvscope.model.checkpoint import Checkpoint, load
from kvscope.model.engine.engine import Engine
from kvscope.model.kv_cache import BLOCK_SIZE
from kvscope.model.log import schema
from kvscope.model.serving.request import Tokenized
from kvscope.model.serving.workload import Workload
from kvscope.model.settings import Drafting, ServingSettings
from kvscope.model.transformer import Transformer

SYSTEM = (
    "You are the helper of a small public library in a quiet town by a river. Answer in one short, friendly sentence, "
    "and never invent a title. The library is open from nine to six on weekdays and from ten to two on Saturdays. "
    "Books may be kept for four weeks and films for one. Children under twelve need a grown-up with them. "
)
QUESTIONS = (
    "When do you open?",
    "How long may I keep a book?",
    "Name a book about dogs.",
    "Is there a room for children?",
    "May I bring my dog?",
    "Tell me a joke about books.",
    "Where is the nearest station?",
    "Who wrote Moby Dick?",
)
KINDS = {
    "text that repeats": "Copy this list three times: red, green, blue, yellow, black, white, orange, purple.",
    "code": "Write a Python class with a getter and a setter for each of name, age, city and country.",
    "a story": "Tell me a story about a lighthouse keeper who was afraid of the dark.",
}
PLAIN = ServingSettings(at_once=16, blocks=256, chunk=512, sharing=False)


def served(**otherwise: Any) -> ServingSettings:
    """Returns the plain settings, changed by these."""
    return PLAIN.model_copy(update=otherwise)


@dataclass
class Round:
    passes: list[schema.Pass] = field(default_factory=list)
    ms: float = 0

    @property
    def texts(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for each in self.passes:
            for member in each.members:
                if member.token:
                    found.setdefault(member.request, []).extend(t.id for t in (member.token, *member.more))
        return found

    @property
    def tokens_per_second(self) -> float:
        return 1000 * sum(map(len, self.texts.values())) / self.ms

    def prefill_ms(self, request: int) -> float:
        """Returns the wall time of the passes that computed the request's prompt."""
        return sum(
            each.ms
            for each in self.passes
            if any(member.request == request and member.phase == "prefill" for member in each.members)
        )

    def longest_wait(self, but: int) -> float:
        """Returns the longest time between two tokens of any request other than `but`."""
        times: dict[int, list[float]] = {}
        for each in self.passes:
            for member in each.members:
                if member.token and member.request != but:
                    times.setdefault(member.request, []).append(each.start_ms + each.ms)
        return max(b - a for ends in times.values() for a, b in pairwise(ends))


class Bench:
    """Serves workloads one after another on one engine."""

    def __init__(self, checkpoint: Checkpoint, device: str):
        self.tokenizer = checkpoint.tokenizer
        transformer = Transformer.from_weights(checkpoint.config, checkpoint.weights, device)
        self.engine = Engine(transformer, capacity=8192, eos=checkpoint.tokenizer.eos, device=device)

    def ids(self, question: str, system: str = "") -> list[int]:
        """Returns the tokens of a question in the model's chat format."""
        messages = [{"role": "system", "content": system}] if system else []
        text = self.tokenizer.chat([*messages, {"role": "user", "content": question}])
        return self.tokenizer.encode(text, special=True)

    def serve(self, requests: Sequence[Tokenized], *settings: ServingSettings) -> list[Round]:
        """Serves the requests in a round for each of the settings. Compares the texts of each round with those of the
        first.
        """
        workload = Workload(
            "bench", self.engine, requests, settings, lambda token: schema.Token(**self.tokenizer.token(token))
        )
        rounds = [Round() for _ in settings]
        while not workload.over:
            told = workload.prepare()
            for record in self.engine.advance():
                workload.take(record)  # type: ignore[arg-type]
            if not workload.over:
                told += workload.record_passes(self.engine.passes)
            for each in told:
                if isinstance(each, schema.Pass):
                    rounds[each.round].passes.append(each)
                elif isinstance(each, schema.Round):
                    rounds[each.round].ms = each.ms
        for number, each in enumerate(rounds):
            if each.texts != rounds[0].texts:
                raise SystemExit(f"round {number} gave another text than round 0")
        return rounds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.serving", description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="of each line, whose median is told")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    options = parser.parse_args()
    bench = Bench(load(None, lambda _: None), options.device)
    bench.serve([Tokenized(bench.ids("Hello"), 4, 0, None)], PLAIN)
    print("| | before | after | ratio |\n|---|---|---|---|")
    for line in (throughput, batching, interference, prefix, waste, speculation):
        for name, *figures in line(bench, options.times):
            print(f"| {name} | " + " | ".join(figures) + " |", flush=True)


Line = tuple[str, ...]


def throughput(bench: Bench, times: int) -> Iterable[Line]:
    """Measures the tokens per second for several numbers of requests at once."""
    requests = [Tokenized(bench.ids(question), 24, 0, None) for question in (*QUESTIONS, *QUESTIONS)]
    counts = (1, 2, 4, 8, 16)
    settings = [served(at_once=count) for count in counts]
    takes = [[each.tokens_per_second for each in bench.serve(requests, *settings)] for _ in range(times)]
    alone = statistics.median(take[0] for take in takes)
    for place, count in enumerate(counts):
        rate = statistics.median(take[place] for take in takes)
        yield f"tokens/s, 16 requests, {count} at once", f"{alone:.1f}", f"{rate:.1f}", f"{rate / alone:.2f}"


def batching(bench: Bench, times: int) -> Iterable[Line]:
    """Compares ways to serve requests of different lengths in batches of four."""
    requests = [Tokenized(bench.ids(q), (8, 48)[at % 2], 0, None) for at, q in enumerate((*QUESTIONS, *QUESTIONS))]
    settings = (served(at_once=4, batching="static"), served(at_once=4))
    yield _compared(
        "tokens/s, 4 at once, static → continuous",
        [[each.tokens_per_second for each in bench.serve(requests, *settings)] for _ in range(times)],
        ".1f",
    )


def interference(bench: Bench, times: int) -> Iterable[Line]:
    """Measures how a long prompt delays four requests that are being answered."""
    long = bench.ids("Summarise this: " + "The library opened in 1904 and has moved twice since then. " * 28)
    requests = [Tokenized(bench.ids(q), 40, 0, None) for q in QUESTIONS[:4]] + [Tokenized(long, 4, 400, None)]
    settings = (PLAIN, served(chunk=32))
    yield _compared(
        f"longest wait of others, ms, a prompt of {len(long)} tokens whole → by 32",
        [[each.longest_wait(4) for each in bench.serve(requests, *settings)] for _ in range(times)],
        ".0f",
    )


def prefix(bench: Bench, times: int) -> Iterable[Line]:
    """Measures a second request with the same beginning."""
    ids = [bench.ids(question, SYSTEM * 4) for question in QUESTIONS[:2]]
    hit = next(at for at, (a, b) in enumerate(zip(*ids, strict=False)) if a != b)
    requests = [Tokenized(ids[0], 2, 0, None), Tokenized(ids[1], 2, 1, None)]
    settings = (served(at_once=1), served(at_once=1, sharing=True))
    takes = [[each.prefill_ms(1) for each in bench.serve(requests, *settings)] for _ in range(times)]
    yield _compared(f"ms to read a prompt of {len(ids[1])} tokens, {hit} of them shared", takes, ".0f")
    saved = statistics.median(1 - after / before for before, after in takes)
    share = hit / len(ids[1])
    yield "part of its time saved ÷ part of its tokens shared", f"{saved:.3f}", f"{share:.3f}", f"{saved / share:.2f}"


def waste(bench: Bench, times: int) -> Iterable[Line]:
    """Measures the share of held rows that are not filled, over all passes; and the same by the formula."""
    requests = [Tokenized(bench.ids(question), 64, 40 * at, None) for at, question in enumerate(QUESTIONS)]
    reserved, paged = bench.serve(requests, served(reserve=True), PLAIN)
    most = [request.most_positions for request in requests]
    formulas = (lambda number, state: most[number], lambda number, state: state.positions)
    measured = [_waste(each, lambda _, state: len(state.table) * BLOCK_SIZE) for each in (reserved, paged)]
    by_formula = [
        _waste(each, lambda number, state, of=positions: -(-of(number, state) // BLOCK_SIZE) * BLOCK_SIZE)
        for each, positions in zip((reserved, paged), formulas, strict=True)
    ]
    yield "waste, %, reserved → paged, off the block tables", *(f"{each:.2f}" for each in measured), _ratio(measured)
    yield "waste, %, by the formula", *(f"{each:.2f}" for each in by_formula), _ratio(by_formula)


def _waste(each: Round, held_by: Callable[[int, schema.RequestState], int]) -> float:
    held = filled = 0
    for one in each.passes:
        for number, state in enumerate(one.requests):
            if state.state == "running":
                held += held_by(number, state)
                filled += state.positions
    return 100 * (held - filled) / held


def speculation(bench: Bench, times: int) -> Iterable[Line]:
    """Measures guessing tokens and checking them in one pass, on three kinds of text."""
    layers = bench.engine.transformer.config.layers
    for kind, question in KINDS.items():
        requests = [Tokenized(bench.ids(question), 64, 0, None)]
        drafts = {
            "looked up": Drafting(tokens=6),
            f"by {layers * 9 // 10} of {layers} layers": Drafting(tokens=3, layers=layers * 9 // 10),
        }
        settings = [PLAIN, *(served(draft=draft) for draft in drafts.values())]
        takes = [bench.serve(requests, *settings) for _ in range(times)]
        for place, name in enumerate(drafts, start=1):
            decodes = [m for each in takes[0][place].passes for m in each.members if m.phase == "decode"]
            right = f"{sum(len(m.more) for m in decodes)} of {sum(m.guessed for m in decodes)} guesses right"
            yield _compared(
                f"tokens/s, {kind}, guesses {name} ({right})",
                [[rounds[0].tokens_per_second, rounds[place].tokens_per_second] for rounds in takes],
                ".1f",
            )


def _compared(name: str, takes: list[list[float]], form: str) -> Line:
    before, after = (statistics.median(take[place] for take in takes) for place in (0, 1))
    return name, format(before, form), format(after, form), _ratio((before, after))


def _ratio(figures: Sequence[float]) -> str:
    return f"{figures[1] / figures[0]:.2f}"


if __name__ == "__main__":
    main()
