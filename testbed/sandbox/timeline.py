"""Draws the packets of a run: hosts as vertical lines, time downward, packets as slanted strokes. Pure but for PNG.

Rules:
1. A stroke begins where a packet was sent and ends where it arrived, at their times. One that was lost ends in a cross:
   in the middle, or with a router between two links in the middle of the half in which it was lost; near its sender if
   a schedule has cut this off.
2. Long times in which no packet is under way, and nothing happens, are cut short. A grey band stands for each.
3. Labels that would cover each other are left out. Every stroke has its packet as a title, which SVG shows.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import accumulate, pairwise
from pathlib import Path

from priolab.common.amounts import plain
from priolab.common.errors import RAISE_LIMIT, ScenarioError, Unavailable
from priolab.common.formats.files import printable
from priolab.common.limits import too_low_for_drawing
from priolab.common.plural import counted
from priolab.testbed.sandbox.packet import CUTS, Packet

SUFFIXES = (".svg", ".png")
"""The ends of names of files for timelines."""

MOST = 1000
"""The most packets in a picture."""

_NS = 10**9
_KINDS: Mapping[str, str] = {
    "data": "#004c85",
    "sent again": "#d55e00",
    "SYN, FIN, RST": "#117733",
    "acknowledgment": "#8a96a3",
    "without TCP": "#8a3f9b",
}
_RANKS = ("SYN, FIN, RST", "sent again", "data", "without TCP", "acknowledgment")
"""The kinds of packets. Of several at one place the first kind is named."""
_LOST = "#b00020"
_INK, _QUIET, _BAND = "#1a1a1a", "#5a5a5a", "#f1f1f1"
_FONT = "Liberation Sans, Helvetica, Arial, sans-serif"
_TIMES_PX, _LABELS_PX, _LEAST_BETWEEN_PX, _PAIR_PX = 92, 112, 200, 520
_TOP_PX, _BOTTOM_PX, _LINE_PX = 66, 34, 12
_LEAST_PX, _MOST_PX, _PACKET_PX = 340, 2400, 20
_LETTER_PX, _MOST_LETTERS = 7, 60
"""The width of a letter of an event at most, and the most letters that are shown."""
_LABELLED = 150
"""The most packets that have labels and arrowheads."""
_SCALE = 1.5
_AT_SENDER = 0.1
"""The part of its way that is drawn of a packet which did not get beyond its sender."""

Event = tuple[float, str]
"""Something that happened: when, in seconds from the client's start, and what."""


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A picture of packets. packets: each once, in order of time. hosts: from left to right. events: what else to mark.

    begin_s, end_s: only packets that were sent in this time are in the picture; None for the first, and for the last.
    """

    packets: Sequence[Packet]
    hosts: Sequence[str]
    events: Sequence[Event] = ()
    begin_s: float | None = None
    end_s: float | None = None

    @cached_property
    def svg(self) -> str:
        """The picture as SVG."""
        return "".join(_Drawing(self._shown, self.hosts, self._marked, self._left_out).parts())

    def png(self) -> bytes:
        """Returns the picture as PNG. Raises Unavailable."""
        check_png()
        import vl_convert  # more than half of all that the lab needs

        made: bytes = vl_convert.svg_to_png(self.svg, scale=_SCALE)
        return made

    def content(self, file: Path) -> bytes:
        """Returns the picture for a file, whose name tells its format. Raises ScenarioError and Unavailable."""
        check_file("timeline()", file)
        return self.png() if file.suffix == ".png" else self.svg.encode()

    def _repr_svg_(self) -> str:
        return self.svg

    def _within(self, at_s: float) -> bool:
        return (self.begin_s is None or self.begin_s <= at_s) and (self.end_s is None or at_s <= self.end_s)

    @cached_property
    def _chosen(self) -> Sequence[Packet]:
        return [each for each in self.packets if self._within(each.time_s)]

    @property
    def _shown(self) -> Sequence[Packet]:
        return self._chosen[:MOST]

    @property
    def _marked(self) -> Sequence[tuple[int, str]]:
        last_s = self._shown[-1].time_s if len(self._chosen) > MOST else float("inf")
        return [(round(at_s * _NS), text) for at_s, text in self.events if self._within(at_s) and at_s <= last_s]

    @property
    def _left_out(self) -> str:
        if not self._shown:
            return "no packets"
        count = counted(len(self._chosen), "packet")
        if len(self._chosen) <= MOST:
            return count
        return f"the first {MOST:,} of {count}, up to {self._shown[-1].time_s:.6f} s; a range of time shows others"


def check_file(option: str, file: Path) -> None:
    """Checks the name of a file for a timeline, and that it can be drawn. Raises ScenarioError and Unavailable."""
    if file.suffix not in SUFFIXES:
        raise ScenarioError(option, str(file), f"a file whose name ends in {' or '.join(SUFFIXES)}")
    if file.suffix == ".png":
        check_png()


def check_png() -> None:
    """Raises Unavailable if no PNG can be drawn."""
    if lack := too_low_for_drawing():
        raise Unavailable("a timeline as PNG", lack, RAISE_LIMIT)
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        remedy = "write a file that ends in .svg"
        raise Unavailable("a timeline as PNG", "vl-convert-python is not installed", remedy) from None


@dataclass(frozen=True)
class _Stroke:
    """A packet's stroke. to_ns: when it arrived, or would have. part: how much of the way is drawn."""

    packet: Packet
    from_ns: int
    to_ns: int
    part: float = 1.0

    @property
    def kind(self) -> str:
        packet = self.packet
        if packet.protocol != "tcp":
            return "without TCP"
        if packet.retransmission:
            return "sent again"
        if {"SYN", "FIN", "RST"} & {*packet.flags}:
            return "SYN, FIN, RST"
        return "data" if packet.length else "acknowledgment"


