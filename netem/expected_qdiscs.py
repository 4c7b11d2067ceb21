"""The settings of a place that follow from the commands of tc(8), ip(8) and ethtool(8) with which the lab makes a link.

The names are those of a picture of the place (common/snapshot). An option that a command does not name has the value
that stands for "off", so every option of netem, tbf and pfifo has a requested value. Of the other qdiscs a command asks
for the kind alone here; netem/disciplines.py compares their limits and ECN. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from priolab.common.packets import PACKET_BYTES
from priolab.common.snapshot.queues import netem_limit, qdisc_name

_NS = {"us": 10**3, "ms": 10**6, "s": 10**9}
_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_NUMBER = re.compile(r"([0-9.]+)([a-z%]*)")
_ROOT = 2**32 - 1  # TC_H_ROOT
_TICK_NS = 64
"""The kernel tells bursts and times in units of 64 ns (PSCHED_SHIFT, <net/pkt_sched.h>)."""


@dataclass(kw_only=True)
class ExpectedQdiscs:
    """The requests of commands. settings: values by name. devices: the devices that they made.

    without_offloads: the devices whose offloads they changed. rules: the device and the table of each rule.
    """

    settings: dict[str, str] = field(default_factory=dict)
    devices: list[str] = field(default_factory=list)
    without_offloads: list[str] = field(default_factory=list)
    rules: list[tuple[str, str]] = field(default_factory=list)


def expected_qdiscs(commands: Sequence[Sequence[str]]) -> ExpectedQdiscs:
    """Returns what the commands ask for. Raises ValueError for a command that the lab does not use."""
    found = ExpectedQdiscs()
    for program, *words in commands:
        match program, words:
            case "tc", ["qdisc", "add", "dev", device, *rest]:
                found.settings |= _qdisc(device, rest)
            case "ip", ["link", "add", device, *rest]:
                found.devices += [device, rest[rest.index("name") + 1]]
            case "ip", ["link", "set", "dev", device, *rest] if "gso_max_segs" in rest:
                found.settings[f"device {device}, gso_max_segs"] = rest[rest.index("gso_max_segs") + 1]
            case "ip", ["rule", "add", "iif", device, "lookup", table]:
                found.rules.append((device, table))
            case "ethtool", ["-K", device, *_]:
                found.without_offloads.append(device)
            case "ip", ["link", "set", "dev", *_] | ["route", "add", "default", "dev", *_]:
                pass  # of a device that the commands made
            case _:
                raise ValueError(f"not a command of the lab's links: {program} {' '.join(words)}")
    return found


def _qdisc(device: str, words: Sequence[str]) -> Mapping[str, str]:
    where, rest = (_ROOT, words[1:]) if words[0] == "root" else (int(words[1].rstrip(":"), 16), words[2:])
    assert rest[0] == "handle"
    handle, kind, options = int(rest[1].rstrip(":"), 16), rest[2], rest[3:]
    name = qdisc_name(device, handle, where)
    found = {f"{name}, kind": kind}
    read = {"netem": _netem, "tbf": _tbf, "pfifo": _fifo}.get(kind, _kind_alone)
    return found | {f"{name}, {what}": value for what, value in read(options)}


def _kind_alone(_: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from ()


def _fifo(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield "limit", _after(options, "limit")


def _tbf(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    rate_bit_s = _rate(_after(options, "rate"))
    yield "rate in bit/s", str(rate_bit_s)
    yield "overhead", "1 0 0"
    yield "peak rate in bit/s", "0"
    yield "peak overhead", "0 0 0"
    yield "limit", _after(options, "limit")
    yield "burst in ns", str(8 * PACKET_BYTES * 10**9 // rate_bit_s // _TICK_NS * _TICK_NS)
    yield "peak burst in ns", "0"


def _netem(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    delay, jitter = _times(options)
    model = _model(options)
    reorder = _share(_after(options, "reorder", "0%"))
    yield "limit", netem_limit(int(_after(options, "limit")))
    yield "delay in ns", str(delay)
    yield "jitter in ns", str(jitter)
    yield "loss", _share("0%" if model else _after(options, "loss", "0%"))
    yield "duplicate", _share(_after(options, "duplicate", "0%"))
    yield "gap", "1" if "reorder" in options else "0"
    for name, share in (("reorder", reorder), ("corrupt", _share(_after(options, "corrupt", "0%")))):
        yield name, share
        yield f"{name}'s correlation", "0"
    for name in ("delay", "loss", "duplicate"):
        yield f"{name}'s correlation", "0"
    if model:
        yield "loss model 2", model
    yield "rate in bit/s", str(_rate(_after(options, "rate", "0bit")))
    yield "overhead", "0 0 0"
    yield "ecn", "off"


def _times(options: Sequence[str]) -> tuple[int, int]:
    """Returns delay and jitter in ns."""
    if "delay" not in options:
        return 0, 0
    at = options.index("delay") + 1
    jitter = options[at + 1] if len(options) > at + 1 and options[at + 1][0].isdigit() else "0us"
    return _time_ns(options[at]), _time_ns(jitter)


def _model(options: Sequence[str]) -> str | None:
    """Returns the numbers of a Gilbert-Elliott model: p and r; packets survive the bad state with chance 0."""
    if "gemodel" not in options:
        return None
    begins, ends = options[options.index("gemodel") + 1 :][:2]
    return f"{_share(begins)} {_share(ends)} 0 0"


def _after(options: Sequence[str], word: str, default: str | None = None) -> str:
    if word not in options:
        assert default is not None, word
        return default
    return options[options.index(word) + 1]


def _number(text: str) -> tuple[float, str]:
    found = _NUMBER.fullmatch(text)
    assert found is not None, text
    return float(found[1]), found[2]


def _time_ns(text: str) -> int:
    number, unit = _number(text)
    return round(number * _NS[unit])


def _rate(text: str) -> int:
    number, unit = _number(text)
    return round(number * _BITS[unit]) // 8 * 8


def _share(text: str) -> str:
    number, unit = _number(text)
    assert unit == "%", text
    return f"{number / 100:.7g}"
