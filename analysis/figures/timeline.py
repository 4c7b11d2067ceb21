"""The timeline: the arms one above the other on one time axis, image and script as lanes, thickness = rate.

One declaration (Vega-Lite, through Altair) gives SVG and PNG. Text sits in rows of its own, so nothing can overlap:
above each lane its first and last byte, above both lanes the instant the script was available. The line of that instant
pauses where it would strike through text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from analysis.figures import lettering
from analysis.figures.lanes import lanes
from analysis.figures.lettering import Label
from analysis.load import Experiment, Run
from analysis.metrics import IMAGE, SCRIPT, PageLoad, page_loads
from analysis.summary import measured, typical
from analysis.verdict import Verdict

_WIDTH = 1400
_HEIGHT = 270
_STEP_PX = 10
_PNG_SCALE = 1.25
_VEGA_LITE = alt.SCHEMA_VERSION.lstrip("v").rpartition(".")[0]
_FONT = 24
_SMALL = _FONT - 3
_INK = "#1a1a1a"
_QUIET = "#5a5a5a"
# Blue and vermilion of Okabe and Ito: distinct to colour-blind eyes and on a pale projector.
_COLOURS = {IMAGE: "#0072b2", SCRIPT: "#d55e00"}
_VERDICT_COLOURS = {Verdict.KEPT: "#00664b", Verdict.INVERTED: "#b00020"}

# Vertical layout of a panel, in lane heights.
_BASE = {IMAGE: 0.0, SCRIPT: 1.75}
_MARK = 1.16
_LABEL_ABOVE = 1.32
_LABEL_HALF = 0.22
_AVAILABLE_ROW = 3.45
_TOP = 3.75
_LINE_MARGIN_PX = 8


# Altair's own types for what layering and concatenating give are wider than what its functions accept.
Chart = Any


@dataclass(frozen=True, kw_only=True)
class _Scale:
    """The common time axis."""

    most_s: float

    def pixels(self, seconds: float) -> float:
        return seconds / self.most_s * _WIDTH

    @property
    def step_s(self) -> float:
        return self.most_s * _STEP_PX / _WIDTH


def draw(experiment: Experiment) -> Chart | None:
    """The chart, None if no arm has anything to show."""
    shown = [run for runs in experiment.arms().values() if (run := typical(runs)) is not None]
    if not shown:
        return None
    loads = [page_loads(run.evidence())[-1] for run in shown]
    most_ms = max(load.ms(max(load.image.last_byte_ns, load.script.last_byte_ns)) for load in loads)
    scale = _Scale(most_s=most_ms / 1000 * 1.03)
    panels = [
        _panel(run, load, scale, is_last=index == len(shown) - 1)
        for index, (run, load) in enumerate(zip(shown, loads, strict=True))
    ]
    title = alt.TitleParams(
        lettering.wrapped(list(_headline(experiment, shown)), " · ", _FONT, _WIDTH),
        fontSize=_FONT,
        fontWeight="normal",
        color=_QUIET,
        anchor="start",
        offset=14,
    )
    return (
        alt.vconcat(*panels, spacing=26, title=title)
        .configure(font="Liberation Sans, Helvetica, Arial, sans-serif", padding=24, background="white")
        .configure_view(stroke=None)
    )


def save(experiment: Experiment) -> list[Path]:
    """Write timeline.svg and timeline.png into the experiment's folder; the paths, none if there is nothing to draw."""
    chart = draw(experiment)
    if chart is None:
        return []
    svg = vl_convert.vegalite_to_svg(chart.to_dict(), vl_version=_VEGA_LITE)
    (experiment.path / "timeline.svg").write_text(svg)
    (experiment.path / "timeline.png").write_bytes(vl_convert.svg_to_png(svg, scale=_PNG_SCALE))
    return [experiment.path / "timeline.svg", experiment.path / "timeline.png"]


