"""`/gallery`: the recorded runs that ship with KVScope. Each opens as a saved session at the moment it shows."""

from __future__ import annotations

from flask import Blueprint, request

from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.shell import renderer
from kvscope.app.store.gallery import Gallery


def blueprint(gallery: Gallery) -> Blueprint:
    """Returns the route."""
    routes = Blueprint("gallery", __name__)
    render = renderer("gallery", "gallery.html")

    @routes.before_app_request
    def wait_until_saved() -> None:
        """Waits for a recording that the first start is still saving: its page would take it for unknown."""
        if not gallery.ids.isdisjoint((request.view_args or {}).values()):
            gallery.cards()

    @routes.get("/gallery")
    @declare(SENDS)
    def page() -> str:
        cards = gallery.cards()
        return render({"pictures": {card.id: card.picture for card in cards}}, cards=cards)

    return routes
