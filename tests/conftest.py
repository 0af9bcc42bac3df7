"""What every test may use: the tier of a test follows from its folder, and where Chromium is."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.chromium import NAMES, chromium
from tests.support.wheel import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WITHOUT = (
    # The page of suggestions that stands ready behind each window's address bar: a third of what a new window costs.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    # As Playwright has it; Chromium heeds the last such list alone.
    *("AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync"),
    *(
        "DestroyProfileOnBrowserClose",
        "HttpsFirstBalancedModeAutoEnable",
        "HttpsUpgrades",
        "LensOverlay",
        "MediaRouter",
    ),
    *("NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch"),
    "ThirdPartyStoragePartitioning",
)
"""Features of Chromium that are not there in tests."""
BROWSER_TESTS = Path(__file__).parent / "browser"

# Servers that tests start hear of a closed terminal, also where whoever runs the tests does not.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says how busy the machine is.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in tests/browser/ is of the browser tier."""
    for item in items:
        if BROWSER_TESTS in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Path of the system's Chromium. Without one the test is skipped, or failed where CI=true."""
    if path := chromium():
        return path
    message = f"no Chromium on PATH (looked for {', '.join(NAMES)})"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install` installs of this checkout, built once."""
    return build("wheel", tmp_path_factory.mktemp("wheel") / "dist")


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    """One headless Chromium for all the browser tests."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = [f"--disable-features={','.join(WITHOUT)}"]
        # Chromium's own sandbox cannot start as root, which is what CI runs as.
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium_path, args=arguments)
        yield browser
        browser.close()
