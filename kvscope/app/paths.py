"""The package's folders of other files: the pages, the templates and the lessons."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent

STATIC = _PACKAGE / "static"
"""Served as /static/."""
WASM = STATIC / "engine" / "kernels.wasm"
"""The native code for browsers. Not every installation has it."""
MODELS = STATIC / "shared" / "sizes" / "models.json"
"""The sizes of known models."""
GPUS = STATIC / "shared" / "sizes" / "gpus.json"
"""Memory, bandwidth and peaks of GPUs."""
TEMPLATES = _PACKAGE / "templates"
"""Jinja templates of the pages."""
LESSONS = _PACKAGE / "lessons"
"""One folder per language, and `paths`."""
