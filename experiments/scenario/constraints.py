"""Constraints between knobs, for probes, bottlenecks at the front, protocols, browsers and servers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from priolab.client import dialects
from priolab.client.plan import PROBE_LEAST_BYTES, PlanKind
from priolab.client.priorities import Priorities
from priolab.common.errors import ScenarioError
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Protocol
from priolab.common.formats.scenario import AUTO, ClientKind
from priolab.experiments.scenario.scenario import Scenario, Via, ViaHttp
from priolab.proxy.server import Server, catalogue, server_of
from priolab.proxy.switch import HTTP1, Switch
from priolab.proxy.template import placeholders
from priolab.testbed import end_words

Given = Callable[[str], str]
"""A function that returns the text given for the knob of that name, or the knob's default."""


def check(scenario: Scenario, given: Given, usual: Given) -> None:
    """Checks that the knobs of a scenario fit each other. Raises ScenarioError.

    given: returns the text given for a knob, or its default. usual: returns the default text of a knob.
    """
    _check_probe(scenario, given)
    _check_cross(scenario, given)
    server = _server(scenario, given)
    _check_protocol(scenario, server, given)
    _check_client(scenario, server, given, usual)
    _check_level("NATIVE", server, scenario.native, lambda other: other.native)
    _check_level("BUFFERING", server, scenario.buffering, lambda other: other.buffering)
    if scenario.record_bytes is not None:
        _check_level("RECORD", server, "bytes", lambda other: other.record, given=given("RECORD"))
    if scenario.via is not None:
        _check_hop(scenario.via, server)


def _server(scenario: Scenario, given: Given) -> Server:
    """Returns the server, with the user's configuration if there is one. Raises ScenarioError.

    A placeholder of NATIVE, BUFFERING or RECORD may be absent from the configuration, if the knob has its default.
    """
    if scenario.program is not None and server_of(scenario.server).edition is not None:
        raise ScenarioError("PROGRAM", given("PROGRAM"), f"stock with SERVER={scenario.server}")
    try:
        server = scenario.front
    except ValueError as error:
        what = f"a configuration of {scenario.server} with its placeholders (docs/guide/your-server.md)"
        raise ScenarioError("CONFIG", given("CONFIG"), f"{what}; {error}") from error
    if scenario.config is None:
        return server
    has = placeholders(server.template_source)
    for name, switch, usual, asked in (
        ("NATIVE", server.native, "off", scenario.native),
        ("BUFFERING", server.buffering, "on", scenario.buffering),
        ("RECORD", server.record, "stock", "stock" if scenario.record_bytes is None else "bytes"),
        ("VIA_HTTP", server.upstream, HTTP1, scenario.via.http.level if scenario.via else HTTP1),
    ):
        lacks = {value for level in switch.levels.values() for value in level if value not in has}
        if asked != usual and lacks:
            absent = ", ".join(f"@{{{value}}}" for value in sorted(lacks))
            allowed = usual if name != "VIA_HTTP" else ViaHttp.HTTP1
            raise ScenarioError(name, given(name), f"{allowed} with CONFIG={given('CONFIG')}, which lacks {absent}")
    return server


def _check_probe(scenario: Scenario, given: Given) -> None:
    """Checks that the other knobs allow PLAN=probe. Raises ScenarioError."""
    if scenario.plan is not PlanKind.PROBE:
        if scenario.disturb is not None:
            raise ScenarioError("DISTURB", given("DISTURB"), f"none with PLAN={scenario.plan}")
        return
    for name, fits, allowed in (
        ("RELOADS", scenario.reloads == 0, "0"),
        (
            "PAGE",
            scenario.whole_page.is_sequence or _is_pair(scenario.whole_page),
            "a page with one important resource and one other resource, without chunks, waits and early headers,",
        ),
        (
            "DISTURB",
            scenario.disturb is None or not scenario.whole_page.documents,
            "with a page on which no resource waits for another, such as PAGE=pair,",
        ),
        (
            "SIZE",
            scenario.whole_page.is_sequence or _least_bytes(scenario.whole_page) >= PROBE_LEAST_BYTES,
            f"at least {PROBE_LEAST_BYTES} bytes",
        ),
        ("CONNECTION_WINDOW", scenario.connection_window_bytes is None, "as-window"),
        ("RATE_STEPS", not scenario.link.rate_steps, "none"),
        ("TRACE", scenario.link.trace is None, "none"),
        ("TRACE_UP", scenario.link.trace_up is None, "none"),
        ("SERVICE", scenario.service is None, "none"),
        # A step follows when nothing has arrived for a while. A packet that is lost again and again arrives after any
        # time, so no pause says that nothing is on its way.
        ("LOSS", not scenario.link.loss, "0%"),
    ):
        if not fits:
            raise ScenarioError(name, given(name), f"{allowed} with PLAN=probe; SCENARIO=probe sets what a probe needs")


