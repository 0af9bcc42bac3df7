"""A room in browsers: a presenter, and followers whose pages show the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
import requests
from playwright.sync_api import FrameLocator, Locator, Page, Route, expect

from tests.support.complaints import Complaints
from tests.support.pages import NewPage
from tests.support.screens import DESKTOP, PHONE, flaws
from tests.support.server import Server
from tests.support.waiting import eventually

LESSON = "/learn/test-one"
"""In tests/fixtures/lessons: its first step asks for a number, its third for a choice."""
PLACE = "#step=1&layer=13&head=8&view=head"
NOWHERE = "ABCD2345"
"""The code of no room."""
LOST = r"ERR_INTERNET_DISCONNECTED"


class Member:
    """A page in a room."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe")

    @property
    def panel(self) -> Locator:
        return self.page.get_by_role("complementary")

    @property
    def trouble(self) -> Locator:
        return self.page.get_by_role("alert")

    @property
    def says(self) -> Locator:
        return self.page.get_by_role("banner").get_by_role("status")

    @property
    def address(self) -> str:
        """Of the page in the frame."""
        return str(self.page.frames[1].evaluate("location.pathname + location.search + location.hash"))

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def expect_at(self, part: str) -> Member:
        """Of the address, which the page writes a moment after it has moved."""
        eventually(lambda: part in self.address)
        return self

    def expect_step(self, step: int) -> Member:
        """Of the Stage in the frame."""
        expect(self.frame.locator(f"html[data-step='{step}']")).to_be_attached()
        return self

    def expect_lesson_at(self, step: int) -> None:
        """Steps are counted from 1."""
        button = self.frame.get_by_role("button", name=f"Step {step}", exact=True)
        expect(button).to_have_attribute("aria-current", "step")

    def next_step(self) -> None:
        self.frame.get_by_role("button", name="Next step").click()

    def visit(self, name: str) -> None:
        """Opens a page of the navigation in the frame."""
        self.page.get_by_role("button", name="Pages").click()
        self.page.get_by_role("link", name=name, exact=True).click()


class Room:
    """A room with its presenter."""

    def __init__(self, new_page: NewPage, server: Server, address: str) -> None:
        self._new_page, self._server = new_page, server
        self.presenter = Member(new_page())
        self.presenter.page.goto(f"{server.url}room?show={quote(address)}")
        self.presenter.button("Open a room").click()
        expect(self.presenter.page.locator("iframe")).to_be_attached()
        self.code = self.presenter.page.url.rsplit("/", 1)[1]
        self.api = f"{server.url}api/rooms/{self.code}"

    def join(self, **options: object) -> Member:
        follower = Member(self._new_page(**options))
        follower.page.goto(f"{self._server.url}room/{self.code}")
        expect(follower.page.locator("iframe")).to_be_attached()
        return follower

    def ask(self, text: str, kind: str, *choices: str) -> None:
        presenter = self.presenter
        presenter.button("Ask the room").click()
        presenter.page.get_by_label("Question").fill(text)
        presenter.button(kind).click()
        for number, choice in enumerate(choices, 1):
            presenter.page.get_by_label(f"Choice {number}", exact=True).fill(choice)
        presenter.button("Ask").click()

    def expect_answered(self, text: str) -> None:
        expect(self.presenter.panel.get_by_role("status")).to_have_text(text)


@pytest.fixture
def open_room(new_page: NewPage, server: Server) -> Callable[[str], Room]:
    """Opens a room at an address."""
    return lambda address: Room(new_page, server, address)


@pytest.fixture
def room(open_room: Callable[[str], Room], short_run: str) -> Room:
    """A room at a step of a run."""
    room = open_room(f"/?run={short_run}{PLACE}")
    room.presenter.expect_step(1)
    return room


def test_followers_see_the_step_the_head_and_the_view_of_the_presenter(room: Room) -> None:
    presenter, follower = room.presenter, room.join(**PHONE).expect_step(1)
    expect(presenter.says).to_have_text("1 person is here")
    presenter.next_step()
    follower.expect_step(2)
    for key in ("[", "+"):
        presenter.page.keyboard.press(key)
    late = room.join().expect_step(2)
    for member in (presenter, follower, late):
        member.expect_at("step=2&layer=13&head=7&view=pair")


