"""What a canvas of the page shows, without the page's own context being read: Chromium complains of many reads."""

from typing import Any

from playwright.sync_api import Locator

PIXELS = """(canvas) => {
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  return copy.getImageData(0, 0, width, height);
}"""


def seen(canvas: Locator, script: str, argument: Any = None) -> Any:
    """What `script`, a function of an ImageData and `argument`, gives for what the canvas shows."""
    return canvas.evaluate(f"(canvas, argument) => ({script})(({PIXELS})(canvas), argument)", argument)


def colours(canvas: Locator) -> int:
    """How many colours the canvas shows."""
    return int(seen(canvas, "({ data }) => new Set(new Uint32Array(data.buffer)).size"))
