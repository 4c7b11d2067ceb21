"""Tests of browsers' packets converted to a client's events.

The packets in client.pcap are real ones of two small page loads, six requests on one connection.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import dpkt
import pytest

from priolab.client.browsers.browser_events import Account
from priolab.client.browsers.capture import Packet
from priolab.client.browsers.packet_account import account
from priolab.client.browsers.record import Browser, document
from priolab.client.browsers.tls13 import Secrets, Unreadable, read_secrets, suite_of
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Plan, read_plan

_FOLDER = Path(__file__).parent / "recorded"
_ADDRESS = "198.18.0.2"
_PAGE_SIZE = 558


@dataclass(frozen=True, kw_only=True)
class _Recorded:
    """The packets of a browser. size_bytes: of image and script. window_bytes: of stream and connection.

    weights, fields: the allowed weights, and values of the header field, by resource. Pictures of a page's first load
    may be urgenter. by_field: the resource that comes first by the header fields.
    """

    name: str
    size_bytes: int
    window_bytes: int
    weights: Mapping[str, set[int]]
    fields: Mapping[str, set[str | None]]
    by_field: str | None

    @property
    def folder(self) -> Path:
        """The folder with the packets, the plan and the keys."""
        return _FOLDER / self.name


_FIREFOX = _Recorded(
    name="firefox",
    size_bytes=8192,
    window_bytes=12 * 2**20,
    weights={"page": {42}, "script": {22}, "image": {12, 14}},
    fields={"page": {"u=0, i"}, "script": {None}, "image": {"u=4, i", "u=5, i"}},
    by_field="script",
)
_WEBKIT = _Recorded(
    name="webkit",
    size_bytes=2048,
    window_bytes=32 * 2**20,
    weights={"page": {256}, "script": {120}, "image": {7}},
    fields={"page": {None}, "script": {None}, "image": {None}},
    by_field=None,
)


@pytest.fixture(params=[_FIREFOX, _WEBKIT], ids=lambda each: each.name)
def recorded(request: pytest.FixtureRequest) -> _Recorded:
    """Returns the packets of each browser."""
    found: _Recorded = request.param
    return found


def _packets(recorded: _Recorded) -> list[Packet]:
    with (recorded.folder / "client.pcap").open("rb") as capture:
        return [(int(at * 10**9), dpkt.ethernet.Ethernet(packet).data.data) for at, packet in dpkt.pcap.Reader(capture)]


@pytest.fixture
def plan(recorded: _Recorded) -> Plan:
    """Returns the plan of the packets: two loads."""
    return read_plan(recorded.folder / "plan.json")


@pytest.fixture
def secrets(recorded: _Recorded) -> Secrets:
    """Returns the TLS secrets of the connection. Firefox's file begins with a comment."""
    assert (recorded.folder / "keys.log").read_text().startswith("#") is (recorded is _FIREFOX)
    return read_secrets(recorded.folder / "keys.log")


@pytest.fixture
def made(recorded: _Recorded, plan: Plan, secrets: Secrets) -> Account:
    """Returns the account of all packets."""
    return account(_packets(recorded), secrets, plan, _ADDRESS)


def _of(made: Account, kind: Kind, load: int | None = None) -> list[Event]:
    return [event for event in made.events if event.kind is kind and load in (None, event.load)]


def test_loads_are_those_of_a_client(recorded: _Recorded, made: Account) -> None:
    """Each load begins with the page's request, ends with the last stream, and has all payload."""
    assert made.trouble is None
    assert [event.kind for event in made.events[:4]] == [
        Kind.CONNECTED,
        Kind.SECURED,
        Kind.LOAD_STARTED,
        Kind.REQUEST_SENT,
    ]
    assert [event.load for event in _of(made, Kind.LOAD_FINISHED)] == [1, 2]
    for load in (1, 2):
        sizes: dict[str | None, int] = {}
        for event in _of(made, Kind.DATA, load):
            sizes[event.resource] = sizes.get(event.resource, 0) + (event.size_bytes or 0)
        assert sizes == {"page": _PAGE_SIZE, "image": recorded.size_bytes, "script": recorded.size_bytes}
        assert {event.detail for event in _of(made, Kind.HEADERS, load)} == {"200"}
    times = [event.t_ns for event in made.events]
    assert times == sorted(times)


