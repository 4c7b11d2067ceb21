"""Traces of packet opportunities, as mahimahi's mm-link(1) reads them.

A line of such a file is a time in whole milliseconds. At this time the link can deliver one full packet: PACKET_BYTES,
which several smaller packets may share. Equal lines are several opportunities at once. After its last line the trace
begins again, at the time of that line. An opportunity that finds no packet is lost.
"""

import base64
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Self

from priolab.common.formats.files import decoded
from priolab.common.packets import PACKET_BYTES

MOST_BYTES = 64 * 2**20
"""The largest file."""

_MS_NS = 10**6
LONGEST_MS = 3600 * 1000
"""The longest trace: an hour."""

_LINE = re.compile(r"\d{1,7}", re.ASCII)
_CELLS = re.compile(r"[^\s,;]\s*[,;\t ]\s*[^\s,;]")
_NAME = re.compile(r"[^A-Za-z0-9._-]")
PER_MS = PACKET_BYTES * 8 * 1000
"""Bits per second of one opportunity in each millisecond."""
_LEAST_BIT_S, _MOST_BIT_S = 1000, 100 * 10**9
ALLOWED = (
    "a file with a whole number of milliseconds in each line, none less than the line before, the last from 1 to"
    f" {LONGEST_MS}; at most {MOST_BYTES // 2**20} MiB"
)


def _sums(steps: Iterable[bytes]) -> Iterator[int]:
    """Yields the sum of the steps so far, after each; equal sums are one object."""
    time_ms = 0
    for step in steps:
        if step != b"0":
            time_ms += int(step)
        yield time_ms


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace. name: the file's name without its folder. times_ms: the time of each opportunity, in order.

    Raises ValueError if the times are none of a trace.
    """

    name: str
    times_ms: tuple[int, ...]

    def __post_init__(self) -> None:
        times = self.times_ms
        if not times or not 0 <= times[0] <= times[-1] <= LONGEST_MS or times[-1] < 1:
            raise ValueError("the last time of a trace is from 1 ms to an hour")
        if any(later < earlier for earlier, later in pairwise(times)):
            raise ValueError("the times of a trace do not decrease")
        if not _LEAST_BIT_S <= self.mean_bit_s <= _MOST_BIT_S:
            raise ValueError(f"the mean rate of a trace is from {_LEAST_BIT_S} bit/s to {_MOST_BIT_S} bit/s")

    @classmethod
    def at_rates(cls, name: str, rates_bit_s: Iterable[float]) -> Self:
        """Returns the trace of a rate in bits per second for each millisecond. Raises ValueError."""
        times: list[int] = []
        saved, time_ms, size_bytes = 0.0, 0, 0
        for time_ms, bit_s in enumerate(rates_bit_s, start=1):
            saved += bit_s / PER_MS
            due = int(saved)
            saved -= due
            size_bytes += due * (len(str(time_ms)) + 1)
            if size_bytes > MOST_BYTES:
                raise ValueError(f"its file would have more than {MOST_BYTES // 2**20} MiB after {time_ms / 1000:g} s")
            times += [time_ms] * due
        if not times:
            raise ValueError("so slow and short a trace has no opportunities")
        times[-1] = time_ms
        return cls(name=name, times_ms=tuple(times))

    @classmethod
    def parse(cls, name: str, text: str) -> Self:
        """Reads a trace from the text of its file. Raises ValueError, which names the first bad line.

        Empty lines are passed over, and lines that begin with #.
        """
        times: list[int] = []
        last, last_bare = -1, ""
        for number, line in enumerate(text.split("\n"), start=1):
            bare = line.strip()
            if bare == last_bare or not bare or bare[0] == "#":
                times += [last] * (bare == last_bare and last >= 0)
                continue
            if not _LINE.fullmatch(bare) or int(bare) > LONGEST_MS:
                hint = "; `priolab trace convert` makes a trace of a table" if _CELLS.search(bare) else ""
                raise ValueError(f"line {number} is {bare[:20]!r}{hint}")
            if int(bare) < last:
                raise ValueError(f"line {number} is {bare}, less than the line before")
            last, last_bare = int(bare), bare
            times.append(last)
        if not times:
            raise ValueError("it is empty")
        return cls(name=_NAME.sub("_", name)[:60], times_ms=tuple(times))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads a file. Raises OSError, and ValueError, which names the first bad line."""
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        try:
            text = decoded(content)
        except ValueError:
            text = content.decode("latin-1")
        return cls.parse(path.name, text)

    def to_text(self) -> str:
        """Returns the text of the trace's file."""
        return "".join(f"{time_ms}\n" for time_ms in self.times_ms)

    @cached_property
    def packed(self) -> str:
        """The trace as a short text, for `unpack`: its name, a colon, and its compressed steps."""
        steps = (later - earlier for earlier, later in pairwise((0, *self.times_ms)))
        return f"{self.name}:{base64.b64encode(zlib.compress(' '.join(map(str, steps)).encode(), 9)).decode()}"

    @staticmethod
    @lru_cache(maxsize=16)
    def unpack(text: str) -> "Trace":
        """Reads the output of `packed`. Raises ValueError."""
        name, _, data = text.partition(":")
        try:
            inflate = zlib.decompressobj()
            steps = inflate.decompress(base64.b64decode(data, validate=True), MOST_BYTES)
            times = tuple(_sums(steps.split()))
        except (zlib.error, ValueError) as error:
            raise ValueError(f"not a packed trace: {error}") from None
        return Trace(name=name, times_ms=times)

    @property
    def period_ns(self) -> int:
        """The time after which the trace begins again."""
        return self.times_ms[-1] * _MS_NS

    @property
    def mean_bit_s(self) -> int:
        """The mean rate, in bits per second of whole Ethernet frames."""
        return len(self.times_ms) * PACKET_BYTES * 8 * 1000 // self.times_ms[-1]

    @cached_property
    def longest_gap_ns(self) -> int:
        """The longest time between two opportunities."""
        return self.longest_wait_ns(1)

    def longest_wait_ns(self, opportunities: int) -> int:
        """Returns the longest time from an opportunity until so many further ones have come. opportunities: from 1."""
        rounds, shift = divmod(opportunities, len(self.times_ms))
        later = chain(self.times_ms[shift:], (time_ms + self.times_ms[-1] for time_ms in self.times_ms[:shift]))
        wait_ms = max(end - begin for begin, end in zip(self.times_ms, later, strict=True))
        return (rounds * self.times_ms[-1] + wait_ms) * _MS_NS

    def opportunity_ns(self, number: int) -> int:
        """Returns the time of an opportunity after the trace's begin. number: from 0 on, through all repetitions."""
        rounds, index = divmod(number, len(self.times_ms))
        return rounds * self.period_ns + self.times_ms[index] * _MS_NS

    def opportunities_until(self, t_ns: float) -> int:
        """Returns how many opportunities there are from the trace's begin until t_ns, both included."""
        if t_ns < 0:
            return 0
        rounds, rest_ns = divmod(t_ns, self.period_ns)
        return int(rounds) * len(self.times_ms) + bisect_right(self.times_ms, rest_ns / _MS_NS)
