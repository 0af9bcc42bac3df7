"""KVScope: watch a real transformer answer a prompt, and read its runs.

run = kvscope.run("The sky is")
run = kvscope.open("sky.safetensors")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvscope.app.reader.errors import CannotRead, CannotRun, NotThere
    from kvscope.app.reader.observed import from_cache
    from kvscope.app.reader.opening import open
    from kvscope.app.reader.run import Run
    from kvscope.app.reader.running import run
    from kvscope.app.reader.token import Token
    from kvscope.app.reader.widget import Widget

__all__ = ["CannotRead", "CannotRun", "NotThere", "Run", "Token", "Widget", "from_cache", "open", "run"]

_HOMES = {
    "open": "opening",
    "from_cache": "observed",
    "run": "running",
    "Run": "run",
    "Widget": "widget",
    "Token": "token",
    **dict.fromkeys(("CannotRead", "CannotRun", "NotThere"), "errors"),
}


def __getattr__(name: str) -> Any:
    """The public reader, imported when it is first named: the engine process imports this package too."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kvscope' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"kvscope.app.reader.{_HOMES[name]}"), name)
