"""Lays out text in figures: widths, line breaks, positions of labels. Pure.

Widths are estimates for Liberation Sans, which vl-convert includes. Arial and Helvetica have the same widths.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FAMILIES = "Liberation Sans, Helvetica, Arial, sans-serif"
"""The font families, for CSS and SVG."""

_NARROW = frozenset(" !'(),-./:;I[]fijlrt|·")
_WIDE = frozenset("%@mw")
_GAP_LETTERS = 2


def text_px(text: str, font_px: float) -> float:
    """Returns the estimated width of a line of text."""
    return font_px * sum(map(_letter, text))


def _letter(letter: str) -> float:
    if letter in _NARROW:
        return 0.28
    if letter in _WIDE:
        return 0.83
    return 0.69 if letter.isupper() else 0.55


def wrapped(parts: Iterable[str], separator: str, font_px: float, width_px: float) -> list[str]:
    """Breaks text between its parts into lines no wider than width_px. A part wider than width_px gets its own line."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{separator}{part}" if lines else part
        if lines and text_px(longer, font_px) <= width_px:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


@dataclass(frozen=True, kw_only=True)
class Label:
    """Text beside the horizontal position at_px: to its right if side is 1, to its left if side is -1."""

    text: str
    at_px: float
    side: int
    font_px: float

    def covers(self, x_px: float, margin_px: float) -> bool:
        """True if a vertical line at x_px would cross the text, or come closer to the text than the margin."""
        width_px = text_px(self.text, self.font_px) * self.side
        left_px, right_px = sorted((self.at_px, self.at_px + width_px))
        return left_px - margin_px < x_px < right_px + margin_px


def beside(text: str, at_px: float, font_px: float, width_px: float) -> Label:
    """Returns a label to the right of at_px if the text fits into the figure's width, otherwise to the left."""
    fits = at_px + text_px(text, font_px) < width_px
    return Label(text=text, at_px=at_px, side=1 if fits else -1, font_px=font_px)


def spans(bottom: float, top: float, rows: Sequence[float], half: float) -> list[tuple[float, float]]:
    """Returns the parts of a vertical line that remain if the line is interrupted at each row of text.

    rows: the heights of the rows' middles, from the bottom up. half: half the height of a row.
    """
    bottoms = [bottom, *(row + half for row in rows)]
    tops = [*(row - half for row in rows), top]
    return list(zip(bottoms, tops, strict=True))


def edges(first: str, last: str, span_px: tuple[float, float], font_px: float, width_px: float) -> list[Label]:
    """Returns the labels for the times of a resource's first and last byte, beside its bar in a timeline.

    Both are inside the bar, or one label outside has both times if the bar is too short. span_px: the bar's left and
    right end. width_px: the width of the figure.
    """
    first_px, last_px = span_px
    room_px = last_px - first_px
    if room_px >= text_px(first, font_px) + text_px(last, font_px) + _GAP_LETTERS * font_px:
        return [
            Label(text=first, at_px=first_px, side=1, font_px=font_px),
            Label(text=last, at_px=last_px, side=-1, font_px=font_px),
        ]
    both = beside(f"{first}, {last}", first_px, font_px, width_px)
    return [both if both.side > 0 else Label(text=both.text, at_px=last_px, side=-1, font_px=font_px)]
