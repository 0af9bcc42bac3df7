"""The benches say who did not take part and why, and which claims were reached. What they measure is not tested."""

import tomllib
from pathlib import Path

import pytest

from tools.bench.contenders import Figures
from tools.bench.llama import INSTALL, LlamaCpp
from tools.bench.ratios import Claim, print_claims

ROOT = Path(__file__).resolve().parents[2]


def one_round(*names: str) -> dict[str, Figures]:
    return {name: Figures(prompt_tokens=34, ttft_ms=50, decode_rate=20, wire_bytes_per_step=0) for name in names}


def test_what_is_said_to_install_it_does() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert INSTALL == "pip install -e '.[bench]'"
    assert any(asked.startswith("llama-cpp-python") for asked in extras["bench"])


def test_a_claim_is_the_median_of_the_ratios_within_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = [{"new": 10.0, "old": 5.0}, {"new": 9.0, "old": 3.0}, {"new": 4.0, "old": 4.0}]
    print_claims(rounds, [Claim("faster", "new", "old", at_least=2), Claim("slower", "new", "old", at_most=1)])
    faster, slower = capsys.readouterr().out.splitlines()[-2:]
    assert faster == "| faster | 2.00 (1.00 to 3.00) | ≥ 2 |"
    assert slower == "| slower | 2.00 (1.00 to 3.00) | ≤ 1, not reached |"


STAND_IN = """
import time

class Llama:
    def __init__(self, path, n_ctx, n_threads, **others):
        assert (path, n_ctx, n_threads) == ("model.gguf", 64, 2)
        self.cached = False

    def reset(self):
        self.cached = False

    def generate(self, ids, temp):
        assert not self.cached and ids == [1, 2] and temp == 0
        self.cached = True
        time.sleep(0.02)
        for token in range(4):
            yield token
        raise AssertionError("more tokens were asked for than wanted")
"""


@pytest.mark.processes
def test_llama_cpp_answers_each_turn_from_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "llama_cpp.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    model = LlamaCpp(Path("model.gguf"), threads=2, positions=64)
    for _ in range(2):
        first, rest = model.answer([1, 2], 4)
        assert first >= 0.02
        assert rest >= 0
