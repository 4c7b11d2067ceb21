"""A session that a test steers: hosts, whose programs start, print and end while the guest goes on, call by call.

    with sandbox.session() as net:
        server = net.host("server").start("redis-server")
        net.until(server.prints("Ready"))
        net.partition("client", "server")
        net.advance("30s")

Between calls the guest stands still, its clock too. After `async with`, the calls return what is awaited: an AsyncNet
has the methods of a Net.
"""

import asyncio
import shlex
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

from priolab.common.errors import ScenarioError, StepFailed
from priolab.netem import shaper
from priolab.testbed.option_values import parsed_time_ns
from priolab.testbed.sandbox import schedule
from priolab.testbed.sandbox.calls import (
    Answer,
    Call,
    Ends,
    Happen,
    Listens,
    Prints,
    Quiet,
    Send,
    Signal,
    Start,
    Until,
    Wanted,
    write_call,
)
from priolab.testbed.sandbox.outcome import Ending, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.packet_trace import PacketTrace
from priolab.testbed.sandbox.result import Result
from priolab.testbed.sandbox.schedule import LinkChange, Verb
from priolab.testbed.sandbox.session import Steered
from priolab.testbed.sandbox.spec import LARGEST_PORT, LISTENS, Command, split

Done = TypeVar("Done")
Code = TypeVar("Code")
Started = TypeVar("Started")
_Value = TypeVar("_Value")
_Awaited = Coroutine[Any, Any, _Value]

_NS = 10**9
_WHERE = "session"
_LIMIT = "600s"
_LEAST, _MOST = "1ns", "1000000s"
_QUIET_NS = _NS
_STEP_S = 0.5
_PIPE_BYTES = 2**16
_MOST_TIMES = 10**9
_LINES = 3
"""The number of lines of each host that are shown with a condition that did not come true."""


class NotInTime(AssertionError):
    """A condition that a session waited for did not come true. Its text has the last lines of each host."""


@dataclass(frozen=True)
class Condition:
    """Something for which `until` waits. words: what it is."""

    wanted: Wanted
    words: str


