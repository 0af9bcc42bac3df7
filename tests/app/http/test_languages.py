"""The language of a page."""

import re

import pytest
from flask.testing import FlaskClient

from tools.messages.__main__ import pseudo

PAGES = ("/", "/by-hand/a", "/memory", "/serving", "/gallery")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_in_the_language_asked_for_and_leads_on_in_it(client: FlaskClient, page: str) -> None:
    text = client.get(page, query_string={"lang": "xx"}).text
    assert '<html lang="xx"' in text
    assert '<script type="application/json" id="messages">' in text
    assert re.search(r'"address": ?"/memory\?lang=xx"', text)


@pytest.mark.parametrize("language", ["", "de", "../importmap", "xx.json", "XX"])
def test_without_a_catalogue_a_page_is_english(client: FlaskClient, language: str) -> None:
    text = client.get("/", query_string={"lang": language}).text
    assert '<html lang="en"' in text
    assert 'id="messages"' not in text
    assert "?lang=" not in text


def test_templates_are_translated(client: FlaskClient) -> None:
    assert "<h1>Gallery</h1>" in client.get("/gallery").text
    assert "<h1>Gálléřý~~</h1>" in client.get("/gallery?lang=xx").text


@pytest.mark.parametrize("path", ["/s/nobody", "/by-hand/nobody"])
def test_a_page_that_does_not_exist_says_so_in_the_language(client: FlaskClient, path: str) -> None:
    english, other = (client.get(path, query_string=query).text for query in ({}, {"lang": "xx"}))
    before, after = (re.findall(r"<h1>(.*?)</h1>", text) for text in (english, other))
    assert after == [pseudo(before[0])]
