"""Knobs: the words people write, in Make variables, on the command line, in TOML files; and the scenario they describe.

The table KNOBS is the one place for their names, defaults and meanings; help texts and documentation are made from it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from client import dialects
from client.plan import PlanKind
from client.priorities import Priorities
from common.formats.page import MAPS, Page
from experiments.errors import ScenarioError, UnknownKnob
from experiments.scenario import constraints, pages
from experiments.scenario.scenario import (
    LOWAT_AUTO,
    LOWAT_MOST,
    RECORD_LEAST,
    RECORD_MOST,
    ClientKind,
    CongestionControl,
    Scenario,
    ShaperAt,
)
from netem import units, words
from netem.link import Link
from proxy.server import Server, Switch, catalogue
from proxy.tuner.law import TARGET_NS

_TARGET_LEAST_NS, _TARGET_MOST_NS = 10**6, 10**10


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A word people may set. parse raises ValueError; field is a field of Scenario, or of Link after "link."."""

    name: str
    default: str
    field: str
    parse: Callable[[str], Any]
    allowed: str
    meaning: str


def whole(least: int, most: int) -> Callable[[str], int]:
    """Returns a parser for a whole number between the two, inclusive. The parser raises ValueError."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            raise ValueError("out of range")
        return int(text)

    return parse


def _or(word: str, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: None if text == word else parse(text)


_PAGE_ORDER = "as-written"


def _size(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        size = int(text) if text.isascii() and text.isdigit() else units.parse_size_bytes(text)
        if not least <= size <= most:
            raise ValueError("out of range")
        return size

    return parse


def _lowat(text: str) -> int | str | None:
    return LOWAT_AUTO if text == LOWAT_AUTO else _or("none", _size(1, LOWAT_MOST))(text)


def _target_ns(text: str) -> int:
    target_ns = units.parse_time_ns(text)
    if not _TARGET_LEAST_NS <= target_ns <= _TARGET_MOST_NS:
        raise ValueError("out of range")
    return target_ns


def _on_or_off(text: str) -> str:
    if text not in ("on", "off"):
        raise ValueError("neither")
    return text


def _whole_milliseconds(text: str) -> int:
    delay_ns = words.parse_delay_ns(text)
    if delay_ns % 10**6:
        raise ValueError("the origin counts milliseconds")
    return delay_ns


def _of_the_link(name: str, meaning: str) -> Knob:
    word = words.WORDS[name]
    return Knob(
        name=name,
        default=word.default,
        field=f"link.{word.field}",
        parse=word.parse,
        allowed=word.allowed,
        meaning=meaning,
    )


def _server(text: str) -> str:
    if text not in catalogue():
        raise ValueError("unknown")
    return text


def _named(switch_of: Callable[[Server], Switch]) -> str:
    """Lists each server's own name for the switch."""
    switches = ((server.name, switch_of(server)) for server in catalogue().values())
    return "; ".join(f"{name}: {switch.name}" for name, switch in switches if switch.name)


def _words(kind: type[StrEnum]) -> str:
    return ", ".join(kind)


