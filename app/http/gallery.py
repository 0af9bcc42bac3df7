"""`/gallery`: the recorded runs that ship with the project, each opening as a saved session at the moment it shows."""

from __future__ import annotations

import json

from flask import Blueprint, g, render_template

from kvscope.app.paths import static_dir
from kvscope.app.store.gallery import Gallery


def blueprint(gallery: Gallery) -> Blueprint:
    """The route, over these recordings."""
    routes = Blueprint("gallery", __name__)
    import_map = json.loads((static_dir() / "importmap.json").read_text("utf-8"))

    @routes.get("/gallery")
    def page() -> str:
        cards = gallery.cards()
        pictures = {card.id: card.picture for card in cards}
        return render_template(
            "gallery.html", cards=cards, pictures=pictures, importmap=import_map, csp_nonce=g.csp_nonce
        )

    return routes
