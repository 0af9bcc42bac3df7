"""What the vocabulary makes of a text, and a token's row, over HTTP: no run is started."""

from flask.testing import FlaskClient

from tests.support.over_http import NewClient, problem


def test_a_prompt_is_cut_and_nothing_is_started(client: FlaskClient) -> None:
    told = client.post("/api/tokens", json={"prompt": "a b"})
    assert told.headers["Cache-Control"] == "no-store"
    assert [token["text"] for token in told.json["tokens"]] == ["a", " ", "b"]
    assert (told.json["count"], told.json["limit"]) == (3, 100)
    assert client.post("/api/tokens", json={"prompt": "a", "chat": True}).json["count"] == 3


def test_of_more_tokens_than_a_run_may_have_so_many_come_and_how_many_there_are(client: FlaskClient) -> None:
    told = client.post("/api/tokens", json={"prompt": "🙂" * 8192}).json
    assert (len(told["tokens"]), told["limit"], told["count"]) == (100, 100, 8192)


def test_a_token_has_a_row_and_neighbours(client: FlaskClient) -> None:
    told = client.get("/api/embedding?token=97")
    assert told.json["token"]["text"] == "a"
    assert [each["id"] for each in told.json["nearest"]] == [98]
    assert len(told.json["plane"]["points"]) == 2
    assert "limit" in problem(client.get("/api/embedding?token=1000"), 422, "token")


def test_words_are_put_beside_each_other(client: FlaskClient) -> None:
    told = client.post("/api/words", json={"words": ["cat", "dog"]})
    assert told.headers["Cache-Control"] == "no-store"
    assert [each["word"] for each in told.json["words"]] == ["cat", "dog"]
    assert [len(line) for line in told.json["cosines"]] == [2, 2]


def test_without_a_model_it_says_so(new_client: NewClient) -> None:
    client = new_client(model="refused", ready=False)
    words = client.post("/api/words", json={"words": ["a", "b"]})
    for response in (client.get("/api/embedding?token=1"), client.post("/api/tokens", json={"prompt": "a"}), words):
        assert "detail" in problem(response, 503)
