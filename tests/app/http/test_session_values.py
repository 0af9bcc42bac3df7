"""Exact values stored with a session: offered with their size, computed step by step, served, checked, dropped."""

from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient

from kvscope.app.store.errors import Damaged, StoreError
from kvscope.app.store.manifest import label_of
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore, parts_table, sessions_table, tokens_table
from kvscope.app.store.value_parts import Values, describe
from kvscope.app.store.values import origins_table, values_table
from kvscope.model.log.frames import from_stream, header
from tests.support.fake_service import HEAD_DIM, HEADS, LAYERS
from tests.support.integrity import damage_of
from tests.support.over_http import NewClient, bootstrap, control, delete, finished, frames, problem, share, start
from tests.support.stored import SQLITE_ONLY, WORDS, allow_pages, change, count, limit_pages, run_of, values_of
from tests.support.waiting import eventually

LEVELS = ("attention", "qkv", "block")


def choices(client: FlaskClient, run: str) -> dict[str, Any]:
    response = client.get(f"/api/runs/{run}/share")
    assert response.headers["Cache-Control"] == "no-store", response.text
    return response.json


def refusals_of(client: FlaskClient, run: str) -> dict[str, str | None]:
    return {level: each["refusal"] for level, each in choices(client, run)["levels"].items()}


def layer_of(client: FlaskClient, session: str, layer: int) -> list[bytes]:
    return list(from_stream(client.get(f"/api/sessions/{session}/values?layer={layer}").data))


class TestOverHttp:
    def test_every_level_is_offered_with_its_size(self, client: FlaskClient) -> None:
        run = finished(client)
        found = choices(client, run)
        rows = 3 + 2
        log = sum(map(len, frames(client, run)))
        sizes = {level: found["levels"][level]["bytes"] - log for level in LEVELS}
        qkv = rows * LAYERS * (HEADS + 2) * HEAD_DIM * 4
        assert sizes == {"attention": 0, "qkv": qkv, "block": qkv + rows * LAYERS * 2 * (5 * 12 + 2 * 16)}
        assert [found["levels"][level]["estimated"] for level in LEVELS] == [False, True, True]
        assert set(refusals_of(client, run).values()) == {None}
        assert found["computing"] is None

    def test_values_are_stored_with_the_session_and_read_by_step_and_layer(self, client: FlaskClient) -> None:
        run = finished(client)
        session = share(client, run, values="qkv")["id"]
        manifest = client.get(f"/api/sessions/{session}").json
        values = manifest["values"]
        assert values["level"] == "qkv"
        assert [(p["step"], p["layer"]) for p in values["parts"]] == [(s, n) for s in range(3) for n in range(LAYERS)]
        assert values["bytes"] == sum(part["bytes"] for part in values["parts"])
        for layer in range(LAYERS):
            found = layer_of(client, session, layer)
            assert [header(payload).data["step"] for payload in found] == [0, 1, 2]
            for step, payload in enumerate(found):
                one = client.get(f"/api/sessions/{session}/values?step={step}&layer={layer}")
                assert one.data == payload
                assert describe(payload) in values["parts"]
                seen = header(payload)
                assert (seen.kind, seen.run, seen.data["level"]) == ("values", label_of(run), "qkv")
                assert seen.data["first_query"] == (0 if step == 0 else 2 + step)
        for query, field in (("layer=2", "layer"), ("layer=0&step=3", "step")):
            problem(client.get(f"/api/sessions/{session}/values?{query}"), 422, field)
        assert header(found[-1]).data["lens"] == client.get(f"/api/sessions/{session}/lens?step=2").json
        assert len(list(from_stream(client.get(f"/api/sessions/{session}/frames").data))) == len(manifest["parts"])

    def test_the_page_is_told_what_is_stored(self, client: FlaskClient) -> None:
        run = finished(client)
        with_values, without = share(client, run, values="block"), share(client, run)
        told = [bootstrap(client.get(each["url"]).text)["session"]["values"] for each in (with_values, without)]
        assert told == [{"level": "block", "layers": list(range(LAYERS)), "lens": True}, None]

    def test_the_same_run_with_the_same_values_is_one_session(self, client: FlaskClient) -> None:
        run = finished(client)
        shared = [share(client, run, values=level) for level in ("qkv", "qkv", "block", "attention")]
        ids = [each["id"] for each in shared]
        assert ids[0] == ids[1]
        assert len(set(ids)) == 3
        assert share(client, run)["id"] == ids[3]
        delete(client, shared[0])
        assert layer_of(client, ids[1], 0)
        delete(client, shared[1])
        assert client.get(f"/api/sessions/{ids[1]}/values?layer=0").status_code == 410
        again = share(client, run, values="qkv")
        assert len(layer_of(client, again["id"], 1)) == 3

    def test_a_session_without_values_has_none(self, client: FlaskClient) -> None:
        session = share(client)["id"]
        problem(client.get(f"/api/sessions/{session}/values?layer=0"), 404, "values")

    def test_the_choices_of_what_cannot_be_shared_are_refused(self, client: FlaskClient) -> None:
        problem(client.get("/api/runs/nobody/share"), 404, "run")
        run = start(client, prompt="abc", max_new_tokens=200)
        problem(client.get(f"/api/runs/{run}/share"), 409, "run")
        control(client, run, "stop")

    def test_too_many_bytes_are_refused_and_the_choice_says_so(self, new_client: NewClient) -> None:
        client = new_client(max_value_bytes=1000)
        run = finished(client)
        refusals = refusals_of(client, run)
        assert refusals["attention"] is None
        assert "limit is 1,000" in refusals["block"]
        response = client.post(f"/api/runs/{run}/share", json={"values": "block"})
        assert problem(response, 413, "values")["limit"] == 1000

    def test_what_is_inside_experts_cannot_be_stored_and_the_choice_says_so(self, new_client: NewClient) -> None:
        client = new_client(model="experts=4")
        run = finished(client)
        refusals = refusals_of(client, run)
        assert (refusals["attention"], refusals["qkv"]) == (None, None)
        assert "inside experts" in refusals["block"]
        response = client.post(f"/api/runs/{run}/share", json={"values": "block"})
        assert problem(response, 409, "values")["limit"] == ["attention", "qkv"]

    def test_without_the_model_of_the_run_only_its_log_is_kept(self, new_client: NewClient) -> None:
        client = new_client()
        run = finished(client)
        client.application.extensions["kvscope"].close()
        unready = new_client(model="refused", ready=False)
        assert choices(unready, run)["levels"]["qkv"]["refusal"]
        problem(unready.post(f"/api/runs/{run}/share", json={"values": "qkv"}), 503, "values")
        assert share(unready, run)["id"]

    def test_how_far_it_is_can_be_asked_and_others_go_on(self, new_client: NewClient) -> None:
        client = new_client(model="delay=0.05")
        run = finished(client, max_new_tokens=12)
        done: list[int] = []
        sharing = Thread(target=lambda: share(client.application.test_client(), run, values="qkv"))
        sharing.start()
        while sharing.is_alive():
            if computing := choices(client, run)["computing"]:
                assert computing["steps"] == 12
                done.append(computing["done"])
        sharing.join()
        assert done == sorted(done)
        assert len(set(done)) > 3
        assert choices(client, run)["computing"] is None

    def test_an_engine_that_dies_meanwhile_leaves_nothing(self, new_client: NewClient) -> None:
        client = new_client(model="delay=0.05")
        run, parts = finished(client, max_new_tokens=20), client.application.extensions["kvscope"]
        answers: list[Any] = []
        ask = client.application.test_client()
        sharing = Thread(target=lambda: answers.append(ask.post(f"/api/runs/{run}/share", json={"values": "qkv"})))
        sharing.start()
        eventually(lambda: (choices(client, run)["computing"] or {"done": 0})["done"] > 2)
        parts.engine.engines[0].supervisor._process.kill()
        sharing.join()
        problem(answers[0], 503)
        assert [count(parts.sessions, table) for table in (sessions_table, values_table)] == [0, 0]
        eventually(lambda: parts.engine.readiness.state == "ready")
        assert share(client, run, values="qkv")["id"]


