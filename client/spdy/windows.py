"""The receiver's flow control (SPDY draft 3.1, 2.6.8): a window for each stream, and one for the session."""

from priolab.client.spdy.frames import Breach

SESSION_BYTES = 64 * 1024
"""The session's initial window; no setting changes it."""


class Window:
    """A flow-control window: the bytes of DATA payload that the peer may still send.

    whose: the window's owner, a stream or the session, for error messages.
    """

    def __init__(self, whose: str, size_bytes: int) -> None:
        self._whose = whose
        self._size_bytes = size_bytes
        self._taken_bytes = 0
        self.left_bytes = size_bytes

    def check(self, size_bytes: int) -> None:
        """Raises Breach if the peer may not send size_bytes."""
        if size_bytes > self.left_bytes:
            raise Breach(f"{size_bytes} bytes of DATA, but the window of {self._whose} allows {self.left_bytes}")

    def take(self, size_bytes: int) -> None:
        """Reduces the window by size_bytes of received DATA payload."""
        self.left_bytes -= size_bytes
        self._taken_bytes += size_bytes

    def open(self, size_bytes: int) -> None:
        """Allows the peer to send size_bytes more."""
        self.left_bytes += size_bytes

    def refill(self) -> int:
        """Opens the window to its full size if half of the window is used up.

        Returns the increase in bytes; 0 if the window stays as it is.
        """
        if 2 * self._taken_bytes < self._size_bytes:
            return 0
        taken, self._taken_bytes = self._taken_bytes, 0
        self.left_bytes += taken
        return taken
