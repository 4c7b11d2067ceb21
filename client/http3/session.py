"""Carries out a plan over QUIC: moves datagrams between the engine and a UDP socket.

Times are the kernel's arrival times of datagrams, as with TCP (client/transport.py); they never decrease.
"""

import select
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

from priolab.client.http3.engine import Http3Engine
from priolab.client.journal import Journal
from priolab.client.progress import ENDED, connecting_deadline, told
from priolab.client.transport import Deadline, TransportFailed
from priolab.common import arrival
from priolab.common.formats.plan import Plan

_OLDEST_STAMP_NS = 10**6
_DATAGRAM_BYTES = 65_535
_SO_MEMINFO = 55  # <asm-generic/socket.h>, which the module socket lacks
_MEMINFO = struct.Struct("=9I")
_DROPS = 8  # SK_MEMINFO_DROPS, <linux/sock_diag.h>


def run_over_quic(plan: Plan, ca_file: Path, out: Path) -> None:
    """Carries out all loads of the plan. Raises LoadFailed or TransportFailed.

    ca_file: the file with the certificate authority to trust. out: the folder for the results.
    """
    with (
        (out / "keys.log").open("w") as keys,
        Journal.writing(out) as journal,
        socket.socket(_family(plan.address), socket.SOCK_DGRAM) as udp,
    ):
        udp.connect((plan.address, plan.port))
        arrival.stamp_arrivals(udp)
        engine = Http3Engine(plan, ca_file, keys)
        pump = _Pump(engine, udp, journal)
        engine.connect(time.monotonic_ns())
        pump.until(lambda: engine.ready, connecting_deadline(plan))
        for number in range(1, plan.loads + 1):
            with told(number, plan, engine, journal):
                journal.begin_load()
                began_ns = time.monotonic_ns()
                journal.add(engine.begin_load(began_ns))
                print(f"began {number} {began_ns}", flush=True)
                deadline = Deadline(began_ns + plan.load_deadline_ns, "the load")
                pump.until(lambda: not engine.loading, deadline, plan.steps.quiet_ns if plan.steps else None)
        print(ENDED, flush=True)
        engine.close()
        pump.flush()
        host, port = udp.getsockname()[:2]  # an address of IPv6 has two more fields
        received = udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        journal.conclude(
            out,
            address=host,
            port=port,
            receive_buffer_bytes=received,
            datagram_bytes=pump.datagram_bytes,
            datagrams_dropped=_dropped(udp),
        )


def _family(address: str) -> socket.AddressFamily:
    """Returns the address's family. Raises OSError for a text that is no address."""
    return socket.getaddrinfo(address, None, type=socket.SOCK_DGRAM)[0][0]


def _dropped(udp: socket.socket) -> int:
    """Returns how many datagrams the kernel dropped because the socket's receive buffer was full. Raises OSError."""
    counts = udp.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
    return int(_MEMINFO.unpack(counts)[_DROPS])


class _Pump:
    """Moves datagrams between the socket and the engine, and wakes the engine when its timer expires.

    datagram_bytes: the bytes of all datagrams received.
    """

    def __init__(self, engine: Http3Engine, udp: socket.socket, journal: Journal) -> None:
        self._engine = engine
        self._udp = udp
        self._journal = journal
        self._received_ns = 0
        self.datagram_bytes = 0

    def until(self, done: Callable[[], bool], deadline: Deadline, quiet_ns: int | None = None) -> None:
        """Runs the engine until done() is true.

        quiet_ns: the time without arrivals after which the engine is informed, in a probe; None for no probe. Raises
        LoadFailed, and TransportFailed if the deadline has passed or the front's port is closed.
        """
        self.flush()
        quiet_from_ns = None if quiet_ns is None else time.monotonic_ns() + quiet_ns
        while not done():
            if select.select([self._udp], [], [], self._patience_s(deadline, quiet_from_ns))[0]:
                datagram, received_ns = self._receive()
                began_ns = time.monotonic_ns()
                events = self._engine.receive(datagram, received_ns)
                self._journal.add(events)
                self._journal.cost.add(len(events), time.monotonic_ns() - began_ns)
                if self._journal.limits:
                    self._journal.limits.read(len(datagram))
                quiet_from_ns = None if quiet_ns is None else time.monotonic_ns() + quiet_ns
            elif self._is_due(self._engine.timer_ns):
                self._journal.add(self._engine.wake(time.monotonic_ns()))
            elif quiet_ns is not None and self._is_due(quiet_from_ns):
                self._journal.add(self._engine.quiet(time.monotonic_ns()))
                quiet_from_ns = time.monotonic_ns() + quiet_ns
            self.flush()

    def flush(self) -> None:
        """Sends the datagrams that the engine has to send. Raises TransportFailed."""
        for datagram in self._engine.datagrams_to_send(time.monotonic_ns()):
            try:
                self._udp.send(datagram)
            except OSError as error:
                raise TransportFailed(f"the connection broke: {error}") from error

    def _receive(self) -> tuple[bytes, int]:
        try:
            datagram, ancillary, _, _ = self._udp.recvmsg(_DATAGRAM_BYTES, arrival.ANCILLARY_BYTES)
        except OSError as error:
            raise TransportFailed(f"the connection broke: {error}") from error
        self.datagram_bytes += len(datagram)
        arrived_ns, waited_ns = arrival.arrival_and_age_ns(ancillary, _OLDEST_STAMP_NS)
        self._journal.waited(waited_ns)
        self._received_ns = max(self._received_ns, arrived_ns)
        return datagram, self._received_ns

    def _patience_s(self, deadline: Deadline, quiet_from_ns: int | None) -> float:
        left_s, now_ns = deadline.remaining_s(), time.monotonic_ns()
        dues_ns = [each for each in (self._engine.timer_ns, quiet_from_ns) if each is not None]
        return max(0.0, min([left_s, *((due_ns - now_ns) / 10**9 for due_ns in dues_ns)]))

    @staticmethod
    def _is_due(time_ns: int | None) -> bool:
        return time_ns is not None and time_ns <= time.monotonic_ns()
