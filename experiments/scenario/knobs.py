"""Knobs: the settings that people give as NAME=VALUE, and the scenario that the knobs describe.

People give knobs as Make variables, on the command line and in TOML files. The table KNOBS has the name, default and
meaning of each knob; help texts and docs/reference/knobs.md are made from it.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from priolab.client import dialects
from priolab.client.plan import PlanKind
from priolab.client.priorities import Priorities
from priolab.common.errors import ScenarioError, UnknownKnob
from priolab.common.formats.page import MAPS, Page
from priolab.common.formats.plan import Disturbance
from priolab.common.formats.scenario import AUTO, ClientKind
from priolab.common.tuning import TARGET_NS
from priolab.experiments.scenario import constraints, page_bounds, pages, via_knobs
from priolab.experiments.scenario.knob import Knob, named, server_for
from priolab.experiments.scenario.scenario import RECORD_LEAST, RECORD_MOST, Scenario
from priolab.experiments.scenario.service import ALLOWED, Service
from priolab.netem import link_options, link_profiles, units
from priolab.netem.parsers import one_or, size, whole, words_of
from priolab.proxy.server import SUITES, absolute, catalogue, is_folder
from priolab.testbed import end_words, value_of

SEVERAL: Mapping[str, str] = MappingProxyType(
    {
        "SERVER": "",
        "PROGRAM": "",
        "CONFIG": "",
        "CLIENT": "",
        "VIA": "via-",
        "VIA_LOWAT": "via-lowat-",
        "JS_DELAY": "js-delay-",
    }
)
"""The knobs, besides LOWAT, whose values make an arm each, and the word before the value in the arm's name."""

NAMED_BY_PATH: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "SERVER": is_folder,
        "PROGRAM": lambda text: text != end_words.STOCK,
        "CONFIG": lambda text: text != end_words.STOCK,
        "VIA": is_folder,
    }
)
"""The knobs whose values may be paths of files that each run reads again; a function tells paths from other values."""

_TARGET_LEAST_NS, _TARGET_MOST_NS = 10**6, 10**10


_LOWAT = end_words.END_WORDS["LOWAT"]
_PAGE_ORDER = "as-written"
_AS_WINDOW = "as-window"


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
    delay_ns = link_options.parse_delay_ns(text)
    if delay_ns % 10**6:
        raise ValueError("the origin's delays are whole milliseconds")
    return delay_ns