_KNOBS = (
    Knob(
        name="SERVER",
        default="nginx",
        field="server",
        parse=_server,
        allowed=", ".join(catalogue()),
        meaning="the TLS front; several values, with commas between, get arms of their own",
    ),
    Knob(
        name="NATIVE",
        default="off",
        field="native",
        parse=_on_or_off,
        allowed="on, off",
        meaning=f"the server's own mechanism against early writes ({_named(lambda server: server.native)})",
    ),
    Knob(
        name="BUFFERING",
        default="on",
        field="buffering",
        parse=_on_or_off,
        allowed="on, off",
        meaning="on: the server reads whole responses from the origin, so that all their bytes can be reordered; off:"
        f" hardly more than it can send at once ({_named(lambda server: server.buffering)})",
    ),
    Knob(
        name="RECORD",
        default="stock",
        field="record_bytes",
        parse=_or("stock", _size(RECORD_LEAST, RECORD_MOST)),
        allowed=f"{RECORD_LEAST} to {RECORD_MOST} bytes, or stock",
        meaning=f"the largest TLS record of the front; a record is readable when its last byte has arrived"
        f" ({_named(lambda server: server.record)}); stock is the server's own, mostly 16384",
    ),
    Knob(
        name="LOWAT",
        default="131072",
        field="lowat",
        parse=_lowat,
        allowed=f"1 to {LOWAT_MOST} bytes, or none, or auto",
        meaning="TCP_NOTSENT_LOWAT of the front in bytes: the sysctl net.ipv4.tcp_notsent_lowat of its place; auto: a"
        " tuner sets it per connection; several values, with commas between, are an arm each",
    ),
    Knob(
        name="TARGET_DELAY",
        default=f"{TARGET_NS // 10**6}ms",
        field="target_delay_ns",
        parse=_target_ns,
        allowed="a time from 1ms to 10s",
        meaning="with LOWAT=auto, the longest time that the unsent bytes in the kernel may take to send",
    ),
    Knob(
        name="SNDBUF",
        default="4M",
        field="sndbuf_bytes",
        parse=lambda text: None if text == "stock" else _size(4096, 2**30)(text.lower()),
        allowed="4k to 1024M bytes, or stock",
        meaning="send buffer of the front: the middle value of tcp_wmem; 4M is a buffer as autotuning leaves it on a"
        " busy connection, stock is the kernel's",
    ),
    Knob(
        name="CC",
        default="cubic",
        field="congestion_control",
        parse=CongestionControl,
        allowed=_words(CongestionControl),
        meaning="congestion control of the front",
    ),
    Knob(
        name="GSO",
        default="stock",
        field="gso_segments",
        parse=_or("stock", whole(1, 65535)),
        allowed="1 to 65535 segments, or stock",
        meaning="largest segmentation-offload packet of the front, in segments (gso_max_segs)",
    ),
    _of_the_link(
        "RATE", "rate toward the client in tc's notation: 128kbps is 128 kilobytes per second, 128kbit the modem"
    ),
    _of_the_link(
        "RATE_STEPS",
        "changes of the rate during the measured load: 1280kbps@2s+128kbps@6s is ten times the default from two"
        " seconds after its start, and the default again from six",
    ),
    _of_the_link("DELAY", "one-way delay toward the client"),
    _of_the_link("DELAY_UP", "one-way delay toward the front"),
    _of_the_link("QUEUE", "the bottleneck queue; packets in flight in the delay line do not count against it"),
    _of_the_link("LOSS", "random loss toward the client"),
    _of_the_link("JITTER", "the delay toward the client varies by up to this much; order is kept"),
    Knob(
        name="SHAPER_AT",
        default="link",
        field="shaper_at",
        parse=ShaperAt,
        allowed=_words(ShaperAt),
        meaning="where the bottleneck is: link, a place of its own that nothing can bypass; front, the front's own"
        " egress, where the kernel holds bytes back in the socket that would wait in the link's queue elsewhere",
    ),
    Knob(
        name="CLIENT",
        default="h2",
        field="client",
        parse=ClientKind,
        allowed=_words(ClientKind),
        meaning="who loads the pages: h2 is the lab's own client, chromium a real browser, headless, with priorities"
        " and windows of its own; several values, with commas between, get arms of their own",
    ),
    Knob(
        name="PAGE",
        default=MAPS,
        field="page",
        parse=str,
        allowed=f"{', '.join(pages.catalogue())}, or a path that ends in .toml",
        meaning="the page: its resources, each with size, delay and priority (docs/pages.md)",
    ),
    Knob(
        name="PLAN",
        default="loads",
        field="plan",
        parse=PlanKind,
        allowed=_words(PlanKind),
        meaning="loads: page loads as a browser makes them; probe: one load whose streams are parked on a closed"
        " flow-control window, which is opened bit by bit: what the front does when nothing is in its way",
    ),
    Knob(
        name="FIRST",
        default=_PAGE_ORDER,
        field="first",
        parse=_or(_PAGE_ORDER, str),
        allowed=f"the name of a resource, or {_PAGE_ORDER}",
        meaning="the resource that is requested before the others, whatever their priorities; as-written is the page's"
        " order",
    ),
    Knob(
        name="PRIORITY",
        default="spdy",
        field="priorities",
        parse=Priorities,
        allowed=_words(Priorities),
        meaning="spdy asks for the page's important resources first, swap for the others, none for no order",
    ),
    Knob(
        name="DIALECT",
        default="plain",
        field="dialect",
        parse=dialects.parse,
        allowed=f"one of {', '.join(dialects.TREES)}, or none of them, and any of "
        f"{', '.join(part for part in dialects.Part if part not in dialects.TREES)}, with + between",
        meaning="how the client says it: plain (RFC 7540 weights), as chrome, firefox or safari did, reprioritize"
        " (PRIORITY frames when the first byte is there), header (RFC 9218), update (PRIORITY_UPDATE frames then),"
        " no7540 (SETTINGS_NO_RFC7540_PRIORITIES); over SPDY plain alone, and it is SPDY's levels",
    ),
    Knob(
        name="SIZE",
        default="716800",
        field="size_bytes",
        parse=_size(2048, pages.SIZE_MOST),
        allowed="2048 bytes to 64M",
        meaning="size of image and script of PAGE=maps, and of what other pages call SIZE",
    ),
    Knob(
        name="JS_DELAY",
        default="200ms",
        field="script_delay_ns",
        parse=_whole_milliseconds,
        allowed="a time in whole milliseconds such as 200ms, from 0ms to 60s",
        meaning="time for which the origin holds back the script of PAGE=maps, and what other pages call JS_DELAY",
    ),
    Knob(
        name="RELOADS",
        default="2",
        field="reloads",
        parse=whole(0, 100),
        allowed="0 to 100",
        meaning="page loads on the same connection before the measured one",
    ),
    Knob(
        name="WINDOW",
        default="16M",
        field="window_bytes",
        parse=lambda text: _size(65535, 2**31 - 1)(text.lower()),
        allowed="65535 bytes to 2047M",
        meaning="HTTP/2 (or SPDY) flow-control window the client offers, per stream and for the connection",
    ),
)

