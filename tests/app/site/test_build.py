"""A site as it is written: every address leads to a file, only what changed is written, and nothing is lost."""

import errno
import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from posixpath import normpath
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from click.testing import Result

from kvscope.app.http.site import file_of
from kvscope.app.learn.report import worked_out
from kvscope.app.site.folder import MANIFEST
from kvscope.app.store.gallery import recordings_in
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore, parts_table
from tests.support.command import command
from tests.support.live_server import ROOT

RECORDINGS = [each for each in recordings_in(ROOT / "kvscope" / "app" / "recordings") if each.card]
SHORTEST = min((each for each in RECORDINGS if not each.workload), key=lambda each: each.path.stat().st_size)
GLOSSARY = "/".join(("static", "shared", "words", "glossary.js"))  # of the site, not of the checkout
HELD = re.compile(r"\(self\.kvscopeData \?\?= \{\}\)\[(\".*?\")\] = JSON\.parse\((.*)\);\n", re.S)


def keep(folder: Path, *titles: str) -> list[str]:
    """Sessions with the frames of the shortest recording; their ids."""
    with RunLog(folder, alone=False) as runs:
        return [SessionStore(runs).keep({**SHORTEST.words, "title": each}, SHORTEST.frames)[0] for each in titles]


def spoil(folder: Path, session: str) -> None:
    with RunLog(folder, alone=False) as runs, runs.engine.begin() as connection:
        of_session = (parts_table.c.session == session, parts_table.c.seq == 1)
        connection.execute(sa.update(parts_table).where(*of_session).values(payload=b"spoiled"))


def site(data: Path, out: Path, *options: str) -> Result:
    return command("--data", data, "site", out, *options)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with three sessions, and their ids."""
    folder = tmp_path_factory.mktemp("data")
    return folder, keep(folder, "One", 'Two <b>"bold"</b>', "Three")


@pytest.fixture(scope="module")
def written(data: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site of that folder, for tests that leave it as it is."""
    out = tmp_path_factory.mktemp("site") / "site"
    result = site(data[0], out, "--address", "https://example.org/below/kv")
    assert result.exit_code == 0, result.output
    return out


class Addresses(HTMLParser):
    """Every address that a page's elements name, and the JSON inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.data: dict[str, Any] = {}
        self._id: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._id = given.get("id") if given.get("type") == "application/json" else None
        named = [given.get("href"), given.get("src"), given.get("action")]
        if str(given.get("property", "")) in ("og:image", "og:url"):
            named.append(given.get("content"))
        self.addresses += [each for each in named if each]

    def handle_data(self, data: str) -> None:
        if self._id:
            self.data[self._id] = json.loads(data)
            self._id = None


def files_of(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def held(path: Path) -> Any:
    """What a script of the site holds."""
    match = HELD.fullmatch(path.read_text("utf-8"))
    assert match, path
    assert json.loads(match[1]).endswith(path.name)
    return json.loads(json.loads(match[2]))


def paths_in(value: Any) -> Iterator[str]:
    """Everything in the data of a page or an answer that is a path of the site: of links and of what lessons show."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in ("address", "at", "leads", "url") and isinstance(each, str) and each.startswith("/"):
                yield each
            yield from paths_in(each)
    elif isinstance(value, list):
        yield from chain.from_iterable(map(paths_in, value))


def test_every_address_of_every_page_leads_to_a_file_of_the_site(written: Path) -> None:
    files, base = files_of(written), "https://example.org/below/kv/"
    seen = set[str]()
    for name in sorted(each for each in files if each.endswith(".html")):
        page = Addresses((written / name).read_text("utf-8"))
        for address in page.addresses:
            inside = address.removeprefix(base)
            assert not urlsplit(inside).netloc, f"{name} names {address}"
            assert not inside.startswith("/"), f"{name} names {address} from the host's root"
            path = urlsplit(inside).path
            target = path if inside != address else normpath(f"{name.rpartition('/')[0] or '.'}/{path}")
            assert target in files, f"{name} names {address}"
            seen.add(target)
        seen |= {*map(led_to(files, name), paths_in(page.data))}
    for name in (each for each in files if each.startswith("api/") and each.endswith(".js")):
        seen |= {*map(led_to(files, name), paths_in(held(written / name)))}
    assert {"index.html", "learn/01-what-is-a-token.html", "memory.html", "static/icon.svg"} <= seen


