"""The calls by which a test steers the hosts of a session, and their answers. Pure."""

import os
from collections.abc import Mapping
from typing import Self

import msgspec

from priolab.common.formats.conversion import decode
from priolab.testbed.sandbox.spec import Files

_KIND = "kind"
_MOST_BYTES = 2**24


class Start(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="start"):
    """A program starts on a host. number: of this program in the session. stdin: True for one that `Send` reaches."""

    host: str
    command: tuple[str, ...]
    number: int
    stdin: bool = False


class Send(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="send"):
    """A program gets data on its standard input. data: None for the end of it."""

    number: int
    data: bytes | None


class Signal(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="signal"):
    """A program gets a signal. name: such as `SIGTERM`."""

    number: int
    name: str


class Happen(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="happen"):
    """Events of a schedule happen, one after the other. texts: as `--at` takes them."""

    texts: tuple[str, ...]


class Ends(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="ends"):
    """A program has ended."""

    number: int


class Prints(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="prints"):
    """A program, or without its number any program of a host, has printed a text so many times."""

    host: str
    text: bytes
    number: int | None = None
    times: int = 1


class Listens(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="listens"):
    """A socket of a host listens. port: `any`, or the number of its port."""

    host: str
    port: str


class Quiet(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="quiet"):
    """No host has sent or received a packet for a time."""

    for_ns: int


Wanted = Ends | Prints | Listens | Quiet
"""For what a test waits."""


class Until(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="until"):
    """Time goes on until something is so, or at most until a time, which counts from the session's start."""

    until_ns: int
    wanted: Wanted | None = None


Call = Start | Send | Signal | Happen | Until


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call. now_ns: the time since the session's start. met: False for an Until that was in vain.

    codes: the exit codes of the programs that have ended so far. reason: in words, if the call could not be carried
    out.
    """

    now_ns: int = 0
    met: bool = True
    codes: Mapping[int, int] = {}
    reason: str | None = None

    @property
    def text(self) -> str:
        """The answer in a line."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses such a line."""
        return decode(text, cls)


def write_call(files: Files, number: int, call: Call) -> None:
    """Writes a call into the session's folder. number: of this call in the session."""
    files.call(number).write_bytes(msgspec.json.encode(call))


def read_call(files: Files, number: int) -> Call:
    """Reads a call, in a guest. There a system call that fails takes time, and a Python file object makes some.

    A lock takes time, too. No other thread of the guest's process converts anything.
    """
    descriptor = os.open(files.call(number), os.O_RDONLY)
    try:
        found: Call = msgspec.json.decode(os.read(descriptor, _MOST_BYTES), type=Call)  # noqa: TID251
        return found
    finally:
        os.close(descriptor)
