"""Packets of a run as values: what passed a host, and what became of it on its way."""

from dataclasses import dataclass
from enum import StrEnum

_NS = 10**9


class Cause(StrEnum):
    """The reasons why a packet did not arrive."""

    QUEUE = "queue"
    """A queue was full, or its discipline dropped the packet."""
    LOSS = "loss"
    """The link lost it at random (LOSS)."""
    MTU = "mtu"
    """It was too big for a link."""
    PARTITION = "partition"
    """A partition of the schedule dropped it."""
    DOWN = "down"
    """The schedule had taken its sender or its receiver down."""
    HOLD = "hold"
    """The schedule held it, and did not release it."""
    UNKNOWN = "unknown"
    """No link counted it: somebody else took it away, such as a route or a device that is down."""


CUTS = (Cause.PARTITION, Cause.DOWN, Cause.HOLD)
"""The causes that let no packet get beyond its sender. They have no link."""

_HOW = {
    Cause.QUEUE: "dropped by the queue",
    Cause.LOSS: "lost at random",
    Cause.MTU: "too big",
    Cause.PARTITION: "dropped by a partition",
    Cause.DOWN: "dropped by a host that is down",
    Cause.HOLD: "held until the end",
    Cause.UNKNOWN: "lost, and no link has counted it",
}


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The end of a packet on its way. link: the host whose link it was on; None if it was on none, or unknown. way:
    `down` toward this host, `up` from it.
    """

    cause: Cause
    link: str | None = None
    way: str | None = None

    def __str__(self) -> str:
        if self.link is None:
            return _HOW[self.cause]
        return f"{_HOW[self.cause]} on the link {'toward' if self.way == 'down' else 'from'} {self.link}"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An end of a packet's way. host: its name, or the address of one without a name. port: None without ports."""

    host: str
    address: str
    port: int | None = None

    def __str__(self) -> str:
        return self.host if self.port is None else f"{self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A packet as it is on the wire, where a host saw it. Times are in ns from the client's start, before it negative.

    at_ns: when it passed the host. host: the host's name. direction: `in` or `out`. protocol: `tcp`, `udp`, `icmp`,
    `icmpv6`, or the number of another. flags: those of TCP, such as ("SYN", "ACK"). sequence, acknowledgment: as of
    TCP, from the beginning of the connection: SYN has 0, the first byte of data 1; 0 without TCP. length: the bytes of
    its payload. sent_ns, arrived_ns: when it left its sender, and when it first came to its receiver; None if no host
    saw it. lost: None if it arrived, or was under way at the end. duplicate: True for what came a second time though
    it was sent once. retransmission: True for data that TCP has sent before.
    """

    at_ns: int
    host: str
    direction: str
    protocol: str
    source: Endpoint
    destination: Endpoint
    flags: tuple[str, ...] = ()
    sequence: int = 0
    acknowledgment: int = 0
    length: int = 0
    sent_ns: int | None = None
    arrived_ns: int | None = None
    lost: Loss | None = None
    duplicate: bool = False
    retransmission: bool = False

    @property
    def time_s(self) -> float:
        """The time at which it passed the host, in seconds."""
        return self.at_ns / _NS

    @property
    def dropped(self) -> bool:
        """True if a queue dropped it."""
        return self.lost is not None and self.lost.cause is Cause.QUEUE

    @property
    def what(self) -> str:
        """The packet in a few letters: `SYN`, `1448 bytes`, `ACK 1449`, `udp 32 bytes`."""
        told = [each for each in self.flags if each not in ("ACK", "PSH") or (each == "ACK" and "SYN" in self.flags)]
        if self.protocol != "tcp":
            told = [self.protocol]
        if self.length or (self.protocol != "tcp"):
            told.append(f"{self.length} bytes")
        return " ".join(told) or f"ACK {self.acknowledgment}"

    def __str__(self) -> str:
        fate = f", {self.lost}" if self.lost else ", a duplicate" if self.duplicate else ""
        again = ", sent again" if self.retransmission else ""
        numbers = f", sequence {self.sequence}, acknowledgment {self.acknowledgment}" if self.protocol == "tcp" else ""
        return f"{self.time_s:.6f} s {self.source} > {self.destination}: {self.what}{numbers}{again}{fate}"
