"""Tests of the HTTP/3 engine with a server made of aioquic, in memory."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from aioquic.h3.connection import ErrorCode, H3Connection
from aioquic.h3.events import H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import StreamDataReceived
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from priolab.client.dialects import PLAIN, UPDATE, Dialect
from priolab.client.flow_control_probe import MOST_PARKED_TURNS, PARKED_BYTES
from priolab.client.http3.engine import Http3Engine
from priolab.client.load_scheduler import LoadFailed
from priolab.client.plan import STEPS
from priolab.client.priorities import Priorities
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Protocol, Steps
from priolab.proxy.certificate_files import Certificates
from priolab.proxy.certificates import issue
from tests.support.pages import maps_plan

_CLIENT = ("198.18.0.3", 40_000)
_STEP_NS = 10**6
PAGE, IMAGE, SCRIPT = 0, 4, 8
_CONTROL = 2
_SIZE = 300_000
_HEADS = 200
"""More bytes than headers and frames of a response have on its stream, which count for the windows, too."""


class Pair:
    """A client engine and a server, in memory. Every exchange takes a millisecond."""

    def __init__(
        self,
        certificates: Certificates,
        priorities: Priorities = Priorities.SPDY,
        alpn: str = "h3",
        *,
        dialect: Dialect = PLAIN,
        steps: Steps | None = None,
        connection_window_bytes: int | None = None,
    ) -> None:
        self.keys = io.StringIO()
        plan = maps_plan(
            address="198.18.1.2",
            port=443,
            server_name="maps.test",
            priorities=priorities,
            dialect=dialect,
            protocol=Protocol.HTTP3,
            reloads=1,
            window_bytes=2**20,
            connection_window_bytes=connection_window_bytes,
            load_deadline_ns=10**10,
            steps=steps,
        )
        self.engine = Http3Engine(plan, certificates.ca, self.keys)
        configuration = QuicConfiguration(is_client=False, alpn_protocols=[alpn])
        configuration.load_cert_chain(certificates.chain, certificates.key)
        self._configuration = configuration
        self.quic: QuicConnection | None = None
        self.http: H3Connection | None = None
        self.now_ns = 0
        self.events: list[Event] = []
        self.at_server: list[H3Event] = []
        self.control = b""
        self.spoil: Callable[[bytes], bytes] = bytes
        self.engine.connect(0)

    def exchange(self, times: int = 1) -> None:
        for _ in range(times):
            self.now_ns += _STEP_NS
            for datagram in self.engine.datagrams_to_send(self.now_ns):
                self._receive(datagram)
            if self.quic:
                for datagram, _ in self.quic.datagrams_to_send(now=self.now_ns / 10**9):
                    self.events += self.engine.receive(self.spoil(datagram), self.now_ns)

    def end(self) -> None:
        """Advances the time until the client's timer reports the end of the connection."""
        self.exchange(2)
        for _ in range(3):
            if (timer_ns := self.engine.timer_ns) is not None:
                self.now_ns = max(self.now_ns, timer_ns) + 1
                self.events += self.engine.wake(self.now_ns)

    def _receive(self, datagram: bytes) -> None:
        if self.quic is None:
            connection_id = datagram[6 : 6 + datagram[5]]
            self.quic = QuicConnection(
                configuration=self._configuration, original_destination_connection_id=connection_id
            )
        self.quic.receive_datagram(datagram, _CLIENT, now=self.now_ns / 10**9)
        while (event := self.quic.next_event()) is not None:
            if self.http is None and type(event).__name__ == "ProtocolNegotiated":
                self.http = H3Connection(self.quic)
            if isinstance(event, StreamDataReceived) and event.stream_id == _CONTROL:
                self.control += event.data
            if self.http:
                self.at_server += self.http.handle_event(event)

    def begin(self) -> None:
        """Completes the handshake and requests the page."""
        self.exchange(4)
        assert self.engine.ready
        self.events += self.engine.begin_load(self.now_ns)
        self.exchange(2)

    def answer(self, stream_id: int, *pieces: bytes, status: str = "200", end: bool = True) -> None:
        assert self.http is not None
        self.http.send_headers(stream_id, [(b":status", status.encode())])
        for number, piece in enumerate(pieces, start=1):
            self.http.send_data(stream_id, piece, end_stream=end and number == len(pieces))
            self.exchange(2)

    def quiet(self) -> None:
        """Tells the engine that nothing has arrived for a while, and exchanges all that follows."""
        self.events += self.engine.quiet(self.now_ns)
        self.exchange(40)

    def received(self, name: str) -> int:
        """Returns the payload bytes that the client has received of a resource."""
        return sum(event.size_bytes or 0 for event in self.events if event.kind is Kind.DATA and event.resource == name)

    def requests(self) -> list[dict[bytes, bytes]]:
        return [dict(event.headers) for event in self.at_server if isinstance(event, HeadersReceived)]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return issue(tmp_path_factory.mktemp("certificates"), "maps.test")


