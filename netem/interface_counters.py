"""Reads the kernel's receive counters of a network device, such as the link's device toward the front."""

import os
from dataclasses import dataclass

_COUNTS = "/proc/thread-self/net/dev"
_MOST_BYTES = 2**16
_HEADERS_BYTES = 66  # Ethernet 14, IPv4 20, TCP with timestamps 32
_DATAGRAM_HEADERS_BYTES = 42  # Ethernet 14, IPv4 20, UDP 8


@dataclass(frozen=True, kw_only=True)
class Received:
    """Received frames and their bytes. A large packet that segmentation offload has not split counts as one frame."""

    packets: int
    bytes: int

    def since(self, earlier: "Received") -> "Received":
        """Returns the frames and bytes received since the reading `earlier`."""
        return Received(packets=self.packets - earlier.packets, bytes=self.bytes - earlier.bytes)

    @property
    def payload_bytes(self) -> int:
        """The bytes of TCP payload if every frame was a TCP segment with timestamps."""
        return self.bytes - _HEADERS_BYTES * self.packets

    @property
    def datagram_bytes(self) -> int:
        """The bytes of UDP payload if every frame was a datagram."""
        return self.bytes - _DATAGRAM_HEADERS_BYTES * self.packets


def read_counts() -> str:
    """Reads the counters of all devices in this thread's network namespace, as text. Raises OSError.

    The function uses no Python file object, because open() asks whether the file is a terminal: in a guest this
    additional system call would move the clock.
    """
    descriptor = os.open(_COUNTS, os.O_RDONLY)
    try:
        return os.read(descriptor, _MOST_BYTES).decode()
    finally:
        os.close(descriptor)


def received(counts: str, device: str) -> Received:
    """Parses the device's line in the text of read_counts. Raises ValueError if the device has no line."""
    for line in counts.splitlines():
        name, _, figures = line.partition(":")
        if name.strip() == device:
            size_bytes, packets, *_ = map(int, figures.split())
            return Received(packets=packets, bytes=size_bytes)
    raise ValueError(f"no counts of {device}")
