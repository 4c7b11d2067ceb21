"""Tests of the limits on what a front can make the client record.

The limits are far above what an honest front sends.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from priolab.client.dialects import PLAIN
from priolab.client.journal import Journal
from priolab.client.limits import FREE_BYTES, FREE_PIECES, MOST_RESOURCE_BYTES, Limits
from priolab.client.load_scheduler import LoadFailed
from priolab.client.priorities import Priorities
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Plan, Protocol
from tests.support.pages import maps_plan

_RECORD_LEAST = 512
_LARGEST = 2 * 64 * 2**20


def plan(protocol: Protocol = Protocol.HTTP2, window_bytes: int = 2**24) -> Plan:
    return maps_plan(
        address="198.18.1.2",
        port=443,
        server_name="maps.test",
        priorities=Priorities.SPDY,
        dialect=PLAIN,
        protocol=protocol,
        reloads=0,
        window_bytes=window_bytes,
        load_deadline_ns=1,
    )


def data(size_bytes: int, kind: Kind = Kind.DATA) -> Event:
    return Event(t_ns=0, kind=kind, load=1, stream_id=1, size_bytes=size_bytes)


def test_the_smallest_records_of_the_largest_resources() -> None:
    """The largest resources in the smallest records, each in its own frame and packet, are within the limits."""
    limits = Limits(plan())
    payload_bytes = _RECORD_LEAST - 32
    events = [data(payload_bytes, Kind.DATA_HEADER), data(payload_bytes)]
    for _ in range(_LARGEST // payload_bytes):
        limits.noted(events)
        limits.read(_RECORD_LEAST)


def test_frames_without_bytes() -> None:
    """10,000 frames without bytes are allowed, and no more."""
    limits = Limits(plan())
    limits.noted([data(0, Kind.DATA_HEADER)] * FREE_PIECES)
    with pytest.raises(LoadFailed, match=r"^the front sent 0 bytes of DATA in more than 10000 frames and pieces$"):
        limits.noted([data(0, Kind.DATA_HEADER)])


def test_frames_of_a_byte() -> None:
    """The limit of frames is 10,000 and one per 64 bytes of payload: 10,158 if each frame has one byte."""
    limits = Limits(plan())
    for _ in range(10_158):
        limits.noted([data(1)])
    with pytest.raises(LoadFailed, match=r"^the front sent 10159 bytes of DATA in more than 10158 frames and pieces$"):
        limits.noted([data(1)])


def test_payload() -> None:
    """More payload than 2**27 bytes per request fails the load."""
    limits = Limits(plan())
    limits.noted([data(MOST_RESOURCE_BYTES)] * 3)
    with pytest.raises(LoadFailed, match=r"^the front sent more than 402653184 bytes of DATA$"):
        limits.noted([data(1)])


@pytest.mark.parametrize(
    ("limited", "held_bytes"),
    [
        (plan(), 0),
        (plan(Protocol.SPDY), 0),
        (plan(Protocol.HTTP3), 2**24),
        (plan(Protocol.HTTP3, 2**31 - 1), 3 * MOST_RESOURCE_BYTES),
        (replace(plan(Protocol.HTTP3, 2**31 - 1), requests=plan().requests[:2]), 2 * MOST_RESOURCE_BYTES),
    ],
)
def test_what_is_no_payload(limited: Plan, held_bytes: int) -> None:
    """The number of bytes besides payload is limited to the number of payload bytes plus 1 MiB.

    Over QUIC a window is added, because QUIC may hold back that much data.
    """
    limits = Limits(limited)
    limits.noted([data(1000)])
    most_bytes = FREE_BYTES + held_bytes + 1000
    limits.read(1000 + most_bytes)
    with pytest.raises(
        LoadFailed, match=f"^the front sent more than {most_bytes} bytes in addition to 1000 bytes of DATA$"
    ):
        limits.read(1)


def test_packets_of_a_byte(tmp_path: Path) -> None:
    """The journal has a line for each packet, so packets are limited. Each load has its own limit."""
    with Journal.writing(tmp_path) as journal:
        for before in (0, 10_159):
            journal.limits = Limits(plan())
            for number in range(1, 10_159):
                journal.arrived(0, before + number)
            with pytest.raises(LoadFailed, match=r"^the front sent 10159 bytes in more than 10158 packets$"):
                journal.arrived(0, before + 10_159)
    assert (tmp_path / "arrivals.jsonl").read_text().count("\n") == 2 * 10_159
