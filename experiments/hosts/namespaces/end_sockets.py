"""Looks at the connections in the places while pages are loaded: the options of their sockets.

The lab's own client has one connection, whose options are read on a copy of its descriptor. The connections of the
other places are read through sock_diag(7), which tells fewer options. The sampler of the front's socket reads all
options of the client's connection there (proxy/sampler.py).
"""

import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Self

from priolab.common.descriptors import borrow, sockets_of
from priolab.common.formats.samples import OptionsSample
from priolab.proxy.all_connections import AllConnections
from priolab.proxy.socket_options import OptionsJournal, options_of, options_of_new
from priolab.testbed import Namespace


class EndSockets:
    """The connections of the places. A context manager, which closes the netlink sockets."""

    def __init__(self, places: Sequence[Namespace], client: tuple[Namespace, int] | None) -> None:
        """places: those whose connections are read through sock_diag(7).

        client: the place of the lab's own client, and its process id; None for a browser. Raises OSError.
        """
        self._journals: dict[str, OptionsJournal] = {}
        self._client = client
        self._readers: dict[str, AllConnections] = {}
        with ExitStack() as stack:
            for place in places:
                with place.entered():
                    self._journals[place.name] = OptionsJournal(options_of_new())
                    self._readers[place.name] = stack.enter_context(AllConnections())
            if client is not None:
                with client[0].entered():
                    self._journals[client[0].name] = OptionsJournal(options_of_new())
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def look(self, now_ns: int) -> None:
        """Looks at all connections. A connection that closes meanwhile is left out. Raises OSError."""
        for name, reader in self._readers.items():
            for connection, options in reader.read():
                self._journals[name].note(now_ns, connection, options)
        if self._client is not None:
            place, pid = self._client
            with suppress(OSError):
                self._look_at(self._journals[place.name], pid, now_ns)

    @property
    def samples(self) -> Mapping[str, Sequence[OptionsSample]]:
        """The samples, by the place's name."""
        return {name: journal.samples for name, journal in self._journals.items()}

    def _look_at(self, journal: OptionsJournal, pid: int, now_ns: int) -> None:
        for descriptor, inode in sockets_of(pid).items():
            one = borrow(pid, descriptor, inode)
            if one is None:
                continue
            with one, suppress(OSError):  # a connection that has just closed
                if (one.family, one.type) == (socket.AF_INET, socket.SOCK_STREAM):
                    (_, port), (_, own) = one.getpeername(), one.getsockname()
                    journal.note(now_ns, f"{own} to {port}", options_of(one))
