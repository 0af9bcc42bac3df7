"""`/gallery`: the recorded runs that ship with the project, each opening as a saved session at the moment it shows."""

from __future__ import annotations

from flask import Blueprint, request

from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.shell import renderer
from kvscope.app.store.gallery import Gallery


def blueprint(gallery: Gallery) -> Blueprint:
    """The route, over these recordings."""
    routes = Blueprint("gallery", __name__)
    render = renderer("gallery", "gallery.html")

    @routes.before_app_request
    def wait_until_saved() -> None:
        """A recording may be asked for while a first start still saves it: it would be unknown for good to its page."""
        if not gallery.ids.isdisjoint((request.view_args or {}).values()):
            gallery.cards()

    @routes.get("/gallery")
    @declare(SENDS)
    def page() -> str:
        cards = gallery.cards()
        return render({"pictures": {card.id: card.picture for card in cards}}, cards=cards)

    return routes