def led_to(files: set[str], name: str) -> Callable[[str], str]:
    """The file of a path that a page's data names."""

    def check(path: str) -> str:
        target = file_of(urlsplit(path).path)
        assert target in files, f"{name} leads to {path}"
        return target

    return check


def test_every_answer_that_pages_ask_for_is_a_file(written: Path, data: tuple[Path, list[str]]) -> None:
    files = files_of(written)
    lessons = [each["id"] for each in held(written / "api/lessons.js")["lessons"]]
    assert len(lessons) > 20
    sessions = [*data[1], *(each.card.id for each in RECORDINGS if each.card)]
    for names in (
        ("api/index.js", "api/code.js", GLOSSARY, "static/embed.js", "install.html"),
        [f"{under}learn/{each}.html" for each in lessons for under in ("", "embed/")],
        [f"api/lessons/{each}.js" for each in lessons],
        [f"{under}by-hand/{each}.html" for each in "ab" for under in ("", "embed/")],
        [f"{under}{each}.html" for each in sessions for under in ("s/", "embed/")],
        [f"api/sessions/{each}{end}" for each in sessions for end in ("/frames.js", ".png")],
        [f"oembed/{each}.json" for each in sessions],
    ):
        assert files.issuperset(names)


def test_no_number_of_a_lesson_waits_for_a_model(written: Path) -> None:
    for path in (written / "api" / "lessons").glob("*.js"):
        assert '"pending": true' not in json.dumps(held(path)), path.name


def test_by_hand_has_the_numbers_that_the_examples_give(written: Path) -> None:
    for example in "ab":
        answer = held(written / "api" / "by-hand" / f"{example}.js")
        assert answer.pop("example")["words"]
        assert answer == json.loads(json.dumps(worked_out(example)))


def test_saved_sessions_are_listed_and_found(written: Path, data: tuple[Path, list[str]]) -> None:
    gallery = (written / "gallery.html").read_text("utf-8")
    assert "Two &lt;b&gt;&#34;bold&#34;&lt;/b&gt;" in gallery
    found_by_search = {each["id"] for each in held(written / "api/index.js")["entries"] if each["kind"] == "recording"}
    for session in data[1]:
        assert f'href="./s/{session}.html"' in gallery
        assert session in found_by_search


def test_rooms_need_a_server_so_nothing_leads_to_one(written: Path) -> None:
    assert "room.html" not in files_of(written)
    assert "/room" not in {each["address"] for each in held(written / "api/index.js")["entries"]}
    assert '"address": "/room"' not in (written / "gallery.html").read_text("utf-8")


def test_names_of_scripts_and_styles_have_a_hash_of_their_content(written: Path) -> None:
    names = [path.name for path in (written / "assets").iterdir()]
    assert len(names) > 20
    assert all(re.fullmatch(r"[a-z-]+-[0-9a-f]{12}\.(css|js)", name) for name in names)
    for sheet in (written / "assets").glob("*.css"):
        addresses = re.findall(r"url\(([^)]*)\)", sheet.read_text("utf-8"))
        assert all(each.strip("\"'").startswith("data:") for each in addresses), sheet.name


def test_with_an_address_previews_and_oembed_have_whole_addresses(written: Path, data: tuple[Path, list[str]]) -> None:
    session, base = data[1][0], "https://example.org/below/kv/"
    page = (written / "s" / f"{session}.html").read_text("utf-8")
    assert f'property="og:image" content="{base}api/sessions/{session}.png"' in page
    assert f'href="{base}oembed/{session}.json"' in page
    oembed = json.loads((written / "oembed" / f"{session}.json").read_text("utf-8"))
    assert f'src="{base}embed/{session}.html"' in oembed["html"]
    assert oembed["thumbnail_url"] == f"{base}api/sessions/{session}.png"