def test_each_record_has_its_place(made: Account) -> None:
    """The last event's TLS record ends where the stream's bytes end; records begin before they end."""
    places = [event.tcp_bytes for event in made.events if event.tcp_bytes is not None]
    assert places == sorted(places)
    (connection,) = made.connections
    assert made.arrivals[-1][1] == connection.received_bytes >= places[-1]
    assert made.local is not None
    assert (connection.local, connection.alpn, connection.requests) == (f"{_ADDRESS}:{made.local[1]}", "h2", 6)
    assert all((event.record_ns or 0) <= event.t_ns for event in _of(made, Kind.DATA))


def test_signals_are_read_from_the_frames(recorded: _Recorded, made: Account, plan: Plan) -> None:
    """Requests have a weight on the root, and some have the header field; nothing is sent later."""
    driver = "websockets" if recorded is _FIREFOX else None
    browser = Browser(product="Firefox 1", switches=(), driver=driver, time_resolution_ns=1, preferences={})
    found = document(plan, browser, made, [])
    assert len(found["requests"]) == 6
    for request in found["requests"]:
        assert request["weight"] in recorded.weights[request["resource"]]
        assert request["field"] in recorded.fields[request["resource"]]
        assert (request["parent_stream_id"], request["exclusive"], request["later"]) == (0, False, [])
    assert [each["first"] for each in found["asked_first"]] == ["script", "script"]
    assert [each["by_rfc9218"] for each in found["asked_first"]] == [recorded.by_field] * 2
    assert made.frames_sent["HEADERS"] == 6
    assert made.frames_sent["PRIORITY_UPDATE"] == made.frames_sent["PRIORITY"] == 0
    assert (found["stream_window_bytes"], found["connection_window_bytes"]) == (recorded.window_bytes,) * 2
    assert found["no_rfc7540_priorities"] is False
    assert found["preferences"] == {}
    assert ("websockets" in found) is (driver is not None)
    assert set(found["server_settings"]) >= {"3", "4"}
    json.dumps(found)


def test_packets_may_come_twice_and_in_any_order(
    recorded: _Recorded, made: Account, plan: Plan, secrets: Secrets
) -> None:
    """A packet that is captured again, or overtaken by the next, changes no byte count."""
    packets = _packets(recorded)
    twice = account([each for each in packets for _ in range(2)], secrets, plan, _ADDRESS)
    assert twice.events == made.events
    data = [number for number, (_, tcp) in enumerate(packets) if tcp.data and tcp.sport == plan.port]
    one, other = data[-3:-1]
    packets[one], packets[other] = packets[other], packets[one]
    swapped = account(packets, secrets, plan, _ADDRESS)
    assert swapped.trouble is None
    assert swapped.arrivals[-1][1] == made.arrivals[-1][1]


def _without_keys(packets: list[Packet], secrets: Secrets) -> tuple[list[Packet], Secrets]:  # noqa: ARG001
    return packets, {}


def _broken_off(packets: list[Packet], secrets: Secrets) -> tuple[list[Packet], Secrets]:
    return packets[: len(packets) * 3 // 4], secrets


def _without_packets(packets: list[Packet], secrets: Secrets) -> tuple[list[Packet], Secrets]:  # noqa: ARG001
    return [], secrets


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_without_keys, "the browser requested no page over HTTP/2 (ALPN: None)"),
        (_without_packets, "the browser requested no page over HTTP/2 (ALPN: no connection was made)"),
        (_broken_off, "load 2 of 2: "),
    ],
)
def test_what_is_missing_is_said(
    recorded: _Recorded,
    plan: Plan,
    secrets: Secrets,
    spoil: Callable[[list[Packet], Secrets], tuple[list[Packet], Secrets]],
    words: str,
) -> None:
    """Without keys or packets no page was requested; an unfinished load is named."""
    packets, known = spoil(_packets(recorded), secrets)
    trouble = account(packets, known, plan, _ADDRESS).trouble
    assert trouble is not None
    assert str(trouble).startswith(words)


@pytest.mark.parametrize("received", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes([22, 3, 3, 0, 4, 2, 0, 0, 0])])
def test_no_server_hello(received: bytes) -> None:
    """Bytes that do not begin with a ServerHello have no cipher suite."""
    with pytest.raises(Unreadable, match="ServerHello"):
        suite_of(received)
