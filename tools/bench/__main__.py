"""`python -m tools.bench`: compares the engine's speed with `transformers`, llama.cpp and itself.

Machines are noisy, so the contenders take turns, round after round, and every claim is a ratio taken within a round.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import torch

from kvscope.model.api import WeightDtype
from kvscope.model.packaged import DEFAULT, PACKAGED
from tools.bench.contenders import TITLES, Contender, Figures, contenders
from tools.bench.llama import INSTALL
from tools.bench.ratios import Claim, print_claims, print_table, spread

PROMPT = (
    "The animal didn't cross the street because it was too tired, and the dog that had followed it all day "
    "from the market sat down beside it to wait for rain."
)
CLAIMS = (
    Claim("captured ÷ transformers, eager, with attentions", "captured", "transformers", at_least=8.0),
    Claim("captured ÷ llama.cpp", "captured", "llama.cpp", at_least=1.4),
    Claim("captured ÷ uncaptured", "captured", "uncaptured", at_least=0.95),
    Claim("captured ÷ captured, without native code", "captured", "plain", at_least=4.0),
    Claim("eight at once ÷ eight at once, without native code", "eight", "eight plain", at_least=2.0),
)
"""What is counted: decode tokens per second."""
INSTRUCTIONS = ("avx2", "fma3", "avx512_f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16", "neon")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("--model", default=DEFAULT.name, choices=PACKAGED)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N")
    parser.add_argument("--dtype", default="float32", choices=get_args(WeightDtype), help="of KVScope's weights")
    parser.add_argument("--rounds", type=int, default=5, help="turns each contender takes")
    parser.add_argument("--tokens", type=int, default=64, help="greedy tokens per run")
    options = parser.parse_args()
    model, dtype = PACKAGED[options.model], getattr(torch, options.dtype)
    entered = contenders(model, options.device, dtype, PROMPT, options.tokens)
    entered = [contender for contender in entered if runs(contender)]
    rounds = [{contender.name: contender.run() for contender in entered} for _ in range(options.rounds)]
    device, threads = options.device, torch.get_num_threads()
    where = f"{processor()}, {threads} threads" if device == "cpu" else torch.cuda.get_device_name(device)
    prompt = rounds[0]["captured"].prompt_tokens
    asked = f"{prompt}-token prompt · {options.tokens} greedy tokens"
    print(f"\n{model.name} · {where} · weights in {options.dtype} · {asked}")
    absent = f"did not run; `{INSTALL}`" if device == "cpu" else "raced on the CPU only"
    print_table(("", "tokens/s: median (min to max)", "first token, ms", "shown, B/step"), rows(rounds, absent))
    rates = [{name: figures.decode_rate for name, figures in one.items()} for one in rounds]
    print_claims(rates, CLAIMS)


def runs(contender: Contender) -> bool:
    """Runs a contender once, since its first pass allocates memory. Returns False, and says so, if its process ends."""
    try:
        contender.run()
    except (EOFError, BrokenPipeError):
        print(f"{TITLES[contender.name]}: its process died; left out. What it said is above.")
        return False
    return True


def processor() -> str:
    """Returns the processor's name and the vector instructions that torch finds on it."""
    found = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    name = found[0].partition(": ")[2] if found else platform.processor()
    features = torch.cpu.get_capabilities()
    has = [feature for feature in INSTRUCTIONS if features.get(feature)]
    return f"{name} ({', '.join(has)})"


def rows(rounds: Sequence[dict[str, Figures]], absent: str) -> Iterator[tuple[str, ...]]:
    """Yields a row for each contender; `absent`: why one did not take part."""
    for name, title in TITLES.items():
        if name not in rounds[0]:
            yield title, absent, "–", "–"
            continue
        took = [one[name] for one in rounds]
        first = statistics.median(figures.ttft_ms for figures in took)
        wire = statistics.median(figures.wire_bytes_per_step for figures in took)
        rates = spread([figures.decode_rate for figures in took])
        yield title, rates, f"{first:.0f}", f"{wire:,.0f}" if wire else "–"


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"\nmeasured in {time.perf_counter() - began:.0f} s")