def _is_pair(page: Page) -> bool:
    timed = any(each.chunks or each.wait_ns or each.early_headers_ns is not None for each in page.contents)
    return len(page.important) == len(page.others) == 1 and not timed


def _least_bytes(page: Page) -> int:
    return min(each.size_bytes for each in page.contents)


def _is_html(page: Page) -> bool:
    root, *others = page.resources
    return root.content_type.startswith("text/html") and all(each.after and not each.wait_ns for each in others)


def _check_cross(scenario: Scenario, given: Given) -> None:
    """Checks that cross traffic has a bottleneck in which the lab can count it. Raises ScenarioError."""
    if not scenario.cross:
        return
    end_words.check_cross(scenario.link, scenario.cross_traffic, given("CROSS"))
    if scenario.plan is PlanKind.PROBE:
        allowed = "0 with PLAN=probe: a probe waits for windows, not for the link"
        raise ScenarioError("CROSS", given("CROSS"), allowed)


_SAYABLE = {
    Protocol.SPDY: ((dialects.PLAIN,), "a SPDY request carries only a priority level"),
    Protocol.HTTP3: (dialects.OVER_HTTP3, "HTTP/3 carries only the priorities of RFC 9218"),
}

_LONGEST_DELAY_NS = 4 * 10**9
"""The longest delay of a response in a probe over HTTP/3: less than the time that MOST_PARKED_TURNS gives it."""


def _check_protocol(scenario: Scenario, server: Server, given: Given) -> None:
    """Checks that the server's protocol can carry the dialect, and that it uses TCP if LOWAT or the page needs TCP.

    Raises ScenarioError.
    """
    protocol = Protocol(server.protocol)
    if scenario.disturb is not None and protocol is not Protocol.HTTP2:
        raise ScenarioError("DISTURB", given("DISTURB"), f"none with SERVER={server.name}, which does not use HTTP/2")
    if scenario.whole_page.is_sequence and protocol is not Protocol.HTTP2:
        raise ScenarioError("PAGE", given("PAGE"), f"a page without cues with SERVER={server.name}, not of HTTP/2")
    if protocol in _SAYABLE:
        allowed, why = _SAYABLE[protocol]
        if scenario.client_dialect not in allowed:
            words = " or ".join(map(str, allowed))
            raise ScenarioError("DIALECT", given("DIALECT"), f"{words} with SERVER={server.name}: {why}")
    if server.over_tcp:
        return
    if any(each.wait_ns for each in scenario.resources):
        raise ScenarioError("PAGE", given("PAGE"), f"with SERVER={server.name}, a page without the key `wait`")
    if scenario.plan is PlanKind.PROBE and any(
        each.delay_ns > _LONGEST_DELAY_NS for each in scenario.whole_page.resources
    ):
        longest = f"{_LONGEST_DELAY_NS // 10**9}s"
        name = "JS_DELAY" if scenario.script_delay_ns is not None else "PAGE"
        raise ScenarioError(name, given(name), f"delays of at most {longest} with PLAN=probe and SERVER={server.name}")
    if scenario.service is not None:
        raise ScenarioError("SERVICE", given("SERVICE"), f"none with SERVER={server.name}, which does not use TCP")
    if scenario.lowat == AUTO:
        raise ScenarioError("LOWAT", AUTO, f"none or a number with SERVER={server.name}, which does not use TCP")


