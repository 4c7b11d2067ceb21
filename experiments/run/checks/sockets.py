"""Checks the options of live sockets against those of a new socket in the same place. Pure.

A server may set TCP_NODELAY, and the kernel enlarges buffers and the window's clamp by itself. Nobody of the lab sets
another option: no server of the catalogue does (TCP_CONGESTION and TCP_NOTSENT_LOWAT have checks of their own). What
a user's own server or configuration sets at first is the user's, so there later looks are compared with the first.
"""

from collections.abc import Iterator, Sequence

from priolab.common.errors import InvalidRun
from priolab.common.formats.samples import NEW_SOCKET, OptionsSample

_GROW = ("SO_SNDBUF", "SO_RCVBUF", "TCP_NODELAY")
"""Options whose value only grows: TCP_NODELAY from off to on."""
_CLAMP, _LEAST_PART = "TCP_WINDOW_CLAMP", 0.75
"""The kernel's clamp follows its estimate of a packet's overhead, and moved by 4 % in all observed runs."""
_FREE = "TCP_NOTSENT_LOWAT"


def changed(samples: Sequence[OptionsSample], *, own: bool = False) -> Iterator[tuple[str, str, str, str]]:
    """Yields the socket, the option, its requested and its observed value, for each changed option.

    samples: the first is that of a new socket. own: whether the program is a user's, and its first options are right.
    """
    last: dict[str, OptionsSample] = {}
    new = next((sample for sample in samples if sample.socket == NEW_SOCKET), None)
    for sample in samples:
        before = last.get(sample.socket, None if own else new)
        last[sample.socket] = sample
        if before is None:
            continue
        for name, found in sample.options.items():
            asked = before.options.get(name, found)
            if name in _GROW and int(found) >= int(asked):
                continue
            if name == _CLAMP and int(found) >= _LEAST_PART * int(asked):
                continue
            if name != _FREE and found != asked:
                yield sample.socket, name, asked, found


def check_sockets(of: str, samples: Sequence[OptionsSample], *, own: bool = False) -> None:
    """Checks the options of a program's sockets. of: the program's place. Raises InvalidRun."""
    for socket, name, asked, found in changed(samples, own=own):
        raise InvalidRun(f"{name} of the {of}'s live socket ({socket})", asked, found)
