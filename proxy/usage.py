"""What a server process has used so far, by proc(5). None: this kernel does not count it, or tells others only."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Usage:
    """cpu_ns: time on a processor. read_calls and write_calls: system calls that read(2) or write(2) and their like.

    Those on sockets by other calls, as send(2), do not count; nginx and h2o hand TLS records over with write(2).
    """

    cpu_ns: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    read_calls: int | None
    write_calls: int | None


def usage(pid: int) -> Usage:
    """Of its main thread; everything None when it has ended."""
    folder = Path("/proc") / str(pid)
    status = _fields(folder / "status")
    calls = _fields(folder / "io")
    return Usage(
        cpu_ns=_cpu_ns(folder / "schedstat"),
        voluntary_switches=status.get("voluntary_ctxt_switches"),
        involuntary_switches=status.get("nonvoluntary_ctxt_switches"),
        read_calls=calls.get("syscr"),
        write_calls=calls.get("syscw"),
    )


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
