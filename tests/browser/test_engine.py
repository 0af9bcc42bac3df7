"""The model computes in the visitor's browser: on a static site in each place, and where a server offers it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copy

import pytest
from playwright.sync_api import Frame, Locator, Page, Route, expect

import kvscope
from kvscope.app.factory import build
from kvscope.app.settings import Settings
from kvscope.app.site.build import NoEngines, Options, build_site
from kvscope.model.log.check import LogCheck
from kvscope.model.log.frames import split
from kvscope.model.service import for_browser, load_service
from tests.page_tools import install
from tests.support.complaints import Complaints
from tests.support.file_server import serving_files
from tests.support.grouped import write_grouped
from tests.support.lessons import RECORDINGS
from tests.support.pages import NewPage
from tests.support.places import PLACES, open_at
from tests.support.runs import WORDS
from tests.support.screens import PHONE
from tests.support.server import Server
from tests.support.stage import Stage, share_by_dialog
from tests.support.tiny_runs import payloads, request, run_to_end
from tests.support.traffic import requests_of
from tests.support.waiting import eventually
from tests.support.wasm import native_code

PART_BYTES = 3000
PROMPT = "The cat"
TOKENS = 8
SLOWLY = """() => {
  globalThis.MessageChannel = class {
    port1 = { close() {}, onmessage: null };
    port2 = { postMessage: () => setTimeout(() => this.port1.onmessage(), 200) };
  };
}"""
"""In the worker: a pause after each pass, which waits for a message to itself."""
STORED = """async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith("kvscope"));
  return names.length ? (await (await caches.open(names[0])).keys()).length : 0;
}"""
DROP = """async ([name, content]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([Uint8Array.from(atob(content), (char) => char.charCodeAt(0))], name));
  for (const type of ["dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }
}"""
LOADING = {"state": "loading", "message": "Loading", "model": None, "done": 0, "total": 0}
DIES = "() => { setTimeout(() => { throw new Error('out of memory'); }); }"
FULL = """
Cache.prototype.put = async () => { throw new DOMException("no room", "QuotaExceededError"); };
"""


@dataclass(frozen=True)
class Site:
    """`folder`: its files; `url`: where they are served; `session`: one that the same model computed on a server;
    `foreign`: one of another model.
    """

    folder: Path
    url: str
    session: str
    foreign: str
    parts: list[str]

    def open(self, page: Page, file: str = "index.html", place: str = "server") -> Frame:
        return open_at(place, page, self.folder, self.url, file)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    native_code()
    install()
    root = tmp_path_factory.mktemp("engine")
    folder, model, other = root / "below" / "kv", root / "tiny.gguf", root / "other.gguf"
    write_grouped(model)
    write_grouped(other, tied=False)
    recordings = root / "recordings"
    recordings.mkdir()
    copy(RECORDINGS / "animal.safetensors", recordings)
    settings = Settings(data_dir=root / "data", recordings_dir=recordings)
    parts = build(settings, engines_of=NoEngines, alone=False).extensions["kvscope"]
    words = WORDS | {"notes": [], "open": None}
    session, foreign = (parts.sessions.keep(words, frames_of(path))[0] for path in (model, other))
    parts.runs.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(for_browser, "PART_BYTES", PART_BYTES)
        build_site(settings, folder, Options(engine=True, model=str(model)), lambda line: None)
    with serving_files(root) as url:
        yield Site(folder, f"{url}below/kv/", session, foreign, parts_in(folder))


def frames_of(model: Path) -> Callable[[], Iterator[bytes]]:
    """The frames of a run that a server computed with a model."""
    service = load_service(str(model), "cpu", "float32", lambda progress: None)
    frames = payloads(run_to_end(service, request(prompt=PROMPT, max_new_tokens=TOKENS)))
    return lambda: iter(frames)


def parts_in(folder: Path) -> list[str]:
    """Names of the model's parts, in order."""
    text = (folder / "api/engine/model.js").read_text("utf-8")
    described = json.loads(json.loads(re.search(r"JSON\.parse\((.*)\);", text)[1]))  # type: ignore[index]
    return [part["file"] for part in described["parts"]]


def run(frame: Frame, prompt: str = PROMPT, tokens: int = TOKENS) -> str:
    """Types a prompt and runs it; the run's id, once it is shown."""
    before = frame.locator("html").get_attribute("data-run") or ""
    submit(frame, prompt, tokens)
    expect(frame.locator(f"html[data-run^='here-']:not([data-run='{before}'])")).to_be_attached()
    return frame.locator("html").get_attribute("data-run") or ""


def submit(frame: Frame, prompt: str = PROMPT, tokens: int = TOKENS) -> None:
    field = frame.get_by_role("textbox", name="Prompt", exact=True)
    if not field.is_visible():
        frame.get_by_role("button", name="Try your own").click()
    field.fill(prompt)
    form = frame.get_by_role("form", name="New run")
    number = form.get_by_label("new tokens")
    if not number.is_visible():
        form.get_by_text("Settings", exact=True).click()
    number.fill(str(tokens))
    number.blur()
    frame.get_by_role("button", name="Run", exact=True).click()


def finish(frame: Frame, state: str = "done") -> None:
    """Goes to the end of the run in sight, once it has one."""
    slider = frame.get_by_role("slider", name="Step", exact=True)

    def has_ended() -> int:
        slider.press("End")
        return frame.locator(f"html[data-state={state}]").count()

    eventually(has_ended, every_s=0.05)


def answer(frame: Frame) -> Locator:
    return frame.get_by_role("group", name="Answer", exact=True).locator("[data-step]")


def parts_of(asked: list[str]) -> list[str]:
    return [name for url in asked if "/api/engine/" in url and (name := url.rpartition("/")[2]) != "model.js"]


@pytest.mark.parametrize("place", PLACES)
def test_a_prompt_runs_on_the_device_and_is_branched(new_page: NewPage, site: Site, place: str) -> None:
    page = new_page(own=True)
    asked = requests_of(page)
    frame = site.open(page, place=place)
    expect(frame.locator("html[data-run]")).to_be_attached()
    assert parts_of(asked) == []
    parent = run(frame)
    finish(frame)
    frame.get_by_role("slider", name="Step", exact=True).press("Home")
    expect(frame.locator("html[data-step='0']")).to_be_attached()
    expect(exact(frame)).to_contain_text("÷ √8 =")
    other = frame.get_by_role("region", name="Next token").get_by_role("button", name=re.compile("^Branch with")).nth(1)
    other.press("Enter")
    expect(frame.locator(f"html[data-run^='here-']:not([data-run='{parent}'])")).to_be_attached()
    expect(frame.get_by_role("region", name="Branches")).to_contain_text("Branch:")
    finish(frame)
    if place == "server":  # a frame shares the history of the page around it
        page.go_back()
        expect(frame.locator(f"html[data-run='{parent}']")).to_be_attached()


def test_a_saved_session_has_exact_values_and_an_own_run_can_be_changed(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    frame = site.open(page, f"s/{site.session}.html#step=2&layer=1&head=1&query=7&key=2&view=pair")
    inspector = frame.get_by_role("region", name="Inspector")
    expect(inspector).not_to_contain_text("cannot be asked")
    frame.get_by_role("button", name="Load the model").click()
    expect(inspector).to_contain_text("running sum")
    own = run(frame)
    finish(frame)
    frame.get_by_role("button", name=re.compile("^What if")).click()
    frame.get_by_role("button", name="Run with changes").click()
    expect(frame.locator(f"html[data-run^='here-']:not([data-run='{own}'])")).to_be_attached()
    expect(frame.get_by_role("region", name="Beside the original")).to_be_visible()


def test_a_recording_of_another_model_names_it_and_offers_no_download(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    frame = site.open(page, f"s/{site.foreign}.html#step=2&layer=1&head=1&query=7&key=2&view=pair")
    expect(frame.get_by_role("status").filter(has_text="which computed this recording")).to_be_visible()
    expect(exact(frame)).to_contain_text("its model cannot be asked for them here")
    expect(frame.get_by_role("button", name="Load the model")).to_have_count(0)


def test_an_own_run_is_computed_again_without_a_cache_and_other_studies_name_a_server(
    new_page: NewPage, site: Site
) -> None:
    page = new_page(own=True)
    frame = site.open(page)
    own = run(frame)
    finish(frame)
    eventually(lambda: own in page_hash(frame))
    frame.evaluate("location.hash = location.hash.replace('view=head', 'view=cache')")
    view = exact(frame)
    view.get_by_role("button", name="Run it without a cache").click()
    expect(view).to_contain_text("Rows computed without a cache:")
    expect(view.get_by_role("button", name="Run it without a cache again")).to_be_visible()
    view.get_by_role("button", name="Clear the cache between steps").click()
    expect(view.get_by_role("alert")).to_contain_text("It needs a server.")


@pytest.mark.parametrize("place", PLACES)
def test_back_leads_to_the_recording_and_forward_to_the_own_run(new_page: NewPage, site: Site, place: str) -> None:
    page = new_page(own=True)
    frame = site.open(page, place=place)
    expect(frame.locator("html[data-run]")).to_be_attached()
    recording = frame.locator("html").get_attribute("data-run")
    own = run(frame)
    finish(frame)
    frame.get_by_role("slider", name="Step", exact=True).press("Home")
    eventually(lambda: re.match(f"#step=0&.*&run={own}$", page_hash(frame)))
    frame.evaluate("history.back()")
    expect(frame.locator(f"html[data-run='{recording}']")).to_be_attached()
    assert own not in page_hash(frame)
    frame.evaluate("history.forward()")
    expect(frame.locator(f"html[data-run='{own}'][data-step='0']")).to_be_attached()
    expect(answer(frame)).to_have_count(TOKENS)


def test_an_own_run_is_gone_after_a_reload_and_the_page_says_so(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    frame = site.open(page)
    expect(frame.locator("html[data-run]")).to_be_attached()
    recording = frame.locator("html").get_attribute("data-run")
    own = run(frame)
    eventually(lambda: own in page_hash(frame))
    page.reload()
    expect(frame.get_by_role("alert")).to_contain_text("This run is gone")
    expect(frame.locator(f"html[data-run='{recording}']")).to_be_attached()
    eventually(lambda: own not in page_hash(frame))
    run(frame)
    expect(frame.get_by_role("alert")).to_have_count(0)


def test_a_lesson_is_computed_over_an_own_run_and_goes_back_to_its_own(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    page.goto(f"{site.url}learn/02-six-steps.html#4")
    text = page.locator(".lesson-text")
    expect(text).to_contain_text("× 576]")
    picture = page.frames[1]
    expect(picture.locator("html[data-run]")).to_be_attached()
    recording = picture.locator("html").get_attribute("data-run")
    own = run(picture)
    expect(page.get_by_text("numbers are those of your own run")).to_be_visible()
    expect(text).to_contain_text("× 32]")
    expect(picture.locator(f"html[data-run='{own}']")).to_be_attached()
    page.get_by_role("button", name="Back to the lesson’s run").click()
    expect(text).to_contain_text("× 576]")
    expect(picture.locator(f"html[data-run='{recording}'][data-step='0']")).to_be_attached()


def page_hash(frame: Frame) -> str:
    return str(frame.evaluate("location.hash"))


def test_a_run_is_saved_as_a_file_and_deleted(new_page: NewPage, site: Site, tmp_path: Path) -> None:
    page = new_page(own=True)
    frame = site.open(page)
    run(frame)
    finish(frame)
    with page.expect_download() as download:
        frame.get_by_role("button", name="Save as file").click()
    file = tmp_path / "run.safetensors"
    download.value.save_as(file)
    saved = kvscope.open(str(file))
    assert saved.prompt == PROMPT
    assert len(saved.steps) == TOKENS
    check = LogCheck()
    for frame_of_log in split(file.read_bytes()):
        check.take(frame_of_log.payload)
    assert (check.steps, check.opening.prompt) == (TOKENS, PROMPT)
    frame.get_by_role("button", name="Delete", exact=True).click()
    frame.get_by_role("button", name="Delete it").click()
    expect(frame.locator("html[data-run^='here-']")).to_have_count(0)


def test_a_run_whose_worker_dies_is_interrupted_and_the_model_loads_again(
    new_page: NewPage, site: Site, complaints: Complaints
) -> None:
    complaints.allow("out of memory")
    page = new_page(own=True)
    frame = site.open(page)
    run(frame)
    page.workers[0].evaluate(SLOWLY)
    run(frame, tokens=40)
    expect(answer(frame).nth(1)).to_be_attached()
    page.workers[0].evaluate(DIES)
    finish(frame, "error")
    stopped = frame.get_by_role("alert").filter(has_text="The model on this device has stopped")
    expect(stopped).not_to_contain_text("could not be loaded")
    stopped.get_by_role("button", name="Load it again").click()
    expect(stopped).to_have_count(0)
    broken = frame.locator("html").get_attribute("data-run") or ""
    frame.get_by_role("button", name="Continue from its log").click()
    expect(frame.locator(f"html[data-run^='here-']:not([data-run='{broken}'])")).to_be_attached()
    finish(frame)


@pytest.mark.parametrize("how", ["cancel", "reload"])
def test_a_download_that_stopped_goes_on_where_it_was(
    new_page: NewPage, site: Site, complaints: Complaints, how: str
) -> None:
    complaints.allow("ERR_FAILED")  # of the request that is held
    page = new_page(own=True)
    frame = site.open(page)
    held: list[Route] = []
    page.route(f"**/{site.parts[-1]}", lambda route: held.append(route))
    submit(frame)
    waiting = frame.get_by_role("status").filter(has_text="starts as soon as the model is ready")
    expect(waiting).to_be_visible()
    eventually(lambda: page.evaluate(STORED) == len(site.parts) + 1)
    expect(frame.get_by_role("button", name=re.compile("^Remove the model"))).to_have_count(0)
    if how == "reload":
        page.reload()
    else:
        waiting.get_by_role("button", name="Cancel").click()
        expect(waiting).to_have_count(0)
        for route in held:
            route.abort()
    page.unroute_all()
    asked = requests_of(page)
    run(frame)
    finish(frame)
    assert parts_of(asked) == [site.parts[-1]]


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_part_is_named_and_recordings_play(
    new_page: NewPage, site: Site, complaints: Complaints, damage: str
) -> None:
    page = new_page(own=True)
    if damage == "missing":
        complaints.allow("ERR_FAILED|Failed to load")
    frame = site.open(page)
    name = site.parts[-1]

    def answer_with(route: Route) -> None:
        if damage == "missing":
            route.abort()
            return
        text = (site.folder / "api/engine" / name).read_text()
        route.fulfill(body=text[:-20] + ("A" if text[-20] != "A" else "B") + text[-19:], content_type="text/javascript")

    page.route(f"**/{name}", answer_with)
    submit(frame)
    alert = frame.get_by_role("alert")
    expect(alert).to_contain_text(name)
    expect(alert).to_contain_text("is missing" if damage == "missing" else "differs from what was packed")
    site.open(page, f"s/{site.session}.html#step=0")
    finish(frame)


def test_without_room_the_model_runs_and_is_not_stored(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    page.add_init_script(FULL)
    frame = site.open(page)
    run(frame)
    finish(frame)
    asked = requests_of(page)
    page.reload()
    run(frame)
    assert len(parts_of(asked)) == len(site.parts) + 2


def test_after_the_first_load_it_runs_offline_and_in_a_second_tab(
    new_page: NewPage, site: Site, complaints: Complaints
) -> None:
    page = new_page(own=True)
    frame = site.open(page)
    run(frame)
    second = page.context.new_page()
    asked = requests_of(second)
    other = site.open(second)
    run(other)
    finish(other)
    assert parts_of(asked) == []
    complaints.allow("ERR_INTERNET_DISCONNECTED .*icon.svg")
    page.bring_to_front()
    page.context.set_offline(True)
    run(frame, "Dogs")
    finish(frame)


def test_a_phone_has_room_for_the_form_and_its_line(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True, **PHONE)
    frame = site.open(page)
    frame.get_by_role("button", name="Try your own").tap()
    expect(frame.locator("#on-this-device")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    run(frame)
    expect(frame.locator("#on-this-device")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_by_keyboard(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    frame = site.open(page)
    frame.get_by_role("button", name="Try your own").press("Enter")
    expect(frame.get_by_role("textbox", name="Prompt", exact=True)).to_be_focused()
    page.keyboard.type(PROMPT)
    page.keyboard.press("Enter")
    expect(frame.locator("html[data-run^='here-']")).to_be_attached()
    frame.get_by_role("button", name="Try your own").press("Enter")
    expect(frame.locator("#on-this-device")).to_contain_text("Remove the model")
    frame.get_by_role("button", name=re.compile("^Remove the model")).press("Enter")
    expect(frame.locator("#on-this-device")).to_contain_text("The first run downloads")


def drop(frame: Frame, file: Path) -> None:
    content = b64encode(file.read_bytes()).decode()
    frame.evaluate(DROP, [file.name, content])


def own_file(site: Site, name: str = "own.gguf", arch: str = "qwen3") -> Path:
    """Another model than the site's, outside of the site."""
    file = site.folder.parents[1] / name
    write_grouped(file, arch)
    return file


def model_line(frame: Frame) -> Locator:
    return frame.get_by_role("group", name="Model", exact=True)


@pytest.mark.parametrize("place", PLACES)
def test_a_gguf_file_that_is_dropped_computes_what_the_packed_model_computes(
    new_page: NewPage, site: Site, place: str
) -> None:
    page = new_page(own=True)
    asked = requests_of(page)
    frame = site.open(page, place=place)
    expect(frame.locator("html[data-run]")).to_be_attached()
    drop(frame, site.folder.parents[1] / "tiny.gguf")
    expect(frame.locator("#on-this-device")).to_contain_text("Your file tiny.gguf computes inside this page.")
    assert len(parts_of(asked)) == 2  # the code, and the details
    run(frame)
    finish(frame)
    tokens = answer(frame).all_inner_texts()
    assert len(parts_of(asked)) == 2
    frame.get_by_role("button", name="Try your own").click()
    expect(frame.locator("#on-this-device")).to_contain_text("The file and what you type stay on this device.")
    frame.get_by_role("button", name="Stop using this file").click()
    expect(frame.locator("#on-this-device")).to_contain_text("The first run downloads")
    run(frame)
    finish(frame)
    assert answer(frame).all_inner_texts() == tokens


def test_a_gguf_file_that_is_chosen_computes_its_own_tokens(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    frame = site.open(page)
    run(frame)
    finish(frame)
    tokens = answer(frame).all_inner_texts()
    frame.get_by_role("button", name="Try your own").click()
    with page.expect_file_chooser() as chooser:
        frame.get_by_role("button", name="Use a GGUF file…").click()
    chooser.value.set_files(own_file(site))
    expect(frame.locator("#on-this-device")).to_contain_text("Your file own.gguf computes inside this page.")
    run(frame)
    finish(frame)
    assert answer(frame).all_inner_texts() != tokens
    expect(model_line(frame)).to_contain_text("own · 2 layers")


def test_a_gguf_file_that_this_page_cannot_compute_is_refused_and_the_sites_model_stays(
    new_page: NewPage, site: Site
) -> None:
    page = new_page(own=True)
    frame = site.open(page)
    expect(frame.locator("html[data-run]")).to_be_attached()
    drop(frame, own_file(site, "other.gguf", "gpt2"))
    alert = frame.get_by_role("alert").filter(has_text="The model could not be loaded")
    expect(alert).to_contain_text(
        "other.gguf: It is of the family gpt2. This page computes llama, qwen2, qwen3. Use another"
    )
    frame.get_by_role("button", name="Stop using this file").click()
    expect(alert).to_have_count(0)
    run(frame)
    finish(frame)


def show(frame: Frame, view: str, step: int) -> None:
    frame.evaluate("hash => { location.hash = hash }", f"#step={step}&layer=1&head=1&view={view}")
    expect(frame.locator(f"html[data-step='{step}']")).to_be_attached()


def exact(frame: Frame) -> Locator:
    return frame.get_by_role("region", name="Inspector")


def test_while_the_servers_model_loads_a_run_on_the_device_is_shared(
    new_page: NewPage, start_server: Callable[..., Server], tmp_path: Path
) -> None:
    native_code()
    write_grouped(tmp_path / "tiny.gguf")
    server = start_server("--model", str(tmp_path / "tiny.gguf"), "--browser-engine", "offer", "--compile", "auto")
    page = new_page(own=True)
    server.wait_until_ready()
    page.route("**/readyz", lambda route: route.fulfill(status=503, json=LOADING))
    page.goto(f"{server.url}#view=head")
    frame = page.main_frame
    submit(frame)
    frame.get_by_role("button", name="Run on this device").click()
    expect(frame.locator("html[data-run^='here-']")).to_be_attached()
    finish(frame)
    link = share_by_dialog(Stage(page, server), "From this device").get_by_role("textbox", name="Link").input_value()
    other = new_page(own=True)
    other.goto(link)
    expect(other.get_by_role("group", name="Prompt and answer", exact=True)).to_contain_text(PROMPT)


def test_a_gguf_file_computes_in_place_of_the_servers_model_until_it_is_no_longer_used(
    new_page: NewPage, start_server: Callable[..., Server], tmp_path: Path
) -> None:
    native_code()
    write_grouped(tmp_path / "tiny.gguf")
    write_grouped(tmp_path / "own.gguf", "qwen3")
    server = start_server("--model", str(tmp_path / "tiny.gguf"), "--browser-engine", "offer", "--compile", "auto")
    page = new_page(own=True)
    server.wait_until_ready()
    page.goto(f"{server.url}#view=head")
    frame = page.main_frame
    expect(frame.locator("html[data-run]")).to_be_attached()
    drop(frame, tmp_path / "own.gguf")
    line = frame.locator("#on-this-device")
    expect(line).to_contain_text("Your file own.gguf computes inside this page.")
    run(frame)
    finish(frame)
    expect(model_line(frame)).to_contain_text("own · 2 layers")
    frame.get_by_role("button", name="Try your own").click()
    frame.get_by_role("button", name="Stop using this file").click()
    expect(line).to_contain_text("A GGUF file of your own")
    submit(frame)
    expect(frame.locator("html[data-run]:not([data-run^='here-'])")).to_be_attached()
    expect(model_line(frame)).to_contain_text("tiny · 2 layers")


def test_forms_and_dialogs_work_in_a_sandboxed_frame(new_page: NewPage, site: Site) -> None:
    frame = site.open(new_page(own=True), "by-hand/a.html?predict=1", place="sandboxed frame")
    frame.get_by_placeholder("your number").first.fill("x")
    frame.get_by_placeholder("your number").first.press("Enter")
    expect(frame.get_by_role("status").filter(has_text="This is not a number.")).to_be_visible()
    frame.get_by_role("button", name="Help").click()
    expect(frame.get_by_role("dialog")).to_be_visible()
    frame.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(frame.get_by_role("dialog")).to_have_count(0)
