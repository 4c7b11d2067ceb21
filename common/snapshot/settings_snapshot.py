"""Reads the picture of a network namespace: every setting that decides when packets leave and arrive, by name.

Rules:
1. Settings alone, no counters and no states: two pictures of a namespace that nobody has changed are equal.
2. The picture is read by netlink(7), in one dump for all objects of a kind, and from /proc/sys. Nothing reads the
   clock, so in a guest the clock does not move.
3. A name says what the setting is: a sysctl's name, or the object and its option.
"""

import socket

from priolab.common.netlink import Conversation
from priolab.common.snapshot.devices import devices
from priolab.common.snapshot.queues import queues
from priolab.common.snapshot.routes import routes
from priolab.common.snapshot.sysctls import sysctls

SettingsSnapshot = dict[str, str]
"""The settings of a namespace: their values by name."""


def read(*, of_tcp: bool = True) -> SettingsSnapshot:
    """Returns the picture of this thread's network namespace. Raises OSError.

    of_tcp: False to leave out the sysctls of TCP, in a place that only forwards packets.
    """
    with (
        Conversation(socket.NETLINK_ROUTE) as conversation,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking,
    ):
        names, found = devices(conversation, asking)
        return found | queues(conversation, names) | routes(conversation, names) | sysctls(of_tcp=of_tcp)