def _path(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError("empty, or not to be printed")
    return text


def check_together(values: Mapping[str, Sequence[str]]) -> None:
    """Checks that several values of a knob may be combined with the values of other knobs. Raises ScenarioError.

    values: the values of each knob that is given. PROGRAM and CONFIG are for one server.
    """
    servers = values.get("SERVER", ())
    for name in ("PROGRAM", "CONFIG"):
        if len(servers) > 1 and (own := [value for value in values.get(name, ()) if value != end_words.STOCK]):
            raise ScenarioError("SERVER", ",".join(servers), f"one server with {name}={own[0]}")


def with_absolute_paths(knobs: Mapping[str, str]) -> dict[str, str]:
    """Returns the knobs with absolute paths of server folders, for a process in another working directory."""
    return {
        name: str(absolute(value)) if name in NAMED_BY_PATH and NAMED_BY_PATH[name](value) else value
        for name, value in knobs.items()
    }


_KNOBS = (
    Knob(
        name="SERVER",
        default="nginx",
        field="server",
        parse=server_for("SERVER"),
        allowed=f"{', '.join(catalogue())}; with @{', @'.join(SUITES)} or @VERSION the server of this suite or version;"
        " or the path of a server's folder, with a slash",
        meaning="the TLS server under test; several values, separated by commas, make an arm each",
    ),
    Knob(
        name="PROGRAM",
        default=end_words.STOCK,
        field="program",
        parse=one_or(end_words.STOCK, _path),
        allowed=f"the path of a program, or {end_words.STOCK}",
        meaning="the program that runs as the server, such as a build of your own; stock: the server's installed"
        " program; several values, separated by commas, make an arm each",
    ),
    Knob(
        name="CONFIG",
        default=end_words.STOCK,
        field="config",
        parse=one_or(end_words.STOCK, _path),
        allowed="the path of a configuration with the server's placeholders (docs/guide/your-server.md),"
        f" or {end_words.STOCK}",
        meaning="the server's configuration; stock: the lab's own; several values, separated by commas, make an arm"
        " each",
    ),
    Knob(
        name="NATIVE",
        default="off",
        field="native",
        parse=_on_or_off,
        allowed="on, off",
        meaning="on: the server limits, by a setting of its own, how many bytes it writes to the kernel before the"
        f" network can send them ({named(lambda server: server.native)})",
    ),
    Knob(
        name="BUFFERING",
        default="on",
        field="buffering",
        parse=_on_or_off,
        allowed="on, off",
        meaning="on: the server reads whole responses from the origin, so that all their bytes can be reordered; off:"
        f" it reads hardly more than it can send at once ({named(lambda server: server.buffering)})",
    ),
    Knob(
        name="RECORD",
        default="stock",
        field="record_bytes",
        parse=one_or("stock", size(RECORD_LEAST, RECORD_MOST)),
        allowed=f"{RECORD_LEAST} to {RECORD_MOST} bytes, or stock",
        meaning="the largest TLS record of the front in bytes; a client can decrypt a record only when the record's"
        f" last byte has arrived ({named(lambda server: server.record)}); stock: the server's default, mostly 16384",
    ),
    Knob(
        name="SERVICE",
        default="none",
        field="service",
        parse=one_or("none", lambda text: str(Service.parse(text))),
        allowed=ALLOWED,
        meaning="the time that the server needs for its work: after each wake-up, and for each KB (1000 bytes)"
        " that it writes to TCP, it goes on so much later; only in a guest, where its work takes no time"
        " otherwise",
    ),
    Knob.of(
        "LOWAT",
        _LOWAT,
        field="lowat",
        default="131072",
        parse=lambda text: AUTO if text == AUTO else _LOWAT.parse(text),
        allowed=f"{_LOWAT.allowed}, or auto",
        meaning=f"{_LOWAT.meaning}; auto: a tuner sets it per connection; several values, separated by commas,"
        f" make an arm each",
    ),
    Knob(
        name="TARGET_DELAY",
        default=f"{TARGET_NS // 10**6}ms",
        field="target_delay_ns",
        parse=_target_ns,
        allowed="a time from 1ms to 10s",
        meaning="with LOWAT=auto, the longest time that a byte should wait unsent in the kernel",
    ),
    Knob.of("SNDBUF", end_words.END_WORDS["SNDBUF"], field="sndbuf_bytes", default="4M"),
    Knob.of("CC", end_words.END_WORDS["CC"], field="congestion_control"),
    Knob.of("GSO", end_words.END_WORDS["GSO"], field="gso_segments"),
    Knob.of("FRONT_QDISC", end_words.END_WORDS["FRONT_QDISC"], field="front_qdisc"),
    Knob.of(link_profiles.LINK, link_profiles.OPTION),
    *(Knob.of(name, option, field=f"link.{option.field}") for name, option in link_options.LINK_OPTIONS.items()),
    Knob.of("CROSS", end_words.CROSS_WORDS["CROSS"], field="cross"),
    Knob.of("CROSS_CC", end_words.CROSS_WORDS["CROSS_CC"], field="cross_cc"),
    *via_knobs.KNOBS,
    Knob(
        name="CLIENT",
        default="h2",
        field="client",
        parse=ClientKind,
        allowed=words_of(ClientKind),
        meaning="the client that loads the pages; h2: the lab's own client; chromium, firefox, webkit: real"
        " browsers, headless, with their own priorities and windows; several values, separated by commas, make an arm"
        " each",
    ),
    Knob(
        name="PAGE",
        default=MAPS,
        field="page",
        parse=str,
        allowed=pages.allowed_pages(),
        meaning="the page: its resources, each with size, delay and priority; of a recording (.har) with several"
        " loads, #2 or #ID takes the second, or the one with this id (docs/guide/pages.md)",
    ),
    Knob(
        name="PLAN",
        default="loads",
        field="plan",
        parse=PlanKind,
        allowed=words_of(PlanKind),
        meaning="loads: page loads as a browser makes them; probe: one load in which all streams wait for a closed"
        " flow-control window, which the client then opens bit by bit, with pauses that are longer than the link's"
        " round trip, so that the front alone decides the order",
    ),
    Knob(
        name="FIRST",
        default=_PAGE_ORDER,
        field="first",
        parse=one_or(_PAGE_ORDER, str),
        allowed=f"the name of a resource, or {_PAGE_ORDER}",
        meaning="the resource that is requested before the others, whatever its priority; as-written: the page's order",
    ),
    Knob(
        name="DISTURB",
        default="none",
        field="disturb",
        parse=one_or("none", Disturbance),
        allowed=f"{words_of(Disturbance)}, or none",
        meaning="with PLAN=probe, what happens before the client opens its window; reset: the client resets the"
        " streams of two more requests, the first and the last; connection: the client makes the same requests on"
        " another connection, with the opposite priorities",
    ),
    Knob(
        name="PRIORITY",
        default="spdy",
        field="priorities",
        parse=Priorities,
        allowed=words_of(Priorities),
        meaning="the order that the client asks for; spdy: the page's important resources first; swap: the other"
        " resources first; none: no order",
    ),
    Knob(
        name="DIALECT",
        default="plain",
        field="dialect",
        parse=lambda text: str(dialects.parse(text)),
        allowed=f"parts joined by +: at most one of {', '.join(dialects.TREES)}, and any of "
        f"{', '.join(part for part in dialects.Part if part not in dialects.TREES)}",
        meaning="how the client sends priorities; plain: RFC 7540 weights; chrome, firefox, safari: RFC 7540"
        " trees as these browsers sent them (Firefox until version 127); reprioritize: PRIORITY frames"
        " once the load's first byte has arrived; header: header field of RFC 9218; update:"
        " PRIORITY_UPDATE frames once the load's first byte has arrived; no7540:"
        " SETTINGS_NO_RFC7540_PRIORITIES. Over SPDY only plain is possible, and sends SPDY's priority"
        " levels",
    ),
    Knob(
        name="SIZE",
        default="716800",
        field="size_bytes",
        parse=size(2048, page_bounds.SIZE_MOST),
        allowed="2048 bytes to 64M",
        meaning="size of the image and of the script of PAGE=maps, and of each resource whose size the page file"
        " gives as the word SIZE",
    ),
    Knob(
        name="JS_DELAY",
        default="200ms",
        field="script_delay_ns",
        parse=_whole_milliseconds,
        allowed="a time in whole milliseconds such as 200ms, from 0ms to 60s",
        meaning="time for which the origin holds back the script of PAGE=maps, and each resource whose delay the page"
        " file gives as the word JS_DELAY; several values, separated by commas, make an arm each; a sweep without it"
        " tries four within the time of a write",
    ),
    Knob(
        name="RELOADS",
        default="2",
        field="reloads",
        parse=whole(0, 100),
        allowed="0 to 100",
        meaning="page loads on the same connection before the measured load",
    ),
    Knob(
        name="WINDOW",
        default="16M",
        field="window_bytes",
        parse=lambda text: size(65535, 2**31 - 1)(text.lower()),
        allowed="65535 bytes to 2047M",
        meaning="HTTP/2 or SPDY flow-control window that the client offers, per stream",
    ),
    Knob(
        name="CONNECTION_WINDOW",
        default=_AS_WINDOW,
        field="connection_window_bytes",
        parse=one_or(_AS_WINDOW, lambda text: size(65535, 2**31 - 1)(text.lower())),
        allowed=f"65535 bytes to 2047M, or {_AS_WINDOW}",
        meaning="flow-control window that the client offers for the connection, all streams together; as-window: that"
        " of WINDOW. Over HTTP/3 both windows are those at the beginning, and double whenever half is used up",
    ),
)

KNOBS: Mapping[str, Knob] = MappingProxyType({knob.name: knob for knob in _KNOBS})
"""All knobs of a scenario, by name, in the order in which to present them."""

_BEGINS: Mapping[str, str] = MappingProxyType(
    {
        "SERVER": "the front",
        "LOWAT": "the front's kernel",
        "LINK": "the link",
        "VIA": "the second front",
        "CLIENT": "the client and its page",
    }
)
"""The name of each group of knobs, by the knob with which the group begins in KNOBS."""


def group_of(name: str) -> str:
    """Returns the name of a knob's group, for people who look for a knob."""
    *_, group = (_BEGINS[each] for each in list(KNOBS)[: list(KNOBS).index(name) + 1] if each in _BEGINS)
    return group


def with_defaults(knobs: Mapping[str, str]) -> dict[str, str]:
    """Returns the given knobs, those that LINK stands for, and the defaults of all others.

    Keeps unknown names, which are rejected later. Raises ScenarioError for an unknown LINK.
    """
    return {name: knob.default for name, knob in KNOBS.items()} | link_profiles.with_profile(knobs)


def scenario_from(knobs: Mapping[str, str], page: Page | None = None) -> Scenario:
    """Builds the scenario from knobs. Knobs that are not given have their defaults.

    page: the page that PAGE names, if it has been read already. Raises ScenarioError, also for unknown names.
    """
    for name in knobs:
        if name not in KNOBS:
            raise UnknownKnob(name, [], list(KNOBS))
    knobs = with_defaults(knobs)
    groups: dict[str, dict[str, Any]] = {name: {} for name in ("", "link", "via", "via_link")}
    for knob in (each for each in _KNOBS if each.field):
        group, _, field = knob.field.rpartition(".")
        groups[group][field] = value_of(knob.name, knobs[knob.name], knob)
    fields = groups[""]
    fields |= end_words.link_with(groups["link"], knobs).as_document()
    fields["via"] = via_knobs.via_from(groups["via"], groups["via_link"], knobs)
    if fields["lowat"] != AUTO:
        fields["target_delay_ns"] = None
    if not fields["cross"]:
        fields["cross_cc"] = None
    scenario = Scenario(**_with_page(fields, knobs, page))
    constraints.check(scenario, knobs.__getitem__, lambda name: KNOBS[name].default)
    return scenario


_PARAMETERS = (("SIZE", "size_bytes"), ("JS_DELAY", "script_delay_ns"))


def _with_page(fields: Mapping[str, Any], knobs: Mapping[str, str], page: Page | None) -> dict[str, Any]:
    """Returns the fields with the page; sizes and delays that this page does not use are None. Raises ScenarioError."""
    name = fields["page"]
    parameters = pages.Parameters(size_bytes=fields["size_bytes"], script_delay_ns=fields["script_delay_ns"])
    read = pages.page_of(name, parameters) if page is None else page
    unused = {field: knob for knob, field in _PARAMETERS if knob not in read.parameters}
    for knob in unused.values():
        if knobs[knob] != KNOBS[knob].default:
            raise ScenarioError(knob, knobs[knob], f"the default with PAGE={name}, which does not use {knob}")
    names = [resource.name for resource in read.contents]
    if fields["first"] not in (None, *names):
        raise ScenarioError("FIRST", fields["first"], f"{', '.join(names)}, or {_PAGE_ORDER}")
    return {**fields, **dict.fromkeys(unused), "page": read.name, "resources": read.resources, "full_page": read}
