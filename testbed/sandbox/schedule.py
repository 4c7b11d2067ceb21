"""A schedule: the events of a run, each with its time. Pure: it parses and checks, and events.py carries out.

Rules:
1. Times count from the client's start. Events of the same time happen in the order in which they are given.
2. A change of a link holds for packets that enter it afterwards (netem/later_links.py).
3. A partition drops packets when they leave their host. Those that have left it before arrive. Hosts keep their
   addresses and routes.
4. `heal` ends partitions, and gives links the knobs that they had at the beginning. What `down` did, `up` ends.
"""

import difflib
import shlex
import signal
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar

from priolab.common.errors import ScenarioError, Unfit
from priolab.netem import units
from priolab.netem.later_links import links_over_time, parts_of
from priolab.netem.link import Link
from priolab.netem.link_options import HOST_LINK_OPTIONS
from priolab.netem.link_profiles import LINK, layered, with_profile
from priolab.netem.link_ranges import LinkError
from priolab.testbed.option_values import parsed_time_ns
from priolab.testbed.topology.end_words import check_cross, way_from

CLIENT = "client"
"""The name of the host whose link's knobs are without a host."""

AT = "--at"
"""The option that has an event, for errors."""

_FIXED = ("RATE_STEPS", "TRACE", "TRACE_UP", "QDISC", "ECN")
CHANGING = (LINK, *(name for name in HOST_LINK_OPTIONS if name not in _FIXED))
"""The knobs of a link that may change during a run."""


def assigned(host: str, knob: str, value: str) -> str:
    """Returns the word that gives a knob of a host's link a value: `phone.LOSS=1%`, of the client `LOSS=1%`."""
    return f"{'' if host == CLIENT else f'{host}.'}{knob}={value}"


LEAST, MOST = "0s", "1000000s"
"""The range of the times of events."""
_NS = 10**9
_FARTHEST_NS = 50 * 366 * 86_400 * _NS
"""The most by which the time of day may differ from that of the start, in 2026. A kernel has none before 1970."""
_TO = "to"


class Verb(StrEnum):
    """The first words of events that are no change of a knob."""

    PARTITION = "partition"
    HEAL = "heal"
    HOLD = "hold"
    RELEASE = "release"
    DOWN = "down"
    UP = "up"
    KILL = "kill"
    STOP = "stop"
    CONTINUE = "continue"
    RESTART = "restart"
    RUN = "run"
    CLOCK = "clock"


@dataclass(frozen=True, kw_only=True)
class LinkChange:
    """A knob of a host's link takes another value. host: the client for a knob without a host."""

    host: str
    knob: str
    value: str

    def __str__(self) -> str:
        return assigned(self.host, self.knob, self.value)

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts that the event names."""
        return (self.host,)


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Packets from one host to another are dropped, and also those of the other direction, unless one_way is True.

    verb: PARTITION, or HOLD for packets that wait until they are released.
    """

    one: str
    other: str
    one_way: bool = False
    verb: Verb = Verb.PARTITION

    def __str__(self) -> str:
        return f"{self.verb} {self.one} {f'{_TO} ' if self.one_way else ''}{self.other}"

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts that the event names."""
        return (self.one, self.other)

    @property
    def ways(self) -> Sequence[tuple[str, str]]:
        """The senders and receivers whose packets are dropped."""
        return ((self.one, self.other),) if self.one_way else ((self.one, self.other), (self.other, self.one))


@dataclass(frozen=True, kw_only=True)
class HostEvent:
    """An event of hosts that its verb and their names describe.

    heal: of no host for all, of one for its link and its partitions, of two for the partition between them. release: of
    packets that wait, by hosts in the same way. down, up: packets to and from the host are dropped, and no longer.
    stop, continue: its programs stand still, and go on. restart: its programs end by SIGKILL, and its command starts
    anew.
    """

    verb: Verb
    hosts: Sequence[str] = ()

    def __str__(self) -> str:
        return " ".join((self.verb, *self.hosts))


@dataclass(frozen=True, kw_only=True)
class Kill:
    """All programs of a host end by SIGKILL; or the process that its command started gets another signal."""

    host: str
    signal: str | None = None

    def __str__(self) -> str:
        return f"{Verb.KILL} {self.host}{f' {self.signal}' if self.signal else ''}"

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts that the event names."""
        return (self.host,)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A further program starts on a host. command: its argument list."""

    host: str
    command: Sequence[str]

    def __str__(self) -> str:
        return f"{Verb.RUN} {self.host} {shlex.quote(shlex.join(self.command))}"

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts that the event names."""
        return (self.host,)


