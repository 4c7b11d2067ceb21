"""Traces of packet opportunities, as mahimahi's mm-link(1) reads them.

A line of such a file is a time in whole milliseconds. At this time the link can deliver one full packet: PACKET_BYTES,
which several smaller packets may share. Equal lines are several opportunities at once. After its last line the trace
begins again, at the time of that line. An opportunity that finds no packet is lost.
"""

import base64
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Self

from priolab.common.formats.files import decoded
from priolab.common.opportunity_times import OpportunityTimes
from priolab.common.packets import PACKET_BYTES

MOST_BYTES = 64 * 2**20
"""The largest file."""

_MS_NS = 10**6
_PART = 2**20
LONGEST_MS = 3600 * 1000
"""The longest trace: an hour."""

_LINE = re.compile(r"\d{1,7}", re.ASCII)
_STEPS = re.compile(rb" ?(\d{1,7})((?: 0(?!\d))*)")
_CELLS = re.compile(r"[^\s,;]\s*[,;\t ]\s*[^\s,;]")
_NAME = re.compile(r"[^A-Za-z0-9._-]")
PER_MS = PACKET_BYTES * 8 * 1000
"""Bits per second of one opportunity in each millisecond."""
_LEAST_BIT_S, _MOST_BIT_S = 1000, 100 * 10**9
ALLOWED = (
    "a file with a whole number of milliseconds in each line, none less than the line before, the last from 1 to"
    f" {LONGEST_MS}; at most {MOST_BYTES // 2**20} MiB"
)


def _lines(text: str) -> Iterator[str]:
    """Yields the lines of a text, without a list of all."""
    at = 0
    while at < len(text):
        end = text.find("\n", at + _PART)
        yield from text[at : end if end >= 0 else None].split("\n")
        at = end + 1 if end >= 0 else len(text)


def _runs_of(text: str) -> Iterator[tuple[int, int]]:
    """Yields the time in each line, and how many lines follow each other with it. Raises ValueError."""
    number, last_ms = 1, -1
    for line, group in groupby(_lines(text)):
        bare, count = line.strip(), len(list(group))
        if bare and bare[0] != "#":
            if not _LINE.fullmatch(bare) or int(bare) > LONGEST_MS:
                hint = "; `priolab trace convert` makes a trace of a table" if _CELLS.search(bare) else ""
                raise ValueError(f"line {number} is {bare[:20]!r}{hint}")
            if int(bare) < last_ms:
                raise ValueError(f"line {number} is {bare}, less than the line before")
            last_ms = int(bare)
            yield last_ms, count
        number += count
    if last_ms < 0:
        raise ValueError("it is empty")


def _sums(steps: bytes) -> Iterator[tuple[int, int]]:
    """Yields the sum of the steps so far and the number of steps with this sum. Raises ValueError."""
    time_ms = end = 0
    for found in _STEPS.finditer(steps):
        if found.start() != end:
            break
        end = found.end()
        time_ms += int(found[1])
        yield time_ms, 1 + len(found[2]) // 2
    if end != len(steps):
        raise ValueError(f"byte {end + 1} of its steps")


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A trace. name: the file's name without its folder. times_ms: the time of each opportunity, in order.

    Raises ValueError if the times are none of a trace.
    """

    name: str
    times_ms: Sequence[int]

    def __post_init__(self) -> None:
        times = self.times_ms
        if not isinstance(times, OpportunityTimes):
            times = OpportunityTimes.of(times)
            object.__setattr__(self, "times_ms", times)
        if not times or not 0 <= times[0] <= times[-1] <= LONGEST_MS or times[-1] < 1:
            raise ValueError("the last time of a trace is from 1 ms to an hour")
        if not _LEAST_BIT_S <= self.mean_bit_s <= _MOST_BIT_S:
            raise ValueError(f"the mean rate of a trace is from {_LEAST_BIT_S} bit/s to {_MOST_BIT_S} bit/s")

    @property
    def _counted(self) -> OpportunityTimes:
        assert isinstance(self.times_ms, OpportunityTimes)
        return self.times_ms

    @property
    def _runs(self) -> Iterator[tuple[int, int]]:
        return self._counted.runs

    @classmethod
    def at_rates(cls, name: str, rates_bit_s: Iterable[float]) -> Self:
        """Returns the trace of a rate in bits per second for each millisecond. Raises ValueError."""
        runs: list[tuple[int, int]] = []
        saved, time_ms, size_bytes = 0.0, 0, 0
        for time_ms, bit_s in enumerate(rates_bit_s, start=1):
            saved += bit_s / PER_MS
            due = int(saved)
            saved -= due
            size_bytes += due * (len(str(time_ms)) + 1)
            if size_bytes > MOST_BYTES:
                raise ValueError(f"its file would have more than {MOST_BYTES // 2**20} MiB after {time_ms / 1000:g} s")
            if due:
                runs.append((time_ms, due))
        if not runs:
            raise ValueError("so slow and short a trace has no opportunities")
        last_ms, due = runs.pop()
        runs += [(last_ms, due - 1), (time_ms, 1)] if due > 1 else [(time_ms, 1)]
        return cls(name=name, times_ms=OpportunityTimes(runs))

    @classmethod
    def parse(cls, name: str, text: str) -> Self:
        """Reads a trace from the text of its file. Raises ValueError, which names the first bad line.

        Empty lines are passed over, and lines that begin with #.
        """
        return cls(name=_NAME.sub("_", name)[:60], times_ms=OpportunityTimes(_runs_of(text)))

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
        return "".join(f"{time_ms}\n" * count for time_ms, count in self._runs)

    @cached_property
    def packed(self) -> str:
        """The trace as a short text, for `unpack`: its name, a colon, and its compressed steps."""
        runs = pairwise(chain(((0, 0),), self._runs))
        steps = " ".join(f"{later - earlier}{' 0' * (count - 1)}" for (earlier, _), (later, count) in runs)
        return f"{self.name}:{base64.b64encode(zlib.compress(steps.encode(), 9)).decode()}"

    @staticmethod
    @lru_cache(maxsize=16)
    def unpack(text: str) -> "Trace":
        """Reads the output of `packed`. Raises ValueError."""
        name, _, data = text.partition(":")
        try:
            inflate = zlib.decompressobj()
            steps = inflate.decompress(base64.b64decode(data, validate=True), MOST_BYTES)
            times = OpportunityTimes(_sums(steps))
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
        if opportunities not in self._waits_ns:
            rounds, further = divmod(opportunities, len(self.times_ms))
            wait_ms = self._counted.longest_wait_ms(further)
            self._waits_ns[opportunities] = (rounds * self.times_ms[-1] + wait_ms) * _MS_NS
        return self._waits_ns[opportunities]

    @cached_property
    def _waits_ns(self) -> dict[int, int]:
        return {}

    def opportunity_ns(self, number: int) -> int:
        """Returns the time of an opportunity after the trace's begin. number: from 0 on, through all repetitions."""
        rounds, index = divmod(number, len(self.times_ms))
        return rounds * self.period_ns + self.times_ms[index] * _MS_NS

    def opportunities_until(self, t_ns: float) -> int:
        """Returns how many opportunities there are from the trace's begin until t_ns, both included."""
        if t_ns < 0:
            return 0
        rounds, rest_ns = divmod(t_ns, self.period_ns)
        return int(rounds) * len(self.times_ms) + self._counted.until(rest_ns / _MS_NS)