@pytest.fixture
def log(tmp_path: Any, database: str | None) -> Any:
    log = RunLog(tmp_path, database)
    log.append(run_of("a", 3))
    yield log
    log.close()


class TestStored:
    def keep(self, store: SessionStore, values: Values | None) -> tuple[str, str]:
        return store.keep(WORDS, lambda: store._runs.all_frames("a"), values)

    def test_every_flipped_bit_is_found_and_named_and_the_rest_is_read(self, log: RunLog) -> None:
        store = SessionStore(log)
        session, _ = self.keep(store, values_of(3))
        assert damage_of(store, session) == []
        with log.engine.connect() as connection:
            sizes = {
                (row.step, row.layer): len(row.payload) for row in connection.execute(sa.select(values_table)).all()
            }
        assert len(sizes) == 6
        for (step, layer), size in sizes.items():
            for byte in range(0, size, 3):
                change(store, values_table, "payload", 8 * byte + byte % 8, session=session, step=step, layer=layer)
                name = f"values[step {step}, layer {layer}]"
                assert damage_of(store, session) == [name]
                with pytest.raises(Damaged) as damaged:
                    list(store.values(session, layer=layer))
                assert damaged.value.part == name
                assert len(list(store.values(session, layer=1 - layer))) == 3
                change(store, values_table, "payload", 8 * byte + byte % 8, session=session, step=step, layer=layer)
        assert damage_of(store, session) == []

    def test_values_are_part_of_what_the_id_is_made_of(self, log: RunLog) -> None:
        store = SessionStore(log)
        ids = {self.keep(store, values)[0] for values in (None, values_of(3), values_of(3, 41), values_of(3))}
        assert len(ids) == 3

    @SQLITE_ONLY
    def test_on_a_full_disk_nothing_is_stored(self, log: RunLog) -> None:
        store = SessionStore(log)
        limit_pages(log)
        with pytest.raises(StoreError, match="full"):
            self.keep(store, values_of(3, 100_000))
        tables = (sessions_table, parts_table, tokens_table, values_table, origins_table)
        assert [count(store, table) for table in tables] == [0] * 5
        allow_pages(log)
        assert damage_of(store, self.keep(store, values_of(3, 100_000))[0]) == []