def _headline(experiment: Experiment, shown: Sequence[Run]) -> Iterator[str]:
    """What holds for all panels."""
    scenario, observed = shown[0].scenario, shown[0].observed
    rate = scenario["rate_bit_s"]
    yield str(scenario["server"])
    yield "unlimited rate" if rate is None else f"{_plain(rate / 8000)} kB/s ({_plain(rate / 1000)} kbit/s)"
    yield f"{_plain(scenario['delay_ns'] / 10**6)} ms"
    yield str(scenario["congestion_control"])
    yield f"send buffer {_buffer(scenario['sndbuf_bytes'])}"
    yield f"page load {measured(shown[0])['load']} on one connection"
    yield from _unusual(scenario)
    made = (experiment.document["fabric"], observed.get("shaper"))
    yield ", ".join(str(word) for word in made if word)
    arms = {run.arm for run in shown}
    yield from (f"{name}: {runs[0].status}" for name, runs in experiment.arms().items() if name not in arms)


def _plain(number: float) -> str:
    """Three digits behind the point at most, and never an exponent."""
    return f"{number:,.3f}".rstrip("0").rstrip(".")


def _buffer(size_bytes: int | None) -> str:
    if size_bytes is None:
        return "stock"
    return f"{_plain(size_bytes / 2**20)} MiB" if size_bytes >= 2**20 else f"{_plain(size_bytes / 1024)} KiB"


def _unusual(scenario: Mapping[str, Any]) -> Iterator[str]:
    """What else is not as most pictures have it, in the knobs' own words."""
    if scenario["native"] != "off":
        yield f"NATIVE={scenario['native']}"
    if scenario.get("buffering", "on") != "on":  # older folders are without
        yield f"BUFFERING={scenario['buffering']}"
    if scenario["priorities"] != "spdy":
        yield f"PRIORITY={scenario['priorities']}"
    if scenario["gso_segments"] is not None:
        yield f"GSO={scenario['gso_segments']}"
    if scenario["loss"]:
        yield f"LOSS={scenario['loss'] * 100:g}%"
    if scenario["jitter_ns"]:
        yield f"JITTER={scenario['jitter_ns'] / 10**6:g}ms"


def _panel(run: Run, load: PageLoad, scale: _Scale, *, is_last: bool) -> Chart:
    verdict = run.document["verdict"]
    lowat = run.scenario["lowat"]
    title = alt.TitleParams(
        f"LOWAT {'unset' if lowat is None else lowat}: {verdict}",
        subtitle=lettering.wrapped(str(run.document["verdict_reason"]).split(), " ", _SMALL, _WIDTH),
        fontSize=_FONT + 8,
        subtitleFontSize=_SMALL,
        subtitleColor=_QUIET,
        subtitlePadding=6,
        color=_VERDICT_COLOURS.get(verdict, _INK),
        anchor="start",
        offset=10,
    )
    labels = {name: _edge_labels(load, name, scale) for name in _BASE}
    layers = [
        _lanes(load, run.scenario["rate_bit_s"], scale, is_last=is_last),
        _available(load, labels, scale),
        _marks(load),
        *(_text(label, _BASE[name] + _LABEL_ABOVE, _INK) for name, beside in labels.items() for label in beside),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT, title=title)


def _x(scale: _Scale, *, is_last: bool) -> alt.X:
    axis = alt.Axis(
        title="seconds after the page was asked for" if is_last else None,
        labelFontSize=_FONT - 2,
        titleFontSize=_FONT,
        titleFontWeight="normal",
        titlePadding=12,
        grid=True,
        gridColor="#e4e4e4",
        tickCount=12,
        labels=is_last,
        ticks=is_last,
        domain=is_last,
    )
    return alt.X("start:Q", scale=alt.Scale(domain=[0, scale.most_s], nice=False), axis=axis)


_Y_SCALE = alt.Scale(domain=[0, _TOP], nice=False)


def _y(field: str) -> alt.Y:
    return alt.Y(field, scale=_Y_SCALE, axis=None)