_WINDOW_MIB: Mapping[ClientKind, int] = MappingProxyType(
    {ClientKind.CHROMIUM: 6, ClientKind.FIREFOX: 12, ClientKind.WEBKIT: 32}
)
"""The flow-control window that a browser gives each stream, in MiB."""


def _check_client(scenario: Scenario, server: Server, given: Given, usual: Given) -> None:
    """Checks that a browser can do what the knobs ask for, if one is the client. Raises ScenarioError."""
    if not scenario.client.is_browser:
        return
    asked, browser = f"with CLIENT={scenario.client}", scenario.client.product
    window_mib = _WINDOW_MIB[scenario.client]
    for name, fits, allowed in (
        (
            "PLAN",
            scenario.plan is PlanKind.LOADS,
            f"{PlanKind.LOADS} {asked}: {browser} sets its flow-control windows itself",
        ),
        ("FIRST", scenario.first is None, f"as-written {asked}: {browser} keeps to the page's order"),
        (
            "PAGE",
            _is_html(scenario.whole_page),
            f"{asked}, a page that begins with HTML; all its other resources have `after`, and none `wait`",
        ),
        (
            "PRIORITY",
            scenario.priorities is Priorities.SPDY,
            f"spdy {asked}: {browser} has its own priorities",
        ),
        ("DIALECT", scenario.client_dialect == dialects.PLAIN, f"plain {asked}: {browser} has its own priorities"),
        (
            "WINDOW",
            given("WINDOW").strip().upper() == usual("WINDOW"),
            f"{usual('WINDOW')} {asked}: {browser} sets its flow-control windows itself",
        ),
        (
            "CONNECTION_WINDOW",
            scenario.connection_window_bytes is None,
            f"as-window {asked}: {browser} sets its flow-control windows itself",
        ),
        (
            "SIZE" if scenario.size_bytes else "PAGE",
            scenario.whole_page.largest_bytes <= window_mib * 2**20,
            f"at most {window_mib}M per resource {asked}: {browser}'s flow-control window per stream is {window_mib}M",
        ),
        (
            "RATE_STEPS",
            bool(scenario.reloads or not scenario.link.rate_steps),
            f"none {asked} and RELOADS=0: the first load begins before the connection exists",
        ),
        (
            "SERVER",
            server.protocol == Protocol.HTTP2 and server.over_tcp and server.tls,
            f"{asked}, a server that uses HTTP/2 over TCP and TLS",
        ),
    ):
        if not fits:
            raise ScenarioError(name, given(name), allowed)


def _check_hop(via: Via, server: Server) -> None:
    """Checks that the front's server and the second front's have the protocol between them. Raises ScenarioError."""
    level = via.http.level
    if level not in server.upstream.levels:
        names = _names_with(level, lambda other: other.upstream)
        raise ScenarioError("VIA_HTTP", via.http, f"1.1 with SERVER={server.name}; 2 with SERVER={' or '.join(names)}")
    if level not in via.front.listener.levels:
        names = _names_with(level, lambda other: other.listener)
        raise ScenarioError("VIA", via.server, f"with VIA_HTTP={via.http}, {', '.join(names)}: they listen without TLS")


def _names_with(level: str, switch_of: Callable[[Server], Switch]) -> list[str]:
    return [server.name for server in catalogue().values() if level in switch_of(server).levels]


def _check_level(
    knob: str, server: Server, asked: str, switch_of: Callable[[Server], Switch], given: str | None = None
) -> None:
    """Checks that the server has the level `asked` of the knob, such as `on` of NATIVE. Raises ScenarioError.

    switch_of: returns the property of a server that the knob sets. given: the knob's text, if this text is not the
    level's name.
    """
    levels = switch_of(server).levels
    if asked not in levels:
        others = _names_with(asked, switch_of)
        allowed = f"{', '.join(levels)} with SERVER={server.name}, which has no setting for {knob}"
        raise ScenarioError(knob, given or asked, f"{allowed}; {given or asked} with SERVER={' or '.join(others)}")
