"""The timeline: the arms one above the other on one time axis, image and script as lanes, thickness = rate.

One declaration (Vega-Lite, through Altair) gives SVG and PNG. Text sits in rows of its own, so nothing can overlap:
above each lane its first and last byte, above both lanes the instant the script was available.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from analysis.load import Experiment, Run
from analysis.metrics import PageLoad, ResourceTimes, page_loads
from analysis.summary import measured, typical
from analysis.verdict import Verdict

_WIDTH = 1400
_HEIGHT = 270
_BINS = 140
_PNG_SCALE = 1.25
_VEGA_LITE = alt.SCHEMA_VERSION.lstrip("v").rpartition(".")[0]
_FONT = 24
_INK = "#1a1a1a"
_QUIET = "#5a5a5a"
# Blue and vermilion of Okabe and Ito: distinct to colour-blind eyes and on a pale projector.
_COLOURS = {"image": "#0072b2", "script": "#d55e00"}
_VERDICT_COLOURS = {Verdict.KEPT: "#00664b", Verdict.INVERTED: "#b00020"}

# Vertical layout of a panel, in lane heights.
_BASE = {"image": 0.0, "script": 1.75}
_LABEL_ABOVE = 1.32
_AVAILABLE_ROW = 3.45
_TOP = 3.75
# Frames, records, TCP, IP and Ethernet around a full-size packet's payload.
_OVERHEAD = 1514 / 1440
_LETTER_PX = 0.56 * _FONT


# Altair's own types for what layering and concatenating give are wider than what its functions accept.
Chart = Any


@dataclass(frozen=True, kw_only=True)
class _Scale:
    """The common time axis."""

    most_s: float

    def pixels(self, seconds: float) -> float:
        return seconds / self.most_s * _WIDTH

    @property
    def bin_s(self) -> float:
        return self.most_s / _BINS


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
        _headline(shown[0]),
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


def _headline(run: Run) -> str:
    scenario = run.scenario
    rate = scenario["rate_bit_s"]
    speed = "unlimited rate" if rate is None else f"{rate / 8000:,.4g} kB/s ({rate / 1000:,.6g} kbit/s)"
    buffer = scenario["sndbuf_bytes"]
    words = [
        str(scenario["server"]),
        speed,
        f"{scenario['delay_ns'] / 10**6:g} ms",
        str(scenario["congestion_control"]),
        f"send buffer {'stock' if buffer is None else f'{buffer / 2**20:g} MiB'}",
        f"page load {measured(run)['load']} on one connection",
        *_unusual(scenario),
    ]
    return "  ·  ".join(words)


def _unusual(scenario: Mapping[str, Any]) -> Iterator[str]:
    """What else is not as most pictures have it, in the knobs' own words."""
    if scenario["native"] != "off":
        yield f"NATIVE={scenario['native']}"
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
        subtitle=str(run.document["verdict_reason"]),
        fontSize=_FONT + 8,
        subtitleFontSize=_FONT - 3,
        subtitleColor=_QUIET,
        subtitlePadding=6,
        color=_VERDICT_COLOURS.get(verdict, _INK),
        anchor="start",
        offset=10,
    )
    resources = {"image": load.image, "script": load.script}
    layers = [
        _lanes(load, resources, run.scenario["rate_bit_s"], scale, is_last=is_last),
        _marks(load, resources),
        _available(load, scale),
        *(_labels(name, times, load, scale) for name, times in resources.items()),
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


def _lanes(
    load: PageLoad, resources: dict[str, ResourceTimes], rate_bit_s: int | None, scale: _Scale, *, is_last: bool
) -> Chart:
    bursts = _bursts(load, resources, rate_bit_s)
    binned = {name: _bytes_by_bin([burst for burst in bursts if burst.resource == name], scale) for name in resources}
    busiest = max(max(counts) for counts in binned.values())
    full = busiest if rate_bit_s is None else rate_bit_s / 8 / _OVERHEAD * scale.bin_s
    rows = [
        {"start": start_s, "end": end_s, "base": _BASE[name], "top": _BASE[name] + height, "resource": name}
        for name, counts in binned.items()
        for start_s, end_s, height in _steps([count / full for count in counts], scale)
    ]
    colour = alt.Color("resource:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), legend=None)
    bars = (
        alt.Chart(_values(rows))
        .mark_rect(clip=True, stroke=None)
        .encode(x=_x(scale, is_last=is_last), x2="end:Q", y=_y("base:Q"), y2="top:Q", color=colour)
    )
    names = (
        alt.Chart(_values([{"resource": name, "y": base + 0.5} for name, base in _BASE.items()]))
        .mark_text(align="right", baseline="middle", fontSize=_FONT, fontWeight="bold")
        .encode(x=alt.value(-14), y=_y("y:Q"), text="resource:N", color=colour)
    )
    return alt.layer(bars, names)


@dataclass(frozen=True, kw_only=True)
class _Burst:
    """Payload of one stream that became readable together, and the time in which it crossed the link."""

    resource: str
    start_s: float
    end_s: float
    size_bytes: int


def _bursts(load: PageLoad, resources: dict[str, ResourceTimes], rate_bit_s: int | None) -> list[_Burst]:
    """A TLS record is readable when its last byte is here, and after a loss many records are readable at once; both
    crossed the link before. The first record of a stream is left out, so that a lane begins at its first byte.
    """
    readable: dict[int, dict[str, int]] = {}
    for name, times in resources.items():
        for piece in times.pieces:
            sizes = readable.setdefault(piece.t_ns, {})
            sizes[name] = sizes.get(name, 0) + piece.size_bytes
    bursts = []
    before_s = 0.0
    for t_ns, sizes in sorted(readable.items()):
        end_s = (t_ns - load.started_ns) / 10**9
        crossing_s = 0.0 if rate_bit_s is None else sum(sizes.values()) * _OVERHEAD * 8 / rate_bit_s
        start_s = max(before_s, end_s - crossing_s)
        bursts += [
            _Burst(resource=name, start_s=start_s, end_s=end_s, size_bytes=size)
            for name, size in sizes.items()
            if rate_bit_s is None or t_ns > resources[name].first_byte_ns
        ]
        before_s = end_s
    return bursts


def _bytes_by_bin(bursts: list[_Burst], scale: _Scale) -> list[float]:
    """Payload per bin of the time axis."""
    counts = [0.0] * _BINS
    for burst in bursts:
        first, last = (min(_BINS - 1, int(edge / scale.bin_s)) for edge in (burst.start_s, burst.end_s))
        if first == last:
            counts[first] += burst.size_bytes
            continue
        for index in range(first, last + 1):
            covered_s = min(burst.end_s, (index + 1) * scale.bin_s) - max(burst.start_s, index * scale.bin_s)
            counts[index] += burst.size_bytes * covered_s / (burst.end_s - burst.start_s)
    return counts


def _steps(heights: list[float], scale: _Scale) -> Iterator[tuple[float, float, float]]:
    """(start, end, height) of each stretch of equal height above zero."""
    index = 0
    for height, stretch in groupby(min(1.0, round(height, 2)) for height in heights):
        start, index = index, index + len(list(stretch))
        if height:
            yield start * scale.bin_s, index * scale.bin_s, height


def _marks(load: PageLoad, resources: dict[str, ResourceTimes]) -> Chart:
    rows = [
        {"start": load.ms(t_ns) / 1000, "base": _BASE[name], "top": _BASE[name] + 1.16}
        for name, times in resources.items()
        for t_ns in (times.first_byte_ns, times.last_byte_ns)
    ]
    return (
        alt.Chart(_values(rows))
        .mark_rule(strokeWidth=3, color=_INK)
        .encode(x=alt.X("start:Q"), y=_y("base:Q"), y2="top:Q")
    )


def _available(load: PageLoad, scale: _Scale) -> Chart:
    seconds = load.ms(load.script_available_ns) / 1000
    text = f"script available at the front {_seconds(seconds, scale)}"
    rows = _values([{"start": seconds, "base": 0.0, "top": _AVAILABLE_ROW, "text": text}])
    line = (
        alt.Chart(rows)
        .mark_rule(strokeWidth=3, strokeDash=[9, 6], color=_QUIET)
        .encode(x=alt.X("start:Q"), y=_y("base:Q"), y2="top:Q")
    )
    fits = scale.pixels(seconds) + len(text) * _LETTER_PX < _WIDTH
    label = (
        alt.Chart(rows)
        .mark_text(
            align="left" if fits else "right",
            dx=8 if fits else -8,
            baseline="middle",
            fontSize=_FONT - 2,
            color=_QUIET,
        )
        .encode(x=alt.X("start:Q"), y=_y("top:Q"), text="text:N")
    )
    return alt.layer(line, label)


def _labels(name: str, times: ResourceTimes, load: PageLoad, scale: _Scale) -> Chart:
    first_s, last_s = load.ms(times.first_byte_ns) / 1000, load.ms(times.last_byte_ns) / 1000
    first, last = f"first byte {_seconds(first_s, scale)}", f"last byte {_seconds(last_s, scale)}"
    room_px = scale.pixels(last_s - first_s)
    if room_px < (len(first) + len(last) + 2) * _LETTER_PX:
        both = f"{first}, {last}"
        fits = scale.pixels(first_s) + len(both) * _LETTER_PX < _WIDTH
        texts = [(first_s, both, 1)] if fits else [(last_s, both, -1)]
    else:
        texts = [(first_s, first, 1), (last_s, last, -1)]
    layers = [
        alt.Chart(_values([{"start": at_s, "y": _BASE[name] + _LABEL_ABOVE, "text": text}]))
        .mark_text(align="left" if side > 0 else "right", dx=6 * side, baseline="middle", fontSize=_FONT, color=_INK)
        .encode(x=alt.X("start:Q"), y=_y("y:Q"), text="text:N")
        for at_s, text, side in texts
    ]
    return alt.layer(*layers)


def _seconds(seconds: float, scale: _Scale) -> str:
    """As many digits as the axis can show."""
    digits = 3 if scale.most_s < 1 else 2 if scale.most_s < 200 else 0
    return f"{seconds:.{digits}f} s"
