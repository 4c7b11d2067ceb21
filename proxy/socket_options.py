"""The options of TCP sockets that decide when bytes leave: reads them, and records when they change.

The options are those of socket(7), ip(7) and tcp(7). An option that the kernel does not have is left out.
"""

import socket
from collections.abc import Mapping, MutableMapping

from priolab.common.formats.samples import NEW_SOCKET, OptionsSample

_SOCKET, _IP, _TCP = socket.SOL_SOCKET, socket.IPPROTO_IP, socket.IPPROTO_TCP
_OPTIONS: Mapping[str, tuple[int, int]] = {
    "SO_SNDBUF": (_SOCKET, 7),
    "SO_RCVBUF": (_SOCKET, 8),
    "SO_BUF_LOCK": (_SOCKET, 72),
    "SO_PRIORITY": (_SOCKET, 12),
    "SO_RCVLOWAT": (_SOCKET, 18),
    "SO_MARK": (_SOCKET, 36),
    "SO_BUSY_POLL": (_SOCKET, 46),
    "SO_MAX_PACING_RATE": (_SOCKET, 47),
    "SO_RESERVE_MEM": (_SOCKET, 73),
    "SO_TXREHASH": (_SOCKET, 74),
    "SO_GET_FILTER": (_SOCKET, 26),
    "IP_TOS": (_IP, 1),
    "IP_TTL": (_IP, 2),
    "IP_MTU_DISCOVER": (_IP, 10),
    "TCP_NODELAY": (_TCP, 1),
    "TCP_CORK": (_TCP, 3),
    "TCP_SYNCNT": (_TCP, 7),
    "TCP_WINDOW_CLAMP": (_TCP, 10),
    "TCP_THIN_LINEAR_TIMEOUTS": (_TCP, 16),
    "TCP_USER_TIMEOUT": (_TCP, 18),
    "TCP_REPAIR": (_TCP, 19),
    "TCP_NOTSENT_LOWAT": (_TCP, 25),
    "TCP_TX_DELAY": (_TCP, 37),
    "TCP_RTO_MAX_MS": (_TCP, 44),
    "TCP_RTO_MIN_US": (_TCP, 45),
    "TCP_DELACK_MAX_US": (_TCP, 46),
}
_TEXTS: Mapping[str, tuple[int, int]] = {
    "SO_BINDTODEVICE": (_SOCKET, 25),
    "TCP_ULP": (_TCP, 31),
}
_TEXT_BYTES = 16
_TOS, _ALL = "IP_TOS", -1
NOT_ECN = ~0x3
"""The bits of the type of service that are not those of ECN, which the kernel sets."""

Options = Mapping[str, str]
"""The values of options by name."""

_missing: set[str] = set()
"""The options that this kernel does not have: asked for once."""


def options_of(one: socket.socket) -> Options:
    """Returns the options of a TCP socket. Raises OSError if it is none, or has closed."""
    found = {}
    for name, (level, number) in _OPTIONS.items():
        if name not in _missing:
            try:
                found[name] = str(one.getsockopt(level, number) & (NOT_ECN if name == _TOS else _ALL))
            except OSError:
                _missing.add(name)
    for name, (level, number) in _TEXTS.items():
        if name not in _missing:
            try:
                found[name] = one.getsockopt(level, number, _TEXT_BYTES).rstrip(b"\0").decode(errors="replace")
            except OSError:
                _missing.add(name)
    return found


def options_of_new() -> Options:
    """Returns the options of a new TCP socket in this thread's network namespace. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as new:
        return options_of(new)


class OptionsJournal:
    """Records the options of sockets when they are first seen, and whenever they have changed.

    samples: the records so far.
    """

    def __init__(self, new: Options | None = None) -> None:
        """new: the options of a new socket, which are recorded first; None if they are not known here."""
        self._last: MutableMapping[str, Options] = {}
        self.samples: list[OptionsSample] = []
        if new is not None:
            self.note(0, NEW_SOCKET, new)

    def note(self, t_ns: int, name: str, options: Options) -> None:
        """Records the options of the socket with this name at t_ns, if they have changed."""
        if self._last.get(name) != options:
            self._last[name] = options
            self.samples.append(OptionsSample(t_ns=t_ns, socket=name, options=options))
