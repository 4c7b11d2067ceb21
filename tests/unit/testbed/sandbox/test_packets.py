"""Packets as values: what captures tell, compared by hand."""

import socket
import struct
from collections import Counter
from dataclasses import replace

import pytest

from priolab.common.errors import ScenarioError, Unfit
from priolab.testbed.sandbox import knobs
from priolab.testbed.sandbox.dissection import sightings
from priolab.testbed.sandbox.outcome import Beside, Direction, Ending, Happened, Outcome
from priolab.testbed.sandbox.packet import Cause, Loss, Packet
from priolab.testbed.sandbox.packet_trace import PacketTrace, losses
from priolab.testbed.sandbox.sandbox import Result
from priolab.testbed.sandbox.spec import SandboxSpec
from priolab.testbed.topology.topology import ipv6_of
from tests.unit.testbed.sandbox.captures import (
    ACK,
    CLIENT,
    FIN,
    MSS,
    PHONE,
    PSH,
    SERVER,
    SYN,
    pcap,
    pieces,
    stamps,
    tcp,
    too_big,
    udp,
)

_MS = 10**6
_BEGUN = 10**18
_UP, _DOWN = (CLIENT, SERVER), (SERVER, CLIENT)
_TO_SERVER, _TO_CLIENT = (40_000, 80), (80, 40_000)

Frames = list[tuple[float, bytes]]


def _spec(*words: str, hosts: tuple[str, ...] = ()) -> SandboxSpec:
    given, links = knobs.parsed(words)
    return SandboxSpec(
        knobs=knobs.of_way(given),
        seed=0,
        client=("true",),
        server=None,
        environment={},
        folder="/",
        limit_ns=1,
        hosts=dict.fromkeys(hosts, ()),
        links={name: knobs.of_way(of_link) for name, of_link in links.items()},
    )


def _trace(
    seen: dict[str, Frames],
    *,
    spec: SandboxSpec | None = None,
    routers: dict[str, Frames] | None = None,
    **counted: object,
) -> PacketTrace:
    """Return the packets of captures. seen: by hosts, times in milliseconds from the client's start and frames."""
    spec = spec or _spec("DELAY=10ms", "DELAY_UP=10ms")
    outcome = Outcome(ending=Ending.ENDED, code=0, duration_ns=10**9, clock_ns=_BEGUN, **counted)  # type: ignore[arg-type]

    def file(frames: Frames) -> bytes:
        return pcap(*((_BEGUN + round(at * _MS), frame) for at, frame in frames))

    hosts = {name: file(seen.get(name, [])) for name in spec.numbers}
    return PacketTrace(
        spec=spec,
        outcome=outcome,
        hosts=hosts,
        routers={name: file(frames) for name, frames in (routers or {}).items()},
    )


def _fates(packets: list[Packet]) -> list[tuple[float, int, Loss | Cause | None]]:
    return [(each.time_s, each.sequence, each.lost and each.lost.cause) for each in packets]


def _handshake(client: Frames, server: Frames) -> None:
    """Add a connection's first packets: the client's sequence numbers begin at 2**32 - 1, the server's at 500."""
    syn = tcp(_UP, _TO_SERVER, SYN, (2**32 - 1, 0), options=MSS, ident=1)
    answer = tcp(_DOWN, _TO_CLIENT, SYN | ACK, (500, 0), options=MSS)
    ack = tcp(_UP, _TO_SERVER, ACK, (0, 501), ident=2)
    client += [(0, syn), (20, answer), (20, ack)]
    server += [(10, syn), (10, answer), (30, ack)]


