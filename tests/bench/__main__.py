"""`python -m tests.bench`: how fast the engine is beside itself uncaptured and beside `transformers`, all in one run.

Machines are noisy, so the contenders take turns, round after round, and every claim is a ratio taken within a round.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

import torch

from tests.bench.contenders import Contender, Figures, contenders
from tests.bench.startup import measure_startup

PROMPT = (
    "The animal didn't cross the street because it was too tired, and the dog that had followed it all day "
    "from the market sat down beside it to wait for rain."
)


@dataclass(frozen=True, slots=True)
class Claim:
    """`numerator` over `denominator` in decode tokens per second must reach `wanted`."""

    text: str
    numerator: str
    denominator: str
    wanted: float


CLAIMS = (
    Claim("captured ÷ uncaptured decode", "captured", "uncaptured", 0.9),
    Claim("captured ÷ transformers eager with attentions", "captured", "transformers", 3.0),
    Claim("captured ÷ captured, not compiled", "captured", "plain", 2.0),
    Claim("eight captured runs together ÷ one, not compiled", "eight", "plain", 3.0),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--rounds", type=int, default=5, help="turns each contender takes")
    parser.add_argument("--tokens", type=int, default=64, help="greedy tokens per run")
    parser.add_argument("--no-startup", action="store_true", help="leave out starting the server")
    options = parser.parse_args()
    entered = contenders(options.device, PROMPT, options.tokens)
    for contender in entered:
        contender.run()  # the first pass of each pays for allocations
    rounds: list[dict[str, Figures]] = []
    for _ in range(options.rounds):
        rounds.append({contender.name: contender.run() for contender in entered})
    print_figures(entered, rounds, options.tokens, options.device)
    print_claims(rounds)
    if not options.no_startup:
        print_startup(options.device)


def print_figures(entered: list[Contender], rounds: list[dict[str, Figures]], tokens: int, device: str) -> None:
    prompt_tokens = rounds[0]["captured"].prompt_tokens
    where = f"{device}, {torch.get_num_threads()} threads" if device == "cpu" else torch.cuda.get_device_name(device)
    print(f"\nSmolLM2-135M-Instruct fp32 · {where} · {prompt_tokens}-token prompt · {tokens} greedy tokens")
    print(f"{'':52}{'decode tokens/s':>24}{'TTFT ms':>10}{'wire B/step':>13}")
    print(f"{'':52}{'median (min to max)':>24}{'median':>10}{'median':>13}")
    for contender in entered:
        figures = [one[contender.name] for one in rounds]
        rates = [figure.decode_rate for figure in figures]
        spread = f"{statistics.median(rates):.1f} ({min(rates):.1f} to {max(rates):.1f})"
        ttft = statistics.median(figure.ttft_ms for figure in figures)
        wire = statistics.median(figure.wire_bytes_per_step for figure in figures)
        print(f"{contender.title:52}{spread:>24}{ttft:>10.0f}{f'{wire:,.0f}' if wire else '–':>13}")


def print_claims(rounds: list[dict[str, Figures]]) -> None:
    print(f"\n{'ratio within a round':52}{'median (min to max)':>24}{'wanted':>10}")
    for claim in CLAIMS:
        ratios = [one[claim.numerator].decode_rate / one[claim.denominator].decode_rate for one in rounds]
        median = statistics.median(ratios)
        spread = f"{median:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        verdict = "" if median >= claim.wanted else "  not reached"
        print(f"{claim.text:52}{spread:>24}{f'≥ {claim.wanted:g}':>10}{verdict}")


def print_startup(device: str) -> None:
    started = measure_startup(device)
    print("\nfrom process start")
    print(f"{'page served':52}{started.page_s:>24.2f} s")
    print(f"{'model ready':52}{started.ready_s:>24.2f} s")
    print(f"{'first token of an own prompt stored, after its POST':52}{started.first_token_s:>24.2f} s")


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"\nmeasured in {time.perf_counter() - began:.0f} s")