@pytest.fixture
def pair(certificates: Certificates) -> Pair:
    pair = Pair(certificates)
    pair.begin()
    return pair


def test_a_page_load(pair: Pair) -> None:
    """The client requests the page alone, then image and script.

    It has events from the handshake to the end of the load, as over HTTP/2.
    """
    assert [request[b":path"] for request in pair.requests()] == [b"/"]
    pair.answer(PAGE, b"page")
    assert [request[b":path"] for request in pair.requests()] == [b"/", b"/image.jpg", b"/script.js"]
    pair.answer(SCRIPT, b"x" * 500, b"y")
    assert pair.engine.unfinished == ["image"]
    pair.answer(IMAGE, b"z")
    assert not pair.engine.loading
    kinds = [(event.kind, event.resource) for event in pair.events]
    assert kinds[:3] == [(Kind.SECURED, None), (Kind.LOAD_STARTED, None), (Kind.REQUEST_SENT, "page")]
    assert kinds[-1] == (Kind.LOAD_FINISHED, None)
    script = [event for event in pair.events if event.resource == "script"]
    assert script[0].kind == Kind.REQUEST_SENT
    assert script[1].kind == Kind.HEADERS
    assert script[-1].kind == Kind.ENDED
    assert sum(event.size_bytes or 0 for event in script if event.kind == Kind.DATA) == 501
    assert [event.t_ns for event in pair.events] == sorted(event.t_ns for event in pair.events)
    assert "CLIENT_TRAFFIC_SECRET_0" in pair.keys.getvalue()


def test_reload_on_the_same_connection(pair: Pair) -> None:
    """The next load requests the page again on the same connection."""
    for stream_id in (PAGE, IMAGE, SCRIPT):
        pair.answer(stream_id, b"x")
    pair.events += pair.engine.begin_load(pair.now_ns)
    pair.exchange(2)
    assert [event.load for event in pair.events if event.kind == Kind.LOAD_STARTED] == [1, 2]
    assert [request[b":path"] for request in pair.requests()][-1] == b"/"


@pytest.mark.parametrize(
    ("priorities", "fields"),
    [(Priorities.SPDY, [b"u=0, i", b"u=5, i", b"u=2"]), (Priorities.NONE, [None, None, None])],
)
def test_priorities_are_header_fields(
    certificates: Certificates, priorities: Priorities, fields: list[bytes | None]
) -> None:
    """Over HTTP/3 priorities are header fields of RFC 9218."""
    pair = Pair(certificates, priorities)
    pair.begin()
    pair.answer(PAGE, b"x")
    assert [request.get(b"priority") for request in pair.requests()] == fields


def test_an_informational_response_is_no_answer(pair: Pair) -> None:
    """A response 103 before the response 200 causes no HEADERS event."""
    assert pair.http is not None
    pair.http.send_headers(PAGE, [(b":status", b"103")])
    pair.answer(PAGE, b"x")
    assert [event.detail for event in pair.events if event.kind == Kind.HEADERS] == ["200"]


def test_trailers_are_no_answer(pair: Pair) -> None:
    """Trailers, which are headers behind the data, can end the stream."""
    assert pair.http is not None
    pair.answer(PAGE, b"x", end=False)
    pair.http.send_headers(PAGE, [(b"x-checksum", b"7")], end_stream=True)
    pair.exchange(2)
    assert pair.engine.unfinished == ["image", "script"]


