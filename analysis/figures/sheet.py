"""Composes sheets: panels one above the other on a common axis.

Elements of a panel have positions on the axis, not on the paper, so that they move when the reader moves the axis of
the interactive figure. Fields of the data: start and end are values of the axis; base and top are heights in the panel.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from analysis.figures import lettering
from analysis.figures.lettering import FAMILIES, Label
from analysis.figures.palette import GRID, INK, QUIET

WIDTH = 1320
FONT = 24
SMALL = FONT - 3
_NAME_PX = 14

# Altair's functions return wider types than they accept, so a precise type would not pass.
Chart = Any

CONFIG: dict[str, Any] = {
    "font": FAMILIES,
    "padding": 24,
    "background": "white",
    "view": {"stroke": None},
    "legend": {
        "title": None,
        "orient": "bottom",
        "labelFontSize": SMALL,
        "labelLimit": 0,
        "symbolType": "square",
        "symbolSize": 400,
        "symbolStrokeWidth": 0,
        "columnPadding": 30,
        "rowPadding": 8,
        "offset": 18,
    },
}
"""The configuration of all figures."""

# Positions on the paper, as channel objects: Altair takes milliseconds to infer the channel from anything else.
_X_AT: Any = alt.XValue
_Y_AT: Any = alt.YValue
_Y2_AT: Any = alt.Y2Value


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The horizontal axis that all panels share, from 0 to `most`."""

    most: float
    title: str

    def pixels(self, value: float) -> float:
        """Returns the position of a value, in pixels from the left."""
        return value / self.most * WIDTH

    def value(self, at_px: float) -> float:
        """Returns the value at a position."""
        return at_px / WIDTH * self.most

    def step(self, index: int, step_px: float) -> dict[str, float]:
        """Returns the start and end of a step of the axis, which is divided into steps of step_px. index: from 0."""
        start, end = (round(self.value(at * step_px), 4) for at in (index, index + 1))
        return {"start": start, "end": min(end, self.most)}

    def seconds(self, value_s: float) -> str:
        """Formats a time with as many digits as the axis can show."""
        digits = 3 if self.most < 1 else 2 if self.most < 200 else 0
        return f"{value_s:.{digits}f} s"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A panel's coordinates: the horizontal axis, and the vertical scale from `bottom` to `top`.

    is_last: True if the panel shows the axis's title and labels.
    """

    axis: Axis
    bottom: float
    top: float
    height_px: float
    is_last: bool

    def x(self) -> alt.X:
        """Returns the channel with the axis, for one of the panel's layers. Other layers use alt.X without an axis."""
        axis = alt.Axis(
            title=self.axis.title if self.is_last else None,
            labelFontSize=FONT - 2,
            titleFontSize=FONT,
            titleFontWeight="normal",
            titlePadding=12,
            grid=True,
            gridColor=GRID,
            tickCount=12,
            labels=self.is_last,
            ticks=self.is_last,
            domain=self.is_last,
        )
        return alt.X("start:Q", scale=alt.Scale(domain=[0, self.axis.most], nice=False), axis=axis)

    def y(self, field: str) -> alt.Y:
        """Returns the channel of a height in the panel."""
        return alt.Y(f"{field}:Q", scale=alt.Scale(domain=[self.bottom, self.top], nice=False), axis=None)

    def text(self, label: Label, row: float, colour: str, *, bold: bool = False) -> Chart:
        """Draws a label."""
        rows = [{"start": self.axis.value(label.at_px), "base": row, "text": label.text}]
        return (
            alt.Chart(values(rows))
            .mark_text(
                align="left" if label.side > 0 else "right",
                dx=7 * label.side,
                baseline="middle",
                fontSize=label.font_px,
                fontWeight="bold" if bold else "normal",
                color=colour,
            )
            .encode(x=alt.X("start:Q"), y=self.y("base"), text=alt.Text("text:N"))
        )

    def margin(self, text: str, row: float, colour: str, *, side: int, font_px: float = FONT) -> Chart:
        """Writes a word beside the panel: at its left if side is -1 (names), at its right if side is 1."""
        return (
            alt.Chart(values([{"base": row, "text": text}]))
            .mark_text(
                align="left" if side > 0 else "right",
                baseline="middle",
                fontSize=font_px,
                fontWeight="bold" if side < 0 and font_px == FONT else "normal",
                color=colour,
                clip=False,
            )
            .encode(x=_X_AT(WIDTH + _NAME_PX if side > 0 else -_NAME_PX), y=self.y("base"), text=alt.Text("text:N"))
        )

    def level(self, row: float, colour: str, *, dash: Sequence[int] = ()) -> Chart:
        """Draws a thin horizontal line across the panel."""
        return (
            alt.Chart(values([{"base": row}]))
            .mark_rule(strokeWidth=1.5, strokeDash=list(dash), color=colour)
            .encode(y=self.y("base"))
        )

    def instant(
        self, at: float, spans: Sequence[tuple[float, float]], colour: str = INK, *, width_px: float = 3
    ) -> Chart:
        """Draws a dashed vertical line at a value of the axis. spans: the line's parts, each as (bottom, top)."""
        rows = [{"start": at, "base": bottom, "top": top} for bottom, top in spans]
        return (
            alt.Chart(values(rows))
            .mark_rule(strokeWidth=width_px, strokeDash=[9, 6], color=colour)
            .encode(x=alt.X("start:Q"), y=self.y("top"), y2=alt.Y2("base:Q"))
        )

    def bars(self, rows: Sequence[Mapping[str, Any]], tooltip: Sequence[alt.Tooltip]) -> Chart:
        """Draws a bar for each row, from start to end and from base to top, in the row's colour."""
        return (
            alt.Chart(values(rows))
            .mark_rect()
            .encode(
                x=self.x(),
                x2=alt.X2("end:Q"),
                y=self.y("base"),
                y2=alt.Y2("top:Q"),
                color=alt.Color("colour:N", scale=None, legend=None),
                tooltip=list(tooltip),
            )
        )

    def numbers(self, rows: Sequence[Mapping[str, Any]], tooltip: Mapping[str, str]) -> Chart:
        """Makes a tooltip for each row, shown between the row's start and end. tooltip: the title of each field."""
        return (
            alt.Chart(values(rows))
            .mark_rect(opacity=0, aria=False)
            .encode(
                x=alt.X("start:Q"),
                x2=alt.X2("end:Q"),
                y=_Y_AT(0),
                y2=_Y2_AT(self.height_px),
                tooltip=[alt.Tooltip(f"{field}:Q", title=words, format=",.2f") for field, words in tooltip.items()],
            )
        )

    def made_of(self, layers: Sequence[Chart], title: alt.TitleParams) -> Chart:
        """Returns the panel made of these layers. The first layer must have the axis."""
        moving = [layers[0].add_params(_MOVE), *layers[1:]]
        return alt.layer(*moving).properties(width=WIDTH, height=self.height_px, title=title)