def test_a_handshake() -> None:
    """Both hosts have the same packets at their times, with numbers from the connection's beginning."""
    client: Frames = []
    server: Frames = []
    _handshake(client, server)
    trace = _trace({"client": client, "server": server})
    syn, answer, ack = trace.of("client")
    assert (syn.direction, syn.time_s, syn.sent_ns, syn.arrived_ns) == ("out", 0.0, 0, 10 * _MS)
    assert (str(syn.source), str(syn.destination)) == ("client:40000", "server:80")
    assert (syn.flags, syn.sequence, syn.acknowledgment, syn.what) == (("SYN",), 0, 0, "SYN")
    assert (answer.direction, answer.host, answer.time_s) == ("in", "client", 0.02)
    assert (answer.flags, answer.sequence, answer.acknowledgment) == (("SYN", "ACK"), 0, 1)
    assert (ack.sequence, ack.acknowledgment, ack.what) == (1, 1, "ACK 1")
    assert [each.direction for each in trace.of("server")] == ["in", "out", "in"]
    assert [each.what for each in trace.sent] == ["SYN", "SYN ACK", "ACK 1"]
    assert str(syn) == "0.000000 s client:40000 > server:80: SYN, sequence 0, acknowledgment 0"


def test_offload_and_a_retransmission() -> None:
    """A packet of several segments is several packets, of which one was lost; it comes again, with other numbers."""
    client: Frames = []
    server: Frames = []
    _handshake(client, server)
    data = bytes(range(256)) * 14  # 3584 bytes: 1448, 1448 and 688
    whole = tcp(_DOWN, _TO_CLIENT, PSH | ACK | FIN, (501, 0), data, ident=65_535, options=stamps(30))

    def piece(number: int, flags: int, ident: int, at_ms: int) -> bytes:
        part = data[number * 1448 : (number + 1) * 1448]
        return tcp(_DOWN, _TO_CLIENT, flags, (501 + 1448 * number, 0), part, ident=ident, options=stamps(at_ms))

    again = piece(1, ACK, 2, 60)
    server += [(30, whole), (60, again)]
    client += [(40, piece(0, ACK, 65_535, 30)), (42, piece(2, PSH | ACK | FIN, 1, 30)), (70, again)]
    trace = _trace({"client": client, "server": server}, down=Direction(dropped=1))
    sent = [each for each in trace.of("server") if each.direction == "out" and each.length]
    assert _fates(sent) == [(0.03, 1, None), (0.03, 1449, Cause.QUEUE), (0.03, 2897, None), (0.06, 1449, None)]
    assert [each.length for each in sent] == [1448, 1448, 688, 1448]
    assert [each.flags for each in sent] == [("ACK",), ("ACK",), ("FIN", "PSH", "ACK"), ("ACK",)]
    assert [each.retransmission for each in sent] == [False, False, False, True]
    assert [each.arrived_ns for each in sent] == [40 * _MS, None, 42 * _MS, 70 * _MS]
    assert sent[1].lost == Loss(cause=Cause.QUEUE, link="client", way="down")
    assert sent[1].dropped
    assert [each.sequence for each in trace.of("client") if each.direction == "in" and each.length] == [1, 2897, 1449]


def test_offload_that_nobody_cuts() -> None:
    """Without a link that cuts them, packets of offload are taken as cut all the same, by the size that was agreed."""
    client: Frames = []
    server: Frames = []
    _handshake(client, server)
    whole = tcp(_DOWN, _TO_CLIENT, PSH | ACK, (501, 0), bytes(4000), ident=7, options=stamps(1))
    trace = _trace({"client": [*client, (40, whole)], "server": [*server, (30, whole)]})
    for host in ("client", "server"):
        assert [each.length for each in trace.of(host) if each.length] == [1448, 1448, 1104]


def test_offload_of_udp() -> None:
    """A packet of several datagrams is as many as arrive."""
    parts = [bytes([number]) * 1200 for number in range(3)]
    whole = udp(_UP, (5, 6), b"".join(parts), ident=9)
    came = [(10.0 + number, udp(_UP, (5, 6), parts[number], ident=9 + number)) for number in (0, 2)]
    trace = _trace({"client": [(0, whole)], "server": came}, up=Direction(lost=1))
    assert [each.lost and each.lost.cause for each in trace.of("client")] == [None, Cause.LOSS, None]


def test_equal_packets() -> None:
    """Of equal datagrams those count as lost for which the link's delay says that they are."""
    same = udp((ipv6_of(CLIENT), ipv6_of(SERVER)), (5, 6), b"hello")
    sent = [(float(at), same) for at in range(0, 50, 5)]
    came = [(at + 10, frame) for at, frame in sent if at not in (10, 15, 45)]
    trace = _trace({"client": sent, "server": came}, up=Direction(lost=3))
    assert [each.time_s for each in trace.of("client") if each.lost] == [0.010, 0.015, 0.045]
    assert {each.source.address for each in trace.of("server")} == {"2001:db8:18::2"}


