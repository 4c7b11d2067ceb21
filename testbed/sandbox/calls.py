"""What a test asks of the hosts of a session, and their answers. Pure."""

from typing import Self

import msgspec

from priolab.testbed.sandbox.spec import Files

_KIND = "kind"


class Start(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="start"):
    """A program starts on a host. number: of this program in the session."""

    host: str
    command: tuple[str, ...]
    number: int


class Send(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="send"):
    """A program gets data on its standard input. data: None for the end of it."""

    number: int
    data: bytes | None


class Signal(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="signal"):
    """A program gets a signal. name: such as `SIGTERM`."""

    number: int
    name: str


class Happen(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="happen"):
    """An event of a schedule happens. text: as `--at` takes it."""

    text: str


class Until(msgspec.Struct, frozen=True, kw_only=True, tag_field=_KIND, tag="until"):
    """Time goes on until a program has ended, or has printed a text, or at most until a time.

    number: of the program; None to wait for the time alone. text: None to wait for the end. until_ns: from the
    session's start.
    """

    until_ns: int
    number: int | None = None
    text: bytes | None = None


Call = Start | Send | Signal | Happen | Until


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call. now_ns: the time since the session's start. met: False for an Until whose time was over.

    code: the exit code of its program, if this has ended. reason: in words, if the call could not be carried out.
    """

    now_ns: int
    met: bool = True
    code: int | None = None
    reason: str | None = None

    @property
    def text(self) -> str:
        """The answer in a line."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses such a line."""
        return msgspec.json.decode(text, type=cls)


def write_call(files: Files, number: int, call: Call) -> None:
    """Writes a call into the session's folder. number: of this call in the session."""
    files.call(number).write_bytes(msgspec.json.encode(call))


def read_call(files: Files, number: int) -> Call:
    """Reads a call."""
    found: Call = msgspec.json.decode(files.call(number).read_bytes(), type=Call)
    return found