def test_the_install_page_has_the_command_of_the_readme(written: Path) -> None:
    page = (written / "install.html").read_text("utf-8").replace("&amp;", "&")
    command = re.search(r"```sh\n([^\n]+)\n```", (ROOT / "README.md").read_text("utf-8"))
    assert f"<code>{command[1]}</code>" in page


def test_only_what_has_changed_is_written_again(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    first, second = keep(data, "First", "Second")
    options = ("--server", "https://kv.example")
    result = site(data, out, *options)
    assert result.exit_code == 0, result.output
    assert f"{len(RECORDINGS) + 2} sessions, {len(RECORDINGS) + 2} of them written now" in result.stdout
    assert f"{len(RECORDINGS) + 2} of {len(RECORDINGS) + 2} sessions" in result.stderr
    assert "oembed" not in {path.name for path in out.iterdir()}, "the address is not known"
    assert 'data-site="https://kv.example/"' in (out / "s" / f"{first}.html").read_text("utf-8")
    when = {name: (out / name).stat().st_mtime_ns for name in files_of(out)}
    assert "0 of them written now" in site(data, out, *options).stdout
    assert {name: (out / name).stat().st_mtime_ns for name in files_of(out)} == when

    assert command("--data", data, "sessions", "delete", first).exit_code == 0
    (third,) = keep(data, "Third")
    assert "1 of them written now" in site(data, out, *options).stdout
    names = files_of(out)
    assert not [name for name in names if first in name]
    assert not (out / "api" / "sessions" / first).exists()
    assert f"s/{third}.html" in names
    assert (out / "s" / f"{second}.html").stat().st_mtime_ns == when[f"s/{second}.html"]
    gallery = (out / "gallery.html").read_text("utf-8")
    assert (first in gallery, second in gallery, third in gallery) == (False, True, True)

    assert site(data, out, *options, "--session", third).exit_code == 0
    assert not [name for name in files_of(out) if second in name]
    unknown = site(data, out, "--session", "nothing")
    assert (unknown.exit_code, "There is no session 'nothing'" in unknown.stderr) == (2, True)
    assert f"s/{third}.html" in files_of(out)


def test_a_damaged_session_is_named_and_the_others_are_written(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    first, second, third = keep(data, "First", "Second", "Third")
    spoil(data, first)
    result = site(data, out)
    assert result.exit_code == 1
    assert f"The session {first!r} is damaged: parts[1]" in result.stderr
    assert f"kvscope sessions delete {first}" in result.stderr
    names = files_of(out)
    assert {f"s/{second}.html", f"s/{third}.html", "index.html"} <= names
    assert not [name for name in names if first in name]
    assert first not in (out / "gallery.html").read_text("utf-8")

    spoil(data, second)
    (out / "s" / f"{second}.html").unlink()
    before = (out / "api" / "sessions" / second / "frames.js").read_bytes()
    again = site(data, out)
    assert (again.exit_code, "Its earlier files stay." in again.stderr) == (1, True)
    assert (out / "api" / "sessions" / second / "frames.js").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "is not empty"), ("{}", "is not empty"), ('{"format": 99, "units": {}}', "is a site of format 99")],
)
def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path, content: str | None, reason: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    if content is not None:
        (out / MANIFEST).write_text(content)
    before = files_of(out)
    result = site(tmp_path / "data", out)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert files_of(out) == before
    assert not (tmp_path / "data").exists()


def test_a_full_disk_is_said_and_the_next_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    keep(data, "One")
    write, room = Path.write_bytes, [12]

    def full(path: Path, content: bytes) -> int:
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        result = site(data, out)
    assert result.exit_code == 2
    assert "cannot be written: No space left on device." in result.stderr
    assert not list(out.rglob("*.part"))
    assert site(data, out).exit_code == 0
    assert (out / "index.html").is_file()


@pytest.mark.parametrize(
    "address", ["example.org", "ftp://example.org", "https://", "https://example.org/?a=1", "http://["]
)
def test_what_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    for option in ("--server", "--address"):
        result = site(tmp_path / "data", tmp_path / "out", option, address)
        assert (result.exit_code, "is not an address" in result.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
