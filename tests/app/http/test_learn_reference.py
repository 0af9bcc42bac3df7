"""Each page below `/learn/` starts from what its script reads, and nothing else."""

from __future__ import annotations

import json
import re

import pytest
from flask.testing import FlaskClient

from kvscope.app.http.learn_reference import READS
from kvscope.app.paths import STATIC

BOOTSTRAP = re.compile(r'<script type="application/json" id="bootstrap">(.*?)</script>', re.DOTALL)


@pytest.mark.parametrize("id", READS)
def test_a_page_starts_from_what_its_script_reads(client: FlaskClient, id: str) -> None:
    sent = BOOTSTRAP.search(client.get(f"/learn/{id}").text)
    assert sent
    code = (STATIC / "learn" / id / "page.js").read_text("utf-8")
    assert json.loads(sent[1]).keys() == set(re.findall(r"\bknown\.(\w+)", code))