KNOBS: Mapping[str, Knob] = MappingProxyType({knob.name: knob for knob in _KNOBS})
"""All knobs of a scenario, by name, in the order in which to present them."""


def with_defaults(knobs: Mapping[str, str]) -> dict[str, str]:
    """Returns all knobs: those given, and defaults for the rest. Unknown names stay; `scenario_from` refuses them."""
    return {name: knob.default for name, knob in KNOBS.items()} | dict(knobs)


def scenario_from(knobs: Mapping[str, str], page: Page | None = None) -> Scenario:
    """Builds the scenario from knobs, with defaults for the rest. page: the page of PAGE, if it has been read already.

    Raises ScenarioError, also for unknown names.
    """
    for name in knobs:
        if name not in KNOBS:
            raise UnknownKnob(name, [], list(KNOBS))
    knobs = with_defaults(knobs)
    fields: dict[str, Any] = {}
    link: dict[str, Any] = {}
    for knob in _KNOBS:
        text = knobs[knob.name].strip()
        try:
            value = knob.parse(text)
        except ValueError:
            raise ScenarioError(knob.name, text, knob.allowed) from None
        group, _, field = knob.field.rpartition(".")
        (link if group else fields)[field] = value
    try:
        fields["link"] = Link(**link)
    except ValueError as error:
        name = str(error).partition(":")[0].upper()
        raise ScenarioError(name, knobs[name], KNOBS[name].allowed) from None
    _build_page(fields, knobs, page)
    scenario = Scenario(**fields)
    constraints.check(scenario, knobs.__getitem__, lambda name: KNOBS[name].default)
    return scenario


_PARAMETERS = (("SIZE", "size_bytes"), ("JS_DELAY", "script_delay_ns"))


def _build_page(fields: dict[str, Any], knobs: Mapping[str, str], page: Page | None) -> None:
    """Puts the page in the place of its name; parameters that it does not have become None. Raises ScenarioError."""
    name = fields["page"]
    parameters = pages.Parameters(size_bytes=fields["size_bytes"], script_delay_ns=fields["script_delay_ns"])
    read = pages.page_of(name, parameters) if page is None else page
    for knob, field in _PARAMETERS:
        if knob in read.parameters:
            continue
        if knobs[knob] != KNOBS[knob].default:
            raise ScenarioError(knob, knobs[knob], f"nothing else with PAGE={name}, which does not name it")
        fields[field] = None
    names = [resource.name for resource in read.contents]
    if fields["first"] not in (None, *names):
        raise ScenarioError("FIRST", fields["first"], f"{', '.join(names)}, or {_PAGE_ORDER}")
    fields["page"] = read
