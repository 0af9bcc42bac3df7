"""A folder of a site: what a killed build wrote is removed later, and nothing outside the folder ever is."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kvscope.app.site.folder import FORMAT, MANIFEST, PART, CannotWrite, SiteFolder

SESSION = {"api/sessions/one.png": b"1", "api/sessions/one/frames.js": b"2", "embed/one.html": b"3", "s/one.html": b"4"}
MOMENTS = range(1, 1 + len(SESSION))
"""After which file the build is killed: the manifest comes first."""
PARENTS = ["../victim", "pages/../../victim", "{absolute}"]
LINKS = ["link", "linked/victim", "linked/../../victim", "loop/x"]


def killed(after: int, build: Callable[[], None]) -> None:
    """Do it in a process that ends, as by kill -9, in the middle of file number `after`."""
    child = os.fork()
    if child == 0:
        count, replace = 0, Path.replace

        def counted(self: Path, target: Path) -> Path:
            nonlocal count
            count += 1
            if count > after:
                os._exit(9)
            return replace(self, target)

        Path.replace = counted  # type: ignore[method-assign]
        try:
            build()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def files_of(out: Path) -> set[str]:
    return {path.relative_to(out).as_posix() for path in out.rglob("*")}


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_a_killed_build_wrote_of_a_session_goes_once_the_session_is_deleted(tmp_path: Path, moment: int) -> None:
    killed(1 + moment, lambda: SiteFolder(tmp_path).write("session one", "stamp", SESSION))
    later = SiteFolder(tmp_path)
    later.write("pages", "stamp", {"index.html": b""})
    assert later.finish() == 1
    assert files_of(tmp_path) == {MANIFEST, "index.html"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_rewrite_leaves_no_file_of_either_version(tmp_path: Path, moment: int) -> None:
    first = SiteFolder(tmp_path)
    first.write("session one", "1", {"s/one.html": b"", "old/one.js": b""})
    first.finish()
    killed(moment, lambda: SiteFolder(tmp_path).write("session one", "2", SESSION))
    assert not SiteFolder(tmp_path).is_written("session one", "2")
    later = SiteFolder(tmp_path)
    later.finish()
    assert files_of(tmp_path) == {MANIFEST}


def test_a_part_that_a_killed_build_left_half_written_is_written_again(tmp_path: Path) -> None:
    killed(2, lambda: SiteFolder(tmp_path).write("session one", "stamp", SESSION))
    later = SiteFolder(tmp_path)
    assert not later.is_written("session one", "stamp")
    assert not later.keep("session one")
    later.write("session one", "stamp", SESSION)
    later.finish()
    assert SiteFolder(tmp_path).is_written("session one", "stamp")


@pytest.mark.parametrize("name", [*PARENTS, *LINKS, ".", "", "a\0b"])
def test_a_manifest_cannot_name_what_is_outside_the_folder(tmp_path: Path, name: str) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim"
    (tmp_path / "elsewhere").mkdir()
    for file in (victim, tmp_path / "elsewhere" / "victim"):
        file.write_text("somebody's")
    SiteFolder(out)
    (out / "link").symlink_to(victim)
    (out / "linked").symlink_to(tmp_path / "elsewhere")
    (out / "loop").symlink_to(out / "loop")
    before = files_of(tmp_path)
    units = {"pages": {"stamp": "x", "files": [name.format(absolute=victim)]}}
    (out / MANIFEST).write_text(json.dumps({"about": "", "format": FORMAT, "units": units}))
    with pytest.raises(CannotWrite, match="outside the folder or a link"):
        SiteFolder(out)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("link", ["s", "s/one.html"])
def test_a_build_does_not_write_through_a_link(tmp_path: Path, link: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = SiteFolder(out)
    (out / link).parent.mkdir(exist_ok=True)
    (out / link).symlink_to(elsewhere)
    with pytest.raises(CannotWrite, match="a link"):
        folder.write("session one", "stamp", SESSION)
    assert files_of(elsewhere) == set()


@pytest.mark.parametrize("more", [{}, {"units": {}}, {"parts": ["of another shape"]}])
@pytest.mark.parametrize("stated", [0, 2, 17])
def test_a_site_of_another_format_is_refused_by_its_format_and_stays(
    tmp_path: Path, stated: int, more: dict[str, object]
) -> None:
    content = {MANIFEST: json.dumps({"format": stated, **more}), "index.html": "its page", PART: "its own file"}
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(CannotWrite, match=f"a site of format {stated}; this KVScope writes format {FORMAT}"):
        SiteFolder(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == content


@pytest.mark.parametrize(
    "units", [[], {"pages": []}, {"pages": {"stamp": 1, "files": []}}, {"pages": {"stamp": "x", "files": [["a"]]}}]
)
def test_a_manifest_of_another_shape_is_none(tmp_path: Path, units: object) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"about": "", "format": FORMAT, "units": units}))
    with pytest.raises(CannotWrite, match="Choose another folder"):
        SiteFolder(tmp_path)
