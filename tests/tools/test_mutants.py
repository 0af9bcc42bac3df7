"""Requests and files that were made wrong, some of them; `python -m tools.faults.mutants` sends very many."""

import random

import pytest

from tests.support.live_server import ROOT
from tools.faults.mutants import storm, wrong_file, wrong_json, wrong_message


@pytest.mark.processes
def test_nothing_that_is_made_wrong_is_a_fault_of_the_server() -> None:
    found = storm(requests=1500, files=150, messages=0, seed=7)
    assert found.faults == []
    assert found.sent["files"] == 150
    assert found.sent["requests"] > 1300  # some no client could send
    assert {200, 400, 404, 422} <= set(found.statuses)


def test_what_is_sent_is_mostly_wrong_and_the_same_again() -> None:
    value = {"prompt": "abc", "list": [1, {"a": 2}]}
    for make in (lambda chance: wrong_json(chance, value), lambda chance: wrong_message(chance, "r")):
        made = [make(random.Random(seed)) for seed in range(200)]
        assert made == [make(random.Random(seed)) for seed in range(200)]
        assert len(set(made)) > 80
    file = (ROOT / "kvscope" / "app" / "recordings" / "animal.safetensors").read_bytes()
    assert all(wrong_file(random.Random(seed), file) != file for seed in range(5))
