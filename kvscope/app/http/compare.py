"""`/compare?a=<id>&b=<id>`: two runs side by side. The page reads both logs as any viewer does."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flask import Blueprint

from kvscope.app.http.access import SENDS, declare
from kvscope.app.http.shell import renderer
from kvscope.app.http.site import site
from kvscope.app.store.gallery import Recording


def blueprint(recorded: Sequence[Recording], shipped: Collection[str]) -> Blueprint:
    """Returns the route. `recorded`: choices on a first visit. `shipped`: ids of the recorded runs in the log."""
    routes = Blueprint("compare", __name__)
    render = renderer("compare")
    ordered = sorted(recorded, key=lambda recording: recording.order)
    recordings = [
        {
            "id": recording.card.id,
            "name": recording.path.stem,
            "title": recording.card.title,
            "prompt": recording.prompt,
        }
        for recording in ordered
        if recording.card and not recording.workload
    ]

    @routes.get("/compare")
    @declare(SENDS)
    def page() -> str:
        written = site()
        saved = (
            [
                {"id": session["id"], "title": session["title"] or session["prompt"], "prompt": session["prompt"]}
                for session in written.sessions
            ]
            if written
            else []
        )
        return render({"recordings": [*recordings, *saved], "shipped": sorted(shipped)})

    return routes
