"""The picture of a saved workload: its title, and a lane per request over the measured time.

In the page's colours: amber for prefill, green for each generated token, a thin line for waiting.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw

from kvscope.app.travel.card import one_line, shortened
from kvscope.app.travel.fonts import Fonts
from kvscope.app.travel.lanes import Lanes
from kvscope.app.travel.thumbnail import INK, LINE, MARGIN, MUTED, PAGE, SIZE, framed

COMPUTED, OUTPUT = PAGE["computed"], PAGE["output"]
TOP, BOTTOM = 176, 548
"""Top and bottom of the lanes, in pixels."""
HIGHEST, THICKEST, NAMES = 56.0, 22.0, 300
MOST = 12
"""Most lanes that fit."""
SECOND = 1000


def draw(shown: Lanes, title: str, model: str, folder: Path) -> bytes:
    """Returns a PNG. `folder`: of the font."""
    tokens = sum(len(lane.words) for lane in shown.lanes)
    foot = (
        f"{shortened(model, 40)} · {_counted(len(shown.lanes), 'request')}, {tokens} tokens in "
        f"{_counted(shown.passes, 'pass', 'passes')}, {shown.ends / SECOND:.1f} s"
    )

    def middle(_: Image.Image, on: ImageDraw.ImageDraw, fonts: Fonts) -> None:
        lanes = shown.lanes[:MOST]
        height = min(HIGHEST, (BOTTOM - TOP) / len(lanes))
        for at, lane in enumerate(lanes):
            y = TOP + height * (at + 0.5)
            fonts.draw(on, (MARGIN, y + 7), _cut(fonts, one_line(lane.prompt)), 20, INK)
            thick = min(THICKEST, 0.7 * height)
            until = max([lane.arrives, *lane.words, *(end for _, end in lane.reads), lane.ends or 0.0])
            on.line((_x(lane.arrives, shown), y, _x(until, shown), y), LINE, 3)
            for begin, end in lane.reads:
                right = max(_x(end, shown), _x(begin, shown) + 3)
                on.rectangle((_x(begin, shown), y - thick / 2, right, y + thick / 2), COMPUTED)
            for word in lane.words:
                on.rectangle((_x(word, shown) - 2, y - thick / 2, _x(word, shown) + 1, y + thick / 2), OUTPUT)
        if len(shown.lanes) > MOST:
            fonts.draw(on, (MARGIN, BOTTOM + 20), f"and {len(shown.lanes) - MOST} more", 20, MUTED)

    return framed(title, foot, folder, middle)


def _x(ms: float, shown: Lanes) -> float:
    left, right = MARGIN + NAMES, SIZE[0] - MARGIN
    return left + (right - left) * min(1.0, ms / max(shown.ends, 1.0))


def _cut(fonts: Fonts, text: str) -> str:
    """Cuts the text to the space beside the lanes."""
    return fonts.lines(text, 20, 400, NAMES - 24, 1)[0]


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
