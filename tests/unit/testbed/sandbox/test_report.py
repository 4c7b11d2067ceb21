"""The report of a sandbox, and how the two ends of a connection are joined."""

import socket

from priolab.testbed.sandbox import knobs, report
from priolab.testbed.sandbox.connections import _bare, _connections, _End
from priolab.testbed.sandbox.outcome import Beside, Connection, Direction, Ending, Outcome
from priolab.testbed.sandbox.spec import SandboxSpec

_OUTCOME = Outcome(
    ending=Ending.ENDED,
    code=0,
    duration_ns=2 * 10**9,
    down=Direction(bytes=1_050_000, dropped=3, lost=1),
    up=Direction(bytes=9000),
    connections=[
        Connection(client_port=1, server_port=80, down_bytes=10**6, up_bytes=70, down_retransmissions=4),
        Connection(client_port=2, server_port=80, min_round_trip_us=40_053),
    ],
    longest_queue=12,
)


def _spec(*words: str) -> SandboxSpec:
    given, links = knobs.parsed(words)
    return SandboxSpec(
        knobs=knobs.of_way(given),
        seed=0,
        client=("true",),
        server=None,
        environment={},
        folder="/",
        limit_ns=1,
        links={name: knobs.of_way(of_link) for name, of_link in links.items()},
    )


def test_the_link() -> None:
    """The report and the document have each link, its rates in bits per second."""
    spec = _spec("RATE=5000kbps", "RATE_UP=128kbit", "DELAY=20ms", "RATE_STEPS=5Mbps@2s", "phone.LOSS=1%")
    client, phone, *_ = report.lines(spec, _OUTCOME)
    assert client.startswith("the link of client: 40 Mbit/s, 128 kbit/s from it, 40 Mbit/s after 2 s, DELAY 20ms")
    assert phone == "the link of phone: no rate, DELAY 0ms, QUEUE 1000, LOSS 1%"
    links = report.document(spec, _OUTCOME)["links"]
    assert links["client"]["rate_bit_s"] == 40_000_000
    assert links["client"]["rate_steps"] == [{"at_ns": 2 * 10**9, "rate_bit_s": 40_000_000}]
    assert links["phone"]["rate_bit_s"] is None
    assert links["phone"]["loss"] == 0.01


def test_rates_in_bytes() -> None:
    """A rate in bytes is said in bits. One in bits is not, nor what only looks like a rate."""
    given = {"RATE": "5000kbps", "RATE_UP": "16kbit", "phone.RATE_STEPS": "1mbit@1s+2MiBps@2s", "DELAY": "5ms"}
    assert list(report.rates_in_bytes(given)) == [
        "note: RATE=5000kbps is 40 Mbit/s: kbps counts bytes, kbit bits",
        "note: phone.RATE_STEPS=2MiBps is 16.777216 Mbit/s: MiBps counts bytes, Mibit bits",
    ]


def test_for_people() -> None:
    """The report has the link, the time, the bytes, the goodput, what was lost, and the round trip."""
    link, time, down, up, connections, queue = report.lines(_spec(), _OUTCOME)
    assert link == "the link: no rate, DELAY 0ms, QUEUE 1000"
    assert time == "the client took 2.000000 s"
    assert down.startswith("toward the client: 1050000 bytes of packets, 1000000 of TCP's data, 4.000 Mbit/s; ")
    assert down.endswith("; 4 segments sent again, 3 packets dropped by the queue, 1 lost at random")
    assert up.startswith("toward the server: 9000 bytes of packets, 70 of TCP's data, 0.000 Mbit/s; ")
    assert up.endswith("; 0 segments sent again, 0 packets dropped by the queue, 0 lost at random")
    assert connections == "2 TCP connections, shortest round trip 40.053 ms"
    assert queue == "longest queue at a sample: 12 packets"


