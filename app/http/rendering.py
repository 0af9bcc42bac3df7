"""Pages that load the page's modules: with the import map, and the nonce that lets it in."""

from __future__ import annotations

import json
from collections.abc import Callable

from flask import g, render_template

from kvscope.app.http.root import root
from kvscope.app.paths import static_dir


def renderer(template: str) -> Callable[..., str]:
    """What renders this template, with what it is given besides. The import map is read once."""
    libraries = json.loads((static_dir() / "importmap.json").read_text("utf-8"))["imports"]

    def render(**named: object) -> str:
        imports = {name: root() + path.removeprefix("/") for name, path in libraries.items()}
        return render_template(template, importmap={"imports": imports}, csp_nonce=g.csp_nonce, **named)

    return render
