"""Faults, and schedules of them that follow from a seed. Pure.

Rules:
1. A fault is two events: it begins, and it ends. What is cut is healed, what crashes starts anew, and a knob has its
   first value again.
2. Faults of the same pair of hosts, of the programs of the same host, or of the same knob do not overlap.
3. A schedule has at most as many faults as its budget says. Each begins in the budget's time, and is not longer than
   the budget's length. Short lengths are as frequent as long ones: each doubling of the length is equally likely.
4. All choices are whole numbers, which a seed draws, or somebody else, such as hypothesis (strategies.py). Small ones
   mean fewer, earlier and shorter faults.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

from priolab.common.errors import ScenarioError
from priolab.netem import units
from priolab.netem.link_options import HOST_LINK_OPTIONS
from priolab.testbed.option_values import value_of
from priolab.testbed.sandbox import knobs
from priolab.testbed.sandbox.schedule import CHANGING, CLIENT, Verb, assigned, seconds
from priolab.testbed.sandbox.spec import SandboxSpec

FAULTS = "--faults"
"""The option that has faults, for errors."""

Chooser = Callable[[int, int], int]
"""Chooses a whole number from the first to the second, both included."""

Schedule = tuple[tuple[str, str], ...]
"""Times and events, as `--at` has them."""

CRASH = "crash"
_MS = 10**6
_SHORTEST_MS = 10
_MOST_FAULTS = 100
_EACH = "*"
_DOUBLINGS = 6

_PAIRS: Mapping[str, str] = {Verb.PARTITION: Verb.HEAL, Verb.HOLD: Verb.RELEASE}
_HOSTS: Mapping[str, tuple[str, str]] = {
    CRASH: (Verb.KILL, Verb.RESTART),
    Verb.STOP: (Verb.STOP, Verb.CONTINUE),
    Verb.DOWN: (Verb.DOWN, Verb.UP),
}
_SHARES_AND_TIMES = ("LOSS", "DELAY", "JITTER", "REORDER", "DUPLICATE", "CORRUPT")
_AT_MOST = tuple(f"{name}{way}" for name in _SHARES_AND_TIMES for way in ("", "_UP"))
_AT_LEAST = ("RATE", "RATE_UP")
_ANY_VALUE = tuple(name for name in CHANGING if name in HOST_LINK_OPTIONS)
_ALLOWED = (
    f"faults with commas between them: {', '.join((*_PAIRS, *_HOSTS))}, each with its hosts or without; KNOB<=VALUE,"
    " RATE>=VALUE or KNOB=VALUE, with HOST. or *. before it; and the budget faults<=4, length<=5s, within<=10s"
)
_KNOB = re.compile(r"(?:([^.\s<>=]+)\.)?([A-Z_]+)\s*(<=|>=|=)\s*(\S+)")
_BUDGET = re.compile(r"([a-z]+)\s*<=\s*(\S+)")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault. begin, end: its events. subject: what no other fault concerns meanwhile. at_ms, length_ms: when it
    begins, from the client's start on, and how long it lasts.
    """

    begin: str
    end: str
    subject: str
    at_ms: int = 0
    length_ms: int = _SHORTEST_MS

    @property
    def end_ms(self) -> int:
        """The time of its end."""
        return self.at_ms + self.length_ms

    def overlaps(self, other: "Fault") -> bool:
        """Returns True if both concern the same at any time."""
        return self.subject == other.subject and self.at_ms <= other.end_ms and other.at_ms <= self.end_ms


