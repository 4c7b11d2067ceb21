"""The result of a run, or of a session: what the programs did, as values."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from priolab.common.documents import write_document
from priolab.common.errors import ScenarioError, Unfit
from priolab.testbed.sandbox import report
from priolab.testbed.sandbox.outcome import Connection, Ending, Happened, Outcome
from priolab.testbed.sandbox.output_log import OutputFrame, last_lines
from priolab.testbed.sandbox.packet import Loss, Packet
from priolab.testbed.sandbox.packet_trace import PacketTrace, losses
from priolab.testbed.sandbox.spec import CLIENT, SERVER
from priolab.testbed.sandbox.timeline import Event, Timeline

_NS = 10**9


class ClientFailed(AssertionError):
    """The client ended with another exit code than 0. Its text has the code, and a reason or the last that it wrote."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a run. outcome: how it ended, and what was counted. frames: what the programs wrote, and when.

    trace: its packets; None without a capture. command: a command that repeats the run.
    """

    outcome: Outcome
    frames: Sequence[OutputFrame]
    trace: PacketTrace | None = None
    command: str = ""

    def __repr__(self) -> str:
        code, ending = self.outcome.code, self.outcome.ending
        how = (
            ("ended" if ending is Ending.ENDED else f"not ended ({ending})")
            if code is None
            else f"exit code {code}"
            if code >= 0
            else f"signal {-code}"
        )
        last = self.last_lines(CLIENT, 1)
        wrote = f"the client wrote at last: {last}" if last else "the client wrote nothing"
        return f"Result: {how} after {self.seconds:.6f} s\n{wrote}"

    @property
    def code(self) -> int:
        """The client's exit code; negative, the signal that ended it. Raises Unfit for a session."""
        if self.outcome.code is None:
            raise Unfit("code: the result of a run; in a session each program has its own")
        return self.outcome.code

    @property
    def seconds(self) -> float:
        """The time from the client's start to its end, by the clock of the hosts."""
        return self.outcome.duration_ns / _NS

    @property
    def out(self) -> str:
        """The client's standard output."""
        return self.written(CLIENT, "out").decode(errors="replace")

    @property
    def err(self) -> str:
        """The client's standard error."""
        return self.written(CLIENT, "err").decode(errors="replace")

    @property
    def server(self) -> str:
        """Both outputs of the server."""
        return self.written(SERVER, "out", "err").decode(errors="replace")

    @property
    def events(self) -> Sequence[Happened]:
        """The events of the schedule that happened, with their times."""
        return self.outcome.events

    @property
    def connections(self) -> Sequence[Connection]:
        """The TCP connections between the hosts."""
        return self.outcome.connections

    @property
    def retransmissions(self) -> int:
        """The segments that TCP sent again, in both directions."""
        return sum(each.down_retransmissions + each.up_retransmissions for each in self.connections)

    @property
    def goodput_bit_s(self) -> float:
        """TCP's data that the client's kernel received, by the client's time."""
        return report.goodput_bit_s(report.received_bytes(self.outcome, CLIENT), self.outcome) or 0.0

    @property
    def losses(self) -> Counter[Loss]:
        """The number of packets that did not arrive, by cause and place. Without a capture those that a queue dropped,
        or a link lost at random.
        """
        return losses(self.outcome, self.trace)

    def packets(self, host: str) -> Sequence[Packet]:
        """Returns the packets that a host has sent and received, in order of time.

        Raises Unfit without a capture, and ScenarioError for a host that was not there.
        """
        trace = self._captured("packets()")
        if host not in trace.hosts:
            raise ScenarioError("host", host, ", ".join(trace.hosts))
        return trace.of(host)

    def timeline(
        self,
        file: Path | None = None,
        *,
        begin_s: float | None = None,
        end_s: float | None = None,
        events: Iterable[Event] = (),
    ) -> Timeline:
        """Returns a picture of the packets of all hosts, and writes it to a file, `.svg` or `.png`.

        begin_s, end_s: only packets that were sent in this time. events: what to mark beside the schedule's, each with
        its time in seconds from the client's start. Raises Unfit without a capture, ScenarioError for another file,
        Unavailable.
        """
        trace = self._captured("timeline()")
        made = trace.timeline(begin_s=begin_s, end_s=end_s, events=[*events])
        if file is not None:
            write_document(file, made.content(file), "timeline")
        return made

    def _captured(self, wanted: str) -> PacketTrace:
        if self.trace is None:
            raise Unfit(f"{wanted} needs a capture: Sandbox(..., capture=True), or run(..., capture=True)")
        return self.trace

    def written(self, host: str, *streams: str) -> bytes:
        """Returns what a host's program wrote to the streams `out` and `err`."""
        return b"".join(each.data for each in self.frames if each.place == host and each.stream in streams)

    def last_lines(self, host: str, count: int) -> str:
        """Returns the last lines that a host's program wrote, to either stream, without empty ones."""
        return "\n".join(last_lines(self.frames, host, count))

    def check(self) -> Self:
        """Returns this result. Raises ClientFailed if the client's exit code is not 0."""
        __tracebackhide__ = True  # pytest shows the test's line and the error alone
        if self.code != 0:
            last = (self.err or self.out).strip().rpartition("\n")[2]
            reason = self.outcome.reason or last or "it wrote nothing"
            hints = "".join(f"; {hint}" for hint in self.outcome.hints)
            raise ClientFailed(f"the client ended with exit code {self.code}: {reason}{hints}")
        return self
