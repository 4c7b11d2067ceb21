"""Tests of messages and signals to a link."""

import os
import select
import signal
import socket
from pathlib import Path

import pytest

from priolab.netem import control


def test_what_is_told_is_heard(tmp_path: Path) -> None:
    """A message arrives, even if the socket's path is too long for an address.
    The path exists while the socket listens.
    """
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    path = folder / "begin"
    with control.bound(socket.SOCK_DGRAM, path) as listener:
        control.tell_begin(path, 1_234_567_890)
        assert control.told(listener) == "1234567890"
    assert not path.exists()


def test_nobody_listens(tmp_path: Path) -> None:
    """`tell_begin` raises OSError if no link listens."""
    with pytest.raises(OSError, match="No such file"):
        control.tell_begin(tmp_path / "begin", 1)


def test_a_signal_can_be_waited_for() -> None:
    """Inside the context, SIGTERM makes a socket readable and does not end the process.
    Afterwards the old handler is restored.
    """
    before = signal.getsignal(signal.SIGTERM)
    with control.signals() as told:
        os.kill(os.getpid(), signal.SIGTERM)
        assert select.select([told], [], [], 5)[0] == [told]
    assert signal.getsignal(signal.SIGTERM) is before
