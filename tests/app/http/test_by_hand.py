"""Worked examples over HTTP: the address has all that was changed, and what cannot be taken is named."""

import pytest
from flask.testing import FlaskClient
from numpy.testing import assert_allclose

from kvscope.app.http.requests import ByHandQuery
from kvscope.model.by_hand.examples import EXAMPLES
from tests.support.over_http import problem


def test_the_examples_come_as_published(client: FlaskClient) -> None:
    a, b, c = (client.get(f"/api/by-hand/{name}").json for name in EXAMPLES)
    assert_allclose(a["prefill"]["weights"][0][2], [0.248, 0.248, 0.503], atol=5e-4)
    assert_allclose(a["decode"]["mixed"][0][0], [1.322, 0], atol=5e-4)
    assert a["prefill"]["logits"] is None
    assert (a["decode"]["projections"], a["without_cache"]["projections"]) == (3, 12)
    assert b["example"]["words"][b["token"]] == "AI"
    assert b["difference"] < 1e-6
    assert (b["prefill"]["rest"], b["example"]["norm_eps"]) == (None, None)
    assert c["example"]["words"][c["token"]] == "AI"
    assert {name: len(rows) for name, rows in c["decode"]["rest"].items()} == dict.fromkeys(c["decode"]["rest"], 1)


def test_what_the_address_has_takes_the_place_of_the_example(client: FlaskClient) -> None:
    told = client.get("/api/by-hand/a?w_v1=1,1;1,2.5&prompt=2,1,0&given=1").json
    assert told["example"]["parts"]["w_v1"] == [[1, 1], [1, 2.5]]
    assert told["example"]["prompt"] == [2, 1, 0]
    assert told["token"] == 1
    assert_allclose(told["prefill"]["v"][0], [[2, 3.5], [1, 2.5], [1, 1]])
    # Nothing of it stays.
    assert client.get("/api/by-hand/a").json["example"]["parts"]["w_v1"] == [[1, 1], [1, -1]]


def test_the_temperature_evens_the_chances_out(client: FlaskClient) -> None:
    plain, hot = (client.get(f"/api/by-hand/b?temperature={t}").json["prefill"]["probabilities"] for t in ("1", "5e1"))
    assert max(plain) - min(plain) > 10 * (max(hot) - min(hot))


@pytest.mark.parametrize(
    ("address", "field", "said"),
    [
        ("a?w_v1=1,1;1,abc", "w_v1", "contains “abc”; it must be a number"),
        ("a?w_v1=1,1;1,", "w_v1", "contains “”; it must be a number"),
        ("a?w_v1=1,1;1,nan", "w_v1", "contains “nan”; it must be a number"),
        ("a?w_v1=1,1;1,1e999", "w_v1", "w_v1 contains inf; it must be a number"),
        ("a?w_v1=1,1;1,1001", "w_v1", "w_v1 contains 1001; it must be a number from −1,000 to 1,000"),
        ("a?w_v1=1,1;1,%D9%A1", "w_v1", "it must be a number"),
        ("a?w_v1=1,1", "w_v1", "must have 2 rows of 2"),
        ("a?w_v1=1,1;1", "w_v1", "must have 2 rows of 2"),
        ("a?w_o=1", "w_o", "This example has no w_o; it has "),
        ("b?w_up=1", "w_up", "This example has no w_up; it has "),
        ("c?w_down=1,2,3,4", "w_down", "must have 3 rows of 4"),
        ("b?given=1", "given", "This example has no given; it has "),
        ("a?prompt=0,9", "prompt", "there is no token 9"),
        ("a?prompt=,", "prompt", "must be the id"),
        ("a?prompt=" + ",".join("0" * 16), "prompt", "16 tokens"),
        ("b?prompt=1,2,3", "positions", "must have 4 rows"),
        ("b?temperature=0", "temperature", "must be from 0.01"),
        ("a?embeddings=" + "1," * 5000, "embeddings", "characters"),
    ],
)
def test_what_cannot_be_taken_is_named(client: FlaskClient, address: str, field: str, said: str) -> None:
    refused = client.get(f"/api/by-hand/{address}")
    assert refused.status_code in (413, 422)
    assert said in problem(refused, refused.status_code, field)["detail"]


def test_the_lines_of_an_example_have_the_sizes_that_the_address_gives_it(client: FlaskClient) -> None:
    def k_of(address: str) -> list[int]:
        lines = client.get(f"/api/by-hand/{address}").json["lines"]["model/transformer.py"]
        return next(each["shape"] for line in lines.values() for each in line if each["of"] == "attn.k")

    assert k_of("a/code?step=prefill") == [3, 1, 2]
    assert k_of("a/code?prompt=0,1&step=prefill") == [2, 1, 2]
    assert k_of("b/code") == k_of("c/code") == [1, 2, 2]
    assert client.get("/api/by-hand/a/code?prompt=0,9").status_code == 422


def test_another_example_is_not_found(client: FlaskClient) -> None:
    assert {client.get(f"/api/by-hand/d{rest}").status_code for rest in ("", "/code")} == {404}
    page = client.get("/by-hand/d")
    assert (page.status_code, "There are three" in page.text) == (404, True)


def test_every_matrix_of_an_example_can_be_asked_for() -> None:
    for example in EXAMPLES.values():
        assert example.parts.keys() <= ByHandQuery.model_fields.keys()
