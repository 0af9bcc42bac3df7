"""Figures of a recorded run as files: complete, the same each time, and drawn without a network."""

from collections.abc import Callable
from pathlib import Path

import plotly
import pytest
from playwright.sync_api import Browser

import kvscope
from kvscope.app.reader.figure_files import CannotWrite, folder_for_figures, write_figures
from kvscope.model.log.frames import join, relabel, split

SCRIPT = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_each_kind_is_a_page_and_plotlys_script_is_there_once(capital: Path, tmp_path: Path) -> None:
    names = write_figures(capital, tmp_path)
    found = contents(tmp_path)
    assert sorted(found) == names == ["attention.html", "cache.html", "plotly.min.js", "time.html"]
    assert found["plotly.min.js"] == SCRIPT.read_bytes()
    assert max(len(content) for name, content in found.items() if name.endswith(".html")) < 100_000
    for name in found:
        (tmp_path / name).write_text("of an earlier version")
    write_figures(capital, tmp_path)
    assert contents(tmp_path) == found


def failing_in(folder: Path, does: Callable[[], None]) -> None:
    """What happens where a run is refused."""
    with folder_for_figures(folder):
        does()
        raise KeyError


def test_a_folder_is_made_and_goes_again_with_what_fails(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.mkdir()
    for folder in (new, old):
        with pytest.raises(KeyError):
            failing_in(folder, lambda: None)
    assert list(tmp_path.iterdir()) == [old]
    with pytest.raises(KeyError):
        failing_in(new, (new / "run").touch)
    assert (new / "run").exists()


@pytest.mark.parametrize("folder", ["none/below", "file/below", "/proc"])
def test_a_folder_that_cannot_be_written_is_told_before_anything_is_done(tmp_path: Path, folder: str) -> None:
    """Nobody can write to /proc, not even root."""
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match=rf"{folder} cannot be written: [A-Z][a-z -]+\.$"):
        failing_in(tmp_path / folder, pytest.fail)


def test_a_run_without_a_step_has_no_figures(capital: Path, tmp_path: Path) -> None:
    frames = split(capital.read_bytes())
    closing = relabel(frames[-1].payload, frames[-1].run, 1, {"steps": 0, "reason": "stopped"})
    recorded = tmp_path / "none.safetensors"
    recorded.write_bytes(join([frames[0].payload, closing.payload]))
    with pytest.raises(kvscope.CannotRead, match="has no complete step"):
        write_figures(recorded, tmp_path)
    assert list(tmp_path.iterdir()) == [recorded]


@pytest.mark.processes
def test_the_pages_draw_themselves_without_a_network(capital: Path, tmp_path: Path, browser: Browser) -> None:
    write_figures(capital, tmp_path)
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    titles = {}
    for kind in ("attention", "cache", "time"):
        page.goto((tmp_path / f"{kind}.html").as_uri())
        page.locator(".main-svg").first.wait_for()
        titles[kind] = page.locator(".gtitle").text_content()
    context.close()
    assert titles == {
        "attention": "Where each token looks: layer 23, head 4",
        "cache": "KV cache after each step",
        "time": "Time of each step",
    }
    assert {url.partition(":")[0] for url in asked} == {"file"}
