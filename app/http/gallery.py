"""`/gallery`: the recorded runs that ship with the project, each opening as a saved session at the moment it shows."""

from __future__ import annotations

from flask import Blueprint

from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.shell import renderer
from kvscope.app.store.gallery import Gallery


def blueprint(gallery: Gallery) -> Blueprint:
    """The route, over these recordings."""
    routes = Blueprint("gallery", __name__)
    render = renderer("gallery", "gallery.html")

    @routes.get("/gallery")
    @declare(SENDS)
    def page() -> str:
        cards = gallery.cards()
        return render({"pictures": {card.id: card.picture for card in cards}}, cards=cards)

    return routes