def test_followers_see_other_pages_and_another_run(room: Room, sampled_run: str) -> None:
    presenter, follower = room.presenter, room.join().expect_step(1)
    presenter.visit("Memory")
    expect(follower.frame.get_by_role("heading", level=1, name=re.compile("How many tokens fit"))).to_be_visible()
    presenter.visit("Gallery")
    expect(follower.frame.get_by_role("heading", level=1, name="Gallery")).to_be_visible()
    presenter.frame.get_by_role("link", name="What does “it” stand for?", exact=True).click()
    follower.expect_step(0).expect_at("/s/")
    presenter.page.frames[1].evaluate("address => location.assign(address)", f"/?run={sampled_run}#step=2")
    follower.expect_step(2).expect_at(f"run={sampled_run}")


def test_who_looks_around_is_left_alone_and_returns_with_one_press(room: Room) -> None:
    presenter, follower = room.presenter, room.join().expect_step(1)
    follower.frame.get_by_role("button", name="Next step").hover()
    expect(follower.says).to_have_text("You follow the presenter")
    follower.next_step()
    expect(follower.says).to_have_text("You look around")
    follower.expect_step(2)
    follower.next_step()
    follower.expect_step(3)
    presenter.expect_step(1).next_step()
    expect(follower.says).to_have_text("The presenter has moved on")
    follower.expect_step(3)
    follower.button("Return to the presenter").click()
    follower.expect_step(2)
    presenter.next_step()
    follower.expect_step(3)
    follower.button("Look around").click()
    follower.page.keyboard.press("r")
    expect(follower.says).to_have_text("You follow the presenter")


def test_a_click_of_a_screen_reader_which_presses_nothing_looks_around_and_leads(room: Room) -> None:
    presenter, follower = room.presenter, room.join().expect_step(1)
    presenter.frame.get_by_role("button", name="Next step").dispatch_event("click")
    follower.expect_step(2)
    follower.frame.get_by_role("button", name="Next step").dispatch_event("click")
    expect(follower.says).to_have_text("You look around")


def test_followers_play_while_the_presenter_plays(room: Room) -> None:
    presenter, follower = room.presenter, room.join().expect_step(1)
    presenter.frame.get_by_role("button", name="Play", exact=True).click()
    expect(follower.says).to_have_text("You follow: the run plays")
    follower.expect_step(3)
    presenter.frame.get_by_role("button", name="Pause", exact=True).click()
    expect(follower.says).to_have_text("You follow the presenter")
    eventually(lambda: follower.address == presenter.address)


def test_a_second_device_takes_over_with_the_secret(room: Room, new_page: NewPage) -> None:
    presenter, follower = room.presenter, room.join().expect_step(1)
    presenter.button(f"Room {room.code[:4]} {room.code[4:]}").click()
    dialog = presenter.page.get_by_role("dialog", name="Join this room")
    expect(dialog.get_by_text("1 person is here")).to_be_visible()
    expect(dialog.get_by_text("Only this machine reaches this address")).to_be_visible()
    assert dialog.get_by_role("img").evaluate("image => image.complete && image.naturalWidth > 0")
    dialog.get_by_text("Present from another device").click()
    address = dialog.get_by_label("Link to present").input_value()
    dialog.get_by_role("button", name="Close").click()
    second = Member(new_page())
    second.page.goto(address)
    second.expect_step(1)
    assert second.page.url.endswith(f"/room/{room.code}")
    second.next_step()
    for member in (follower, presenter):
        member.expect_step(2)
    presenter.next_step()
    for member in (follower, second):
        member.expect_step(3)
    expect(presenter.says).to_have_text("1 person is here")


def test_the_room_votes_twice_and_sees_both_histograms(room: Room, complaints: Complaints) -> None:
    complaints.allow("status of 409")  # an answer after the reveal
    presenter, follower, other = room.presenter, room.join(**PHONE), room.join()
    room.ask("Which is larger?", "Choices", "K", "V")
    room.expect_answered("0 of 2 have answered")
    for answer in ("V", "K"):
        follower.panel.get_by_role("button", name=answer, exact=True).click()
        expect(follower.panel.get_by_role("status")).to_contain_text("Your answer counts")
    room.expect_answered("1 of 2 have answered")
    other.panel.get_by_role("button", name="V", exact=True).click()
    room.expect_answered("2 of 2 have answered")
    presenter.button("Show the answers").click()
    for member in (follower, other, presenter):
        expect(member.panel.get_by_role("listitem")).to_have_text(
            [re.compile("^K.*1 · 50 %"), re.compile("^V.*1 · 50 %")]
        )
    expect(follower.panel.get_by_role("listitem").first).to_contain_text("your answer")
    presenter.button("Vote again").click()
    follower.panel.get_by_role("button", name="V", exact=True).click()
    room.expect_answered("1 of 2 have answered")
    other.page.context.set_offline(True)
    complaints.allow(LOST)
    expect(other.trouble).to_have_text("Connection lost. The picture stays; reconnecting…")
    presenter.button("Show the answers").click()
    both = [re.compile("vote 1.*1 · 50 %.*vote 2.*0 · 0 %"), re.compile("vote 1.*1 · 50 %.*vote 2.*1 · 100 %")]
    expect(follower.panel.get_by_role("listitem")).to_have_text(both)
    other.page.context.set_offline(False)
    expect(other.panel.get_by_role("listitem")).to_have_text(both)
    presenter.button("Close the question").click()
    expect(follower.panel).not_to_be_attached()


