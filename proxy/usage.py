"""What a server process has used so far, by proc(5). None: this kernel does not count it, or tells others only."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Usage:
    """cpu_ns: time on a processor. read_calls and write_calls: system calls that read(2) or write(2) and their like.

    Those on sockets by other calls, as HAProxy's send(2), do not count; most hand TLS records over with write(2).
    """

    cpu_ns: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    read_calls: int | None
    write_calls: int | None


def usage(pid: int) -> Usage:
    """Of all its threads, but of those that have ended the calls alone; everything None when the process has."""
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