def _values(rows: list[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _lanes(load: PageLoad, rate_bit_s: int | None, scale: _Scale, *, is_last: bool) -> Chart:
    rows = []
    for name, steps in lanes(load, rate_bit_s, scale.step_s).items():
        # The area holds each height until the next row; the last one only closes it.
        ends = [(step.start_s, step.height) for step in steps] + [(steps[-1].end_s, steps[-1].height)]
        base = _BASE[name]
        rows += [{"start": at_s, "base": base, "top": base + height, "resource": name} for at_s, height in ends]
    colour = alt.Color("resource:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), legend=None)
    areas = (
        alt.Chart(_values(rows))
        .mark_area(interpolate="step-after", opacity=1)
        .encode(x=_x(scale, is_last=is_last), y=_y("base:Q"), y2="top:Q", color=colour)
    )
    names = (
        alt.Chart(_values([{"resource": name, "y": base + 0.5} for name, base in _BASE.items()]))
        .mark_text(align="right", baseline="middle", fontSize=_FONT, fontWeight="bold")
        .encode(x=alt.value(-14), y=_y("y:Q"), text="resource:N", color=colour)
    )
    return alt.layer(areas, names)


def _edges_s(load: PageLoad, name: str) -> tuple[float, float]:
    """When the first and the last byte came."""
    times = {IMAGE: load.image, SCRIPT: load.script}[name]
    return load.ms(times.first_byte_ns) / 1000, load.ms(times.last_byte_ns) / 1000


def _marks(load: PageLoad) -> Chart:
    rows = [
        {"start": at_s, "base": base, "top": base + _MARK}
        for name, base in _BASE.items()
        for at_s in _edges_s(load, name)
    ]
    return (
        alt.Chart(_values(rows))
        .mark_rule(strokeWidth=3, color=_INK)
        .encode(x=alt.X("start:Q"), y=_y("base:Q"), y2="top:Q")
    )


def _edge_labels(load: PageLoad, name: str, scale: _Scale) -> list[Label]:
    first_s, last_s = _edges_s(load, name)
    return lettering.edges(
        f"first byte {_seconds(first_s, scale)}",
        f"last byte {_seconds(last_s, scale)}",
        (scale.pixels(first_s), scale.pixels(last_s)),
        _FONT,
        _WIDTH,
    )


def _available(load: PageLoad, labels: Mapping[str, Sequence[Label]], scale: _Scale) -> Chart:
    at_s = load.ms(load.script_available_ns) / 1000
    at_px = scale.pixels(at_s)
    in_the_way = [
        _BASE[name] + _LABEL_ABOVE
        for name, beside in labels.items()
        if any(label.covers(at_px, _LINE_MARGIN_PX) for label in beside)
    ]
    bottoms = [0.0, *(row + _LABEL_HALF for row in in_the_way)]
    tops = [*(row - _LABEL_HALF for row in in_the_way), _AVAILABLE_ROW]
    rows = [{"start": at_s, "base": base, "top": top} for base, top in zip(bottoms, tops, strict=True)]
    line = (
        alt.Chart(_values(rows))
        .mark_rule(strokeWidth=3, strokeDash=[9, 6], color=_QUIET)
        .encode(x=alt.X("start:Q"), y=_y("top:Q"), y2="base:Q")
    )
    words = f"script available at the front {_seconds(at_s, scale)}"
    return alt.layer(line, _text(lettering.beside(words, at_px, _FONT - 2, _WIDTH), _AVAILABLE_ROW, _QUIET))


def _text(label: Label, row: float, colour: str) -> Chart:
    return (
        alt.Chart(_values([{"y": row, "text": label.text}]))
        .mark_text(
            align="left" if label.side > 0 else "right",
            dx=7 * label.side,
            baseline="middle",
            fontSize=label.font_px,
            color=colour,
        )
        .encode(x=alt.value(label.at_px), y=_y("y:Q"), text="text:N")
    )


def _seconds(seconds: float, scale: _Scale) -> str:
    """As many digits as the axis can show."""
    digits = 3 if scale.most_s < 1 else 2 if scale.most_s < 200 else 0
    return f"{seconds:.{digits}f} s"
