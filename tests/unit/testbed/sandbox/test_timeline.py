"""The picture of a run's packets."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from priolab.common.errors import ScenarioError, Unavailable
from priolab.testbed.sandbox.packet import Cause, Endpoint, Loss, Packet
from priolab.testbed.sandbox.timeline import MOST, Event, Timeline, _Scale, _strokes

_MS = 10**6
_SVG = "{http://www.w3.org/2000/svg}"


def _packet(at_ms: float, took_ms: float | None = 40, *, hosts: str = "client server", **fields: object) -> Packet:
    source, destination = (Endpoint(host=name, address="", port=80) for name in hosts.split())
    given: dict[str, object] = {"length": 100, "flags": ("PSH", "ACK"), "protocol": "tcp"} | fields
    return Packet(
        at_ns=round(at_ms * _MS),
        host=source.host,
        direction="out",
        source=source,
        destination=destination,
        sent_ns=round(at_ms * _MS),
        arrived_ns=None if took_ms is None else round((at_ms + took_ms) * _MS),
        **given,  # type: ignore[arg-type]
    )


def _picture(packets: list[Packet], hosts: str = "client server", **options: object) -> ElementTree.Element:
    timeline = Timeline(packets=packets, hosts=hosts.split(), **options)  # type: ignore[arg-type]
    return ElementTree.fromstring(timeline.svg)


def _ends(picture: ElementTree.Element) -> list[tuple[float, ...]]:
    """Return the ends of the strokes: x and y of each."""
    strokes = [each for each in picture.iter(f"{_SVG}line") if each.find(f"{_SVG}title") is not None]
    return [tuple(float(each.get(name, "")) for name in ("x1", "y1", "x2", "y2")) for each in strokes]


def _texts(picture: ElementTree.Element) -> list[str]:
    return [each.text or "" for each in picture.iter(f"{_SVG}text")]


def test_strokes() -> None:
    """A packet goes from its sender's line to its receiver's, downward in proportion to its time."""
    there, back = _packet(0), _packet(40, 20, hosts="server client", flags=("SYN", "ACK"), length=0)
    picture = _picture([there, back])
    (x1, y1, x2, y2), (x3, y3, x4, y4) = _ends(picture)
    assert (x1, x2) == (x4, x3)
    assert x1 < x2
    assert y2 == y3
    assert (y2 - y1) == pytest.approx(2 * (y4 - y3), abs=0.2)
    assert {"client", "server", "100 bytes", "SYN ACK", "0.000000 s", "2 packets"} <= {*_texts(picture)}


@pytest.mark.parametrize(
    ("hosts", "way", "part"),
    [
        ("client server", "down", 0.5),
        ("client phone server", "up", 0.25),
        ("client phone server", "down", 0.75),
        ("client phone server", None, 0.5),
        ("client phone server", Cause.PARTITION, 0.1),
        ("client server", Cause.HOLD, 0.1),
    ],
)
def test_a_loss(hosts: str, way: str | Cause | None, part: float) -> None:
    """The stroke of a lost packet ends in a cross at its place, with its cause. way: or why it was cut off."""
    if isinstance(way, Cause):
        loss = Loss(cause=way)
    else:
        loss = Loss(cause=Cause.QUEUE if way else Cause.UNKNOWN, link="server" if way else None, way=way)
    picture = _picture([_packet(0), _packet(100, None, lost=loss)], hosts)
    (x1, y1, x2, y2), (x3, y3, x4, y4) = _ends(picture)
    assert x4 - x3 == pytest.approx(part * (x2 - x1), abs=0.2)
    assert y4 - y3 == pytest.approx(part * (y2 - y1), abs=0.2)
    assert f"100 bytes ({loss.cause})" in _texts(picture)
    crosses = [each for each in picture.iter(f"{_SVG}path") if each.get("stroke") == "#b00020"]
    assert f"M{x4 - 4:.1f},{y4 - 4:.1f}" in (crosses[-1].get("d") or "")


def test_long_silence() -> None:
    """An hour without a packet takes a small part of the picture, and a band says how long it was."""
    picture = _picture([_packet(0), _packet(3_600_000), _packet(7_200_000)])
    (_, y1, _, y2), (_, y3, _, _), _ = _ends(picture)
    assert 0 < y3 - y2 < 2 * (y2 - y1)
    assert _texts(picture).count("3,600 s without a packet") == 2


def test_no_time_at_all() -> None:
    """Packets that take no time have their own heights, in their order."""
    picture = _picture([_packet(at / 1000, 0) for at in (1, 2, 900)])
    heights = [y1 for _, y1, _, _ in _ends(picture)]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=0.2)


def test_a_time_between() -> None:
    """Within a gap that is cut short a time has its part."""
    scale = _Scale([*_strokes([_packet(0), _packet(60)], routed=False)], [], 100)
    assert scale.px(0) == 0
    assert scale.px(20 * _MS) == pytest.approx(20)
    assert scale.px(100 * _MS) == 100
    assert scale.px(-5) == 0
    assert scale.px(10**12) == 100


def test_a_long_event() -> None:
    """The picture is wide enough for an event, of which sixty letters are shown."""
    whole = f"1 s: run client '{'long ' * 30}'"
    picture = _picture([_packet(0)], events=[(1.0, whole.removeprefix("1 s: "))])
    (shown,) = (each for each in picture.iter(f"{_SVG}text") if (each.text or "").startswith("1 s"))
    assert shown.text == f"{whole[:59]}…"
    assert float(picture.get("width") or 0) - float(shown.get("x") or 0) >= 60 * 6.5


def test_events_and_a_range() -> None:
    """Events are marked at their times; of a range only its packets and events are shown."""
    events: list[Event] = [(0.02, "partition a b"), (9.0, "heal")]
    assert "0.02 s: partition a b" in _texts(_picture([_packet(0), _packet(100)], events=events))
    texts = _texts(_picture([_packet(0), _packet(100)], events=events, begin_s=0.05, end_s=1.0))
    assert "1 packet" in texts
    assert not any("partition" in text or "heal" in text for text in texts)
    assert "no packets" in _texts(_picture([], begin_s=5.0))


def test_thousands() -> None:
    """Of too many packets the first are shown, without labels, and the picture says so."""
    picture = _picture([_packet(each) for each in range(MOST + 500)])
    assert len(_ends(picture)) == MOST
    assert "the first 1,000 of 1,500 packets, up to 0.999000 s; a range of time shows others" in _texts(picture)
    assert "100 bytes" not in _texts(picture)


def test_labels_at_one_place() -> None:
    """Of packets that arrive together the most telling one is named, with the number of the others."""
    ack = _packet(0, flags=("ACK",), length=0, acknowledgment=7)
    assert "100 bytes +1" in _texts(_picture([ack, _packet(0)]))


def test_names_and_texts_are_escaped() -> None:
    """What users write cannot break the picture."""
    assert "1 s: <b>&" in _texts(_picture([_packet(0)], events=[(1.0, "<b>&")]))
    assert r"1 s: \x01\x1b" in _texts(_picture([_packet(0)], events=[(1.0, "\x01\x1b")]))


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's name tells the format; another name, or no library that draws, is an error that says what helps."""
    timeline = Timeline(packets=[_packet(0)], hosts=["client", "server"])
    assert timeline.content(tmp_path / "a.svg").startswith(b"<svg ")
    assert timeline.content(tmp_path / "a.png").startswith(b"\x89PNG")
    with pytest.raises(ScenarioError, match=r"allowed: a file whose name ends in \.svg or \.png$"):
        timeline.content(tmp_path / "a.jpg")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(Unavailable, match=r"vl-convert-python is not installed; write a file that ends in \.svg"):
        timeline.content(tmp_path / "a.png")
