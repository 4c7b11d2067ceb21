"""Processor time and system calls of a server process, from proc(5). None: not counted here, or not readable."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Usage:
    """cpu_ns: processor time. read_calls, write_calls: system calls of the kinds of read(2) and write(2).

    Other calls on sockets, such as HAProxy's send(2), are not counted; most servers pass TLS records on with write(2).
    """

    cpu_ns: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    read_calls: int | None
    write_calls: int | None


def usage(pid: int) -> Usage:
    """Sums up over a process's threads; threads that have ended count in the calls only. All None if it has ended."""
    folder = Path("/proc") / str(pid)
    threads = list(_threads(folder))
    states = [_fields(thread / "status") for thread in threads]
    calls = _fields(folder / "io")
    return Usage(
        cpu_ns=_sum(_cpu_ns(thread / "schedstat") for thread in threads),
        voluntary_switches=_sum(state.get("voluntary_ctxt_switches") for state in states),
        involuntary_switches=_sum(state.get("nonvoluntary_ctxt_switches") for state in states),
        read_calls=calls.get("syscr"),
        write_calls=calls.get("syscw"),
    )


def _threads(process: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from (process / "task").iterdir()


def _sum(figures: Iterable[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if known else None


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _fields(file: Path) -> dict[str, int]:
    pairs = (line.split(":") for line in _read(file).splitlines() if line.count(":") == 1)
    return {name: int(value) for name, value in pairs if value.strip().isdigit()}


def _cpu_ns(file: Path) -> int | None:
    words = _read(file).split()
    return int(words[0]) if words else None
