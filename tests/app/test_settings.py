"""Where the data of a user is when nobody says, and what settings say of each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs.macos import MacOS
from platformdirs.unix import Unix

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


@pytest.mark.parametrize(
    ("host", "proxies", "here"),
    [
        ("127.0.0.1", (), True),
        ("::1", (), True),
        ("localhost", (), True),
        ("0.0.0.0", (), False),
        ("192.0.2.7", (), False),
        ("kvscope.example", (), False),
        ("127.0.0.1", ("127.0.0.1",), False),
    ],
)
def test_runs_are_watched_from_here_where_only_this_machine_connects(
    host: str, proxies: tuple[str, ...], here: bool
) -> None:
    assert Settings(host=host, proxies=proxies).watched_from_here is here
