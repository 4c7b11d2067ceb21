"""What has come into a device of the link's place, as the kernel counts it there."""

import os
from dataclasses import dataclass

_COUNTS = "/proc/thread-self/net/dev"
_MOST_BYTES = 2**16
_HEADERS_BYTES = 66  # Ethernet 14, IPv4 20, TCP with timestamps 32


@dataclass(frozen=True, kw_only=True)
class Received:
    """Frames and their bytes; what segmentation offload has not cut up yet is one frame."""

    packets: int
    bytes: int

    def since(self, earlier: "Received") -> "Received":
        """What came after an earlier reading."""
        return Received(packets=self.packets - earlier.packets, bytes=self.bytes - earlier.bytes)

    @property
    def payload_bytes(self) -> int:
        """What TCP carried in them, if all of it was TCP's with timestamps."""
        return self.bytes - _HEADERS_BYTES * self.packets


def read_counts() -> str:
    """Those of the network namespace that this thread is in. Raises OSError.

    Without a file object, which asks whether it is a terminal: that the answer is an error takes a guest's time.
    """
    descriptor = os.open(_COUNTS, os.O_RDONLY)
    try:
        return os.read(descriptor, _MOST_BYTES).decode()
    finally:
        os.close(descriptor)


def received(counts: str, device: str) -> Received:
    """That device's line of the counts. Raises ValueError if there is none."""
    for line in counts.splitlines():
        name, _, figures = line.partition(":")
        if name.strip() == device:
            size_bytes, packets, *_ = map(int, figures.split())
            return Received(packets=packets, bytes=size_bytes)
    raise ValueError(f"no counts of {device}")
