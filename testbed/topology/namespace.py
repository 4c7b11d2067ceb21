"""A place as a network namespace. The same code runs on the host and in the guest.

Rules:
1. A namespace has no name in the file system. The namespace exists while this process holds its descriptor, or
   while a process is in the namespace. When the lab ends, however it ends, the kernel removes namespaces, wires and
   qdiscs.
2. The lab changes nothing outside the new namespaces.
3. Entering a place affects this thread only. Sockets and processes that the thread makes in a place stay in the place.
"""

import ctypes
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Self

from priolab.common.errors import StepFailed, Unavailable
from priolab.common.netlink import Conversation
from priolab.common.process import processes
from priolab.common.process.processes import USUAL, Process, ProcessSettings
from priolab.common.snapshot.settings_snapshot import SettingsSnapshot, read
from priolab.netem.interface_counters import Received, read_counts, received
from priolab.testbed.topology import packet_capture as tap
from priolab.testbed.topology import rtnetlink
from priolab.testbed.topology.active import Portrayed
from priolab.testbed.topology.expected_settings import ExpectedSettings

_CLONE_NEWNET = 0x4000_0000
_OWN = Path("/proc/thread-self/ns/net")
_BATCHES = ("ip", "tc")
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise StepFailed(what, os.strerror(ctypes.get_errno()))


class Namespace:
    """A network namespace. A context manager, which closes the namespace's descriptor.

    name: the name of the place, for errors. portrait: the lab's requests of the place.
    """

    def __init__(self, name: str, *, forwards: bool = False) -> None:
        """forwards: True if the place only forwards packets, so that the sysctls of TCP decide nothing there."""
        self.name = name
        self.portrait = ExpectedSettings()
        self._forwards = forwards
        home = os.open(_OWN, os.O_RDONLY)
        try:
            if _libc.unshare(_CLONE_NEWNET) != 0:
                reason = f"no new network namespace: {os.strerror(ctypes.get_errno())}"
                raise Unavailable("FABRIC=netns", reason, "run as root, or use another FABRIC")
            try:
                self._descriptor = os.open(_OWN, os.O_RDONLY)
            finally:
                _check(_libc.setns(home, _CLONE_NEWNET), "returning to the namespace this process came from")
        finally:
            os.close(home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    @property
    def descriptor(self) -> int:
        """The descriptor of the namespace."""
        return self._descriptor

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Moves this thread into the namespace, and back at the end of the context."""
        home = os.open(_OWN, os.O_RDONLY)
        try:
            _check(_libc.setns(self._descriptor, _CLONE_NEWNET), f"entering the {self.name} place")
            try:
                yield
            finally:
                _check(_libc.setns(home, _CLONE_NEWNET), f"leaving the {self.name} place")
        finally:
            os.close(home)

    def run(self, command: Sequence[str], text_in: str | None = None) -> str:
        """Runs a short command in the place, and returns its output. Raises StepFailed."""
        with self.entered():
            return processes.run(command, step=f"the {self.name} place", text_in=text_in)

    def run_all(self, commands: Sequence[Sequence[str]]) -> None:
        """Runs commands that make a link. Consecutive commands of ip(8) or of tc(8) share a process.

        Raises StepFailed.
        """
        self.portrait.declare_commands(commands)
        for program, group in groupby(commands, key=lambda command: command[0]):
            if program in _BATCHES:
                self.run([program, "-batch", "-"], "".join(f"{' '.join(command[1:])}\n" for command in group))
            else:
                for command in group:
                    self.run(command)

    def tell(self, *messages: bytes) -> list[bytes]:
        """Sends messages to the kernel over rtnetlink(7), and returns the kernel's answers. Raises StepFailed."""
        with self.entered(), Conversation(socket.NETLINK_ROUTE) as conversation:
            try:
                return [answer for message in messages for answer in conversation.ask(message)]
            except OSError as error:
                raise StepFailed(f"the {self.name} place", f"rtnetlink: {error.strerror}") from error

    def device(self, name: str) -> int:
        """Returns the index of a device of the place. Raises StepFailed."""
        with self.entered():
            try:
                return socket.if_nametoindex(name)
            except OSError as error:
                raise StepFailed(f"the {self.name} place", f"no device {name}") from error

    def gso_segments(self, device: str) -> int:
        """Returns gso_max_segs of a device of the place. Raises StepFailed."""
        (answer,) = self.tell(rtnetlink.device(device))
        return rtnetlink.gso_max_segs(answer)

    def qdisc(self, device: str) -> str:
        """Returns the kind of the queueing discipline of a device of the place. Raises StepFailed."""
        (answer,) = self.tell(rtnetlink.device(device))
        return rtnetlink.qdisc(answer)

    def start(self, name: str, command: Sequence[str], log: Path, settings: ProcessSettings = USUAL) -> Process:
        """Starts a long-lived program in the place. The returned Process is a context manager, which stops it."""
        with self.entered():
            return Process(name, command, log, settings)

    @contextmanager
    def capturing(
        self, program: str, device: str, file: Path, port: int | None, *, ipv6: bool = False
    ) -> Iterator[Process]:
        """Captures a device's packets into a pcap file while the context is open; as for tap.command, tap.listening.

        tcpdump gets the open file: a tcpdump of root gives a file that it opens to root (4.99.3), and a guest's root
        may not do that on this machine.
        """
        with file.open("wb") as packets:
            process = self.start(
                f"the capture at the {self.name}",
                tap.command(program, device, None, port, ipv6=ipv6),
                file.with_suffix(".log"),
                ProcessSettings(stdout=packets.fileno()),
            )
        with tap.listening(process, process.stop):
            yield process

    def write_sysctl(self, name: str, value: str) -> None:
        """Sets a sysctl of the place. Raises StepFailed."""
        with self.entered():
            try:
                _sysctl(name).write_text(value)
            except OSError as error:
                raise StepFailed(f"setting {name}={value}", error.strerror or str(error)) from error
        self.portrait.declare({name: value})

    def read_sysctl(self, name: str) -> str:
        """Returns the value of a sysctl of the place, with its words separated by single spaces."""
        with self.entered():
            return " ".join(_sysctl(name).read_text().split())

    def picture(self) -> SettingsSnapshot:
        """Returns the picture of the place. Raises StepFailed."""
        with self.entered():
            try:
                return read(of_tcp=not self._forwards)
            except OSError as error:
                raise StepFailed(f"the picture of the {self.name} place", error.strerror or str(error)) from error

    def portrayed(self) -> Portrayed:
        """Returns the requested settings of the place, beside the observed ones. Raises StepFailed."""
        seen = self.picture()
        return Portrayed(
            place=self.name, asked=self.portrait.requested(seen), seen=seen, unusual=self.portrait.unusual()
        )

    def received(self, device: str) -> Received:
        """Returns the counts of the traffic that a device of the place has received."""
        with self.entered():
            return received(read_counts(), device)


class Host(Namespace):
    """The network namespace that this process is in. A context manager, which closes the namespace's descriptor."""

    def __init__(self) -> None:
        self.name = "machine's own"
        self.portrait = ExpectedSettings()
        self._descriptor = os.open(_OWN, os.O_RDONLY)


def _sysctl(name: str) -> Path:
    return Path("/proc/sys") / name.replace(".", "/")