def test_an_answer_after_the_reveal_says_that_it_does_not_count(room: Room, complaints: Complaints) -> None:
    complaints.allow("status of 409")
    follower = room.join()
    room.ask("Which token comes next?", "A token")
    expect(follower.panel).to_be_visible()
    follower.page.route("**/api/rooms/*/answer", lambda route: reveal_before(route, room))
    follower.panel.get_by_label("Your answer").fill("the")
    follower.button("Answer").click()
    expect(follower.trouble).to_have_text("This vote has ended.")


def reveal_before(route: Route, room: Room) -> None:
    """The presenter shows the answers while an answer is on its way."""
    secret = room.presenter.page.evaluate("JSON.parse(localStorage['kvscope.rooms'])[0][1]")
    headers = {"Authorization": f"Bearer {secret}"}
    requests.post(f"{room.api}/question/reveal", headers=headers, timeout=30).raise_for_status()
    route.continue_()


def test_a_number_is_answered_as_people_type_it_and_saved_in_a_note(room: Room) -> None:
    follower = room.join()
    room.ask("How many bytes?", "A number")
    field = follower.panel.get_by_label("Your answer")
    field.fill("many")
    follower.button("Answer").click()
    expect(follower.panel.get_by_role("alert")).to_contain_text("“many” is not a number")
    field.fill("46 080")
    follower.button("Answer").click()
    room.expect_answered("1 of 1 have answered")
    presenter = room.presenter
    presenter.button("Show the answers").click()
    expect(follower.panel.get_by_role("listitem")).to_contain_text("46,080")
    presenter.panel.get_by_text("Save the answers").click()
    expect(presenter.panel.get_by_label("All answers so far, as text")).to_have_value(
        "How many bytes?\n1 answer\n46,080: 1 (100 %)"
    )
    presenter.button("Save them with the run").click()
    presenter.page.goto(presenter.panel.get_by_label("Link", exact=True).input_value())
    expect(presenter.page.get_by_text("46,080: 1 (100 %)")).to_be_visible()


def test_a_lesson_asks_the_room_and_shows_the_answer_to_all(open_room: Callable[[str], Room]) -> None:
    room = open_room(f"{LESSON}#1")
    presenter, follower = room.presenter, room.join()
    follower.expect_lesson_at(1)
    question = follower.frame.get_by_role("region", name="Prediction")
    expect(question).to_contain_text("the presenter says when this is answered")
    own = presenter.frame.get_by_role("region", name="Prediction").get_by_role("textbox")
    expect(own).to_be_visible()
    presenter.button("Ask the room").click()
    presenter.button("Ask this").click()
    expect(own).not_to_be_attached()
    expect(question.get_by_role("textbox")).not_to_be_attached()
    expect(follower.frame.get_by_role("button", name="Show me")).not_to_be_attached()
    follower.panel.get_by_label("Your answer").fill("4")
    follower.button("Answer").click()
    room.expect_answered("1 of 1 have answered")
    presenter.button("Show the answers").click()
    expect(own).to_be_visible()
    expect(question.get_by_role("textbox")).not_to_be_attached()
    presenter.frame.get_by_role("button", name="Show me").click()
    expect(question.get_by_role("status")).to_contain_text("It is 4.")
    expect(presenter.frame.get_by_role("region", name="Prediction").get_by_role("status")).to_be_focused()
    expect(question.get_by_role("status")).not_to_be_focused()
    presenter.frame.get_by_role("button", name="Next", exact=True).click()
    follower.expect_lesson_at(2)
    late = room.join()
    late.expect_lesson_at(2)
    picture = presenter.frame.frame_locator("iframe")
    expect(picture.locator("html[data-step='3']")).to_be_attached()
    picture.get_by_role("button", name="Next step").click()
    for member in (follower, late):
        expect(member.frame.frame_locator("iframe").locator("html[data-step='4']")).to_be_attached()
    own_picture = follower.frame.frame_locator("iframe")
    own_picture.get_by_role("button", name="Next step").click()
    expect(own_picture.locator("html[data-step='5']")).to_be_attached()
    follower.button("Return to the presenter").click()
    expect(own_picture.locator("html[data-step='4']")).to_be_attached()
    assert presenter.page.evaluate("localStorage['kvscope.lessons']") is None