def _strokes(packets: Iterable[Packet], *, routed: bool) -> Iterator[_Stroke]:
    """Yields the strokes. routed: True if there is a router between the links of two hosts."""
    packets = list(packets)
    took_ns: dict[tuple[str, str], int] = {}
    for each in packets:
        if each.sent_ns is not None and each.arrived_ns is not None:
            way = each.source.host, each.destination.host
            took_ns[way] = min(each.arrived_ns - each.sent_ns, took_ns.get(way, each.arrived_ns - each.sent_ns))
    usual_ns = max(took_ns.values(), default=10**6)
    for each in packets:
        begin_ns = each.at_ns if each.sent_ns is None else each.sent_ns
        if each.arrived_ns is not None:
            yield _Stroke(each, begin_ns, each.at_ns if each.direction == "in" else each.arrived_ns)
            continue
        would_ns = begin_ns + took_ns.get((each.source.host, each.destination.host), usual_ns)
        if each.lost is not None and each.lost.cause in CUTS:
            yield _Stroke(each, begin_ns, would_ns, _AT_SENDER)
            continue
        half = 0.0 if each.lost is None or each.lost.way is None or not routed else 0.25
        yield _Stroke(each, begin_ns, would_ns, 0.5 + (half if each.lost and each.lost.way == "down" else -half))


class _Scale:
    """The vertical positions of times."""

    def __init__(self, strokes: Sequence[_Stroke], events: Iterable[int], height_px: float) -> None:
        flights = sorted((each.from_ns, each.to_ns) for each in strokes)
        times = sorted({*(at for flight in flights for at in flight), *events}) or [0]
        ends = [end for _, end in flights]
        longest = [*accumulate(ends, max)]
        begins = [begin for begin, _ in flights]

        def silent(after_ns: int) -> bool:
            under_way = bisect_right(begins, after_ns) - 1
            return under_way < 0 or longest[under_way] <= after_ns

        gaps = [(end - begin, silent(begin)) for begin, end in pairwise(times)]
        busy_ns = sum(gap for gap, is_silent in gaps if not is_silent)
        long = [gap for gap, is_silent in gaps if is_silent and gap > busy_ns / 50]
        most_ns = max(busy_ns / 50, busy_ns / (2 * len(long))) if busy_ns and sum(long) > 4 * busy_ns else None
        if not busy_ns:
            most_ns = min((gap for gap, _ in gaps), default=1)
        weights = [gap if most_ns is None or not is_silent else min(gap, most_ns) for gap, is_silent in gaps]
        whole = sum(weights) or 1
        self._times = times
        self._at_px = [px * height_px / whole for px in accumulate(weights, initial=0.0)]
        self.bands = [
            (begin, end)
            for (begin, end), (gap, _), weight in zip(pairwise(times), gaps, weights, strict=True)
            if weight < gap and busy_ns
        ]

    def px(self, at_ns: float) -> float:
        """Returns the position of a time, from the top."""
        after = bisect_right(self._times, at_ns)
        if after == 0 or after == len(self._times):
            return self._at_px[0 if after == 0 else -1]
        (begin, end), (top, bottom) = self._times[after - 1 : after + 1], self._at_px[after - 1 : after + 1]
        return top + (bottom - top) * (at_ns - begin) / (end - begin)