def test_a_duplicate() -> None:
    """What arrives twice and was sent once is a duplicate; the sender has it once."""
    frame = udp(_UP, (5, 6), b"once", ident=3)
    trace = _trace({"client": [(0, frame)], "server": [(10, frame), (11, frame)]})
    assert [each.duplicate for each in trace.of("server")] == [False, True]
    (sent,) = trace.of("client")
    assert (sent.arrived_ns, sent.lost, sent.duplicate) == (10 * _MS, None, False)


def test_what_no_host_sent() -> None:
    """A packet of cross traffic has the address of its sender, and no time at which it was sent."""
    trace = _trace({"client": [(5, udp(("198.18.3.2", CLIENT), (1, 2), b"more", ident=1))]})
    (packet,) = trace.of("client")
    assert (packet.source.host, packet.sent_ns, packet.arrived_ns) == ("198.18.3.2", None, 5 * _MS)


def test_what_goes_to_no_host() -> None:
    """Nobody knows what becomes of a packet to another address; reports of a device about its groups are left out."""
    other = udp((CLIENT, "198.18.0.1"), (1, 2), b"", ident=1)
    report = udp(("fe80::1", "ff02::16"), (1, 2), b"")
    (packet,) = _trace({"client": [(0, other), (1, report)]}).of("client")
    assert (packet.destination.host, packet.arrived_ns, packet.lost) == ("198.18.0.1", None, None)


def test_under_way_at_the_end() -> None:
    """A packet that could not arrive before the end of the capture is not lost."""
    spec = _spec("DELAY_UP=2s")
    early, late = (udp(_UP, (5, 6), b"x", ident=number) for number in (1, 2))
    trace = _trace({"client": [(0, early), (900, late)]}, spec=spec, up=Direction(lost=1))
    assert _fates([*trace.of("client")]) == [(0.0, 0, Cause.LOSS), (0.9, 0, None)]


def test_queue_and_chance() -> None:
    """If a link has dropped one packet and lost one, the one that found the longer queue is the dropped one."""
    sent = [(float(at), udp(_DOWN, (1, 2), bytes(100), ident=1 + at)) for at in (0, 1, 2, 3, 4, 60)]
    times = (10, 20, 30, 40)
    came = [(float(at), frame) for at, (_, frame) in zip(times, sent[:4], strict=True)]
    counted = Direction(dropped=1, lost=1)
    trace = _trace({"server": sent, "client": came}, down=counted)
    assert [(each.time_s, each.lost and each.lost.cause) for each in trace.of("server")][4:] == [
        (0.004, Cause.QUEUE),
        (0.060, Cause.LOSS),
    ]


def test_more_missing_than_counted() -> None:
    """What no link has counted has another cause, and no place."""
    sent = [(float(at), udp(_UP, (1, 2), b"", ident=1 + at)) for at in range(3)]
    trace = _trace({"client": sent}, up=Direction(lost=1))
    assert [each.lost for each in trace.of("client")] == [Loss(cause=Cause.UNKNOWN)] * 3
    assert str(Loss(cause=Cause.UNKNOWN)) == "lost, and no link has counted it"


@pytest.mark.parametrize("ipv6", [False, True])
def test_too_big(*, ipv6: bool) -> None:
    """A packet of which a router says that it is too big was lost because of the MTU; the next one by chance."""
    client, server = (ipv6_of(each) if ipv6 else each for each in (CLIENT, SERVER))
    way = (client, server)
    big, small = (tcp(way, (5, 6), ACK, (size, 1), bytes(size), ident=size) for size in (1400, 100))
    told = too_big(ipv6_of("198.18.0.1") if ipv6 else "198.18.0.1", big)
    trace = _trace({"client": [(0, big), (1, told), (50, small)]}, up=Direction(lost=1))
    first, _, second = trace.of("client")
    assert first.lost == Loss(cause=Cause.MTU, link="client", way="up")
    assert second.lost == Loss(cause=Cause.LOSS, link="client", way="up")