def test_a_presenter_learns_that_followers_keep_the_run_of_a_lesson(
    open_room: Callable[[str], Room], short_run: str
) -> None:
    room = open_room(f"{LESSON}#1")
    presenter, follower = room.presenter, room.join()
    follower.expect_lesson_at(1)
    expect(presenter.frame.frame_locator("iframe").locator("html[data-state=paused]")).to_be_attached()
    expect(presenter.trouble).to_be_empty()
    visit = "run => document.querySelector('iframe').contentWindow.postMessage({kvscope: 1, type: 'visit', run}, '*')"
    presenter.page.frames[1].evaluate(visit, short_run)
    expect(presenter.trouble).to_contain_text("The followers’ lesson keeps its own run")
    expect(follower.trouble).to_be_empty()
    presenter.frame.get_by_role("button", name="Step 2", exact=True).click()
    follower.expect_lesson_at(2)


def test_a_lost_connection_is_said_and_the_page_is_right_when_it_is_back(room: Room, complaints: Complaints) -> None:
    complaints.allow(LOST)
    presenter, follower = room.presenter, room.join().expect_step(1)
    follower.page.context.set_offline(True)
    expect(follower.trouble).to_have_text("Connection lost. The picture stays; reconnecting…")
    presenter.next_step()
    follower.expect_step(1).page.context.set_offline(False)
    follower.expect_step(2)
    expect(follower.trouble).to_be_empty()
    presenter.page.context.set_offline(True)
    expect(presenter.trouble).to_contain_text("The followers keep what you showed last")
    presenter.next_step()
    presenter.expect_step(3)
    follower.expect_step(2)
    presenter.page.context.set_offline(False)
    follower.expect_step(3)


def test_the_link_to_present_presents_in_a_tab_that_follows(room: Room) -> None:
    secret = room.presenter.page.evaluate("JSON.parse(localStorage['kvscope.rooms'])[0][1]")
    follower = room.join().expect_step(1)
    follower.button("Look around").click()
    follower.page.evaluate("secret => { location.hash = `#secret=${secret}`; }", secret)
    expect(follower.button("Ask the room")).to_be_visible()
    assert follower.page.url.endswith(f"/room/{room.code}")
    follower.next_step()
    room.presenter.expect_step(2)


def test_a_question_that_is_refused_can_be_sent_again(room: Room, complaints: Complaints) -> None:
    complaints.allow("ERR_FAILED")
    presenter = room.presenter
    presenter.page.route("**/api/rooms/*/question", lambda route: route.abort(), times=1)
    room.ask("Which is larger?", "Choices", "K", "V")
    expect(presenter.panel.get_by_role("alert")).to_contain_text("Check that it is still running")
    expect(presenter.panel.get_by_label("Question")).to_have_value("Which is larger?")
    presenter.button("Ask").click()
    expect(presenter.panel.get_by_role("heading", name="Which is larger?")).to_be_visible()


def test_the_focus_stays_with_the_question_and_screen_readers_hear_of_it(room: Room) -> None:
    presenter, follower = room.presenter, room.join()
    news = follower.page.locator(".room-page > [role=status]")
    expect(news).to_be_empty()
    room.ask("Which is larger?", "Choices", "K", "V")
    asked = presenter.panel.get_by_role("heading", name="Which is larger?")
    expect(asked).to_be_focused()
    expect(news).to_have_text("The presenter asks: Which is larger?")
    expect(follower.panel.get_by_role("heading", name="Which is larger?")).not_to_be_focused()
    follower.panel.get_by_role("button", name="K", exact=True).press("Enter")
    for name, text in (("Show the answers", "The answers are shown: "), ("Vote again", "The presenter asks: ")):
        presenter.button(name).press("Enter")
        expect(news).to_have_text(f"{text}Which is larger?")
        expect(asked).to_be_focused()
    expect(follower.panel.get_by_role("heading", name="Which is larger?")).to_be_focused()
    presenter.button("Close the question").press("Enter")
    expect(presenter.button("Ask the room")).to_be_focused()