class _Drawing:
    """A picture on its way to SVG."""

    def __init__(
        self, packets: Sequence[Packet], hosts: Sequence[str], events: Sequence[tuple[int, str]], count: str
    ) -> None:
        self._hosts = hosts
        self._count = count
        self._strokes = [*_strokes(packets, routed=len(hosts) > 2)]
        self._height_px = min(_MOST_PX, max(_LEAST_PX, _PACKET_PX * (len(packets) + len(events))))
        self._scale = _Scale(self._strokes, (at_ns for at_ns, _ in events), self._height_px)
        self._between_px = max(_LEAST_BETWEEN_PX, _PAIR_PX / max(1, len(hosts) - 1))
        self._x_px = {name: _TIMES_PX + _LABELS_PX + number * self._between_px for number, name in enumerate(hosts)}
        self._right_px = max(self._x_px.values()) + _LABELS_PX
        self._marks = [(at_ns, _shortened(f"{at_ns / _NS:g} s: {text}")) for at_ns, text in events]
        self._width_px = self._right_px + max((_LETTER_PX * (len(text) + 1) for _, text in self._marks), default=0)
        self._is_labelled = len(packets) <= _LABELLED

    def _y(self, at_ns: float) -> float:
        return _TOP_PX + self._scale.px(at_ns)

    def parts(self) -> Iterator[str]:
        """Yields the parts of the picture."""
        width, height = self._width_px, _TOP_PX + self._height_px + _BOTTOM_PX
        yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        yield f'viewBox="0 0 {width:g} {height:g}" font-family="{_FONT}" font-size="11">\n'
        yield f'<rect width="{width:g}" height="{height:g}" fill="white"/>\n'
        yield from self._bands()
        yield from self._times()
        yield from self._lines()
        yield from self._legend()
        yield from self._packets()
        yield from self._events()
        yield _text(_TIMES_PX + _LABELS_PX, height - 10, self._count, _QUIET)
        yield "</svg>\n"

    def _bands(self) -> Iterator[str]:
        left, right = min(self._x_px.values()), max(self._x_px.values())
        for begin_ns, end_ns in self._scale.bands:
            top, bottom = self._y(begin_ns), self._y(end_ns)
            yield f'<rect x="{left:g}" y="{top:.1f}" width="{right - left:g}" height="{bottom - top:.1f}" '
            yield f'fill="{_BAND}"/>\n'
            if bottom - top >= _LINE_PX:
                text = f"{_duration(end_ns - begin_ns)} without a packet"
                yield _text((left + right) / 2, (top + bottom) / 2 + 4, text, _QUIET, anchor="middle")

    def _times(self) -> Iterator[str]:
        last, apart = -100.0, _LINE_PX if self._is_labelled else 4 * _LINE_PX
        for at_ns in sorted({each.from_ns for each in self._strokes}):
            y = self._y(at_ns)
            if y - last >= apart:
                yield _text(_TIMES_PX - 14, y + 4, f"{at_ns / _NS:.6f} s", _QUIET, anchor="end")
                last = y

    def _lines(self) -> Iterator[str]:
        for name, x in self._x_px.items():
            yield _text(x, _TOP_PX - 14, name, _INK, anchor="middle", size=14, bold=True)
            yield f'<line x1="{x:g}" y1="{_TOP_PX - 8}" x2="{x:g}" y2="{_TOP_PX + self._height_px + 8}" '
            yield f'stroke="{_INK}" stroke-width="1.5"/>\n'

    def _legend(self) -> Iterator[str]:
        x = float(_TIMES_PX + _LABELS_PX)
        used = {each.kind for each in self._strokes}
        for kind, colour in _KINDS.items():
            if kind in used:
                yield f'<line x1="{x:g}" y1="18" x2="{x + 20:g}" y2="18" stroke="{colour}" stroke-width="2"/>'
                yield _text(x + 26, 22, kind, _INK)
                x += 44 + 6 * len(kind)
        if any(each.packet.lost for each in self._strokes):
            yield _cross(x + 8, 18)
            yield _text(x + 18, 22, "lost", _INK)

    def _packets(self) -> Iterator[str]:
        for kind, colour in _KINDS.items():
            yield f'<marker id="{_id(kind)}" markerWidth="7" markerHeight="6" refX="6.5" refY="3" orient="auto" '
            yield f'markerUnits="userSpaceOnUse"><path d="M0,0L7,3L0,6Z" fill="{colour}"/></marker>\n'
        for each in self._strokes:
            yield from self._packet(each)
        if self._is_labelled:
            yield from self._labels()

    def _ends(self, stroke: _Stroke) -> tuple[float, float, float, float]:
        packet = stroke.packet
        to_x = self._x_px.get(packet.destination.host)
        from_x = self._x_px.get(packet.source.host)
        if from_x is None:  # of a host that no capture has
            from_x = (to_x or 0.0) + _LABELS_PX / 2
        if to_x is None:
            to_x = from_x + _LABELS_PX / 2
        from_y, to_y = self._y(stroke.from_ns), self._y(stroke.to_ns)
        return from_x, from_y, from_x + (to_x - from_x) * stroke.part, from_y + (to_y - from_y) * stroke.part

    def _packet(self, stroke: _Stroke) -> Iterator[str]:
        from_x, from_y, to_x, to_y = self._ends(stroke)
        how = f' marker-end="url(#{_id(stroke.kind)})"' if self._is_labelled and stroke.part == 1 else ""
        unsure = stroke.packet.duplicate or (stroke.part < 1 and not stroke.packet.lost)
        how += ' stroke-dasharray="4 3"' if unsure else ""
        width = 1.4 if self._is_labelled else 0.8
        yield f'<line x1="{from_x:.1f}" y1="{from_y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" '
        yield f'stroke="{_KINDS[stroke.kind]}" stroke-width="{width}"{how}>'
        yield f"<title>{escape(str(stroke.packet))}</title></line>\n"
        if stroke.packet.lost:
            yield _cross(to_x, to_y)

    def _labels(self) -> Iterator[str]:
        """Yields what stands at the ends of strokes. Of those that end at almost the same place one is named."""
        groups: dict[tuple[object, int], list[tuple[float, list[_Stroke]]]] = {}
        for stroke in sorted(self._strokes, key=lambda stroke: self._ends(stroke)[3]):
            from_x, _, to_x, to_y = self._ends(stroke)
            of_column = groups.setdefault((to_x, 1 if to_x >= from_x else -1), [])
            if of_column and to_y - of_column[-1][0] < _LINE_PX - 1:
                of_column[-1][1].append(stroke)
            else:
                of_column.append((to_y, [stroke]))
        for (_, side), of_column in groups.items():
            for y, strokes in of_column:
                first = min(strokes, key=lambda stroke: _RANKS.index(stroke.kind))
                x, lost = self._ends(first)[2], first.packet.lost
                text = first.packet.what + (f" +{len(strokes) - 1}" if len(strokes) > 1 else "")
                text += f" ({lost.cause})" if lost else ""
                colour = _LOST if lost else _KINDS[first.kind]
                yield _text(x + side * 8, y + 4, text, colour, anchor="start" if side > 0 else "end")

    def _events(self) -> Iterator[str]:
        last = -100.0
        for at_ns, text in self._marks:
            y = self._y(at_ns)
            last = max(y, last + _LINE_PX)
            yield f'<line x1="{_TIMES_PX}" y1="{y:.1f}" x2="{self._right_px:g}" y2="{y:.1f}" stroke="{_INK}" '
            yield 'stroke-width="1.2" stroke-dasharray="7 4"/>\n'
            yield _text(self._right_px + 4, last + 4, text, _INK, bold=True)


def _text(
    x: float, y: float, text: str, colour: str, *, anchor: str = "start", size: int = 11, bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}" font-size="{size}"{weight} '
        f'stroke="white" stroke-width="3" paint-order="stroke">{escape(printable(text))}</text>\n'
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"


def _cross(x: float, y: float) -> str:
    corners = f"M{x - 4:.1f},{y - 4:.1f}l8,8m-8,0l8,-8"
    return f'<path d="{corners}" stroke="{_LOST}" stroke-width="2" fill="none"/>\n'


def _id(kind: str) -> str:
    return "".join(letter for letter in kind if letter.isalpha())


def _duration(time_ns: int) -> str:
    return f"{plain(time_ns / _NS, 1)} s" if time_ns >= _NS else f"{plain(time_ns / 10**6, 1)} ms"
