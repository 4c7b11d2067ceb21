"""The choices that the page offers: knobs with values worth trying, named scenarios, and installed servers."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from priolab.client.plan import PlanKind
from priolab.common.formats.plan import Protocol
from priolab.common.home import set_up_part
from priolab.experiments.scenario.knobs import KNOBS, group_of, scenario_from
from priolab.experiments.scenario.named import LAYERS, Entry, catalogue
from priolab.experiments.setup.installed import lack_of
from priolab.extras.demo.plain_names import plain
from priolab.proxy.server import catalogue as servers

LOWATS = ("none", "1M", "524288", "262144", "131072", "65536", "32768", "16384", "8192", "4096", "1024", "auto")
"""The values of the LOWAT slider, from no limit to the lowest limit; the last value, auto, uses the tuner."""

_WORTH_TRYING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "CC": ("cubic", "bbr", "reno"),
        "CLIENT": ("h2", "chromium", "firefox", "webkit"),
        "RATE": ("64kbps", "128kbps", "256kbps", "512kbps", "10mbit", "100mbit", "unlimited"),
        "DELAY": ("0ms", "20ms", "100ms", "300ms"),
        "QUEUE": ("10", "25", "100", "1000"),
        "PRIORITY": ("spdy", "swap", "none"),
        "SNDBUF": ("4M", "stock"),
        "RECORD": ("stock", "1400", "4096", "16384"),
        "RELOADS": ("0", "2", "4"),
        "JS_DELAY": ("0ms", "200ms", "1s"),
        "BUFFERING": ("on", "off"),
        "WINDOW": ("65535", "16M"),
        "LOSS": ("0%", "1%"),
    }
)

_TELLING: Mapping[str, str] = MappingProxyType(
    {"QUEUE": "1000", "RATE": "512kbps", "DELAY": "20ms", "SERVER": "haproxy", "PRIORITY": "swap", "RELOADS": "0"}
)
"""The value that the page compares with the default, if it is not simply the first other value."""

_EARLY_WITHOUT_LIMIT = ("first-load", "small-window")
"""The spoilt scenarios whose script is early without LOWAT, too: their cure shows in the arm without LOWAT."""


def offers() -> dict[str, Any]:
    """Returns everything that the page needs before any run."""
    return {"lowats": list(LOWATS), "knobs": _knobs(), "scenarios": [_scenario(entry) for entry in _to_be_seen()]}


def _knobs() -> list[dict[str, Any]]:
    """Returns all knobs of a scenario. `values` lists the values worth trying, if any.

    group: the name of the knob's group. names: the plain name of an arm with this value. telling: the value to compare
    with the default; None for any other.
    """
    values = {"SERVER": _servers(), "LOWAT": LOWATS, **_WORTH_TRYING}
    return [
        {
            "name": knob.name,
            "group": group_of(knob.name),
            "default": knob.default,
            "allowed": knob.allowed,
            "meaning": knob.meaning,
            "values": list(values.get(knob.name, ())),
            "names": {value: plain(knob.name, value) for value in values.get(knob.name, ())},
            "telling": _TELLING.get(knob.name),
        }
        for knob in KNOBS.values()
    ]


def live() -> dict[str, Any]:
    """Returns the same for the page of this machine, which also says which servers are not installed here."""
    every = offers()
    shown = next(knob for knob in every["knobs"] if knob["name"] == "SERVER")
    if missing := [name for name in _sampled() if name not in shown["values"]]:
        first, mark, rest = shown["meaning"].partition("; ")
        shown["meaning"] = f"{first}, {set_up_part('servers')} installs {', '.join(missing)}{mark}{rest}"
    return every


def _servers() -> tuple[str, ...]:
    """Returns the installed servers of those that can be offered."""
    return tuple(name for name in _sampled() if lack_of(servers()[name]) is None)


def _sampled() -> Iterator[str]:
    """Yields the servers with HTTP/2 over TCP. The sockets of these servers can be sampled."""
    for name, server in servers().items():
        if server.over_tcp and server.protocol == Protocol.HTTP2:
            yield name


def _to_be_seen() -> list[Entry]:
    """Returns the named scenarios, except probes: the times of a probe depend on the client alone."""
    return [entry for entry in catalogue().values() if scenario_from(entry.knobs).plan is PlanKind.LOADS]


def _scenario(entry: Entry) -> dict[str, Any]:
    card = entry.card
    return {
        "name": entry.name,
        "title": entry.title,
        "expect": entry.expect,
        "knobs": dict(entry.knobs),
        "card": card
        and {
            "see": card.see,
            "layer": LAYERS[card.layer],
            "tell": card.tell,
            "cure": dict(card.cure_knobs),
            "cured_arm": 0 if entry.name in _EARLY_WITHOUT_LIMIT else 1,
        },
    }