def schedule_of_faults(faults: Iterable[Fault]) -> Schedule:
    """Returns the events of faults, in the order of time."""
    events = [(at_ms, event) for each in faults for at_ms, event in ((each.at_ms, each.begin), (each.end_ms, each.end))]
    return tuple((f"{seconds(at_ms * _MS)}s", event) for at_ms, event in sorted(events, key=lambda each: each[0]))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The most faults of a schedule, the longest of them, and the time in which they begin."""

    faults: int = 4
    length_ms: int = 5_000
    within_ms: int = 10_000

    def __str__(self) -> str:
        length, within = (f"{seconds(each_ms * _MS)} s" for each_ms in (self.length_ms, self.within_ms))
        most = "1 fault" if self.faults == 1 else f"1 to {self.faults} faults"
        return f"{most}, each of {_SHORTEST_MS} ms to {length}, which begin within {within}"


_Variant = Callable[[Chooser], Fault]
"""Chooses what is open in a kind of fault, such as a value."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults that may happen in a sandbox. spec: the sandbox, with its own schedule. kinds: of faults, each with the
    hosts that it may concern.
    """

    spec: SandboxSpec
    kinds: Sequence[Sequence[_Variant]]
    budget: Budget

    @classmethod
    def parse(cls, text: str, spec: SandboxSpec, where: str = FAULTS) -> "Faults":
        """Parses faults such as `partition, crash server, LOSS<=30%`. Raises ScenarioError.

        where: what has the text, for errors.
        """
        kinds: list[Sequence[_Variant]] = []
        given: dict[str, str] = {}
        for word in filter(None, map(str.strip, text.split(","))):
            if match := _BUDGET.fullmatch(word):
                given[match[1]] = match[2]
            elif match := _KNOB.fullmatch(word):
                kinds.append([*_of_knob(word, match, spec, where)])
            else:
                kinds.append([*_of_verb(word, spec, where)])
        budget = _budget(given, spec, where)
        if not kinds:
            raise ScenarioError(where, text, _ALLOWED)
        found = cls(spec=spec, kinds=kinds, budget=budget)
        for variant in (each for kind in kinds for each in kind):
            for extreme in (min, max):
                found.scheduled([variant(extreme)], where)
        return found

    def scheduled(self, faults: Iterable[Fault], where: str = FAULTS) -> SandboxSpec:
        """Returns the spec with these faults beside the events that it has. Raises ScenarioError."""
        own = ((f"{at_ns}ns", text) for at_ns, text in self.spec.schedule)
        return self.spec.scheduled((*own, *schedule_of_faults(faults)), knobs.of_way({}), where)

    def chosen(self, choose: Chooser) -> tuple[Fault, ...]:
        """Returns faults that can happen together, in the order of their choice."""
        faults: list[Fault] = []
        for _ in range(choose(1, self.budget.faults)):
            kind = self.kinds[choose(0, len(self.kinds) - 1)]
            fault = self._placed(kind[choose(0, len(kind) - 1)](choose), choose)
            if not any(fault.overlaps(each) for each in faults):
                faults.append(fault)
        while not self._can_happen(faults):  # not the first alone, as `parse` has seen
            faults.pop()
        return tuple(faults)

    def drawn(self, seed: int) -> tuple[Fault, ...]:
        """Returns the faults that follow from a seed."""
        draw = Random(f"faults {seed}").random  # the one method whose numbers every version of Python keeps

        return self.chosen(lambda least, most: least + int(draw() * (most - least + 1)))

    def _placed(self, fault: Fault, choose: Chooser) -> Fault:
        """Returns the fault at a time, with a length, that are chosen."""
        longest_ms = self.budget.length_ms
        shortest_ms = _SHORTEST_MS << choose(0, (longest_ms // _SHORTEST_MS).bit_length() - 1)
        length_ms = choose(shortest_ms, min(longest_ms, 2 * shortest_ms - 1))
        return Fault(
            begin=fault.begin,
            end=fault.end,
            subject=fault.subject,
            at_ms=choose(0, self.budget.within_ms),
            length_ms=length_ms,
        )

    def possible(self, faults: Sequence[Fault]) -> bool:
        """Returns False for faults that cannot happen together."""
        return not any(one.overlaps(other) for one, other in combinations(faults, 2)) and self._can_happen(faults)

    def _can_happen(self, faults: Iterable[Fault]) -> bool:
        """Returns False for events that are refused, such as a mean burst that is too short for a loss."""
        try:
            self.scheduled(faults)
        except ScenarioError:
            return False
        return True


def _budget(given: Mapping[str, str], spec: SandboxSpec, where: str) -> Budget:
    """Returns the budget; by default one of a client that may run for so long. Raises ScenarioError."""
    limit_ms = spec.limit_ns // _MS
    usual = Budget()
    found = {
        "faults": usual.faults,
        "within": min(usual.within_ms, limit_ms // 2),
        "length": min(usual.length_ms, limit_ms // 4),
    }
    for name, text in given.items():
        try:
            if name not in found:
                raise ValueError("no part of the budget")
            found[name] = int(text) if name == "faults" else units.parse_time_ns(text) // _MS
        except ValueError:
            raise ScenarioError(where, f"{name}<={text}", _ALLOWED) from None
    budget = Budget(faults=found["faults"], length_ms=found["length"], within_ms=found["within"])
    if not 1 <= budget.faults <= _MOST_FAULTS:
        raise ScenarioError(where, f"faults<={budget.faults}", f"1 to {_MOST_FAULTS} faults")
    if budget.length_ms < _SHORTEST_MS or not 0 <= budget.within_ms < limit_ms - budget.length_ms:
        longest = f"{seconds(spec.limit_ns)} s"
        length, within = (f"{seconds(each * _MS)}s" for each in (budget.length_ms, budget.within_ms))
        allowed = (
            f"lengths from {_SHORTEST_MS}ms on, and both together shorter than the client's longest time, {longest}"
        )
        raise ScenarioError(where, f"length<={length}, within<={within}", allowed)
    return budget


def _of_verb(word: str, spec: SandboxSpec, where: str) -> Iterator[_Variant]:
    """Yields a pair of events for each choice of hosts. Raises ScenarioError."""
    verb, *names = word.split()
    for name in names:
        if name not in spec.numbers and name != "to":
            raise ScenarioError(where, word, f"the hosts {', '.join(spec.numbers)}")
    beside = [*spec.companions]
    if not names and not beside and verb in (*_PAIRS, *_HOSTS):
        raise ScenarioError(where, word, f"faults with their hosts, as none but {CLIENT} has a command")
    if verb in _PAIRS and (not names or len({*names} - {"to"}) == 2):
        hosts = [CLIENT, *beside]
        pairs = [names] if names else [[one, other] for at, one in enumerate(hosts) for other in hosts[at + 1 :]]
        for pair in pairs:
            yield _fixed(
                f"{verb} {' '.join(pair)}", " ".join((_PAIRS[verb], pair[0], pair[-1])), {verb, *pair} - {"to"}
            )
    elif verb in _HOSTS and len(names) <= 1:
        begin, end = _HOSTS[verb]
        for host in names or beside:
            subject = verb if verb == Verb.DOWN else "programs"
            yield _fixed(f"{begin} {host}", f"{end} {host}", {subject, host})
    else:
        near = difflib.get_close_matches(verb, (*_PAIRS, *_HOSTS), n=1)
        raise ScenarioError(where, word, f"{near[0]}; {_ALLOWED}" if near and near[0] != verb else _ALLOWED)


def _fixed(begin: str, end: str, subject: Iterable[str]) -> _Variant:
    fault = Fault(begin=begin, end=end, subject=" ".join(sorted(subject)))
    return lambda _: fault


def _of_knob(word: str, match: re.Match[str], spec: SandboxSpec, where: str) -> Iterator[_Variant]:
    """Yields another value of a knob for each link. Raises ScenarioError."""
    host, knob, relation, text = match.groups()
    allowed_knobs = {"<=": _AT_MOST, ">=": _AT_LEAST, "=": _ANY_VALUE}[relation]
    if knob not in allowed_knobs:
        near = difflib.get_close_matches(knob, allowed_knobs, n=1)
        told = f"{near[0]}; " if near else ""
        raise ScenarioError(where, word, f"{told}{relation} after a knob of {', '.join(allowed_knobs)}")
    if host is not None and host not in (_EACH, *spec.numbers):
        raise ScenarioError(where, word, f"{_EACH} for each host, or one of {', '.join(spec.numbers)}")
    for each in (CLIENT, *spec.companions) if host == _EACH else (host or CLIENT,):
        of_link = spec.knobs if each == CLIENT else spec.links.get(each, knobs.of_way({}))
        first = of_link.get(knob, knobs.default(knob))
        option = HOST_LINK_OPTIONS[knob]
        bound = value_of(f"{where} {knob}", text, option)
        values = _values(relation, text, bound, option.parse(first))
        if not values:
            sense = "above" if relation == "<=" else "below"
            raise ScenarioError(where, word, f"a value {sense} that at the beginning, {assigned(each, knob, first)}")
        yield _knob_fault(each, knob, values, first)


def _knob_fault(host: str, knob: str, values: Sequence[str], first: str) -> _Variant:
    def fault(choose: Chooser) -> Fault:
        value = values[choose(0, len(values) - 1)]
        begin, end = (assigned(host, knob, each) for each in (value, first))
        return Fault(begin=begin, end=end, subject=f"{host} {knob}")

    return fault


def _values(relation: str, text: str, bound: float | None, first: float | None) -> Sequence[str]:
    """Returns the texts of the values that a knob may have, the mildest first.

    text, bound: the value that is given. first: that at the beginning; None for no limit.
    """
    if relation == "=":
        return [text]
    if relation == ">=":
        if bound is None:
            return []
        rates = (round(bound) << doublings for doublings in reversed(range(_DOUBLINGS + 1)))
        return [f"{rate_bit_s}bit" for rate_bit_s in rates if first is None or rate_bit_s < first]
    assert bound is not None, "shares and times are numbers"
    assert first is not None, "shares and times are numbers"
    if "%" in text:
        least, most = (round(share * 1000) for share in (first, bound))
        return [f"{tenths / 10:g}%" for tenths in range(least + 1, most + 1)]
    step_ns = _MS if bound - first >= _SHORTEST_MS * _MS else 1000
    least, most = (int(each_ns) // step_ns for each_ns in (first, bound))
    return [f"{number}{'ms' if step_ns == _MS else 'us'}" for number in range(least + 1, most + 1)]