def test_the_place_between_two_links() -> None:
    """With a link at both ends the router has seen what the second link lost, and not what the first one dropped."""
    spec = _spec("phone.RATE_UP=1mbit", "server.LOSS=1%", hosts=("phone",))
    way = (PHONE, SERVER)
    first, second, third = (udp(way, (1, 2), bytes(100), ident=number) for number in (1, 2, 3))
    counted = {"server": Beside(down=Direction(lost=1)), "phone": Beside(up=Direction(dropped=1))}
    trace = _trace(
        {"phone": [(0, first), (1, second), (2, third)], "server": [(7, third)]},
        spec=spec,
        routers={"phone": [(4, second), (6, third)], "server": [(4, second), (6, third)]},
        beside=counted,
    )
    assert [each.lost for each in trace.of("phone")] == [
        Loss(cause=Cause.QUEUE, link="phone", way="up"),
        Loss(cause=Cause.LOSS, link="server", way="down"),
        None,
    ]
    assert str(trace.of("phone")[0].lost) == "dropped by the queue on the link from phone"


def test_what_the_router_took_away() -> None:
    """A packet that the router had from one link, and did not give to the next, has no place."""
    spec = _spec("phone.DELAY=1ms", "server.LOSS=1%", hosts=("phone",))
    frame = udp((PHONE, SERVER), (1, 2), b"", ident=1)
    counted = {"server": Beside(down=Direction(lost=1)), "phone": Beside()}
    routers: dict[str, Frames] = {"phone": [(0, frame)], "server": []}
    (packet,) = _trace({"phone": [(0, frame)]}, spec=spec, routers=routers, beside=counted).of("phone")
    assert packet.lost == Loss(cause=Cause.UNKNOWN)


def test_a_fragment() -> None:
    """A later fragment has no ports, and extension headers of IPv6 are passed over."""
    source, destination = (socket.inet_pton(socket.AF_INET6, ipv6_of(each)) for each in (CLIENT, SERVER))
    datagram = struct.pack(">HHHH", 5, 6, 12, 0) + b"data"
    for offset, ports in ((0, (5, 6)), (1480, None)):
        fragment = struct.pack(">BBHI", 17, 0, offset, 99) + datagram
        options = bytes([44, 0, 1, 4, 0, 0, 0, 0])
        head = struct.pack(">IHBB", 6 << 28, len(options + fragment), 0, 64) + source + destination
        frame = bytes(12) + b"\x86\xdd" + head + options + fragment
        (seen,) = sightings(pcap((0, frame)))
        assert (seen.protocol, seen.ident, seen.fragment, seen.ports) == (17, 99, offset, ports)
        assert seen.payload == (b"data" if ports else datagram)


def test_what_is_no_packet_of_ip() -> None:
    """Other frames, and broken ones, are left out."""
    whole = tcp(_UP, (1, 2), SYN, ident=1)
    frames = [bytes(12) + b"\x08\x06" + bytes(28), whole[:20], b"", whole]
    assert len([*sightings(pcap(*((0, frame) for frame in frames)))]) == 1


def test_bad_input() -> None:
    """Without a capture, and for a host that is not there, an error says what is allowed."""
    outcome = Outcome(ending=Ending.ENDED, code=0)
    with pytest.raises(Unfit, match=r"packets\(\) needs a capture: Sandbox\(\.\.\., capture=True\)"):
        Result(outcome=outcome, frames=[]).packets("server")
    with pytest.raises(ScenarioError, match=r"^host=phone is not allowed"):
        Result(outcome=outcome, frames=[], trace=_trace({})).packets("phone")


