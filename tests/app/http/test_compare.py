"""The page of two runs: what it is given to choose from, and that it names nobody else's runs."""

from flask.testing import FlaskClient

from kvscope.app.settings import Settings
from kvscope.app.store.gallery import recordings_in
from tests.support.over_http import NewClient, bootstrap, start


def test_recordings_of_single_runs_can_be_chosen_in_the_order_of_the_gallery(new_client: NewClient) -> None:
    shipped = Settings().recordings_dir
    client = new_client(recordings_dir=shipped)
    offered = bootstrap(client.get("/compare").text)["recordings"]
    cards = [each for each in recordings_in(shipped) if each.card and not each.workload]
    assert [each["id"] for each in offered] == [each.card.id for each in sorted(cards, key=lambda each: each.order)]
    assert all(client.get(f"/api/sessions/{each['id']}").status_code == 200 for each in offered)


def test_the_page_is_the_same_whatever_it_compares_and_names_no_run(client: FlaskClient) -> None:
    run = start(client)
    page = client.get(f"/compare?a={run}&b=unknown")
    assert page.status_code == 200
    assert run not in page.text
    assert bootstrap(page.text)["recordings"] == []
