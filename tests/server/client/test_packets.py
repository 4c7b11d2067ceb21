"""Tests of reads of several packets at once: every byte, in order, with the time at which its packet arrived."""

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from h2.events import RequestReceived

from priolab.client.__main__ import run
from priolab.client.dialects import PLAIN
from priolab.client.packets import Packets
from priolab.client.priorities import Priorities
from priolab.common.arrival import stamp_arrivals
from priolab.common.packets import SEGMENT_BYTES
from tests.server.peers import NAME, SOON_S, listening, over_tls, session
from tests.support.pages import maps_plan

_PAUSE_S = 0.02


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The ends of a TCP connection: one that sends at once what it is given, and one that stamps arrivals."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        receiver = listener.accept()[0]
    with sender, receiver:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stamp_arrivals(receiver)
        yield sender, receiver


def test_packets_that_arrive_one_after_the_other(ends: tuple[socket.socket, socket.socket]) -> None:
    """Packets that were sent with pauses have times with these pauses, and their own bytes."""
    sender, receiver = ends
    sent = [bytes([number]) * (100 + number) for number in range(3)]
    began_ns = []

    def send() -> None:
        for packet in sent:
            time.sleep(_PAUSE_S)
            began_ns.append(time.time_ns())
            sender.sendall(packet)

    thread = threading.Thread(target=send)
    thread.start()
    found = Packets(receiver).read(3)
    now_ns = time.time_ns()
    thread.join(SOON_S)
    assert [bytes(data) for data, _ in found] == sent
    for (_, stamp_ns), (earliest_ns, latest_ns) in zip(found, pairwise([*began_ns, now_ns]), strict=True):
        assert earliest_ns <= stamp_ns <= latest_ns


def test_bytes_that_are_there_together(ends: tuple[socket.socket, socket.socket]) -> None:
    """A slot takes no more than a full packet; what was not asked for stays in the socket; calls do not mix bytes."""
    sender, receiver = ends
    content = bytes(number % 251 for number in range(5 * SEGMENT_BYTES))
    sender.sendall(content)
    time.sleep(_PAUSE_S)
    packets = Packets(receiver)
    first = [bytes(data) for data, _ in packets.read(3)]
    second = [bytes(data) for data, _ in packets.read(2)]
    assert [len(data) for data in first + second] == 5 * [SEGMENT_BYTES]
    assert b"".join(first + second) == content


def test_the_end_of_the_stream(ends: tuple[socket.socket, socket.socket]) -> None:
    """Bytes before the end are returned; then nothing."""
    sender, receiver = ends
    sender.sendall(b"last")
    sender.close()
    packets = Packets(receiver)
    assert [bytes(data) for data, _ in packets.read(4)] == [b"last"]
    assert packets.read(4) == []


def test_a_timeout(ends: tuple[socket.socket, socket.socket]) -> None:
    """After the socket's timeout the call returns what is there, or raises BlockingIOError if nothing is."""
    sender, receiver = ends
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", 0, 20_000))
    packets = Packets(receiver)
    with pytest.raises(BlockingIOError):
        packets.read(2)
    sender.sendall(b"one")
    assert [bytes(data) for data, _ in packets.read(2)] == [b"one"]


def _answer(tls: ssl.SSLSocket) -> None:
    """Answer the requests for the page and its resources, in large records."""
    connection = session(tls)
    answered = 0
    sizes = {1: 558, 3: 200_000, 5: 200_000}
    asked = [1]
    while answered < len(sizes):
        for stream in asked:
            connection.send_headers(stream, [(":status", "200")])
            for start in range(0, sizes[stream], 8192):
                size = min(8192, sizes[stream] - start)
                connection.send_data(stream, bytes(size), end_stream=start + size == sizes[stream])
            answered += 1
        tls.sendall(connection.data_to_send())
        if answered < len(sizes):
            events = connection.receive_data(tls.recv(65_536))
            asked = [event.stream_id for event in events if isinstance(event, RequestReceived)]
    tls.recv(65_536)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_load(tmp_path: Path, *, at_once: bool) -> None:
    """A load has all its bytes, and the arrivals are in order and complete, however the client reads."""
    plan = maps_plan(
        address="127.0.0.1",
        port=0,
        server_name=NAME,
        priorities=Priorities.SPDY,
        dialect=PLAIN,
        reloads=0,
        window_bytes=2**20,
        load_deadline_ns=round(SOON_S * 10**9),
    )
    with listening(over_tls(tmp_path, _answer)) as port:
        run(replace(plan, port=port, packets_at_once=at_once), tmp_path / "ca.pem", tmp_path)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    arrivals = [json.loads(line) for line in (tmp_path / "arrivals.jsonl").read_text().splitlines()]
    received = {"image": 0, "script": 0, "page": 0}
    for event in events:
        if event["kind"] == "data":
            received[event["resource"]] += event["size_bytes"]
    assert received == {"page": 558, "image": 200_000, "script": 200_000}
    ends = [(each["t_ns"], each["tcp_bytes"]) for each in arrivals]
    assert ends == sorted(ends)
    assert ends[-1][1] == max(event.get("tcp_bytes", 0) for event in events)
