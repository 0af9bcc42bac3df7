"""The page's own modules, asked from Python."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.page_tools import node


def answer_of(script: Path, question: bytes | Any) -> Any:
    """What a script writes as JSON of a question on its standard input: bytes as they are, all else as JSON."""
    told = question if isinstance(question, bytes) else json.dumps(question).encode()
    done = subprocess.run([*node(), str(script)], input=told, capture_output=True, check=True)
    return json.loads(done.stdout)
