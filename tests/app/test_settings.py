"""Where the data of a user is when nobody says, and what settings say of each other."""

from pathlib import Path

import click
import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

from kvscope.app.commands.options import Size
from kvscope.app.settings import Settings, default_data_dir


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("system", "folder"), [(Unix, ".local/share"), (MacOS, "Library/Application Support")])
def test_data_is_where_the_system_has_it(
    monkeypatch: pytest.MonkeyPatch, home: Path, system: type, folder: str
) -> None:
    monkeypatch.setattr("platformdirs.PlatformDirs", system)
    assert default_data_dir() == home / folder / "kvscope"
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert default_data_dir() == Path("/xdg/kvscope")


def test_data_of_an_earlier_version_is_found_on_macos(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setattr("platformdirs.PlatformDirs", MacOS)
    (home / ".local" / "share" / "kvscope").mkdir(parents=True)
    assert default_data_dir() == home / ".local" / "share" / "kvscope"


def test_settings_that_are_printed_have_no_secrets() -> None:
    assert "secret" not in repr(Settings(database_url="postgresql://me:secret@host/name", token="secret-word"))


def test_a_size_is_read_as_it_is_said() -> None:
    said = {"0": 0, "500MB": 500_000_000, "1.5 gb": 1_500_000_000, "7": 7}
    assert {text: Size().convert(text, None, None) for text in said} == said
    for text in ("-1", "10GiB", "lots"):
        with pytest.raises(click.BadParameter):
            Size().convert(text, None, None)