@dataclass(frozen=True, kw_only=True)
class ClockJump:
    """The time of day of all hosts jumps. by_ns: forward, or back if negative."""

    by_ns: int
    hosts: ClassVar[Sequence[str]] = ()

    def __str__(self) -> str:
        return f"{Verb.CLOCK} {'-' if self.by_ns < 0 else '+'}{abs(self.by_ns)}ns"


Event = LinkChange | Partition | HostEvent | Kill | Run | ClockJump

FOLLOW = "follow"
"""The first word of what stands for the events in a table (link_table.py)."""

_USAGE: Mapping[str, str] = {
    Verb.PARTITION: "partition A B, or partition A to B for one direction",
    Verb.HEAL: "heal, heal HOST, or heal A B",
    Verb.HOLD: "hold A B, or hold A to B for one direction",
    Verb.RELEASE: "release, release HOST, or release A B",
    Verb.DOWN: "down HOST",
    Verb.UP: "up HOST",
    Verb.KILL: "kill HOST, or kill HOST SIGNAL with a SIGNAL such as TERM",
    Verb.STOP: "stop HOST",
    Verb.CONTINUE: "continue HOST",
    Verb.RESTART: "restart HOST",
    Verb.RUN: "run HOST 'COMMAND'",
    Verb.CLOCK: "clock +TIME or clock -TIME, such as clock +3600s",
    FOLLOW: "follow HOST FILE, or follow HOST FILE TIMES",
}


def seconds(time_ns: int) -> str:
    """Formats a time in seconds, all digits that it has."""
    return "{}.{:09}".format(*divmod(time_ns, _NS)).rstrip("0").rstrip(".")


@dataclass(frozen=True, kw_only=True)
class Step:
    """An event at its time. text: the event as it was given; empty for one that was not given as a text."""

    at_ns: int
    event: Event
    text: str = ""

    @classmethod
    def parse(cls, at: str, text: str, where: str = AT) -> "Step":
        """Parses a time such as `5s` and an event such as `phone.LOSS=100%`. Raises ScenarioError.

        where: what has them, for the error.
        """
        return cls(at_ns=parsed_time_ns(where, at, LEAST, MOST), event=parsed_event(text, where), text=text.strip())

    @property
    def shown(self) -> str:
        """Time and event in words that `--at` takes."""
        return f"{seconds(self.at_ns)}s {self.text or self.event}"


def parsed_event(text: str, where: str = AT) -> Event:
    """Returns the event that a text describes. Raises ScenarioError, which names the nearest word that is allowed."""
    try:
        verb, *words = shlex.split(text) or [""]
    except ValueError:
        raise ScenarioError(where, text, "an event in which every quote is closed") from None
    if "=" in verb and not words:
        return _link_change(verb, text, where)
    if verb not in Verb.__members__.values():
        near = difflib.get_close_matches(verb, _USAGE, n=1)
        usage = "; ".join(_USAGE[each] for each in near) or "; ".join(_USAGE.values())
        raise ScenarioError(where, text, f"KNOB=VALUE or HOST.KNOB=VALUE; {usage}")
    found = _READ[Verb(verb)](words)
    if found is None:
        raise ScenarioError(where, text, _USAGE[Verb(verb)])
    return found


def _link_change(word: str, text: str, where: str) -> Event:
    name, _, value = word.partition("=")
    host, dot, knob = name.rpartition(".")
    if knob not in CHANGING:
        near = difflib.get_close_matches(knob.upper(), CHANGING, n=2)
        allowed = f"{' or '.join(near)}; " if near else ""
        raise ScenarioError(where, text, f"{allowed}a knob of {', '.join(CHANGING)}")
    if dot and host in ("", CLIENT):
        raise ScenarioError(where, text, f"{knob}={value}; the client's knobs are without a host")
    return LinkChange(host=host or CLIENT, knob=knob, value=value)


def _between(verb: Verb) -> Callable[[Sequence[str]], Event | None]:
    def read(words: Sequence[str]) -> Event | None:
        match words:
            case [one, other] if one != other:
                return Partition(one=one, other=other, verb=verb)
            case [one, between, other] if between == _TO and one != other:
                return Partition(one=one, other=other, one_way=True, verb=verb)
        return None

    return read


def _of_hosts(verb: Verb, numbers: Collection[int]) -> Callable[[Sequence[str]], Event | None]:
    def read(words: Sequence[str]) -> Event | None:
        return HostEvent(verb=verb, hosts=tuple(words)) if len(words) in numbers else None

    return read


def _kill(words: Sequence[str]) -> Event | None:
    match words:
        case [host]:
            return Kill(host=host)
        case [host, name]:
            number = f"SIG{name.upper().removeprefix('SIG')}"
            return Kill(host=host, signal=number) if number in signal.Signals.__members__ else None
    return None


