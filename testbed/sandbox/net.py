"""A session that a test steers: hosts, whose programs start, print and end while the guest goes on, call by call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from priolab.common.errors import ScenarioError, StepFailed
from priolab.testbed.option_values import parsed_time_ns
from priolab.testbed.process.jobs import Conversation
from priolab.testbed.sandbox import schedule
from priolab.testbed.sandbox.calls import Answer, Call, Happen, Send, Signal, Start, Until, write_call
from priolab.testbed.sandbox.knobs import of_way
from priolab.testbed.sandbox.spec import Files, SandboxSpec
from priolab.testbed.topology.end_words import way_from

_NS = 10**9
_WHERE = "session"
_LONGEST = "86400s"


class Condition(Protocol):
    """Something for which `Net.until` waits."""

    def call(self, until_ns: int) -> Until:
        """Returns the call that waits for it."""


@dataclass
class Net:
    """The hosts of a session, their links and their time."""

    spec: SandboxSpec
    files: Files
    talk: Conversation
    now_ns: int = 0
    _asked_ns: int = 0
    _calls: int = 0
    _started: int = 0
    _events: list[tuple[str, str]] = field(default_factory=list)

    @property
    def now(self) -> float:
        """The time since the session's start, in seconds."""
        return self.now_ns / _NS

    def host(self, name: str) -> "SessionHost":
        """Returns a host. Raises ScenarioError."""
        if name not in self.spec.numbers:
            raise ScenarioError("host", name, ", ".join(self.spec.numbers))
        return SessionHost(self, name)

    def link(self, name: str) -> "SessionLink":
        """Returns the link of a host. Raises ScenarioError."""
        if name not in self.spec.ways:
            raise ScenarioError("link", name, f"a host with a link: {', '.join(self.spec.ways)}")
        return SessionLink(self, name)

    def happen(self, event: str) -> None:
        """Makes an event of a schedule happen now. Raises ScenarioError and StepFailed."""
        given = [*self._events, (f"{self.now_ns}ns", event)]
        self._check(given)
        self._events = given
        self.ask(Happen(text=event))

    def _check(self, given: Sequence[tuple[str, str]]) -> None:
        steps = schedule.schedule_of(given, _WHERE)
        schedule.check(steps, dict.fromkeys(self.spec.numbers, True), self.spec.limit_ns, _WHERE)
        knobs = {name: self.spec.texts(name) if name in self.spec.ways else of_way({}) for name in self.spec.numbers}
        for name, first in schedule.links_of(steps, knobs, _WHERE).first.items():
            if name not in self.spec.ways or first != way_from(knobs[name]).link:
                raise ScenarioError(_WHERE, given[-1][1], "what the link can do from its beginning on")

    def partition(self, one: str, other: str) -> None:
        """Cuts two hosts off from each other."""
        self.happen(f"partition {one} {other}")

    def heal(self, *hosts: str) -> None:
        """Ends partitions, as the event `heal`."""
        self.happen(" ".join(("heal", *hosts)))

    def advance(self, time: str) -> None:
        """Lets time go on, from the instant that was asked for before."""
        self._asked_ns = max(self._asked_ns, 0) + parsed_time_ns("advance", time, "1ns", _LONGEST)
        self.ask(Until(until_ns=self._asked_ns))

    def until(self, condition: Condition, limit: str = _LONGEST) -> bool:
        """Lets time go on until something holds; returns False if it does not in this time."""
        met = self.ask(condition.call(self.now_ns + parsed_time_ns("until", limit, "1ns", _LONGEST))).met
        self._asked_ns = self.now_ns
        return met

    def ask(self, call: Call) -> Answer:
        """Makes a call. Raises StepFailed."""
        self._calls += 1
        write_call(self.files, self._calls, call)
        text = self.talk.ask(str(self._calls))
        if text is None:
            raise StepFailed(_WHERE, "its guest has ended")
        answer = Answer.parse(text)
        self.now_ns = answer.now_ns
        if answer.reason is not None:
            raise StepFailed(_WHERE, answer.reason)
        return answer

    def started(self) -> int:
        """Returns the number of the next program."""
        self._started += 1
        return self._started


@dataclass(frozen=True)
class SessionHost:
    """A host of a session."""

    net: Net
    name: str

    def start(self, command: Sequence[str]) -> "Program":
        """Starts a program. Raises StepFailed."""
        number = self.net.started()
        self.net.ask(Start(host=self.name, command=tuple(command), number=number))
        return Program(self.net, number)


@dataclass(frozen=True)
class SessionLink:
    """The link of a host."""

    net: Net
    name: str

    def set(self, **knobs: str) -> None:
        """Gives knobs other values. Raises ScenarioError."""
        for knob, value in knobs.items():
            self.net.happen(schedule.assigned(self.name, knob, value))


@dataclass(frozen=True)
class Ending:
    """A program's end, as a condition. text: what it prints instead; None for the end."""

    number: int
    text: bytes | None = None

    def call(self, until_ns: int) -> Until:
        """Returns the call that waits for it."""
        return Until(until_ns=until_ns, number=self.number, text=self.text)


@dataclass(frozen=True)
class Program:
    """A program on a host."""

    net: Net
    number: int

    def prints(self, text: str) -> Ending:
        """Returns the condition that it has printed a text."""
        return Ending(self.number, text.encode())

    @property
    def ends(self) -> Ending:
        """The condition that it has ended."""
        return Ending(self.number)

    def send(self, data: bytes | None) -> None:
        """Writes to its standard input; None ends it."""
        self.net.ask(Send(number=self.number, data=data))

    def signal(self, name: str) -> None:
        """Sends a signal, such as `TERM`."""
        self.net.ask(Signal(number=self.number, name=f"SIG{name.removeprefix('SIG')}"))

    def wait(self, limit: str = _LONGEST) -> int:
        """Waits for its end; returns its exit code. Raises StepFailed."""
        until_ns = self.net.now_ns + parsed_time_ns("wait", limit, "1ns", _LONGEST)
        code = self.net.ask(self.ends.call(until_ns)).code
        if code is None:
            raise StepFailed(_WHERE, f"a program did not end within {limit}")
        return code
