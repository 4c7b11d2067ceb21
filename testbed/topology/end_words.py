"""The knobs that describe an end of a link, cross traffic, and with those of netem/link_options.py a whole way."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from priolab.common.errors import ScenarioError
from priolab.common.tuning import NO_LIMIT
from priolab.netem import link_options
from priolab.netem.link import Link
from priolab.netem.link_options import HOST_LINK_OPTIONS, LinkOption
from priolab.netem.link_ranges import LinkError
from priolab.netem.parsers import one_or, size, whole, words_of
from priolab.testbed.option_values import TRACES, value_of
from priolab.testbed.topology.end_settings import CongestionControl, CrossTraffic, EndSettings, FrontQdisc

STOCK, NONE = "stock", "none"
"""The words for the kernel's default."""

_MOST_FLOWS = 32
_OWN_WORDS = (*TRACES, "QUEUE", "QUEUE_UP")
"""The knobs of a link whose errors say themselves what is allowed."""

END_WORDS: Mapping[str, LinkOption] = MappingProxyType(
    {
        "LOWAT": LinkOption(
            field="lowat_bytes",
            default=NONE,
            parse=one_or(NONE, size(1, NO_LIMIT)),
            allowed=f"1 to {NO_LIMIT} bytes, or none",
            meaning="TCP_NOTSENT_LOWAT of the front in bytes, set by the sysctl net.ipv4.tcp_notsent_lowat; none:"
            " no limit",
        ),
        "SNDBUF": LinkOption(
            field="sndbuf_bytes",
            default=STOCK,
            parse=lambda text: None if text == STOCK else size(4096, 2**30)(text.lower()),
            allowed="4k to 1024M bytes, or stock",
            meaning="send buffer of the front: the middle value of tcp_wmem; 4M is the size that autotuning"
            " reaches on a busy connection; stock: the kernel's default",
        ),
        "CC": LinkOption(
            field="congestion_control",
            default="cubic",
            parse=CongestionControl,
            allowed=words_of(CongestionControl),
            meaning="congestion control of the front",
        ),
        "GSO": LinkOption(
            field="gso_segments",
            default=STOCK,
            parse=one_or(STOCK, whole(1, 65535)),
            allowed="1 to 65535 segments, or stock",
            meaning="largest segmentation-offload packet of the front, in segments (gso_max_segs); stock: the"
            " kernel's default",
        ),
        "FRONT_QDISC": LinkOption(
            field="qdisc",
            default=STOCK,
            parse=one_or(STOCK, FrontQdisc),
            allowed=f"{words_of(FrontQdisc)}, or {STOCK}",
            meaning="queueing discipline of the front's own device, what net.core.default_qdisc sets on a real"
            " one; fq: with its pacing; stock: none, as devices of namespaces and containers have",
        ),
    }
)
"""The knobs of the end that serves, each with the field of EndSettings. The defaults are those of a Linux system."""

CROSS_WORDS: Mapping[str, LinkOption] = MappingProxyType(
    {
        "CROSS": LinkOption(
            field="flows",
            default="0",
            parse=whole(0, _MOST_FLOWS),
            allowed=f"0 to {_MOST_FLOWS} flows",
            meaning="cross traffic: competing bulk flows toward the client, through the same bottleneck queue,"
            " which begin before the page loads",
        ),
        "CROSS_CC": LinkOption(
            field="congestion_control",
            default="cubic",
            parse=CongestionControl,
            allowed=words_of(CongestionControl),
            meaning="congestion control of the cross traffic",
        ),
    }
)
"""The knobs of competing flows, each with the field of CrossTraffic."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """A link with the settings of the end that serves, and the cross traffic; None without any."""

    link: Link
    server: EndSettings
    cross: CrossTraffic | None


def link_with(values: Mapping[str, Any], texts: Mapping[str, str]) -> Link:
    """Returns the link of values by the fields of their knobs. texts: those of all knobs. Raises ScenarioError."""
    if values["trace"] is not None and texts["RATE"] != HOST_LINK_OPTIONS["RATE"].default:
        raise ScenarioError("RATE", texts["RATE"], "the default with TRACE, which has the rate")
    try:
        return link_options.link_of(values)
    except LinkError as error:
        allowed = error.allowed if error.knob in _OWN_WORDS else HOST_LINK_OPTIONS[error.knob].allowed
        raise ScenarioError(error.knob, texts[error.knob], allowed) from None


def check_cross(link: Link, cross: CrossTraffic | None, text: str) -> None:
    """Checks that flows have a bottleneck in which they can be counted. text: that of CROSS. Raises ScenarioError."""
    if cross is None:
        return
    if link.rate_bit_s is None:
        raise ScenarioError("CROSS", text, "0 with RATE=unlimited: without a bottleneck nothing competes")
    if link.trace is not None:
        raise ScenarioError("CROSS", text, "0 with TRACE: the lab does not know which opportunities other flows use")
    if link.reverse.gated or link.reverse.looped:
        raise ScenarioError("CROSS", text, "0 with REORDER_UP, DUPLICATE_UP, or a RATE_UP that changes")


_EVERY: Mapping[str, LinkOption] = {**HOST_LINK_OPTIONS, **END_WORDS, **CROSS_WORDS}


@cache
def _default_values() -> Mapping[str, Any]:
    return {name: word.parse(word.default) for name, word in _EVERY.items()}


def way_from(knobs: Mapping[str, str]) -> Way:
    """Returns the way that knobs describe; a knob that is left out has its default. Raises ScenarioError."""
    texts = {name: knobs.get(name, word.default) for name, word in _EVERY.items()}
    given = {name: value_of(name, texts[name], word) for name, word in _EVERY.items() if name in knobs}
    values = {**_default_values(), **given}
    link = link_with({word.field: values[name] for name, word in HOST_LINK_OPTIONS.items()}, texts)
    of_end = {word.field: values[name] for name, word in END_WORDS.items()}
    cross = CrossTraffic(**{word.field: values[name] for name, word in CROSS_WORDS.items()})
    way = Way(link=link, server=EndSettings(**of_end, ecn=link.ecn), cross=cross if cross.flows else None)
    check_cross(link, way.cross, texts["CROSS"])
    return way