class _Net(ABC, Generic[Done, Code, Started]):
    """The hosts of a session, their links and their time. run: where it takes place. codes: the exit codes of programs.

    All calls raise ScenarioError for what is not allowed, and StepFailed for what cannot be done, also after the end.
    """

    def __init__(self, run: Steered) -> None:
        self.run = run
        self.now_ns, self._asked_ns = 0, 0
        self._calls = 0
        self._numbers = count(1)
        self.codes: dict[int, int] = {}
        self.with_programs = {*run.spec.companions}
        self._happened: tuple[tuple[str, str], ...] = ()
        self._links = {**run.spec.first_links}
        self._over: str | None = None
        self._result: Result | None = None

    @abstractmethod
    def ask(self, make: Callable[[], Call], then: Callable[[Answer], object]) -> Any:
        """Makes a call, and returns what follows from its answer."""

    @property
    def now(self) -> float:
        """The time since the first call, in seconds."""
        return self.now_ns / _NS

    @property
    def result(self) -> Result:
        """The result of the session, as that of a run. Raises StepFailed before its end."""
        if self._result is None:
            raise StepFailed(_WHERE, "its result is there after the `with`")
        return self._result

    def host(self, name: str) -> "_Host[Done, Code, Started]":
        """Returns a host."""
        if name not in self.run.spec.numbers:
            raise ScenarioError("host", name, ", ".join(self.run.spec.numbers))
        return _Host(self, name)

    def link(self, name: str) -> "_Link[Done]":
        """Returns the link of a host."""
        if name not in self._links:
            words = f"a host with a link: {', '.join(self._links)}; session(changes=['{name}.LOSS']) gives it one"
            raise ScenarioError("link", name, words if name in self.run.spec.numbers else ", ".join(self._links))
        return _Link(self, name)

    def happen(self, *events: str) -> Done:
        """Makes events of a schedule happen now, such as `partition client server` or `phone.LOSS=100%`."""

        def make() -> Call:
            self._foresee(events)
            return Happen(texts=events)

        found: Done = self.ask(make, _nothing)
        return found

    def partition(self, one: str, other: str, *, one_way: bool = False) -> Done:
        """Cuts two hosts off from each other, or the other one from what the first one sends."""
        return self._happens(Verb.PARTITION, one, *(("to",) if one_way else ()), other)

    def heal(self, *hosts: str) -> Done:
        """Ends partitions, and gives links the values that they had at first: all, of a host, or between two."""
        return self._happens(Verb.HEAL, *hosts)

    def hold(self, one: str, other: str, *, one_way: bool = False) -> Done:
        """Lets the packets between two hosts wait, or those that the first one sends."""
        return self._happens(Verb.HOLD, one, *(("to",) if one_way else ()), other)

    def release(self, *hosts: str) -> Done:
        """Lets packets go on that wait: all, of a host, or between two."""
        return self._happens(Verb.RELEASE, *hosts)

    def down(self, host: str) -> Done:
        """Loses all packets to and from a host."""
        return self._happens(Verb.DOWN, host)

    def up(self, host: str) -> Done:
        """Ends what `down` did."""
        return self._happens(Verb.UP, host)

    def kill(self, host: str, name: str | None = None) -> Done:
        """Ends all programs of a host by SIGKILL; or sends the process of its command a signal, such as `HUP`."""
        return self._happens(Verb.KILL, host, *(() if name is None else (name,)))

    def stop(self, host: str) -> Done:
        """Makes all programs of a host stand still."""
        return self._happens(Verb.STOP, host)

    def continue_(self, host: str) -> Done:
        """Makes the programs of a host go on."""
        return self._happens(Verb.CONTINUE, host)

    def restart(self, host: str) -> Done:
        """Ends all programs of a host by SIGKILL, and starts its command anew.

        It is the sandbox's command for the host; without one, that of the last program that the session started there.
        """
        return self._happens(Verb.RESTART, host)

    def clock(self, by: str) -> Done:
        """Moves the time of day of all hosts, such as by `+3600s`."""
        return self._happens(Verb.CLOCK, by)

    def _happens(self, *words: str) -> Done:
        return self.happen(shlex.join(words))

    def advance(self, time: str) -> Done:
        """Lets time go on, from the instant to which it went before."""

        def make() -> Call:
            until_ns = self._asked_ns + _parsed_ns("advance", time)
            if until_ns > self.run.spec.limit_ns:
                rest = schedule.seconds(self.run.spec.limit_ns - self._asked_ns)
                raise ScenarioError("advance", time, f"the {rest} s that are left of the session's limit_s")
            self._asked_ns = until_ns
            return Until(until_ns=until_ns)

        found: Done = self.ask(make, _nothing)
        return found

    @property
    def quiet(self) -> Condition:
        """The condition that no packet has come or gone for a second, and for the longest delay of two links."""
        delays = [of.delay_ns + of.jitter_ns + of.delay_up_ns + of.jitter_up_ns for of in self._links.values()]
        return self._quiet(_QUIET_NS + sum(sorted(delays)[-2:]))

    def quiet_for(self, time: str) -> Condition:
        """Returns the condition that no host has sent or received a packet for a time."""
        return self._quiet(_parsed_ns("quiet_for", time))

    def _quiet(self, for_ns: int) -> Condition:
        return Condition(Quiet(for_ns=for_ns), f"no packet for {schedule.seconds(for_ns)} s")

    def until(self, condition: Condition, limit: str = _LIMIT) -> Done:
        """Lets time go on until something is so. Raises NotInTime if it is not in time, or can no longer be."""
        __tracebackhide__ = True  # pytest shows the test's line and the error alone
        found: Done = self.until_then(condition, limit, lambda: None)
        return found

    def until_then(self, condition: Condition, limit: str, then: Callable[[], object]) -> Any:
        """Waits as `until`, and returns what follows."""
        __tracebackhide__ = True
        if not isinstance(condition, Condition):
            raise ScenarioError("until", f"{condition}", "a condition, such as program.prints('Ready') or net.quiet")
        limit_ns = _parsed_ns("limit", limit)

        def make() -> Call:
            return Until(until_ns=min(self.now_ns + limit_ns, self.run.spec.limit_ns), wanted=condition.wanted)

        def met(answer: Answer) -> object:
            __tracebackhide__ = True
            self._asked_ns = self.now_ns
            if not answer.met:
                raise NotInTime(self._why_not(condition, limit))
            return then()

        return self.ask(make, met)

    def _why_not(self, condition: Condition, limit: str) -> str:
        wanted, lines = condition.wanted, []
        code = self.codes.get(wanted.number or 0) if isinstance(wanted, Prints) else None
        why = f"not within {limit}" if code is None else f"no more: it ended with exit code {code}"
        for host in self.run.spec.numbers:
            said = self.host(host).out.splitlines()[-_LINES:]
            lines += [f"{host}| {line}" for line in said or ["(nothing)"]]
        return "\n".join([f"{condition.words}: {why}, at {schedule.seconds(self.now_ns)} s; the last lines:", *lines])

    def next_number(self) -> int:
        """Returns the number of the next program."""
        return next(self._numbers)

    def written(self, is_wanted: Callable[[OutputFrame], bool]) -> str:
        """Returns what has been written so far, of the frames that are wanted."""
        return b"".join(each.data for each in self.run.frames if is_wanted(each)).decode(errors="replace")

    def result_of(self, result: Result) -> None:
        """Gets the result, after the end."""
        self._result, self._over = result, self._over or "it has ended"

    def _foresee(self, events: Sequence[str]) -> None:
        """Checks that events can happen now, and notes what they change."""
        spec, before = self.run.spec, len(self._happened)
        for event in events:
            if event.split()[:1] == [schedule.FOLLOW]:
                raise ScenarioError(_WHERE, event, "values that the test sets itself by link(HOST).set(...)")
        given = (*self._happened, *((f"{self.now_ns}ns", event) for event in events))
        steps = schedule.schedule_of(given, _WHERE)
        schedule.check(steps, {name: name in self.with_programs for name in spec.numbers}, spec.limit_ns, _WHERE)
        new = [step.event for step in steps[before:]]
        changes = [event for event in new if isinstance(event, LinkChange)]
        for change in changes:
            self.link(change.host)
        links = schedule.links_of(steps, {name: spec.texts(name) for name in spec.ways}, _WHERE, spec.changing)
        for change in changes:
            made = spec.first_links[change.host]
            if not (spec.changes(change.host) and shaper.are_alike(links.first.get(change.host, made), made)):
                word = schedule.assigned(change.host, change.knob, "").rstrip("=")
                allowed = f"what the link has a part for; session(changes=['{word}']) gives it one from the beginning"
                raise ScenarioError(_WHERE, str(change), allowed)
        self._happened = given
        for of_step in links.later[before:]:
            self._links |= of_step

    def _tell(self, call: Call | None) -> None:
        """Tells the guest a call; None for the end."""
        if self._over is not None:
            raise StepFailed(_WHERE, self._over)
        if not self.run.files.path.exists():
            self._over = "its Sandbox has ended"
            raise StepFailed(_WHERE, self._over)
        if call is None:
            self.run.talk.ask("")
            return
        self._calls += 1
        write_call(self.run.files, self._calls, call)
        self.run.talk.ask(f"{self._calls}")

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """Refuses later calls if this one is interrupted: its answer would be taken for theirs."""
        try:
            yield
        except BaseException:
            self._over = "a call was interrupted"
            raise

    def _answer(self) -> Answer:
        """Returns the answer. Raises StepFailed if the guest has ended, or if the call could not be carried out."""
        self.run.listen()
        text = self.run.talk.answer()
        if text is None:
            self._over = self.run.outcome().reason or "its guest has ended"
            raise StepFailed(_WHERE, self._over)
        answer = Answer.parse(text)
        self.now_ns, self.codes = answer.now_ns, dict(answer.codes)
        if answer.reason is not None:
            raise StepFailed(_WHERE, answer.reason)
        return answer