@pytest.mark.parametrize(
    ("schedule", "causes"),
    [
        ({10: "partition client server", 30: "heal"}, [None, "partition", "partition", "partition", "unknown"]),
        ({10: "partition server to client"}, [None, "unknown", "unknown", "unknown", "unknown"]),
        ({10: "partition client phone", 20: "down server"}, [None, "unknown", "down", "down", "down"]),
        ({10: "down client", 15: "up client"}, [None, "down", "unknown", "unknown", "unknown"]),
        ({10: "hold client server"}, [None, "hold", "hold", "hold", "hold"]),
        ({10: "hold client server", 40: "release client"}, [None, "unknown", "unknown", "unknown", "unknown"]),
        (
            {10: "partition client server", 20: "partition client phone", 30: "heal client phone"},
            [None, *["partition"] * 4],
        ),
    ],
)
def test_what_a_schedule_takes_away(schedule: dict[int, str], causes: list[str | None]) -> None:
    """Packets at 0, 10, ... 40 ms have their causes. An end counts from when it has happened, 0.5 ms after its time."""
    spec = _spec("DELAY=10ms", "DELAY_UP=10ms", hosts=("phone",))
    spec = replace(spec, schedule=tuple((at * _MS, event) for at, event in schedule.items()))
    happened = [Happened(at_ns=at * _MS, event=event, done_ns=at * _MS + _MS // 2) for at, event in schedule.items()]
    frames = [(at, udp(_UP, _TO_SERVER, b"", ident=round(at) + 1)) for at in (0, 10, 20, 30.4, 40)]
    trace = _trace({"client": frames, "server": [(10, frames[0][1])]}, spec=spec, events=happened)
    sent = [each for each in trace.of("client") if each.direction == "out"]
    assert [each.lost and str(each.lost.cause) for each in sent] == causes
    assert not any(each.lost.link for each in sent if each.lost)
    counted = Counter(cause for cause in causes if cause)
    assert {str(each.cause): count for each, count in losses(trace.outcome, trace).items()} == counted
    marks = [f"{at / 1000:g} s: {event}" for at, event in schedule.items()]
    assert all(mark in trace.timeline().svg for mark in marks)


def test_held_packets_do_not_make_others_late() -> None:
    """A packet that was held for 900 ms tells nothing of how long others may be under way."""
    spec = replace(_spec("DELAY_UP=10ms"), schedule=((0, "hold client server"), (900 * _MS, "release")))
    happened = [Happened(at_ns=at, event=event, done_ns=at) for at, event in spec.schedule]
    held, later = (udp(_UP, _TO_SERVER, bytes([number]), ident=number) for number in (1, 2))
    trace = _trace({"client": [(10, held), (2000, later)], "server": [(910, held)]}, spec=spec, events=happened)
    assert [each.lost and each.lost.cause for each in trace.of("client")] == [None, Cause.UNKNOWN]


def test_too_big_in_silence() -> None:
    """A black hole takes what is larger than the MTU of its time, and no smaller packet."""
    changes = ((5 * _MS, "MTU=1000"), (5 * _MS, "MTU_SILENT=on"), (25 * _MS, "heal"))
    spec = replace(_spec("DELAY_UP=10ms"), schedule=changes)
    happened = [Happened(at_ns=at, event=event, done_ns=at) for at, event in changes]
    sizes = {0: 1400, 10: 973, 20: 972, 30: 1400}  # of IPv4's and UDP's headers 28 bytes
    frames: Frames = [(at, udp(_UP, _TO_SERVER, bytes(size), ident=at + 1)) for at, size in sizes.items()]
    trace = _trace({"client": frames, "server": []}, spec=spec, events=happened, up=Direction(lost=3))
    here = Loss(cause=Cause.LOSS, link="client", way="up")
    hole = Loss(cause=Cause.MTU, link="client", way="up")
    assert [each.lost for each in trace.of("client")] == [here, hole, here, here]


def test_divided_on_its_way() -> None:
    """A packet that a router divides is not lost, also if a piece of it is; one of which nothing arrives is."""
    spec = _spec("DELAY_UP=10ms", "MTU=1000")
    sent: Frames = [(at, udp(_UP, _TO_SERVER, bytes(1400), ident=1 + at)) for at in range(3)]
    first, second = (pieces(frame, 976) for _, frame in sent[:2])
    came: Frames = [(10, first[0]), (10, first[1]), (11, second[1])]
    trace = _trace({"client": sent, "server": came}, spec=spec)
    assert [each.lost and each.lost.cause for each in trace.of("client")] == [None, None, Cause.MTU]
    assert [each.sent_ns for each in trace.of("server")] == [None] * 3
    assert sum(losses(trace.outcome, trace).values()) == 1
