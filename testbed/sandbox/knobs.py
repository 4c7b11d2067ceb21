"""The knobs of a sandbox: those of the client's link and of the server's TCP, and where it runs. One that is not given
does nothing: without knobs the link has no rate and no delay, and TCP is as the kernel has it. Knobs HOST.NAME are
those of the link of another host.
"""

import difflib
from collections.abc import Iterable, Mapping
from contextlib import suppress

from priolab.common.errors import ScenarioError, UnknownKnob
from priolab.netem import units
from priolab.netem.link_options import HOST_LINK_OPTIONS, packed_traces
from priolab.netem.link_profiles import LINK, OPTION, profile_of, with_profile
from priolab.testbed.option_values import SEED_WORD, value_of
from priolab.testbed.topology.end_words import CROSS_WORDS, END_WORDS, way_from

_NONE = "none"
_WORDS = {**HOST_LINK_OPTIONS, **CROSS_WORDS, **END_WORDS}
OF_LINK = tuple(_WORDS)
"""The knobs of the link and of the server's TCP."""

FABRIC, SEED, AUTO = "FABRIC", "SEED", "auto"
ALLOWED = (LINK, *OF_LINK, FABRIC, SEED)
"""All knobs of a sandbox."""

LIMIT_S, WALL_LIMIT_S = 86_400.0, 600.0
"""The default time limits of a client: on the clock of the hosts (--limit), and on this machine's (--wall-limit)."""

_LEAST_MIB, _MOST_MIB = 128, 2**16

_DEFAULTS = {"RATE": "unlimited", "DELAY": "0ms", "QUEUE": "1000"}
"""The values that differ from the defaults of an experiment. QUEUE is as long as that of a Linux device."""


def default(name: str) -> str:
    """Returns the value of a knob that is not given."""
    if name == FABRIC:
        return AUTO
    word = {**_WORDS, SEED: SEED_WORD, LINK: OPTION}[name]
    return _DEFAULTS.get(name, word.default)


def parsed(words: Iterable[str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Returns the values of the knobs in words NAME=VALUE, and by hosts those in words HOST.NAME=VALUE.

    The hosts' knobs are not checked (`check_link`). Raises ScenarioError.
    """
    given: dict[str, str] = {}
    links: dict[str, dict[str, str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ScenarioError("KNOB", word, "NAME=VALUE, such as RATE=10mbit; the client's command follows `--`")
        host, dot, of_host = name.partition(".")
        if dot:
            links.setdefault(host, {})[of_host] = value
        else:
            given[name] = value
    check(given)
    return given, links


def check_link(host: str, given: Mapping[str, str], hosts: Iterable[str]) -> None:
    """Checks the names of the knobs of a host's link. hosts: those that may have them. Raises ScenarioError."""
    if host not in hosts:
        name, value = next(iter(given.items()))
        allowed = f"HOST.NAME=VALUE with a host of {', '.join(hosts)}; the client's knobs are without a host"
        raise ScenarioError(f"{host}.{name}", value, allowed)
    known = (LINK, *HOST_LINK_OPTIONS)
    for name, value in given.items():
        if name not in known:
            near = "".join(f"{each}; " for each in difflib.get_close_matches(name.upper(), known, n=1))
            raise ScenarioError(f"{host}.{name}", value, f"{near}the knobs of a link: {', '.join(known)}")
    profile_of(given.get(LINK, OPTION.default), f"{host}.{LINK}")


def check(given: Mapping[str, str]) -> None:
    """Checks the names of knobs, and the values of SEED and LOWAT. Raises ScenarioError."""
    for name in given:
        if name not in ALLOWED:
            raise UnknownKnob(name, difflib.get_close_matches(name.upper(), ALLOWED, n=2), ALLOWED)
    if given.get("LOWAT") == "auto":
        raise ScenarioError("LOWAT", "auto", f"{END_WORDS['LOWAT'].allowed} in a sandbox")


def of_way(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the knobs of a way: those given, those that LINK stands for, and those that differ from an experiment's.

    A trace has the rate, and a guest cannot read its file: its knob holds the trace itself. Raises ScenarioError.
    """
    knobs = _DEFAULTS | {name: value for name, value in with_profile(given).items() if name in OF_LINK}
    if knobs.get("TRACE", _NONE) != _NONE and "RATE" not in given:
        del knobs["RATE"]
    return {**knobs, **packed_traces(way_from(knobs).link)}


def seed(given: Mapping[str, str]) -> int:
    """Returns the value of SEED. Raises ScenarioError."""
    return int(value_of(SEED, given.get(SEED, SEED_WORD.default), SEED_WORD))


def memory_mib(text: str | None) -> int | None:
    """Returns the MiB of a guest's memory; None without a text. Raises ScenarioError."""
    if text is None:
        return None
    with suppress(ValueError):
        mib = units.parse_size_bytes(text) // 2**20
        if _LEAST_MIB <= mib <= _MOST_MIB:
            return mib
    raise ScenarioError("--memory", text, f"a size from {_LEAST_MIB}m to {_MOST_MIB // 1024}g, such as 2g")