def _run(words: Sequence[str]) -> Event | None:
    match words:
        case [host, command]:
            try:
                split = tuple(shlex.split(command))
            except ValueError:
                return None
            return Run(host=host, command=split) if split else None
    return None


def _clock(words: Sequence[str]) -> Event | None:
    match words:
        case [by] if by[:1] in ("+", "-"):
            try:
                by_ns = units.parse_time_ns(by[1:])
            except ValueError:
                return None
            return ClockJump(by_ns=-by_ns if by[0] == "-" else by_ns)
    return None


_READ: Mapping[Verb, Callable[[Sequence[str]], Event | None]] = {
    **{verb: _between(verb) for verb in (Verb.PARTITION, Verb.HOLD)},
    **{verb: _of_hosts(verb, (0, 1, 2)) for verb in (Verb.HEAL, Verb.RELEASE)},
    Verb.KILL: _kill,
    Verb.RUN: _run,
    Verb.CLOCK: _clock,
    **{verb: _of_hosts(verb, (1,)) for verb in (Verb.DOWN, Verb.UP, Verb.STOP, Verb.CONTINUE, Verb.RESTART)},
}


def schedule_of(given: Iterable[tuple[str, str]], where: str = AT) -> tuple[Step, ...]:
    """Returns the steps of pairs of a time and an event, in the order of time. Raises ScenarioError."""
    return tuple(sorted((Step.parse(at, text, where) for at, text in given), key=lambda step: step.at_ns))


def check(steps: Sequence[Step], programs: Mapping[str, bool], limit_ns: int, where: str = AT) -> None:
    """Checks that each step can happen. Raises ScenarioError.

    programs: all hosts, each with whether a command runs there. limit_ns: the longest time of the client.
    """
    state = _State()
    for step in steps:
        for host in step.event.hosts:
            if host not in programs:
                near = difflib.get_close_matches(host, programs, n=1)
                told = f"{near[0]}; " if near else ""
                raise ScenarioError(where, step.shown, f"{told}the hosts {', '.join(programs)}")
        if step.at_ns >= limit_ns:
            raise ScenarioError(where, step.shown, f"times before the client's longest, {seconds(limit_ns)}s")
        if (allowed := state.lack(step.event, programs)) is not None:
            raise ScenarioError(where, step.shown, allowed)


@dataclass
class _State:
    """The effects of the events so far that decide which ones can follow."""

    parted: set[tuple[str, str]] = field(default_factory=set)
    held: set[tuple[str, str]] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    started: set[str] = field(default_factory=set)
    clock_ns: int = 0

    def lack(self, event: Event, programs: Mapping[str, bool]) -> str | None:
        """Notes the event; returns what must come before it, in words, if it cannot happen."""
        match event:
            case LinkChange():
                self.changed.add(event.host)
            case Partition(verb=Verb.PARTITION):
                self.parted |= {*event.ways}
            case Partition():
                self.held |= {*event.ways}
            case Run():
                self.started.add(event.host)
            case ClockJump():
                self.clock_ns += event.by_ns
                if abs(self.clock_ns) > _FARTHEST_NS:
                    return f"a time of day at most {_FARTHEST_NS // _NS}s from that of the beginning"
            case Kill(host=host) | HostEvent(verb=Verb.RESTART | Verb.STOP, hosts=[host]):
                return self._lack_of_program(event, host, programs)
            case HostEvent():
                return self._lack_of_event(event)
        return None

    def _lack_of_program(self, event: Event, host: str, programs: Mapping[str, bool]) -> str | None:
        if not programs[host] and isinstance(event, HostEvent) and event.verb is Verb.RESTART:
            return f"a host with a command that can start anew; {host} has none"
        if not programs[host] and host not in self.started:
            return f"a host with a program; {host} has none"
        if isinstance(event, HostEvent) and event.verb is Verb.STOP:
            self.stopped.add(host)
        elif not (isinstance(event, Kill) and event.signal):
            self.stopped.discard(host)
        return None

    def _lack_of_event(self, event: HostEvent) -> str | None:
        lack = None
        match event.verb, event.hosts:
            case Verb.DOWN, [host]:
                self.down.add(host)
            case Verb.UP, [host]:
                lack = None if host in self.down else f"down {host} before"
                self.down.discard(host)
            case Verb.CONTINUE, [host]:
                lack = None if host in self.stopped else f"stop {host} before"
                self.stopped.discard(host)
            case Verb.RELEASE, hosts:
                released = {way for way in self.held if {*hosts} <= {*way}}
                lack = None if released else "hold before"
                self.held -= released
            case Verb.HEAL, hosts:
                healed = {way for way in self.parted if {*hosts} <= {*way}}
                changed = {host for host in self.changed if not hosts or [*hosts] == [host]}
                if not healed and not changed:
                    lack = f"a partition before{', or another value of a knob' if len(hosts) < 2 else ''}"
                self.parted -= healed
                self.changed -= changed
        return lack


