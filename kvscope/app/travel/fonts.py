"""Text on pictures: Inter, one file per script. A letter without a font is drawn as a box."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from PIL import ImageDraw, ImageFont

FACE = re.compile(r"url\(\./(files/[\w.-]+\.woff2)\)[^}]*?unicode-range:\s*([^;}]+)", re.S)
BOX_EM = 0.62
"""Width of a box in font sizes."""
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Fonts:
    """Fonts of one picture. A FreeType face belongs to one thread, so they are not shared."""

    def __init__(self, folder: Path) -> None:
        """Reads the fonts. `folder` has wght.css and its files; without them, Pillow's font is used."""
        sheet = folder / "wght.css"
        files = FACE.findall(sheet.read_text("utf-8")) if sheet.is_file() else []
        self._faces = [(folder / name, list(_ranges(text))) for name, text in files]
        self._fonts: dict[tuple[Path | None, int, int], Font] = {}
        self._files: dict[str, Path | None] = {}

    def width(self, text: str, size: int, weight: int = 400) -> float:
        """Returns the width of one line in pixels."""
        return sum(_length(font, run, size) for font, run in self._runs(text, size, weight))

    def draw(
        self, on: ImageDraw.ImageDraw, at: tuple[float, float], text: str, size: int, colour: str, weight: int = 400
    ) -> None:
        """Draws one line. `at`: the beginning of its baseline."""
        x, y = at
        for font, run in self._runs(text, size, weight):
            if font is None:
                for index in range(len(run)):
                    left = x + index * BOX_EM * size
                    on.rectangle((left + 1, y - 0.72 * size, left + BOX_EM * size - 2, y), outline=colour)
            else:
                on.text((x, y), run, colour, font, anchor="ls")
            x += _length(font, run, size)

    def lines(self, text: str, size: int, weight: int, width: float, most: int) -> list[str]:
        """Breaks the text into at most `most` lines, at spaces or inside long words; "…" marks a cut."""
        lines, line = [], ""
        for word in re.findall(r"\s*\S+", text):
            rest = word if line else word.lstrip()
            if self.width(line + rest, size, weight) > width and line:
                lines.append(line)
                line, rest = "", word.lstrip()
            for letter in rest:
                if self.width(line + letter, size, weight) > width:
                    lines.append(line)
                    line = ""
                line += letter
        lines.append(line)
        if len(lines) <= most:
            return lines
        last = lines[most - 1]
        while last and self.width(f"{last}…", size, weight) > width:
            last = last[:-1]
        return [*lines[: most - 1], f"{last.rstrip()}…"]

    def _runs(self, text: str, size: int, weight: int) -> Iterator[tuple[Font | None, str]]:
        """Splits the text by font; None for letters without one."""
        for path, run in groupby(text, self._file_of):
            yield (None if path is None else self._font(path, size, weight)), "".join(run)

    def _file_of(self, letter: str) -> Path | None:
        if letter not in self._files:
            self._files[letter] = self._file_with(letter)
        return self._files[letter]

    def _file_with(self, letter: str) -> Path | None:
        if not self._faces:
            return Path() if " " <= letter <= "~" else None
        code = ord(letter)
        return next((path for path, ranges in self._faces if any(low <= code <= high for low, high in ranges)), None)

    def _font(self, path: Path, size: int, weight: int) -> Font:
        key = (path, size, weight)
        if key not in self._fonts:
            if not self._faces:
                self._fonts[key] = ImageFont.load_default(size)
            else:
                font = ImageFont.truetype(str(path), size)
                font.set_variation_by_axes([weight])
                self._fonts[key] = font
        return self._fonts[key]


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    """Parses a `unicode-range`: "U+0000-00FF,U+0131"."""
    for low, high in re.findall(r"U\+([0-9A-Fa-f]+)(?:-([0-9A-Fa-f]+))?", text):
        yield int(low, 16), int(high or low, 16)


def _length(font: Font | None, run: str, size: int) -> float:
    return len(run) * BOX_EM * size if font is None else font.getlength(run)
