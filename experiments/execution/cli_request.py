"""Turns a command line into a request: a named scenario, knobs that change it, and execution options."""

import difflib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from priolab.common.errors import ScenarioError, UnknownKnob
from priolab.common.tuning import TunerKind
from priolab.experiments.execution.request import Arm, Request, RunSettings, arms_for
from priolab.experiments.run.fabrics import AUTO, FABRICS, choose
from priolab.experiments.scenario.knobs import KNOBS, with_defaults
from priolab.experiments.scenario.named import entry_of
from priolab.experiments.setup.setup_request import MAKE_VARIABLE, words_in
from priolab.netem import sampling, units
from priolab.netem.link_profiles import layered
from priolab.netem.parsers import whole
from priolab.netem.shaper_kind import Shaper
from priolab.testbed import SEED_WORD, overridden, value_of

_MOST_REPETITIONS = 1000
_SHORTEST_DEADLINE_NS = 10**8
_LONGEST_DEADLINE_NS = 86_400 * 10**9
_LONGEST_NAME_BYTES = 200
"""The longest name of a folder in the path RESULTS. A file system allows 255 bytes, and the lab appends suffixes."""


@dataclass(frozen=True, kw_only=True)
class RunKnob:
    """An execution option: a knob that is not part of the scenario.

    parse: turns the given text into the option's value; raises ValueError. allowed: the allowed values, for errors and
    help. meaning: what the option does, for help.
    """

    name: str
    default: str
    parse: Callable[[str], Any]
    allowed: str
    meaning: str


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError("neither")
    return text == "yes"


def _deadline(text: str) -> int | None:
    if text == "auto":
        return None
    deadline_ns = units.parse_time_ns(text)
    if not _SHORTEST_DEADLINE_NS <= deadline_ns <= _LONGEST_DEADLINE_NS:
        raise ValueError("out of range")
    return deadline_ns


def _shaper(text: str) -> Shaper | None:
    return None if text == AUTO else Shaper(text)


def _path(text: str) -> Path:
    if not text or not text.isprintable():
        raise ValueError("empty, or not to be printed")
    if any(len(part.encode()) > _LONGEST_NAME_BYTES for part in Path(text).parts):
        raise ValueError("longer than a name may be")
    return Path(text).expanduser()


RUN_KNOBS: Mapping[str, RunKnob] = MappingProxyType(
    {
        knob.name: knob
        for knob in (
            RunKnob(
                name="SCENARIO",
                default="maps",
                parse=str,
                allowed="a name that `priolab list` shows, or a path that ends in .toml",
                meaning="named scenario to start from",
            ),
            RunKnob(
                name="CONTROL",
                default="yes",
                parse=_yes_or_no,
                allowed="yes, no",
                meaning="yes: the lab also runs the control arm, in which LOWAT is none",
            ),
            RunKnob(
                name="REPEAT",
                default="1",
                parse=whole(1, _MOST_REPETITIONS),
                allowed=f"1 to {_MOST_REPETITIONS}",
                meaning="repetitions of each arm; the summary gives medians",
            ),
            RunKnob(
                name="SEED",
                default=SEED_WORD.default,
                parse=SEED_WORD.parse,
                allowed=SEED_WORD.allowed,
                meaning=SEED_WORD.meaning,
            ),
            RunKnob(
                name="FABRIC",
                default=AUTO,
                parse=str,
                allowed=", ".join([AUTO, *FABRICS]),
                meaning="where client, link, front and origin run; virtual: in a guest with a virtual clock; compose:"
                " in containers; netns: in network namespaces of this machine; auto: the first of these that can be"
                " used",
            ),
            RunKnob(
                name="SHAPER",
                default=AUTO,
                parse=_shaper,
                allowed=", ".join([AUTO, *Shaper]),
                meaning="the program that gives the link its rate and delay; netem: the kernel's qdisc; ferry: a"
                " process of the lab; auto: netem if the kernel has it, otherwise ferry",
            ),
            RunKnob(
                name="TUNER",
                default=TunerKind.BPF,
                parse=TunerKind,
                allowed=", ".join(TunerKind),
                meaning="the tuner of LOWAT=auto, a program in the kernel; bpf: the law alone; cautious-bpf: with the"
                " rules of `priolab tune`",
            ),
            RunKnob(
                name="SAMPLE",
                default=sampling.AUTO,
                parse=sampling.parse_sample,
                allowed=sampling.ALLOWED,
                meaning="link time between samples of the front's socket and the link's queue; auto: the time in"
                " which the link transmits a packet, at least 10ms and at most 100ms, and before the measured load ten"
                " times as long; none: a single sample",
            ),
            RunKnob(
                name="CAPTURE",
                default="no",
                parse=_yes_or_no,
                allowed="yes, no",
                meaning="yes: the packets at client and front are recorded for Wireshark, with the TLS keys",
            ),
            RunKnob(
                name="REUSE",
                default="no",
                parse=_yes_or_no,
                allowed="yes, no",
                meaning="yes: the newest finished experiment with the same arms, programs, kernel and code is used"
                " instead of a new run, if there is one",
            ),
            RunKnob(
                name="DEADLINE",
                default="auto",
                parse=_deadline,
                allowed="a time such as 90s, from 100ms to 86400s, or auto",
                meaning="the longest time that a page load may take, in link time; auto: computed from link and page",
            ),
            RunKnob(
                name="RESULTS",
                default="results",
                parse=_path,
                allowed="a folder that can be written; each name in the path printable, with at most"
                f" {_LONGEST_NAME_BYTES} bytes",
                meaning="the folder for results",
            ),
        )
    }
)