def test_queues_in_bytes() -> None:
    """Report and document say how many bytes a queue holds, if it is limited in bytes."""
    outcome = Outcome(ending=Ending.ENDED, code=0, queue_bytes={"client": {"down": 25_000, "up": 2500}})
    told = [line for line in report.lines(_spec(), outcome) if "holds" in line]
    assert told == [
        "the bottleneck queue toward the client holds 25000 bytes",
        "the bottleneck queue from the client holds 2500 bytes",
    ]
    assert report.document(_spec(), outcome)["queue_bytes"] == {"client": {"down": 25_000, "up": 2500}}
    assert "queue_bytes" not in report.document(_spec(), _OUTCOME)


def test_as_json() -> None:
    """The document has the fields of the outcome, and the goodput; no goodput of a client that took no time."""
    document = report.document(_spec(), _OUTCOME)
    assert document["goodput_down_bit_s"] == 4e6
    assert document["connections"][0]["down_retransmissions"] == 4
    assert report.document(_spec(), Outcome(ending=Ending.FAILED))["goodput_down_bit_s"] is None


def test_further_hosts() -> None:
    """Each host has a line with what came toward it from all others, and what came from it."""
    beside = {
        "server": Beside(down=Direction(bytes=700, dropped=2), longest_queue=9),
        "phone": Beside(up=Direction(bytes=600, dropped=1), longest_queue=0),
    }
    made = [
        Connection(client_port=1, server_port=80, down_bytes=5, up_bytes=100, up_retransmissions=2),
        Connection(client_port=1, server_port=80, down_bytes=6, up_bytes=200, between=("phone", "server")),
    ]
    outcome = Outcome(
        ending=Ending.ENDED, code=0, duration_ns=10**9, connections=made, beside=beside, codes={"client": 0, "phone": 3}
    )
    _, _, client, server, phone, queue, other, ended = report.lines(_spec(), outcome)
    assert client.startswith("toward the client: 0 bytes of packets, 5 of TCP's data, ")
    assert server.startswith("toward the server: 700 bytes of packets, 300 of TCP's data, 0.002 Mbit/s; 2 segments ")
    assert server.endswith("; from it 0 bytes, 0 packets dropped by the queue")
    assert phone.startswith("toward phone: 0 bytes of packets, 6 of TCP's data, ")
    assert phone.endswith("; from it 600 bytes, 1 packet dropped by the queue")
    assert (queue, other) == (
        "longest queue toward server at a sample: 9 packets",
        "longest queue toward phone at a sample: 0 packets",
    )
    assert ended == "the program of phone ended before the client did, with exit code 3"
    document = report.document(_spec(), outcome)
    assert document["beside"]["phone"]["up"]["dropped"] == 1
    assert document["connections"][1]["between"] == ("phone", "server")
    assert document["goodput_up_bit_s"] == 800
    assert not {"beside", "codes"} & report.document(_spec(), _OUTCOME).keys()


def test_an_address_of_either_family() -> None:
    """A socket of IPv6 may have a connection of IPv4."""
    ipv4 = socket.inet_aton("198.18.0.2")
    assert _bare(socket.AF_INET, ipv4 + bytes(12)) == ipv4
    assert _bare(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, "::ffff:198.18.0.2")) == ipv4
    assert _bare(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, "2001:db8::2"))[:4] == b"\x20\x01\x0d\xb8"


def test_a_closing_segment_is_no_data() -> None:
    """A kernel counts the end of a connection as a byte, and the other end says how many there were."""
    client = _End(0, 1001, 40_053, 0, 0, 0, 70, 0)
    server = _End(2, 70, 2**32 - 1, 500, 200, 100, 1500, 500)
    (connection,) = _connections((5, 80), [client], [server])
    assert (connection.down_bytes, connection.up_bytes) == (1000, 70)
    assert (connection.down_retransmissions, connection.up_retransmissions) == (2, 0)
    assert connection.min_round_trip_us == 40_053
    assert (connection.down_limits.network_us, connection.down_limits.most) == (200, "network")
    assert connection.up_limits.most == "application"


def test_a_connection_without_its_other_end() -> None:
    """A request for a connection that nobody answered has carried nothing."""
    (connection,) = _connections((5, 80), [_End(6, 0, 2**32 - 1, 0, 0, 0, 0, 0)], [])
    assert (connection.up_retransmissions, connection.down_bytes, connection.min_round_trip_us) == (6, 0, None)
