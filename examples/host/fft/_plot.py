"""Draws line plots and grey images, and writes them as PNG files.

It uses only NumPy and zlib, because the demo runs where no plotting library is installed.
"""

from __future__ import annotations

import math
import struct
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.floating[Any]]
Colour: TypeAlias = tuple[float, float, float]

INK: Colour = (0.15, 0.15, 0.18)
GREY: Colour = (0.88, 0.88, 0.90)
BLUE: Colour = (0.12, 0.38, 0.72)
RED: Colour = (0.80, 0.18, 0.15)

# Glyphs of 5 by 7 pixels, one base-32 digit per row; letters with a descender have two more rows.
_CHARACTERS = "0123456789.,-+()/:=%ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_GLYPHS = """
ehhhhhe 4c4444e eh1248v v2421he 26aiv22 vgu11he 68guhhe v124888 ehhehhe ehhf12c
00000cc 00000448 000e000 044v440 2488842 8422248 01248g0 0cc0cc0 00v0v00 op248j3
ehhvhhh uhhuhhu ehggghe uhhhhhu vgguggv vgguggg ehgnhhf hhhvhhh e44444e 72222ic hikokih
ggggggv hrllhhh hhpljhh ehhhhhe uhhuggg ehhhlid uhhukih fgge11u v444444 hhhhhhe hhhhha4
hhhllla hha4ahh hha4444 v1248gv
00e1fhf ggmphhu 00egghe 11djhhf 00ehvge 698s888 00fhhhf1e ggmphhh 40c444e 2062222ic ggikoki
c44444e 00qllll 00mphhh 00ehhhe 00uhhhugg 00fhhhf11 00mpggg 00fge1u 88s8896 00hhhjd 00hhha4
00hhlla 00ha4ah 00hhhhf1e 00v248v
"""
_FONT = dict(zip(_CHARACTERS, _GLYPHS.split(), strict=True))


def _glyph(character: str) -> npt.NDArray[np.bool_]:
    """Return a character as 9 rows of 6 pixels, the last column empty."""
    bitmap = np.zeros((9, 6), dtype=bool)
    for row, digit in enumerate(_FONT.get(character, "")):
        bitmap[row, :5] = [int(digit, 32) >> (4 - column) & 1 for column in range(5)]
    return bitmap


class Canvas:
    """A white RGB picture that lines, text and grey images are drawn on."""

    def __init__(self, width: int, height: int) -> None:
        self.pixels: Array = np.ones((height, width, 3))

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        align: float = 0.0,
        colour: Colour = INK,
        scale: int = 2,
        upwards: bool = False,
    ) -> None:
        """Write text; `align` 0, 0.5 or 1 puts its start, middle or end at (x, y)."""
        bitmap = np.hstack([_glyph(character) for character in text])[:, :-1]
        bitmap = np.kron(bitmap, np.ones((scale, scale), dtype=bool)).astype(bool)
        if upwards:
            bitmap = np.rot90(bitmap)
            y -= (1 - align) * bitmap.shape[0]
        else:
            x -= align * bitmap.shape[1]
        rows, columns = np.nonzero(bitmap)
        self.pixels[rows + round(y), columns + round(x)] = colour

    def segment(
        self, x0: float, y0: float, x1: float, y1: float, colour: Colour, width: float = 2.0
    ) -> None:
        """Draw a straight line with smooth edges."""
        margin = width / 2 + 1
        left, right = int(min(x0, x1) - margin), int(max(x0, x1) + margin) + 1
        top, bottom = int(min(y0, y1) - margin), int(max(y0, y1) + margin) + 1
        rows, columns = np.mgrid[top:bottom, left:right]
        length2 = (x1 - x0) ** 2 + (y1 - y0) ** 2
        along = ((columns - x0) * (x1 - x0) + (rows - y0) * (y1 - y0)) / max(length2, 1e-12)
        along = np.clip(along, 0, 1)
        distance = np.hypot(columns - x0 - along * (x1 - x0), rows - y0 - along * (y1 - y0))
        opacity = np.clip(width / 2 + 0.5 - distance, 0, 1)[..., None]
        area = self.pixels[top:bottom, left:right]
        area[:] = area * (1 - opacity) + np.array(colour) * opacity

    def image(self, x: int, y: int, grey: Array, *, scale: int = 1) -> None:
        """Place a picture with values from 0 (black) to 1 (white)."""
        grey = np.kron(np.clip(grey, 0, 1), np.ones((scale, scale)))
        height, width = grey.shape
        self.pixels[y : y + height, x : x + width] = grey[..., None]

    def save(self, path: Path) -> None:
        """Write the picture as an 8-bit RGB PNG file."""
        data = np.round(np.clip(self.pixels, 0, 1) * 255).astype(np.uint8)
        height, width, _ = data.shape
        rows = np.hstack([np.zeros((height, 1), np.uint8), data.reshape(height, width * 3)])
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        body = zlib.compress(rows.tobytes(), 9)
        chunks = [(b"IHDR", header), (b"IDAT", body), (b"IEND", b"")]
        with path.open("wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            for kind, content in chunks:
                checksum = zlib.crc32(kind + content)
                file.write(struct.pack(">I", len(content)) + kind + content)
                file.write(struct.pack(">I", checksum))


class Axes:
    """A framed area of a canvas with numbered axes, in data coordinates."""

    def __init__(
        self,
        canvas: Canvas,
        box: tuple[int, int, int, int],
        x_range: tuple[float, float],
        y_range: tuple[float, float],
    ) -> None:
        self.canvas = canvas
        self.left, self.top, self.right, self.bottom = box
        self.x_range = x_range
        self.y_range = y_range

    def _column(self, x: float) -> float:
        low, high = self.x_range
        return self.left + (x - low) / (high - low) * (self.right - self.left)

    def _row(self, y: float) -> float:
        low, high = self.y_range
        return self.bottom - (y - low) / (high - low) * (self.bottom - self.top)

    def frame(self, title: str, x_label: str, y_label: str, *, step: tuple[float, float]) -> None:
        """Draw grid, frame, tick numbers and labels."""
        middle = (self.left + self.right) / 2
        self.canvas.text(middle, self.top - 42, title, align=0.5, scale=3)
        self.canvas.text(middle, self.bottom + 42, x_label, align=0.5)
        upright = (self.top + self.bottom) / 2
        self.canvas.text(self.left - 92, upright, y_label, align=0.5, upwards=True)
        for x in _ticks(self.x_range, step[0]):
            self._rule(x, self.y_range[0], x, self.y_range[1])
            self.canvas.text(self._column(x), self.bottom + 12, f"{x:g}", align=0.5)
        for y in _ticks(self.y_range, step[1]):
            self._rule(self.x_range[0], y, self.x_range[1], y)
            self.canvas.text(self.left - 12, self._row(y) - 7, f"{y:g}", align=1)
        corners = [
            (self.left, self.top),
            (self.right, self.top),
            (self.right, self.bottom),
            (self.left, self.bottom),
        ]
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            self.canvas.segment(x0, y0, x1, y1, INK, 1.5)

    def _rule(self, x0: float, y0: float, x1: float, y1: float, colour: Colour = GREY) -> None:
        ends = self._column(x0), self._row(y0), self._column(x1), self._row(y1)
        self.canvas.segment(*ends, colour, 1.0)

    def line(self, x: Array, y: Array, colour: Colour = BLUE, width: float = 2.5) -> None:
        """Join the points of a curve."""
        columns = [self._column(value) for value in x]
        rows = [self._row(value) for value in y]
        points = list(zip(columns, rows, strict=True))
        for (x0, y0), (x1, y1) in pairwise(points):
            self.canvas.segment(x0, y0, x1, y1, colour, width)

    def mark(self, x: float, label: str, colour: Colour = RED) -> None:
        """Draw a vertical line at x, with a label at its right."""
        column = self._column(x)
        self.canvas.segment(column, self.top, column, self.bottom, colour, 2.0)
        self.canvas.text(column + 12, self.top + 16, label, colour=colour, scale=3)


def _ticks(bounds: tuple[float, float], step: float) -> Array:
    first = math.ceil(bounds[0] / step - 1e-9)
    last = math.floor(bounds[1] / step + 1e-9)
    return np.arange(first, last + 1) * step