@dataclass(frozen=True, kw_only=True)
class LinksOverTime:
    """The links of a run. first: those at the beginning that will change. later: for each step, those that it sets."""

    first: Mapping[str, Link]
    later: Sequence[Mapping[str, Link]]


def knobs_of(words: Iterable[str], hosts: Collection[str], where: str) -> dict[str, tuple[str, ...]]:
    """Returns the knobs by their hosts, of words such as `LOSS` and `phone.RATE`. Raises ScenarioError."""
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        host, _, knob = word.rpartition(".")
        host = host or CLIENT
        if host not in hosts or knob not in CHANGING:
            allowed = f"KNOB or HOST.KNOB, with a host of {', '.join(hosts)}, and a knob of {', '.join(CHANGING)}"
            raise ScenarioError(where, word, allowed)
        both = ("RATE", "RATE_UP", "DELAY", "DELAY_UP") if knob == LINK else (knob,)
        found[host] = (*found.get(host, ()), *both)
    return found


def links_of(
    steps: Sequence[Step],
    knobs: Mapping[str, Mapping[str, str]],
    where: str = AT,
    changing: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> LinksOverTime:
    """Returns the links that the steps change. knobs: those at the beginning, by hosts, but for hosts without a link.

    changing: knobs by hosts that may change although no step says so. A host whose link keeps its values, whatever the
    steps say, is left out. Raises ScenarioError.
    """
    texts = {host: dict(of) for host, of in knobs.items()}
    found: dict[str, dict[int, Link]] = {host: {-1: way_from(of).link} for host, of in texts.items()}
    for number, step in enumerate(steps):
        try:
            for host, values in _changed(step.event, texts, knobs).items():
                before, after = [*found[host].values()][-1], way_from(values).link
                texts[host] = values
                found[host][number] = after if _sets_queue(step.event) else _with_queue(after, before)
        except ScenarioError as error:
            raise Unfit(f"{where} {step.shown}: {error}") from None
    first, later = {}, [dict[str, Link]() for _ in steps]
    for host, links in found.items():
        if len({*links.values()}) == 1 and host not in changing:
            continue
        if links[-1].rate_steps and len({(each.rate_bit_s, each.queue_packets) for each in links.values()}) > 1:
            given = knobs[host]["RATE_STEPS"]
            raise ScenarioError("RATE_STEPS", given, f"none with a RATE or QUEUE that changes by {where}")
        try:
            made = links_over_time([*links.values()], parts_of(changing.get(host, ())))
        except LinkError as error:
            raise ScenarioError(error.knob, knobs[host].get(error.knob, ""), error.allowed) from None
        first[host] = made[0]
        check_cross(made[-1], way_from(knobs[host]).cross, knobs[host].get("CROSS", ""))
        for number, link in zip([*links][1:], made[1:], strict=True):
            later[number][host] = link
    return LinksOverTime(first=first, later=later)


def _sets_queue(event: Event) -> bool:
    return not isinstance(event, LinkChange) or event.knob in ("QUEUE", "QUEUE_UP")


def _with_queue(link: Link, before: Link) -> Link:
    """Returns a link whose queues hold as many bytes as before, whatever its rates and delays are."""
    kept: dict[str, int | None] = {}
    for size, packets in (("queue_bytes", "queue_packets"), ("queue_up_bytes", "queue_up_packets")):
        if None not in (getattr(before, size), getattr(link, size)):
            kept |= {size: getattr(before, size), packets: getattr(before, packets)}
    if link.queue_bytes is None:
        kept["queue_packets"] = before.queue_packets
    return replace(link, **kept)  # type: ignore[arg-type]


def _changed(
    event: Event, texts: Mapping[str, Mapping[str, str]], at_first: Mapping[str, Mapping[str, str]]
) -> Mapping[str, dict[str, str]]:
    """Returns the knobs of the links that an event changes."""
    match event:
        case LinkChange() if event.host in texts:
            return {event.host: layered(texts[event.host], with_profile({event.knob: event.value}))}
        case HostEvent(verb=Verb.HEAL, hosts=hosts) if len(hosts) < 2:
            return {host: dict(of) for host, of in at_first.items() if not hosts or host in hosts}
    return {}