class Net(_Net[None, int, "Program"]):
    """The hosts of a session, whose calls return when they are done. Calls of several threads follow each other."""

    def __init__(self, run: Steered) -> None:
        super().__init__(run)
        self._turn = threading.Lock()

    def ask(self, make: Callable[[], Call], then: Callable[[Answer], object]) -> Any:
        """Makes a call, and returns what follows from its answer."""
        __tracebackhide__ = True
        with self._turn:
            self._tell(make())
            self._hear()
            return then(self._answer())

    def _hear(self) -> None:
        with self._whole():
            while not self.run.talk.has_answered(_STEP_S):
                self.run.listen()

    def begin(self) -> None:
        """Waits until the hosts are there."""
        self._hear()
        self._answer()

    def end(self) -> None:
        """Ends the session, and waits for its end."""
        self._tell(None)
        self._hear()


class AsyncNet(_Net[_Awaited[None], _Awaited[int], _Awaited["AsyncProgram"]]):
    """The hosts of a session, whose calls are awaited. Calls of several tasks follow each other."""

    def __init__(self, run: Steered) -> None:
        super().__init__(run)
        self._turn = asyncio.Lock()

    async def ask(self, make: Callable[[], Call], then: Callable[[Answer], object]) -> Any:
        """Makes a call, and returns what follows from its answer."""
        async with self._turn:
            self._tell(make())
            await self._hear()
            return then(self._answer())

    async def _hear(self) -> None:
        with self._whole():
            while not self.run.talk.has_answered(0):
                await _readable(self.run.talk.fileno())
                self.run.listen()

    async def begin(self) -> None:
        """Waits until the hosts are there."""
        await self._hear()
        self._answer()

    async def end(self) -> None:
        """Ends the session, and waits for its end."""
        self._tell(None)
        await self._hear()


