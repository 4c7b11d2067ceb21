"""Carries out the events of a schedule when they are due: on links, between hosts, and on programs."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Self

from priolab.common.errors import StepFailed
from priolab.netem.link import Link
from priolab.testbed.sandbox.alarm import Alarm
from priolab.testbed.sandbox.outcome import Happened
from priolab.testbed.sandbox.packet_recorder import PacketRecorder
from priolab.testbed.sandbox.programs import Programs
from priolab.testbed.sandbox.schedule import (
    ClockJump,
    Event,
    HostEvent,
    Kill,
    LinkChange,
    Partition,
    Run,
    Step,
    Verb,
    links_of,
    parsed_event,
)
from priolab.testbed.sandbox.spec import SandboxSpec
from priolab.testbed.topology.active import ActiveLink
from priolab.testbed.topology.cuts import Cuts


class Events:
    """The events of a spec's schedule. A context manager. happened: what has happened so far, and when."""

    def __init__(
        self,
        spec: SandboxSpec,
        links: Mapping[str, ActiveLink],
        cuts: Cuts,
        programs: Programs,
        recorders: Sequence[PacketRecorder],
    ) -> None:
        """links: by the names of their hosts. recorders: whose times do not jump with the time of day."""
        self._due = deque(zip(spec.steps, spec.links_over_time.later, strict=True))
        self._steps, self._changing = [*spec.steps], spec.changing
        self._knobs = {name: spec.texts(name) for name in spec.ways}
        self._links = links
        self._cuts = cuts
        self._programs = programs
        self._recorders = recorders
        self.happened: list[Happened] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._alarm = stack.enter_context(Alarm())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fileno(self) -> int:
        """Returns the descriptor that is readable when an event is due."""
        return self._alarm.fileno()

    def hear(self) -> None:
        """Hears that an event is due; `look` carries it out."""
        self._alarm.clear()

    def look(self, now_ns: int) -> int | None:
        """Carries out what is due; returns when the next event is. Raises StepFailed, and Ended as `Programs.run`."""
        began_ns = self._programs.began_ns
        while self._due and began_ns + self._due[0][0].at_ns <= now_ns:
            step, links = self._due.popleft()
            self.note(step.text, now_ns, partial(self._carry_out, step.event, links))
        if not self._due:
            return None
        due_ns = began_ns + self._due[0][0].at_ns
        self._alarm.set(due_ns)
        return due_ns

    def note(self, text: str, now_ns: int, act: Callable[[], None]) -> None:
        """Does something, and notes it as an event that has happened. Raises what it raises."""
        began_ns = self._programs.began_ns
        act()
        self.happened.append(Happened(at_ns=now_ns - began_ns, event=text, done_ns=time.monotonic_ns() - began_ns))

    def happen(self, text: str, now_ns: int) -> None:
        """Carries out an event that nobody has foreseen. Raises as `look`."""
        step = Step(at_ns=now_ns - self._programs.began_ns, event=parsed_event(text), text=text)
        self._steps.append(step)
        self._due.append((step, links_of(self._steps, self._knobs, changing=self._changing).later[-1]))
        self.look(now_ns)

    def _carry_out(self, event: Event, links: Mapping[str, Link]) -> None:
        self._change(links)
        match event:
            case LinkChange():
                pass
            case Partition(verb=Verb.HOLD):
                self._cuts.hold(event.ways)
            case Partition():
                self._cuts.part(event.ways)
            case Kill():
                self._programs.kill(event.host, event.signal)
            case Run():
                self._programs.run_further(event.host, event.command)
            case ClockJump():
                time.clock_settime_ns(time.CLOCK_REALTIME, time.time_ns() + event.by_ns)
                for each in self._recorders:
                    each.set_back(event.by_ns)
            case HostEvent(verb=Verb.HEAL):
                self._cuts.heal(event.hosts)
            case HostEvent(verb=Verb.RELEASE):
                self._cuts.release(event.hosts)
            case HostEvent(verb=Verb.DOWN | Verb.UP, hosts=[host]):
                self._cuts.set_down(host, down=event.verb is Verb.DOWN)
            case HostEvent(verb=Verb.RESTART, hosts=[host]):
                self._programs.restart(host)
            case HostEvent(hosts=[host]):
                self._programs.halt(host, on=event.verb is Verb.STOP)

    def _change(self, links: Mapping[str, Link]) -> None:
        for host, link in links.items():
            changer = self._links[host].changer
            assert changer is not None, "the link was made for changes"
            try:
                changer.change(link)
            except (OSError, RuntimeError) as error:
                raise StepFailed("a change of the link", str(error)) from error