# All panels share this selection, so they move together.
_MOVE = alt.selection_interval(bind="scales", encodings=["x"], name="move")


def title(words: str, subtitle: Sequence[str], colour: str = INK) -> alt.TitleParams:
    """Returns the title above a panel. subtitle: a list of words; lines are broken between words."""
    return alt.TitleParams(
        words,
        subtitle=lettering.wrapped(subtitle, " ", SMALL, WIDTH),
        fontSize=FONT + 8,
        subtitleFontSize=SMALL,
        subtitleColor=QUIET,
        subtitlePadding=6,
        color=colour,
        anchor="start",
        frame="group",
        offset=10,
    )


def sheet(panels: Sequence[Chart], headline: Sequence[str]) -> Chart:
    """Returns a sheet of all panels below a headline, whose parts are separated by dots."""
    words = alt.TitleParams(
        lettering.wrapped(headline, " · ", FONT, WIDTH),
        fontSize=FONT,
        fontWeight="normal",
        color=QUIET,
        anchor="start",
        offset=14,
    )
    return below(words, panels)


def below(words: alt.TitleParams, panels: Sequence[Chart]) -> Chart:
    """Returns a sheet of all panels below a title."""
    with warnings.catch_warnings():
        # All panels have the same _MOVE on purpose.
        warnings.filterwarnings("ignore", "Automatically deduplicated selection parameter", UserWarning)
        made = alt.vconcat(*panels, spacing=26, title=words)
    return made.configure(**CONFIG)


def legend(present: Sequence[str]) -> alt.Legend:
    """Returns a legend that has only these entries."""
    return alt.Legend(values=list(present), columns=len(present) if len(present) <= _ONE_ROW else 3)


_ONE_ROW = 4


def values(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Returns rows as the data of a layer."""
    # Altair copies lists again and again, but not tuples.
    return alt.InlineData(values=tuple(rows))
