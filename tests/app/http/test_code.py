"""The model's source over HTTP, as it is installed."""

from importlib import resources

from flask.testing import FlaskClient


def test_the_source_is_what_is_installed_and_is_asked_for_again_only_by_its_tag(client: FlaskClient) -> None:
    answer = client.get("/api/code")
    for file in answer.json["files"]:
        text = "\n".join("".join(part[0] for part in line) for line in file["lines"]) + "\n"
        assert text == resources.files("kvscope").joinpath(file["path"]).read_text("utf-8")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert client.get("/api/code", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
