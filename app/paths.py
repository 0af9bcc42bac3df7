"""Where the page's files are: beside `app` in a checkout or an editable install, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_APP = Path(__file__).resolve().parent


def static_dir() -> Path:
    """Folder served as /static/."""
    return _beside_or_inside("static")


def templates_dir() -> Path:
    """Folder of the Jinja templates."""
    return _beside_or_inside("templates")


def lessons_dir() -> Path:
    """Folder of the lessons: one folder per language, and `paths`."""
    return _beside_or_inside("lessons")


def _beside_or_inside(name: str) -> Path:
    inside = _APP / name
    return inside if inside.is_dir() else _APP.parent / name