def test_a_stream_of_the_fronts_fails_the_load(pair: Pair) -> None:
    """A stream that the front opens with response headers fails the load."""
    assert pair.quic is not None
    assert pair.http is not None
    stream_id = pair.quic.get_next_available_stream_id()
    pair.http.send_headers(stream_id, [(b":status", b"200")])
    with pytest.raises(LoadFailed, match=f"the front opened stream {stream_id}|broke HTTP/3|GOAWAY"):
        pair.end()


def test_another_status_fails_the_load(pair: Pair) -> None:
    """A status other than 200 fails the load; the message has the status and the resource."""
    with pytest.raises(LoadFailed, match="answered page with status 502"):
        pair.answer(PAGE, b"x", status="502")


def test_a_reset_stream_fails_the_load(pair: Pair) -> None:
    """A stream reset by the front fails the load; the message has QUIC's error code."""
    assert pair.quic is not None
    pair.quic.reset_stream(PAGE, ErrorCode.H3_INTERNAL_ERROR)
    with pytest.raises(LoadFailed, match="reset the stream of page: 0x102"):
        pair.exchange(2)


def test_the_end_of_the_connection_fails_the_load(pair: Pair) -> None:
    """The end of the connection fails the load if a stream is open."""
    assert pair.quic is not None
    pair.quic.close(error_code=ErrorCode.H3_INTERNAL_ERROR, reason_phrase="tired")
    with pytest.raises(LoadFailed, match=r"GOAWAY \(0x102, tired\)"):
        pair.end()


def test_another_protocol_fails(certificates: Certificates) -> None:
    """The handshake fails if the server does not offer HTTP/3."""
    pair = Pair(certificates, alpn="hq-interop")
    with pytest.raises(LoadFailed, match="the handshake failed"):
        pair.end()


def test_another_authority_fails(certificates: Certificates, tmp_path: Path) -> None:
    """The handshake fails with a certificate of another certificate authority than that of the run."""
    pair = Pair(certificates)
    pair.engine = Http3Engine(pair.engine._plan, issue(tmp_path, "maps.test").ca, pair.keys)
    pair.engine.connect(0)
    with pytest.raises(LoadFailed, match="the handshake failed"):
        pair.end()


def test_frames_that_break_the_protocol(pair: Pair) -> None:
    """DATA before HEADERS fails the load."""
    assert pair.quic is not None
    pair.quic.send_stream_data(PAGE, b"\x00\x01x")
    with pytest.raises(LoadFailed, match=r"GOAWAY \(0x105, DATA frame is not allowed in this state\)"):
        pair.end()


@pytest.fixture
def probe(certificates: Certificates) -> Pair:
    """Return a client that probes, after the page's response."""
    pair = Pair(certificates, steps=STEPS)
    pair.begin()
    pair.answer(PAGE, b"p" * 5000)
    pair.exchange(40)
    assert pair.received("page") == 5000
    return pair


def _answer_both(pair: Pair) -> None:
    for stream_id in (IMAGE, SCRIPT):
        pair.answer(stream_id, b"x" * _SIZE)
    pair.exchange(40)


def test_a_probe_holds_the_responses_back(probe: Pair) -> None:
    """Until the client enlarges a window, a response has no more bytes than a parked stream's window."""
    _answer_both(probe)
    for name in ("image", "script"):
        assert PARKED_BYTES - _HEADS < probe.received(name) < PARKED_BYTES


def test_a_probe_opens_the_connections_window_by_steps(probe: Pair) -> None:
    """The first response uses up the initial window. From then on, each step lets a step's bytes pass, and no more."""
    _answer_both(probe)
    probe.quiet()
    assert 65_535 - 5000 - 2 * PARKED_BYTES - _HEADS < probe.received("image") < 65_535
    assert probe.received("script") < PARKED_BYTES
    before = probe.received("image") + probe.received("script")
    for number in range(1, 6):
        probe.quiet()
        arrived = probe.received("image") + probe.received("script") - before
        assert number * STEPS.size_bytes - _HEADS < arrived <= number * STEPS.size_bytes
    opened = [event for event in probe.events if event.kind is Kind.WINDOW_OPENED]
    assert [event.stream_id for event in opened] == [IMAGE, IMAGE, SCRIPT, *[None] * 5]
    assert {event.size_bytes for event in opened if event.stream_id is None} == {STEPS.size_bytes}