async def _readable(descriptor: int) -> None:
    """Waits until a descriptor is readable, and not long."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(ready.wait(), _STEP_S)
    finally:
        loop.remove_reader(descriptor)


@dataclass(frozen=True)
class _Host(Generic[Done, Code, Started]):
    """A host of a session."""

    _net: _Net[Done, Code, Started]
    name: str

    def start(self, command: Command, *, stdin: bool = False) -> Started:
        """Starts a program. stdin: True for one that gets what `send` sends; otherwise its standard input is empty."""
        words = split(command, "start")
        if not words:
            raise ScenarioError("start", "", "a command, such as 'redis-server --port 6379'")
        program = _Program(self._net, self.name, words, self._net.next_number(), stdin)

        def make() -> Call:
            return Start(host=self.name, command=words, number=program.number, stdin=stdin)

        def then(_: Answer) -> object:
            self._net.with_programs.add(self.name)
            return program

        found: Started = self._net.ask(make, then)
        return found

    def prints(self, text: str, *, times: int = 1) -> Condition:
        """Returns the condition that its programs have printed a text, so many times since the beginning."""
        wanted = Prints(host=self.name, text=_text(text), times=_whole("times", times, _MOST_TIMES))
        return Condition(wanted, f"{self.name} prints {text!r}{_as_often(times)}")

    def listens(self, port: int | None = None) -> Condition:
        """Returns the condition that a socket listens there, at this port or at any."""
        if port is None:
            return Condition(Listens(host=self.name, port=LISTENS), f"{self.name} listens")
        wanted = Listens(host=self.name, port=f"{_whole('listens', port, LARGEST_PORT)}")
        return Condition(wanted, f"{self.name} listens at port {port}")

    @property
    def out(self) -> str:
        """The text that its programs have written so far, to both outputs."""
        return self._net.written(lambda each: each.place == self.name)


@dataclass(frozen=True)
class _Link(Generic[Done]):
    """The link of a host in a session."""

    _net: _Net[Done, Any, Any]
    name: str

    def set(self, **knobs: str | int) -> Done:
        """Gives knobs other values, such as LOSS="30%", for packets that enter the link afterwards."""
        return self._net.happen(*(schedule.assigned(self.name, knob, f"{value}") for knob, value in knobs.items()))


@dataclass(frozen=True)
class _Program(Generic[Done, Code]):
    """A program that a session has started. command: its argument list. number: of this program in the session."""

    _net: _Net[Done, Code, Any]
    host: str
    command: Sequence[str]
    number: int
    _has_stdin: bool

    @property
    def out(self) -> str:
        """The text that it has written to its standard output so far."""
        return self._net.written(lambda each: each.program == self.number and each.stream == "out")

    @property
    def err(self) -> str:
        """The text that it has written to its standard error so far."""
        return self._net.written(lambda each: each.program == self.number and each.stream == "err")

    @property
    def code(self) -> int | None:
        """Its exit code; negative, the signal that ended it; None if it had not ended at the last call."""
        return self._net.codes.get(self.number)

    def prints(self, text: str, *, times: int = 1) -> Condition:
        """Returns the condition that it has printed a text, so many times since its start."""
        times = _whole("times", times, _MOST_TIMES)
        wanted = Prints(host=self.host, text=_text(text), number=self.number, times=times)
        return Condition(wanted, f"{self._shown} prints {text!r}{_as_often(times)}")

    @property
    def ends(self) -> Condition:
        """The condition that it has ended."""
        return Condition(Ends(number=self.number), f"{self._shown} ends")

    def send(self, data: str | bytes) -> Done:
        """Writes to its standard input."""
        if not isinstance(data, str | bytes):
            raise ScenarioError("send", f"{data}", "a text, or bytes")
        return self._sends(data.encode() if isinstance(data, str) else data)

    def close_stdin(self) -> Done:
        """Ends its standard input."""
        return self._sends(None)

    def _sends(self, data: bytes | None) -> Done:
        if data is not None and len(data) > _PIPE_BYTES:
            raise ScenarioError("send", f"{len(data)} bytes", f"up to {_PIPE_BYTES} bytes in a call")

        def make() -> Call:
            self._check_goes_on()
            if not self._has_stdin:
                raise StepFailed(self._shown, "it has no standard input; start(..., stdin=True) gives it one")
            return Send(number=self.number, data=data)

        found: Done = self._net.ask(make, _nothing)
        return found

    def signal(self, name: str) -> Done:
        """Sends it a signal, such as `TERM`."""
        full = f"SIG{f'{name}'.upper().removeprefix('SIG')}"
        if full not in signal.Signals.__members__:
            raise ScenarioError("signal", f"{name}", "the name of a signal, such as TERM")

        def make() -> Call:
            self._check_goes_on()
            return Signal(number=self.number, name=full)

        found: Done = self._net.ask(make, _nothing)
        return found

    def wait(self, limit: str = _LIMIT) -> Code:
        """Waits for its end; returns its exit code. Raises NotInTime."""
        __tracebackhide__ = True
        found: Code = self._net.until_then(self.ends, limit, lambda: self.code)
        return found

    def _check_goes_on(self) -> None:
        if self.code is not None:
            raise StepFailed(self._shown, f"it has ended with exit code {self.code}")

    @property
    def _shown(self) -> str:
        return f"{self.host}'s {Path(self.command[0]).name}"


Program = _Program[None, int]
AsyncProgram = _Program[_Awaited[None], _Awaited[int]]


def _nothing(_: Answer) -> None:
    """Nothing follows from an answer."""


def _text(text: str) -> bytes:
    if not isinstance(text, str) or not text:
        raise ScenarioError("prints", f"{text}", "a text of at least one letter")
    return text.encode()


def _whole(where: str, number: int, most: int) -> int:
    if not isinstance(number, int) or not 1 <= number <= most:
        raise ScenarioError(where, f"{number}", f"a whole number from 1 to {most}")
    return number


def _as_often(times: int) -> str:
    return "" if times == 1 else f" {times} times"


def _parsed_ns(where: str, time: str) -> int:
    if not isinstance(time, str):
        raise ScenarioError(where, f"{time}", "a text such as '30s' or '200ms'")
    return parsed_time_ns(where, time, _LEAST, _MOST)


class Session:
    """A session that begins with `with` or `async with`, and whose guest ends with it, whatever happens."""

    def __init__(
        self,
        run: AbstractContextManager[Steered],
        made: Callable[[Outcome, Sequence[OutputFrame], PacketTrace | None], Result],
    ) -> None:
        """made: gets what came of the session, and returns its result."""
        self._opening: AbstractContextManager[Steered] | None = run
        self._made = made

    def _begun(self) -> AbstractContextManager[Steered]:
        """Returns what begins it, once. Raises StepFailed."""
        opening, self._opening = self._opening, None
        if opening is None:
            raise StepFailed(_WHERE, "it has begun before; sandbox.session() makes a new one")
        return opening

    def __enter__(self) -> Net:
        with ExitStack() as stack:
            net = Net(stack.enter_context(self._begun()))
            net.begin()
            self._net, self._stack = net, stack.pop_all()
        return net

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._stack, self._result_of(self._net, error):
            if error is None:
                self._net.end()

    async def __aenter__(self) -> AsyncNet:
        with ExitStack() as stack:
            net = AsyncNet(stack.enter_context(self._begun()))
            await net.begin()
            self._async_net, self._stack = net, stack.pop_all()
        return net

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._stack, self._result_of(self._async_net, error):
            if error is None:
                await self._async_net.end()

    @contextmanager
    def _result_of(self, net: _Net[Any, Any, Any], error: BaseException | None) -> Iterator[None]:
        """Makes the result of a session when it has ended, or before an error ends its guest. Raises StepFailed."""
        outcome = Outcome(ending=Ending.ENDED, reason="an error ended it", duration_ns=net.now_ns)
        try:
            yield
            if error is None:
                outcome = net.run.outcome()
        finally:
            net.run.listen()
            net.result_of(self._made(outcome, net.run.frames, net.run.trace()))
        if outcome.ending is not Ending.ENDED:
            raise StepFailed(_WHERE, outcome.reason or outcome.ending)
