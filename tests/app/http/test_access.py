"""With a token, viewing is open to everybody and the rest to who has it."""

from kvscope.app.settings import Settings
from kvscope.app.web_server.server import openness
from tests.support.over_http import NewClient, bearer, delete, ended, problem

TOKEN = "let-me-in.please"
WITH = bearer(TOKEN)


def test_whoever_has_no_token_views_and_no_more(new_client: NewClient) -> None:
    client = new_client(token=TOKEN)
    made = client.post("/api/runs", json={"prompt": "abc", "max_new_tokens": 2}, headers=WITH)
    assert made.status_code == 201
    run = ended(client, made.json["id"])
    shared = client.post(f"/api/runs/{run}/share", json={}, headers=WITH).json
    for path in (f"/api/runs/{run}/frames", f"/api/runs/{run}/head?step=0&layer=0&head=0", f"/s/{shared['id']}"):
        assert client.get(path).status_code == 200, path
    for path in ("", f"/{run}/control", f"/{run}/fork", f"/{run}/twin", f"/{run}/beam", f"/{run}/share"):
        refused = problem(client.post(f"/api/runs{path}", json={}), 401)
        assert "#token=" in refused["detail"]
    problem(client.post("/api/sessions", data=b"x", content_type="application/octet-stream"), 401)
    for wrong in ("Bearer let-me-in", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer é"):
        problem(client.post("/api/runs", json={}, headers={"Authorization": wrong}), 401)
    delete(client, shared)


def test_the_operator_is_told_what_strangers_can_do() -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        assert list(openness(Settings(host=host), "http://127.0.0.1:5000/")) == []
    (open_to_all,) = openness(Settings(host="0.0.0.0"), "http://0.0.0.0:5000/")
    assert "start, control, share and import" in open_to_all
    assert "--token" in open_to_all
    link, viewing = openness(Settings(host="0.0.0.0", token=TOKEN), "http://0.0.0.0:5000/")
    assert link.endswith(f"http://0.0.0.0:5000/#token={TOKEN}")
    assert "import" not in viewing