def test_without_websockets_a_room_is_followed_and_presented(
    room: Room, new_page: NewPage, server: Server, complaints: Complaints
) -> None:
    complaints.allow("WebSocket")
    secret = room.presenter.page.evaluate("JSON.parse(localStorage['kvscope.rooms'])[0][1]")
    room.presenter.page.close()
    presenter, follower = Member(new_page()), Member(new_page())
    for member, more in ((presenter, f"#secret={secret}"), (follower, "")):
        member.page.route_web_socket(re.compile("/socket.io/"), lambda socket: socket.close())
        member.page.goto(f"{server.url}room/{room.code}{more}")
        member.expect_step(1)
    presenter.next_step()
    follower.expect_step(2)
    for member in (presenter, follower):
        expect(member.trouble).to_be_empty()


def test_a_room_that_has_ended_leaves_its_page(room: Room, complaints: Complaints) -> None:
    complaints.allow(r"status of 404 .*/attendance$")  # asked for while the room ended
    presenter, follower = room.presenter, room.join().expect_step(1)
    presenter.button(f"Room {room.code[:4]} {room.code[4:]}").click()
    presenter.page.get_by_text("End the room", exact=True).click()
    presenter.button("End the room and delete its answers").click()
    for member in (presenter, follower):
        expect(member.trouble).to_contain_text("The room has ended")
        member.expect_step(1)
    follower.next_step()
    follower.expect_step(2)
    follower.page.reload()
    expect(follower.trouble).to_contain_text("No room with the code")
    assert presenter.page.evaluate("localStorage['kvscope.rooms']") == "[]"


def test_a_wrong_code_is_said_and_can_be_corrected(room: Room, new_page: NewPage, server: Server) -> None:
    follower = Member(new_page())
    follower.page.goto(f"{server.url}room/{NOWHERE}")
    expect(follower.trouble).to_contain_text("No room with the code ABCD 2345 is open")
    field = follower.page.get_by_label("Code of the room")
    expect(field).to_have_value("ABCD 2345")
    field.fill(f"{room.code[:4].lower()}-{room.code[4:].lower()}")
    field.press("Enter")
    follower.expect_step(1)


def test_a_wrong_secret_follows(room: Room, new_page: NewPage, server: Server, complaints: Complaints) -> None:
    complaints.allow("status of 403")
    other = Member(new_page())
    other.page.goto(f"{server.url}room/{room.code}#secret={'x' * 32}")
    expect(other.says).to_have_text("You follow the presenter")
    expect(other.trouble).to_have_text("This is not the secret of this room.")


def test_a_room_begins_at_the_page_that_led_to_it(new_page: NewPage, server: Server, short_run: str) -> None:
    page = new_page()
    page.goto(f"{server.url}?run={short_run}{PLACE}")
    expect(page.locator("html[data-step='1']")).to_be_attached()
    page.get_by_role("button", name="Share", exact=True).click()
    page.get_by_role("link", name="open a room").click()
    page.get_by_role("button", name="Open a room").click()
    Member(page).expect_step(1).expect_at(f"run={short_run}")


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_no_rule_of_axe_is_broken(new_page: NewPage, server: Server, short_run: str, screen: dict[str, Any]) -> None:
    page = new_page(**screen)
    page.goto(f"{server.url}room")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    broken = {"landing": flaws(page)}
    room = Room(lambda **_: new_page(**screen), server, f"/?run={short_run}{PLACE}")
    presenter, follower = room.presenter.expect_step(1), room.join(**screen).expect_step(1)
    broken |= {"presenter": flaws(presenter.page), "follower": flaws(follower.page)}
    presenter.button("Ask the room").click()
    broken["asking"] = flaws(presenter.page)
    presenter.button("Ask the room").click()
    room.ask("Which is larger?", "Choices", "K", "V")
    expect(follower.panel).to_be_visible()
    broken |= {"voting": flaws(presenter.page), "answering": flaws(follower.page)}
    presenter.button("Show the answers").click()
    expect(follower.panel.get_by_role("listitem")).to_have_count(2)
    broken |= {"answers": flaws(presenter.page), "followed answers": flaws(follower.page)}
    follower.next_step()
    expect(follower.button("Return to the presenter")).to_be_visible()
    broken["looking around"] = flaws(follower.page)
    presenter.page.get_by_role("button", name=re.compile(room.code[:4])).click()
    presenter.page.get_by_text("Copy the link").click()
    broken["dialog"] = flaws(presenter.page)
    assert {name: flaw for name, flaw in broken.items() if flaw} == {}
