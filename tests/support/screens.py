"""The screens and views that tests go through, and what axe finds wrong in a view."""

from axe_playwright_python.base import AXE_FILE_PATH
from playwright.sync_api import Page, expect

VIEWS = ("model", "block", "head", "pair", "tokens", "cache", "time")
SCHEMES = ("light", "dark")
DESKTOP = {"viewport": {"width": 1440, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
# Zoomed to twice its size, a window has half of its width and height for the page.
ZOOMED = {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2}
AXE = AXE_FILE_PATH.read_text("utf-8")


def violations(page: Page) -> list[str]:
    """A line per element that breaks a rule."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert len(found["passes"]) > 10, "axe has not looked"
    return [
        f"{violation['id']}: {node['html']} {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


IN_THEME = """(scheme) => {
  if (document.documentElement.dataset.theme === scheme) return;
  [...document.querySelectorAll("button")].find(({ ariaLabel }) => /^(Dark|Light) theme$/.test(ariaLabel))?.click();
}"""
"""By the page's own button, also where a dialog lies over it."""


def flaws(page: Page, schemes: tuple[str, ...] = SCHEMES) -> list[str]:
    """What is wrong with what is in sight, in each theme: rules that are broken, and a page wider than its window."""
    found = []
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.evaluate(IN_THEME, scheme)
        expect(page.locator(f"html[data-theme={scheme}]")).to_be_attached()
        found += [f"{scheme}: {violation}" for violation in violations(page)]
    wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [*found, f"{wider} px wider than its window"] if wider > 0 else found
