"""What breaks: the engine, the server, the network. The page says so and loses nothing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.server import Server
from tests.support.stage import Stage
from tests.support.waiting import eventually

LONG = 256


@pytest.fixture
def stage(new_page: NewPage, tiny: Server) -> Stage:
    return Stage(new_page(), tiny)


def test_an_engine_killed_in_the_middle_leaves_the_steps_so_far_and_the_next_run_works(stage: Stage) -> None:
    stage.open()
    run = stage.run("Once upon a time", LONG)
    expect(stage.words.nth(2)).to_be_visible()
    stage.server.kill_engine()
    expect(stage.alert).to_contain_text("The engine stopped")
    stage.skip_to_the_end()
    expect(stage.ending).to_have_text("interrupted")
    steps = stage.server.status(run)["steps"]
    assert steps >= 3
    expect(stage.words).to_have_count(steps)
    for step in (0, steps - 1, 1):
        stage.slider.fill(str(step))
        stage.expect_step(step)
        expect(stage.region("Next token").get_by_role("heading")).to_contain_text(f"step {step}")
    second = stage.run("Hello", 3)
    stage.expect_phase("done")
    assert len(stage.server.log(second).steps) == 3
    expect(stage.alert).to_have_count(0)


def test_a_server_that_comes_back_is_found_again_and_the_run_is_whole(stage: Stage, complaints: Complaints) -> None:
    complaints.allow(r"ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|WebSocket connection to")
    complaints.allow(r"status of 503")  # exact values asked of the server while its model loads
    stage.open()
    run = stage.run("Once upon a time", LONG)
    expect(stage.words.nth(2)).to_be_visible()
    stage.server.kill()
    expect(stage.page.get_by_text("The connection is lost")).to_be_visible()
    stage.slider.fill("1")
    stage.expect_step(1)
    stage.server.start()
    expect(stage.page.get_by_text("The connection is lost")).to_have_count(0)
    expect(stage.ending).to_have_text("interrupted")
    expect(stage.words).to_have_count(stage.server.status(run)["steps"])
    stage.server.wait_until_ready()
    second = stage.run("Hello", 3)
    stage.expect_phase("done")
    assert len(stage.server.log(second).steps) == 3


def test_a_viewer_without_a_network_for_a_while_ends_with_all_steps(stage: Stage, complaints: Complaints) -> None:
    complaints.allow(r"ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED|WebSocket connection to")
    stage.open()
    run = stage.run("Once upon a time", 200)
    stage.page.context.set_offline(True)
    stage.server.wait_for_the_end(run)
    assert stage.words.count() < stage.server.status(run)["steps"]
    stage.page.context.set_offline(False)
    stage.skip_to_the_end()
    stage.expect_phase("done")
    log = stage.server.log(run)
    stage.button("Tokens").click()
    expect(stage.words).to_have_count(len(log.steps))
    for word, step in zip(stage.words.all(), log.steps, strict=True):
        byte = int(step["token"]["bytes"], 16)
        expect(word).to_contain_text(chr(byte).strip() if byte < 0x80 else f"\\x{byte:02X}")


def test_a_page_whose_socket_went_silent_catches_up_as_soon_as_the_network_is_back(stage: Stage) -> None:
    """As after sleep: the socket is open, and nothing comes over it. Its own pings would notice after 45 s."""
    silent = False

    def connect(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda message: None if silent else socket.send(message))

    stage.page.route_web_socket(re.compile("/socket.io/"), connect)
    stage.open()
    run = stage.run("Once upon a time", LONG)
    eventually(lambda: stage.server.status(run)["steps"] > 2)
    with stage.server.engine_asleep():
        expect(stage.words.nth(2)).to_be_visible()
        silent = True
    stage.server.wait_for_the_end(run)
    expect(stage.slider).not_to_have_attribute("max", str(LONG - 1))
    stage.page.evaluate("dispatchEvent(new Event('online'))")
    expect(stage.page.locator("#caught-up")).to_contain_text("Caught up")
    expect(stage.slider).to_have_attribute("max", str(LONG - 1))
