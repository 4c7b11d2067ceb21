"""Files of one JSON object per line, as values. Raises FolderError, naming file and line, for what is none.

Keys are added over time: a key that a value does not know is passed over, one that it must have and is missing, or has
another type, is an error. docs/results.md says what they mean.
"""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import UnionType
from typing import Any, Protocol, TypeVar, get_args, get_type_hints

from common.formats.files import MOST_JOURNAL_BYTES, NO_MEMORY, content, from_json, printable

T = TypeVar("T")

_MOST = 2**63 - 1
"""Nothing that is measured in nanoseconds or bytes is more."""

_LEAST = {"mss_bytes": 1}
"""Most are 0 or more."""


class FolderError(Exception):
    """Not a run folder, or a damaged one: the file, the line where there is one, and what is wrong."""


@dataclass(frozen=True, kw_only=True)
class ClientEvent:
    """A line of client/events.jsonl. tcp_bytes, record_ns: of HEADERS and DATA, since format 2."""

    t_ns: int
    kind: str
    load: int
    stream_id: int | None = None
    resource: str | None = None
    size_bytes: int | None = None
    detail: str | None = None
    tcp_bytes: int | None = None
    record_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A line of client/arrivals.jsonl: so many bytes of the TCP stream had arrived by then."""

    t_ns: int
    tcp_bytes: int


@dataclass(frozen=True, kw_only=True)
class OriginRequest:
    """A line of origin/access.jsonl; times are None if the request was given up."""

    path: str
    received_ns: int
    available_ns: int | None = None
    handed_over_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class SocketSample:
    """A line of front/sockets.jsonl of format 2; of it what the analysis uses."""

    t_ns: int
    notsent_bytes: int
    unacked_segments: int
    cwnd_segments: int
    mss_bytes: int
    rtt_us: int
    delivery_rate_bytes_s: int
    bytes_sent: int
    bytes_retrans: int
    bytes_acked: int
    sndbuf_bytes: int

    @property
    def sent_bytes(self) -> int:
        """How much of the TCP stream has been sent at least once."""
        return self.bytes_sent - self.bytes_retrans

    @property
    def handed_bytes(self) -> int:
        """How much of the TCP stream the server has handed to the kernel."""
        return self.sent_bytes + self.notsent_bytes


@dataclass(frozen=True, kw_only=True)
class QueueSample:
    """A line of link/queue.jsonl; delay_line_bytes since format 2. Sizes are of whole Ethernet frames."""

    t_ns: int
    direction: str
    packets: int
    bytes: int
    delay_line_packets: int
    dropped: int
    delay_line_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class ProcessSample:
    """A line of front/process.jsonl: counts so far of the process that serves the client, None where nobody counts."""

    t_ns: int
    pid: int
    cpu_ns: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    read_calls: int | None = None
    write_calls: int | None = None


@dataclass(frozen=True, kw_only=True)
class LowatDecision:
    """A line of front/lowat.jsonl: a tuner gave a connection this TCP_NOTSENT_LOWAT, or tried to."""

    t_ns: int
    new_bytes: int
    outcome: str


class Timed(Protocol):
    """Whatever was noted down at an instant."""

    @property
    def t_ns(self) -> int:
        """The instant."""


S = TypeVar("S", bound=Timed)


def latest(samples: Sequence[S], t_ns: int) -> S | None:
    """Of samples in order of time the last that is not later, None if all are."""
    index = bisect_right(samples, t_ns, key=lambda sample: sample.t_ns)
    return samples[index - 1] if index else None


def read_lines(file: Path, kind: type[T]) -> list[T]:
    """Every line of a file as a value of that kind."""
    try:
        text = content(file, MOST_JOURNAL_BYTES)
    except OSError as error:
        raise FolderError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise FolderError(f"{file}: {error}") from error
    rules = _rules(kind)
    made: list[T] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            made.append(kind(**_checked(from_json(line.decode()), rules)))
        except MemoryError:
            raise FolderError(f"{file}: {NO_MEMORY}") from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise FolderError(f"{file}:{number}: not an event: {error}") from error
    return made


_Rules = list[tuple[str, tuple[type, ...], bool]]


def _rules(kind: type[T]) -> _Rules:
    """Name, allowed types, and whether it must be there."""
    hints = get_type_hints(kind)
    rules: _Rules = []
    for field in fields(kind):  # type: ignore[arg-type]
        hint = hints[field.name]
        allowed = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        rules.append((field.name, allowed, field.default is MISSING))
    return rules


def _checked(document: Any, rules: _Rules) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise TypeError("not a JSON object")
    known: dict[str, Any] = {}
    for name, allowed, needed in rules:
        if name in document:
            value = document[name]
            if type(value) not in allowed:
                raise TypeError(f"{name} is {json.dumps(value)}")
            if type(value) is int and not _LEAST.get(name, 0) <= value <= _MOST:
                raise ValueError(f"{name} is {value}")
            known[name] = printable(value) if type(value) is str else value
        elif needed:
            raise KeyError(name)
    return known
