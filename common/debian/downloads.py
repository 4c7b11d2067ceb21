"""Says before a set-up begins how much it downloads and how long it takes. Pure.

The sizes of Python packages and of Linux's source are those of the pinned versions; apt knows the sizes of Debian's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

PYTHON_MB: Mapping[str, int] = {"": 43, "dev": 275, "notebook": 52, "site": 20, "demo": 1, "chromium": 48, "firefox": 1}
"""The megabytes of the wheels of the lab with its figures, and of each extra beyond them."""

SOURCE_MB = 165
"""The megabytes of the package with the source of the pinned version of Linux, and of the lists that name it."""

_MB = 10**6
_S_PER_MB = 0.8
"""Seconds in which a megabyte of packages comes and is installed."""
_SOURCE_S_PER_MB = 0.1
_COMPILING_S = 900.0
"""Seconds of processor time for which the guest kernel is compiled."""
_BEGINNING_S = 20.0
_LEAST_MB = 1.0


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """Downloads of a set-up.

    debian_bytes: the size of Debian's packages; None if apt does not tell it. python: the extras to install, the lab
    itself as an empty text. source: True to fetch the source of Linux. compiles: True to compile the guest kernel.
    servers: the servers whose programs are fetched from elsewhere; their sizes are not known.
    """

    debian_bytes: int | None
    python: Sequence[str] = ()
    source: bool = False
    compiles: bool = False
    servers: Sequence[str] = ()


def told(downloads: Downloads, processors: int) -> str | None:
    """Returns the downloads as a line; None if there are none worth a line. processors: those that can compile."""
    debian_mb = (downloads.debian_bytes or 0) / _MB
    python_mb = sum(PYTHON_MB[extra] for extra in downloads.python)
    source_mb = SOURCE_MB if downloads.source else 0
    total_mb = debian_mb + python_mb + source_mb
    if total_mb < _LEAST_MB and not downloads.servers:
        return None
    named = {"Debian packages": debian_mb, "Python packages": python_mb, "the source of Linux": source_mb}
    parts = [f"{name} {ceil(size_mb)}" for name, size_mb in named.items() if size_mb >= _LEAST_MB]
    wait_s = _BEGINNING_S + (debian_mb + python_mb) * _S_PER_MB + source_mb * _SOURCE_S_PER_MB
    wait_s += _COMPILING_S / processors if downloads.compiles else 0
    minutes = ceil(wait_s / 60)
    said = f"downloads about {ceil(total_mb)} MB ({', '.join(parts)})" if parts else "downloads"
    if downloads.servers:
        said += f"{' and' if parts else ''} the programs of {', '.join(downloads.servers)}"
    said += ", and compiles the guest kernel once" if downloads.compiles else ""
    return (
        f"{said}: about {minutes} minute{'s' if minutes > 1 else ''}; Ctrl-C does no harm, the same command continues"
    )


def size_of(uris: str) -> int:
    """Returns the sum of the sizes in the output of `apt-get install --print-uris`, in bytes."""
    fields = [line.split() for line in uris.splitlines() if line.startswith("'")]
    return sum(int(words[2]) for words in fields if len(words) > 2 and words[2].isdigit())
