"""Cross traffic: bulk flows that share the bottleneck with the front's connection.

    python -m priolab.netem.cross receive ADDRESS PORT INTERVAL_NS JOURNAL  in the client's place: reads all
    python -m priolab.netem.cross send ADDRESS PORT FLOWS CC                  behind the link: sends for ever

Rules:
1. A flow is a TCP connection with the congestion control CC, whose sender always has bytes to send.
2. The receiver reads all bytes as soon as they come, so that its window never limits a flow.
3. The journal (common/formats/samples.py, CrossSample) counts the packets that reached the client's kernel, also
   packets that the receiver cannot read yet because an earlier one is missing: all of them crossed the bottleneck.
4. Both programs run until SIGTERM. The journal appears when the receiver accepts connections.
"""

import selectors
import socket
import struct
import sys
import time
from pathlib import Path
from typing import TextIO

from priolab.common.formats.samples import CrossSample

_CHUNK = bytes(2**18)
_READ_BYTES = 2**20
_DATA_SEGMENTS_IN = struct.Struct("=152xI")  # tcpi_data_segs_in of struct tcp_info, <linux/tcp.h>
_NS = 10**9


def send(address: str, port: int, flows: int, congestion_control: str) -> None:
    """Opens the flows and sends bytes until the process is ended. Raises OSError, as if a flow is closed."""
    with selectors.DefaultSelector() as waiting:
        for _ in range(flows):
            flow = socket.socket()
            flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
            flow.connect((address, port))
            flow.settimeout(0)
            waiting.register(flow, selectors.EVENT_WRITE, flow)
        while True:
            for key, _ in waiting.select():
                key.data.send(_CHUNK)


class Receiver:
    """The receiving end of all flows."""

    def __init__(self, listener: socket.socket, journal: TextIO) -> None:
        self._listener = listener
        self._journal = journal
        self._flows: list[socket.socket] = []
        self._bytes = 0
        self._packets_before = 0  # of flows that have ended
        self._last: CrossSample | None = None

    def run(self, interval_ns: int) -> None:
        """Reads the flows and writes a sample at each interval, if it has changed, until the process is ended."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._listener, selectors.EVENT_READ)
            next_ns = time.monotonic_ns()
            while True:
                now_ns = time.monotonic_ns()
                if now_ns >= next_ns:
                    self._sample(now_ns)
                    next_ns = max(next_ns + interval_ns, now_ns)
                for key, _ in waiting.select((next_ns - now_ns) / _NS):
                    if key.fileobj is self._listener:
                        flow, _ = self._listener.accept()
                        self._flows.append(flow)
                        waiting.register(flow, selectors.EVENT_READ, flow)
                    elif not self._read(key.data):
                        waiting.unregister(key.fileobj)

    def _read(self, flow: socket.socket) -> bool:
        """Reads what has come; returns False if the flow has ended."""
        try:
            size_bytes = len(flow.recv(_READ_BYTES))
        except ConnectionError:
            size_bytes = 0
        self._bytes += size_bytes
        if not size_bytes:
            self._packets_before += _packets(flow)
            self._flows.remove(flow)
            flow.close()
        return bool(size_bytes)

    def _sample(self, now_ns: int) -> None:
        packets = self._packets_before + sum(map(_packets, self._flows))
        sample = CrossSample(t_ns=now_ns, flows=len(self._flows), packets=packets, bytes=self._bytes)
        last = self._last
        if last is None or (last.flows, last.packets) != (sample.flows, sample.packets):
            self._journal.write(sample.to_json() + "\n")
            self._last = sample


def _packets(flow: socket.socket) -> int:
    """Returns the packets with data that the kernel has received on a flow."""
    found = flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _DATA_SEGMENTS_IN.size)
    return int(_DATA_SEGMENTS_IN.unpack(found)[0])


def main() -> int:
    """Runs the end that the command line names; returns the exit code 1 if the end has failed."""
    role, address, port, *rest = sys.argv[1:]
    try:
        if role == "send":
            flows, congestion_control = rest
            send(address, int(port), int(flows), congestion_control)
        else:
            interval_ns, journal = rest
            with socket.create_server((address, int(port))) as listener, Path(journal).open("w", buffering=1) as lines:
                Receiver(listener, lines).run(int(interval_ns))
    except OSError as error:
        print(f"cross traffic: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
