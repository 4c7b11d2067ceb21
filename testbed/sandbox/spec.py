"""The spec of a sandbox: the programs, the link between them, and what else the process in the hosts must know."""

import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from priolab.common.errors import ScenarioError
from priolab.common.formats.conversion import convert
from priolab.common.formats.files import read_json, write_json
from priolab.netem.link import Link
from priolab.netem.parsers import whole
from priolab.netem.shaper import lack_of
from priolab.netem.shaper_kind import Shaper
from priolab.testbed.sandbox import schedule
from priolab.testbed.sandbox.keystrokes import Size
from priolab.testbed.sandbox.schedule import AT, HostEvent, LinksOverTime, Step, Verb, check, links_of, schedule_of
from priolab.testbed.topology.end_words import Way, way_from

CLIENT, SERVER = schedule.CLIENT, "server"
"""The names of the first two hosts, and of the machines for the programs in them."""

TASKS = "priolab.testbed.sandbox.task"
"""The module whose tasks the guests of sandboxes carry out."""

Command = str | Sequence[str]
"""A command: an argument list, or a text that is split as a shell splits words. No shell reads it."""


def split(command: Command, where: str = "command") -> tuple[str, ...]:
    """Returns the argument list of a command. where: what has it, for the error. Raises ScenarioError."""
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else map(os.fspath, command))
        if any("\0" in word for word in words):
            raise ValueError("a zero byte")
        if words and not words[0]:
            raise ValueError("a program without a name")
    except (TypeError, ValueError) as error:
        raise ScenarioError(where, f"{command}", f"words as a shell reads them ({error})") from None
    return words


_MOST_HOSTS = 16
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_TAKEN = (CLIENT, SERVER, "localhost")
_FIRST_FURTHER = 10
"""The number of the first further host. Client, server and cross traffic have lower ones (topology.py)."""

AT_ONCE, LISTENS = "none", "any"
"""Values of `wait`: the client starts at once; the client starts when the server listens at any port."""

FAIR = "default"
SCHEDULERS = ("fifo", FAIR)
"""The order of programs: that in which they were woken, or that of the kernel."""

LARGEST_PORT = 2**16 - 1
_PORT = whole(1, LARGEST_PORT)
PORTS = f"a port from 1 to {LARGEST_PORT}, {LISTENS} or {AT_ONCE}"
"""The values allowed for `wait`, in words."""


def is_wait(text: str) -> bool:
    """True for a value of `wait`."""
    with suppress(ValueError):
        return text in (AT_ONCE, LISTENS) or _PORT(text) > 0
    return False


HOME = "/run/home"
"""The programs' HOME, an empty folder."""

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "TZ": "UTC",
}
"""The programs' environment. It is the same for every user: a program's memory depends on it."""


def check_sysctl(option: str, given: str, host: str, sysctl: str, hosts: Iterable[str]) -> None:
    """Checks the host and the name of a sysctl. option, given: for the error. Raises ScenarioError."""
    if host not in (CLIENT, SERVER, *hosts) or not sysctl.startswith("net."):
        allowed = " or ".join(f"{each}.NAME=VALUE" for each in (CLIENT, SERVER, *hosts))
        raise ScenarioError(option, given, f"{allowed}, with a NAME such as net.ipv4.tcp_sack")


def check_host(option: str, name: str, others: Collection[str]) -> None:
    """Checks the name of a further host. option: for the error. others: those before it. Raises ScenarioError."""
    if not _NAME.fullmatch(name):
        raise ScenarioError(option, name, "a host name: a small letter, then small letters, digits and hyphens")
    if name in (*_TAKEN, *others):
        raise ScenarioError(option, name, f"a name of its own, not {', '.join((*_TAKEN, *others))}")
    if len(others) + 2 >= _MOST_HOSTS:
        raise ScenarioError(option, name, f"{_MOST_HOSTS} hosts in all, with {CLIENT} and {SERVER}")