def split_words(words: Iterable[str]) -> dict[str, str]:
    """Turns NAME=VALUE arguments into a mapping; an argument without `=` names a scenario. Raises ScenarioError."""
    knobs: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            name, value = "SCENARIO", word
        check_name(name)
        knobs[name] = value
    return knobs


def joined_words(knobs: Mapping[str, str]) -> str:
    """Returns knobs as they are given on a command line: `LOWAT=16384 SERVER=h2o`."""
    return " ".join(f"{name}={value}" for name, value in knobs.items())


def ignored(words: Sequence[str]) -> Iterator[str]:
    """Yields a sentence for each value without effect.

    A value has no effect if a later argument overrides it, or if it is only in an environment variable.
    """
    counts = split_words(words)
    yield from overridden(words)
    for name in (*KNOBS, *RUN_KNOBS):
        if name in os.environ and name not in counts:
            yield f"{name}={os.environ[name]} in the environment has no effect: give knobs on the command line"


def check_name(name: str) -> None:
    """Raises UnknownKnob, with similar names, unless a knob has this name."""
    known = [*KNOBS, *RUN_KNOBS]
    if name not in known:
        raise unknown_knob(name, known)


def unknown_knob(name: str, known: Sequence[str]) -> UnknownKnob:
    """Returns the error for a name that is not among the known names of knobs; it suggests similar names."""
    return UnknownKnob(name, difflib.get_close_matches(name.upper(), known, n=2), known)


def check_only(words: Mapping[str, str], names: Sequence[str], allowed: str) -> None:
    """Checks the knobs of a command that accepts only some knobs. Raises ScenarioError for a name not in `names`.

    words: the given knobs. allowed: the allowed arguments in words, for the error.
    """
    for name, value in words.items():
        if name not in names:
            raise ScenarioError(name, value, allowed)


def words_of_make() -> list[str]:
    """Returns the NAME=VALUE arguments that make passed on in the environment. Raises ScenarioError."""
    text = os.environ.get(MAKE_VARIABLE, "")
    try:
        return words_in(text)
    except ValueError as error:
        raise ScenarioError("make", text, f"arguments NAME=VALUE ({error})") from None


def run_values(words: Mapping[str, str]) -> dict[str, Any]:
    """Returns the values of all execution options, given or default. Raises ScenarioError."""
    return {name: value_of(name, words.get(name, knob.default), knob) for name, knob in RUN_KNOBS.items()}


def request_from(words: Mapping[str, str], of_arms: Mapping[str, Mapping[str, str]] | None = None) -> Request:
    """Builds the request from knobs. Raises ScenarioError, and Unavailable if no fabric can be used.

    of_arms: the knobs of each arm by its name, beside those of `words`; None for the arms that `words` make up.
    """
    run = run_values(words)
    entry = entry_of(run["SCENARIO"])
    knobs = layered(entry.knobs, {name: value.strip() for name, value in words.items() if name in KNOBS})
    if of_arms is None:
        arms = tuple(arms_for(knobs, control=run["CONTROL"]))
    else:
        arms = tuple(_arm(name, layered(knobs, own)) for name, own in of_arms.items())
    if not arms:
        raise ScenarioError("arms", "none", "at least one")
    fabric, why = choose(run["FABRIC"], [arm.scenario for arm in arms], run["SHAPER"])
    named_by_page = "PAGE" in words and "SCENARIO" not in words
    return Request(
        name=arms[0].scenario.page if named_by_page else entry.name,
        arms=arms,
        repeat=run["REPEAT"],
        run_settings=RunSettings(
            fabric=fabric,
            fabric_reason=why,
            shaper=run["SHAPER"],
            sample=run["SAMPLE"],
            load_deadline_ns=run["DEADLINE"],
            tuner=run["TUNER"],
            capture=run["CAPTURE"],
        ),
        results=run["RESULTS"],
        seed=run["SEED"],
        reuse=run["REUSE"],
    )


def _arm(name: str, knobs: Mapping[str, str]) -> Arm:
    if not name.strip(".") or "/" in name or not name.isprintable():
        raise ScenarioError("arm", name, "a name that a folder may have")
    return Arm(name=name, knobs=with_defaults(knobs))
