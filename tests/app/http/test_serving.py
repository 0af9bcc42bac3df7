"""The page of serving over HTTP: what it is given, and who may frame it."""

from __future__ import annotations

from flask.testing import FlaskClient

from kvscope.model.settings import MAX_ASKS
from tests.support.over_http import bootstrap


def test_the_page_has_the_limits_and_may_be_framed_below_embed_only(client: FlaskClient) -> None:
    alone, framed = client.get("/serving"), client.get("/embed/serving")
    assert "frame-ancestors 'self'" in alone.headers["Content-Security-Policy"]
    assert "frame-ancestors *" in framed.headers["Content-Security-Policy"]
    given = bootstrap(alone.text)
    assert given["limits"]["workload"]["requests"] == [1, MAX_ASKS]
    assert (given["framed"], bootstrap(framed.text)["framed"]) == (False, True)