@dataclass(frozen=True, kw_only=True)
class SandboxSpec:
    """A sandbox to carry out.

    knobs: those of the client's link and of the server's TCP. client, server: the argument lists of the programs; None
    for no server. environment: that of the programs. folder: their current folder. limit_ns: the longest time of the
    client, by the clock of the hosts. sysctls: host, name and value of each. wait: when the client starts: AT_ONCE,
    LISTENS, or the number of the port at which the server must listen. scratch: True if what the programs write into
    their folder is thrown away. fair: True for the kernel's default scheduler. capture: True to record packets by
    tcpdump. traced: True to record their beginnings by the lab itself. interval_ns: between samples of the sockets and
    the queue; None for none. programs: the paths of programs that are kept open for the next spec. tcpdump: the path of
    this program; None if it is not needed. isolated: True in a guest. hosts: the further hosts, each with the argument
    list of its program, empty for none. links: the knobs of the links of hosts beside the client. waits: as `wait`, for
    further hosts. ipv6: True if the hosts have addresses of both families. terminal: the size of the client's terminal;
    None for none. visible: paths of this machine that the programs see beside the system's folders; None for all.
    hidden: folders that they do not see. open_files: how many files a program may open, soft and hard limit; None for
    as many as the kernel gives it. schedule: the events, each with its time in ns.
    steered: True for a session, in which calls say what happens, and no client starts. changing: the knobs of links
    that a session may change, by hosts, beside those for which a link is made anyway.
    """

    knobs: Mapping[str, str]
    seed: int
    client: tuple[str, ...]
    server: tuple[str, ...] | None
    environment: Mapping[str, str]
    folder: str
    limit_ns: int
    sysctls: tuple[tuple[str, str, str], ...] = ()
    wait: str = LISTENS
    scratch: bool = False
    fair: bool = False
    capture: bool = False
    traced: bool = False
    interval_ns: int | None = None
    programs: tuple[str, ...] = ()
    tcpdump: str | None = None
    isolated: bool = True
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    waits: Mapping[str, str] = field(default_factory=dict)
    ipv6: bool = False
    terminal: Size | None = None
    visible: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = ()
    open_files: tuple[int, int] | None = None
    schedule: tuple[tuple[int, str], ...] = ()
    steered: bool = False
    changing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def steps(self) -> Sequence[Step]:
        """The events of the schedule."""
        return schedule_of((f"{at_ns}ns", text) for at_ns, text in self.schedule)

    @cached_property
    def links_over_time(self) -> LinksOverTime:
        """The links that the schedule changes. Raises ScenarioError."""
        knobs = {name: self.texts(name) for name in (CLIENT, *self.links)}
        return links_of(self.steps, knobs, changing=self.changing)

    def scheduled(self, given: Iterable[tuple[str, str]], bare: Mapping[str, str], where: str = AT) -> Self:
        """Returns the spec with a schedule. given: times and events. bare: the knobs of a link that does nothing.

        A host whose link changes has a link from the beginning. where: what has the events, for errors. Raises
        ScenarioError.
        """
        steps = schedule_of(given, where)
        programs = {name: name == CLIENT or name in self.companions for name in self.numbers}
        check(steps, programs, self.limit_ns, where)
        for step in steps if self.terminal else ():
            if step.event == HostEvent(verb=Verb.RESTART, hosts=(CLIENT,)):
                raise ScenarioError(where, step.shown, "restart of another host; the client has a terminal")
        knobs = {name: self.links.get(name, bare) for name in self.numbers} | {CLIENT: self.knobs}
        changing = links_of(steps, knobs, where).first
        further = {name: bare for name in changing if name not in (CLIENT, *self.links)}
        return replace(
            self,
            schedule=tuple((step.at_ns, step.text) for step in steps),
            links={**self.links, **further},
        )

    @cached_property
    def way(self) -> Way:
        """The client's link, the settings of the server's end, and the cross traffic."""
        return way_from(self.knobs)

    @cached_property
    def ways(self) -> Mapping[str, Way]:
        """The ways of all links, by the names of their hosts."""
        return {CLIENT: self.way, **{name: way_from(knobs) for name, knobs in self.links.items()}}

    @cached_property
    def first_links(self) -> Mapping[str, Link]:
        """The links as they are made, by the names of their hosts."""
        return {name: self.links_over_time.first.get(name, way.link) for name, way in self.ways.items()}

    def changes(self, name: str) -> bool:
        """True if the link of a host may get other values: by the schedule, or in a session by what needs no part more.

        The ferry makes a link that may change with all parts.
        """
        in_session = self.steered and lack_of(Shaper.NETEM, self.first_links[name]) is None
        return in_session or name in self.links_over_time.first

    def texts(self, name: str) -> Mapping[str, str]:
        """Returns the knobs of the link of a host."""
        return self.knobs if name == CLIENT else self.links[name]

    @property
    def numbers(self) -> Mapping[str, int]:
        """The numbers of all hosts, by their names."""
        further = {name: number for number, name in enumerate(self.hosts, _FIRST_FURTHER)}
        return {CLIENT: 0, SERVER: 1, **further}

    @property
    def addresses(self) -> Mapping[str, str]:
        """The addresses of all hosts, by their names."""
        return {name: f"198.18.{number}.2" for name, number in self.numbers.items()}

    @property
    def is_pair(self) -> bool:
        """True for two hosts with one link."""
        return not self.hosts and not self.links

    @property
    def companions(self) -> Mapping[str, Sequence[str]]:
        """The argument lists of the programs beside the client's, in the order in which they start."""
        return {name: command for name, command in {SERVER: self.server, **self.hosts}.items() if command}

    def write(self, files: "Files") -> None:
        """Writes the spec into a new folder."""
        files.path.mkdir(parents=True, exist_ok=True)
        write_json(files.spec, asdict(self))

    @classmethod
    def read(cls, files: "Files") -> Self:
        """Reads the spec from a folder. Raises FileNotFoundError if the folder is gone."""
        return convert(read_json(files.spec), cls)


class Files:
    """The files of a sandbox's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def spec(self) -> Path:
        """The spec."""
        return self.path / "spec.json"

    @property
    def said(self) -> Path:
        """The output of the programs: frames (output_log.py)."""
        return self.path / "said"

    @property
    def stdin(self) -> Path:
        """The client's standard input."""
        return self.path / "stdin"

    @property
    def keys(self) -> Path:
        """A named pipe: what happens at the terminal (keystrokes.py)."""
        return self.path / "keys"

    @property
    def bell(self) -> Path:
        """A named pipe: a line for whatever happens at the terminal."""
        return self.path / "bell"

    @property
    def outcome(self) -> Path:
        """The ending, and what was counted (outcome.py). It is written last."""
        return self.path / "outcome.json"

    def capture(self, host: str) -> Path:
        """Returns the packets of a host, a pcap file."""
        return self.path / f"{host}.pcap"

    @property
    def traced(self) -> Path:
        """The outcome with what was counted until the end of the traces."""
        return self.path / "traced.json"

    def trace(self, host: str) -> Path:
        """Returns the beginnings of a host's packets, a pcap file."""
        return self.path / f"{host}.trace"

    def router_trace(self, host: str) -> Path:
        """Returns the beginnings of the packets between the router and a host's link, a pcap file."""
        return self.path / f"{host}.router-trace"

    def call(self, number: int) -> Path:
        """Returns a call of a session (calls.py)."""
        return self.path / f"call-{number}.json"

    @property
    def samples(self) -> Path:
        """The samples of the sockets, a JSON object in each line."""
        return self.path / "samples.jsonl"
