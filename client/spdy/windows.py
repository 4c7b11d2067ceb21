"""Flow control as a receiver keeps it (SPDY draft 3.1, 2.6.8): a window of each stream, and one of the session."""

from client.spdy.frames import Breach

SESSION_BYTES = 64 * 1024
"""The session's window at first; no setting changes it."""


class Window:
    """What the peer may still send. Only the payload of DATA counts."""

    def __init__(self, whose: str, size_bytes: int) -> None:
        self._whose = whose
        self._size_bytes = size_bytes
        self._taken_bytes = 0
        self.left_bytes = size_bytes

    def check(self, size_bytes: int) -> None:
        """Raises Breach if that is more than the peer may send."""
        if size_bytes > self.left_bytes:
            raise Breach(f"{size_bytes} bytes of DATA where the window of {self._whose} has {self.left_bytes}")

    def take(self, size_bytes: int) -> None:
        """That much has come."""
        self.left_bytes -= size_bytes
        self._taken_bytes += size_bytes

    def open(self, size_bytes: int) -> None:
        """The peer may send that much more."""
        self.left_bytes += size_bytes

    def refill(self) -> int:
        """By how much to open it so that it is as it was; 0 until half of it is used up."""
        if 2 * self._taken_bytes < self._size_bytes:
            return 0
        taken, self._taken_bytes = self._taken_bytes, 0
        self.left_bytes += taken
        return taken