def test_a_front_that_does_not_begin_a_response(probe: Pair) -> None:
    """If a response does not begin while another one waits for its window, the windows are opened in the end."""
    probe.answer(IMAGE, b"x" * _SIZE)
    for _ in range(MOST_PARKED_TURNS):
        assert probe.engine.quiet(probe.now_ns) == []
    probe.quiet()
    assert probe.received("image") > PARKED_BYTES


def test_a_load_that_is_no_probe_is_not_held_back(pair: Pair) -> None:
    """Without steps the windows are those of the plan, and aioquic enlarges them."""
    pair.answer(PAGE, b"p")
    _answer_both(pair)
    assert pair.engine.quiet(pair.now_ns) == []
    assert (pair.received("image"), pair.received("script")) == (_SIZE, _SIZE)


def test_priorities_are_updated_by_frames(certificates: Certificates) -> None:
    """With UPDATE, PRIORITY_UPDATE frames on the control stream follow the first payload of image or script, once."""
    pair = Pair(certificates, dialect=UPDATE)
    pair.begin()
    pair.answer(PAGE, b"x")
    assert [request.get(b"priority") for request in pair.requests()] == [None] * 3
    assert Kind.PRIORITY_SENT not in {event.kind for event in pair.events}
    settings_only = pair.control
    pair.answer(SCRIPT, b"x", b"y", end=False)
    told = [(event.resource, event.detail) for event in pair.events if event.kind is Kind.PRIORITY_SENT]
    assert told == [("script", "priority: u=2"), ("image", "priority: u=5, i")]
    frame = bytes([0x80, 0x0F, 0x07, 0x00])  # the type 0xF0700 (RFC 9218, 7.2)
    assert pair.control == settings_only + frame + b"\x04\x08u=2" + frame + b"\x07\x04u=5, i"


_UNIDIRECTIONAL = 15  # the server's first unidirectional stream that HTTP/3 has not opened itself
_SPOKEN = st.tuples(st.sampled_from([PAGE, _UNIDIRECTIONAL]), st.binary(min_size=1, max_size=64), st.booleans())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(spoken=st.lists(_SPOKEN, min_size=1, max_size=4), answered=st.booleans())
def test_whatever_is_said_ends_the_load_or_nothing(
    certificates: Certificates, spoken: list[tuple[int, bytes, bool]], *, answered: bool
) -> None:
    """Any bytes on the page's stream or on a stream of the server raise LoadFailed, or no exception."""
    pair = Pair(certificates)
    pair.begin()
    assert pair.quic is not None
    ended: set[int] = set()
    told = None
    try:
        if answered:
            pair.answer(PAGE, b"page", end=False)
        for stream_id, data, end in spoken:
            if stream_id not in ended:
                pair.quic.send_stream_data(stream_id, data, end_stream=end)
                ended |= {stream_id} if end else set()
            pair.exchange()
        pair.end()
    except LoadFailed as failed:
        told = str(failed)
    assert told is None or told.startswith(("the front ", "the handshake")), told
    kinds = [event.kind for event in pair.events]
    assert kinds[:3] == [Kind.SECURED, Kind.LOAD_STARTED, Kind.REQUEST_SENT]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(data=st.binary(min_size=1, max_size=64), at=st.integers(min_value=0, max_value=1500))
def test_a_damaged_datagram_is_as_good_as_lost(certificates: Certificates, data: bytes, at: int) -> None:
    """QUIC drops a damaged datagram, which it cannot decrypt: no payload of this datagram arrives."""
    pair = Pair(certificates)
    pair.begin()
    pair.spoil = lambda datagram: datagram[:at] + data + datagram[at + len(data) :]
    with contextlib.suppress(LoadFailed):
        pair.answer(PAGE, b"page")
        pair.end()
    assert all(event.size_bytes == 4 for event in pair.events if event.kind is Kind.DATA)


@pytest.mark.parametrize("connection_window_bytes", [None, 2**16, 2**25])
def test_a_connection_window_of_its_own(certificates: Certificates, connection_window_bytes: int | None) -> None:
    """The front may send as much on the connection as the plan says, whatever a stream's window is."""
    pair = Pair(certificates, connection_window_bytes=connection_window_bytes)
    pair.exchange()
    assert pair.quic is not None
    assert pair.quic._remote_max_data == (connection_window_bytes or 2**20)
