"""The knobs that describe a Link: their names, defaults and notation, on command lines and in environment variables."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from priolab.common import trace
from priolab.common.trace import Trace
from priolab.netem import queue_size, units
from priolab.netem.link import Link, Qdisc, RateStep, check_steps
from priolab.netem.link_ranges import LEAST_MTU, MOST_MTU, RANGES, UP
from priolab.netem.parsers import one_or, whole
from priolab.netem.queue_size import QueueSize

_SHORTEST_DELAY_NS = 1000
_MOST_LOSS = 0.5
PACKED = "packed:"
"""The begin of a text that holds a trace itself, in place of a file's path."""


@dataclass(frozen=True, kw_only=True)
class LinkOption:
    """A knob that sets a field of Link.

    default: the text used if none is given. parse: converts the knob's text to the field's value; raises ValueError.
    allowed: the allowed texts, in words, for errors and help. meaning: what the knob sets, for help.
    """

    field: str
    default: str
    parse: Callable[[str], Any]
    allowed: str
    meaning: str


def _within(field: str, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Returns a parser for numbers in the range of a Link's field. The parser raises ValueError."""

    def parsed(text: str) -> Any:
        number = parse(text)
        RANGES[field].check(number)
        return number

    return parsed


def parse_delay_ns(text: str) -> int:
    """Parses a time and checks that it is an allowed delay of a Link. Raises ValueError."""
    delay_ns = units.parse_time_ns(text)
    if 0 < delay_ns < _SHORTEST_DELAY_NS:
        raise ValueError("shorter than tc can resolve")
    RANGES["delay_ns"].check(delay_ns)
    return delay_ns


def _rate_steps(text: str) -> tuple[RateStep, ...]:
    steps = tuple(map(RateStep.parse, text.split("+"))) if text != "none" else ()
    check_steps(steps)
    return steps


def parse_trace(text: str) -> Trace | None:
    """Returns the trace in a file, or the one that a text beginning with `packed:` holds; None for `none`.

    Raises ValueError, which says what is wrong with the file.
    """
    if text == "none":
        return None
    if text.startswith(PACKED):
        return Trace.unpack(text.removeprefix(PACKED))
    if not text:
        raise ValueError("no file")
    try:
        path = Path(text).expanduser()
        state = path.stat()
        return _read_trace(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise ValueError(error.strerror) from error


@cache
def _read_trace(path: Path, _mtime_ns: int, _size_bytes: int) -> Trace:
    return Trace.read(path)


def packed_traces(link: Link) -> Mapping[str, str]:
    """Returns TRACE and TRACE_UP for a place that cannot read the traces' files, if the link has traces."""
    traces = {"TRACE": link.trace, "TRACE_UP": link.trace_up}
    return {name: f"{PACKED}{each.packed}" for name, each in traces.items() if each is not None}


def _half(text: str) -> float:
    """Parses a share of which a page load can make something. Raises ValueError."""
    share = units.parse_fraction(text)
    if share > _MOST_LOSS:
        raise ValueError("more than half")
    return share


def _packets(text: str) -> float:
    if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII):
        raise ValueError("not a number")
    return float(text)


def _on(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError("neither")
    return text == "on"


LINK_OPTIONS: Mapping[str, LinkOption] = MappingProxyType(
    {
        "RATE": LinkOption(
            field="rate_bit_s",
            default="128kbps",
            parse=one_or("unlimited", _within("rate_bit_s", units.parse_rate_bit_s)),
            allowed="a tc rate such as 128kbps (kilobytes) or 128kbit (kilobits), from 1kbit to 100gbit; or unlimited",
            meaning="rate toward the client in tc's notation: 128kbps is 128 kilobytes per second, 128kbit is 128"
            " kilobits per second, a modem's rate",
        ),
        "RATE_UP": LinkOption(
            field="rate_up_bit_s",
            default="unlimited",
            parse=one_or("unlimited", _within("rate_up_bit_s", units.parse_rate_bit_s)),
            allowed="a tc rate such as 16kbps (kilobytes) or 128kbit (kilobits), from 1kbit to 100gbit; or unlimited,"
            " the only value with TRACE_UP",
            meaning="rate toward the front, for requests and acknowledgments, in the same notation; the queue"
            " before it is as long as QUEUE says, a time or a bandwidth-delay product being taken at this"
            " rate",
        ),
        "RATE_STEPS": LinkOption(
            field="rate_steps",
            default="none",
            parse=_rate_steps,
            allowed="up to 16 steps RATE@TIME, joined by +, such as 1280kbps@2s+128kbps@6s: rates from 1kbit to"
            " 100gbit, times after the start of the measured load, each later than the one before, up to 3600s; or"
            " none, the only value with RATE=unlimited or QUEUE=1",
            meaning="changes of the rate during the measured load: 1280kbps@2s+128kbps@6s sets ten times the"
            " default rate two seconds after the load's start, and the default rate again six seconds"
            " after the start",
        ),
        "TRACE": LinkOption(
            field="trace",
            default="none",
            parse=parse_trace,
            allowed=f"none, or {trace.ALLOWED}",
            meaning="replays packet opportunities toward the client, from the start of the measured load on, in a"
            " loop; mahimahi's format (`priolab trace convert` makes it of a table); before that load the"
            " rate is the trace's mean rate",
        ),
        "TRACE_UP": LinkOption(
            field="trace_up",
            default="none",
            parse=parse_trace,
            allowed=f"none, or {trace.ALLOWED}",
            meaning="replays packet opportunities toward the front, in the same way",
        ),
        "DELAY": LinkOption(
            field="delay_ns",
            default="300ms",
            parse=parse_delay_ns,
            allowed="a tc time such as 300ms or 0.3s: 0ms, or 1us to 60s",
            meaning="one-way delay toward the client",
        ),
        "DELAY_UP": LinkOption(
            field="delay_up_ns",
            default="0ms",
            parse=parse_delay_ns,
            allowed="a tc time such as 20ms: 0ms, or 1us to 60s",
            meaning="one-way delay toward the front",
        ),
        "QUEUE": LinkOption(
            field="queue",
            default="25",
            parse=QueueSize.parse,
            allowed=queue_size.ALLOWED,
            meaning="size of the bottleneck queue, the packet being sent included; packets on their way through"
            " the link's delay do not count. A number counts packets of any size; all else stands for"
            " bytes, whatever the packets' sizes. A bandwidth-delay product is the rate times DELAY plus"
            " DELAY_UP; the rate is the first one, or a TRACE's mean",
        ),
        "LOSS": LinkOption(
            field="loss",
            default="0%",
            parse=_half,
            allowed="0% to 50%, with the percent sign",
            meaning="random loss toward the client",
        ),
        "JITTER": LinkOption(
            field="jitter_ns",
            default="0ms",
            parse=parse_delay_ns,
            allowed="a tc time such as 20ms, at most DELAY",
            meaning="the delay toward the client varies by up to this much; packets keep their order",
        ),
        "LOSS_BURST": LinkOption(
            field="loss_burst_packets",
            default="none",
            parse=one_or("none", _within("loss_burst_packets", _packets)),
            allowed="1 to 1000 packets; or none, the only value with LOSS=0%",
            meaning="mean number of packets that are lost one after the other (Gilbert's model), with LOSS as the"
            " mean loss; none: each packet is lost or not independently of the others",
        ),
        "REORDER": LinkOption(
            field="reorder",
            default="0%",
            parse=_within("reorder", units.parse_fraction),
            allowed="0% to 25%, with the percent sign; 0% is the only value with DELAY=0ms",
            meaning="fraction of packets toward the client that skip the link's delay, and so overtake all"
            " packets in it",
        ),
        "QDISC": LinkOption(
            field="qdisc",
            default="fifo",
            parse=Qdisc,
            allowed=f"{', '.join(Qdisc)}; fifo is the only value with RATE=unlimited or QUEUE=1, or with a"
            " QUEUE in bytes",
            meaning="queueing discipline of the bottleneck: the kernel's, with its default parameters, and QUEUE"
            " as its limit; fifo: one queue, which drops a packet only when it is full",
        ),
        "ECN": LinkOption(
            field="ecn",
            default="off",
            parse=_on,
            allowed=f"off; or on, with QDISC={' or '.join(qdisc for qdisc in Qdisc if qdisc.marks)}",
            meaning="on: client and front negotiate ECN, and the bottleneck's queueing discipline marks their"
            " packets instead of dropping them",
        ),
    }
)


_SHARE = "0% to 100%, with the percent sign"
_TOWARD_HOST: Mapping[str, LinkOption] = {
    **LINK_OPTIONS,
    "LOSS": replace(LINK_OPTIONS["LOSS"], parse=_within("loss", units.parse_fraction), allowed=_SHARE),
    "LOSS_BURST": replace(
        LINK_OPTIONS["LOSS_BURST"],
        allowed=f"{LINK_OPTIONS['LOSS_BURST'].allowed}; at least LOSS / (100% - LOSS) packets",
    ),
    "DUPLICATE": LinkOption(
        field="duplicate",
        default="0%",
        parse=_within("duplicate", units.parse_fraction),
        allowed=_SHARE,
        meaning="fraction of packets that arrive twice",
    ),
    "CORRUPT": LinkOption(
        field="corrupt",
        default="0%",
        parse=_within("corrupt", units.parse_fraction),
        allowed=_SHARE,
        meaning="fraction of packets that arrive with a wrong bit",
    ),
}
_WITH_UP = ("QUEUE", "LOSS", "LOSS_BURST", "JITTER", "REORDER", "DUPLICATE", "CORRUPT")


def _from_host(name: str) -> LinkOption:
    """Returns the knob of the direction from the host that does what another one does toward it."""
    option = _TOWARD_HOST[name]
    if name == "QUEUE":
        parse, allowed = one_or(name, option.parse), f"{name} for the same; {option.allowed}"
        meaning = f"{name}, from the host"
        return LinkOption(field="queue_up", default=name, parse=parse, allowed=allowed, meaning=meaning)
    allowed = option.allowed
    for other in ("DELAY", "LOSS"):
        allowed = re.sub(rf"\b{other}\b", f"{other}_UP", allowed)
    return replace(option, field=UP[option.field], allowed=allowed, meaning=f"{name}, from the host")


HOST_LINK_OPTIONS: Mapping[str, LinkOption] = MappingProxyType(
    {
        **_TOWARD_HOST,
        **{f"{name}_UP": _from_host(name) for name in _WITH_UP},
        "MTU": LinkOption(
            field="mtu_bytes",
            default="none",
            parse=one_or("none", whole(LEAST_MTU, MOST_MTU)),
            allowed=f"{LEAST_MTU} to {MOST_MTU} bytes of an IP packet, or none",
            meaning="the largest packet of both directions; the sender of a larger one is told",
        ),
        "MTU_SILENT": LinkOption(
            field="mtu_silent",
            default="off",
            parse=_on,
            allowed="on or off",
            meaning="on: the sender of a packet that is larger than MTU is not told, a black hole",
        ),
        "COALESCE": LinkOption(
            field="coalesce_ns",
            default="0us",
            parse=_within("coalesce_ns", units.parse_time_ns),
            allowed="0us to 10ms",
            meaning="the host's network card collects packets that arrive for up to this time (ethtool's rx-usecs),"
            " and passes on those of a flow as one (GRO)",
        ),
    }
)
"""The knobs of the link of a sandbox's host: those of an experiment's link, and further ones."""


def link_from(words: Mapping[str, str]) -> Link:
    """Builds a Link from knobs, with defaults for missing knobs. Raises ValueError, which names the knob."""
    fields: dict[str, Any] = {}
    for name, word in LINK_OPTIONS.items():
        text = words.get(name, word.default)
        try:
            fields[word.field] = word.parse(text)
        except ValueError:
            raise ValueError(f"{name}={text} is not allowed; allowed: {word.allowed}") from None
    return link_of(fields)


def link_of(fields: Mapping[str, Any]) -> Link:
    """Returns the Link of the knobs' values, by the fields of LINK_OPTIONS; a knob that is left out has Link's default.

    A trace sets the rate that holds until the trace begins, its mean rate. Rates and delays say how many bytes a queue
    holds. Raises LinkError, which names the knob.
    """
    found = dict(fields)
    trace: Trace | None = found.get("trace")
    trace_up: Trace | None = found.get("trace_up")
    if trace is not None:
        found["rate_bit_s"] = trace.mean_bit_s
    size: QueueSize = found.pop("queue")
    size_up: QueueSize | None = found.pop("queue_up", None)
    rate_up = found.get("rate_up_bit_s") if trace_up is None else trace_up.mean_bit_s
    round_trip_ns = found["delay_ns"] + found.get("delay_up_ns", 0)
    queue = size.fields(
        rate_bit_s=found["rate_bit_s"],
        rate_up_bit_s=rate_up if size_up is None else None,
        round_trip_ns=round_trip_ns,
    )
    if size_up is not None:
        own = size_up.fields(rate_bit_s=rate_up, rate_up_bit_s=None, round_trip_ns=round_trip_ns, knob="QUEUE_UP")
        queue |= {UP[name]: each for name, each in own.items()}
    return Link(**found, **queue)
