"""The knobs of the second front, and of the link between the two fronts."""

from collections.abc import Mapping
from typing import Any

from priolab.common.errors import ScenarioError
from priolab.experiments.scenario.knob import Knob, named, server_for
from priolab.experiments.scenario.scenario import Via, ViaHttp
from priolab.netem import link_options
from priolab.netem.link_ranges import LinkError
from priolab.netem.parsers import one_or, words_of
from priolab.proxy.server import catalogue
from priolab.proxy.switch import HTTP1
from priolab.testbed import end_words


def _of_the_link(knob: str, meaning: str, **changes: str) -> Knob:
    """Returns a knob with the notation of the link's knob of the same name without VIA_."""
    option = link_options.LINK_OPTIONS[knob.removeprefix("VIA_")]
    return Knob.of(knob, option, field=f"via_link.{option.field}", meaning=meaning, **changes)


_SERVERS = [server.name for server in catalogue().values() if HTTP1 in server.listener.levels]

KNOBS = (
    Knob(
        name="VIA",
        default="none",
        field="via.server",
        parse=one_or("none", server_for("VIA")),
        allowed=f"none, {', '.join(_SERVERS)}; with an at sign the server of a suite or version, as in SERVER; or the"
        " path of a server's folder, with a slash",
        meaning="a second front between SERVER and the origin, as an origin shield behind an edge server; several"
        " values, separated by commas, make an arm each",
    ),
    Knob.of(
        "VIA_LOWAT",
        end_words.END_WORDS["LOWAT"],
        field="via.lowat",
        meaning="TCP_NOTSENT_LOWAT of the second front in bytes; none: no limit; several values, separated by commas,"
        " make an arm each",
    ),
    Knob(
        name="VIA_HTTP",
        default=ViaHttp.HTTP1,
        field="via.http",
        parse=ViaHttp,
        allowed=words_of(ViaHttp),
        meaning="the version of HTTP between the two fronts, without TLS; 1.1: each response that is on its way has a"
        f" connection of its own; 2: responses share a connection ({named(lambda server: server.upstream)})",
    ),
    _of_the_link("VIA_RATE", "rate of the link between the two fronts, toward SERVER", default="unlimited"),
    _of_the_link("VIA_DELAY", "one-way delay of the link between the two fronts, in each direction", default="10ms"),
    _of_the_link("VIA_QUEUE", "size of the bottleneck queue of the link between the two fronts, toward SERVER"),
)
"""The knobs of the second front; VIA comes first."""


def via_from(fields: Mapping[str, Any], link: Mapping[str, Any], knobs: Mapping[str, str]) -> Via | None:
    """Returns the second front; None with VIA=none, with which all its other knobs have their defaults.

    fields, link: the values of the groups `via` and `via_link`, by field. knobs: the texts of all knobs. Raises
    ScenarioError.
    """
    if fields["server"] is not None:
        try:
            between = link_options.link_of({**link, "delay_up_ns": link["delay_ns"]})
        except LinkError as error:
            raise ScenarioError("VIA_QUEUE", knobs["VIA_QUEUE"], error.allowed) from None
        names = ("rate_bit_s", "delay_ns", "queue_packets", "queue_bytes")
        return Via(**fields, **{name: getattr(between, name) for name in names})
    for knob in KNOBS[1:]:
        if knobs[knob.name] != knob.default:
            raise ScenarioError(knob.name, knobs[knob.name], f"{knob.default} with VIA=none")
    return None
