"""Pages that load the page's modules: with the import map, and the nonce that lets it in."""

from __future__ import annotations

import json
from collections.abc import Callable

from flask import g, render_template

from kvscope.app.paths import static_dir


def renderer(template: str) -> Callable[..., str]:
    """What renders this template, with what it is given besides. The import map is read once."""
    import_map = json.loads((static_dir() / "importmap.json").read_text("utf-8"))

    def render(**named: object) -> str:
        return render_template(template, importmap=import_map, csp_nonce=g.csp_nonce, **named)

    return render
