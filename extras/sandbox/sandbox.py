"""A sandbox for Python programs: two programs on the lab's link, and what they did as values.

from priolab.sandbox import Sandbox

with Sandbox(RATE="10mbit", DELAY="20ms", server="python3 -m http.server 80") as sandbox:
    assert sandbox.run("curl -s http://server/").seconds < 0.1
"""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from priolab.experiments.errors import LabError, StepFailed
from priolab.experiments.execution.command_process import keep_guests
from priolab.extras.sandbox import knobs, report, session
from priolab.extras.sandbox.order import CLIENT, ENVIRONMENT, LISTENS, SERVER, Order
from priolab.extras.sandbox.outcome import Connection, Ending, Outcome
from priolab.extras.sandbox.said import Said

Command = str | Sequence[str]
"""A command: an argument list, or a text that is split as a shell splits words. No shell reads it."""

_NS = 10**9


class ClientFailed(AssertionError):
    """The client ended with another exit code than 0. Its text has the code, and a reason or the last that it wrote."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run did. outcome: how it ended, and what was counted. frames: what the programs wrote, and when."""

    outcome: Outcome
    frames: Sequence[Said]

    @property
    def code(self) -> int:
        """The client's exit code; negative, the signal that ended it."""
        assert self.outcome.code is not None, "a client that has not ended raises an error"
        return self.outcome.code

    @property
    def seconds(self) -> float:
        """The time from the client's start to its end, by the clock of the places."""
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
    def connections(self) -> Sequence[Connection]:
        """The TCP connections between the places."""
        return self.outcome.connections

    @property
    def retransmissions(self) -> int:
        """The segments that TCP sent again, in both directions."""
        return sum(each.down_retransmissions + each.up_retransmissions for each in self.connections)

    @property
    def goodput_bit_s(self) -> float:
        """TCP's data that the client's kernel received, by the client's time."""
        return report.goodput_bit_s(sum(each.down_bytes for each in self.connections), self.outcome) or 0.0

    def written(self, place: str, *streams: str) -> bytes:
        """Returns what a place's program wrote to the streams `out` and `err`."""
        return b"".join(each.data for each in self.frames if each.place == place and each.stream in streams)

    def check(self) -> Self:
        """Returns this result. Raises ClientFailed if the client's exit code is not 0."""
        if self.code != 0:
            last = (self.err or self.out).strip().rpartition("\n")[2]
            reason = self.outcome.reason or last or "it wrote nothing"
            raise ClientFailed(f"the client ended with exit code {self.code}: {reason}")
        return self


class Sandbox:
    """Two places, `client` and `server`, joined by a link. A context manager, which keeps a guest between its runs.

    Every run begins anew: nothing that a program did in a run has an effect on the next one, but for what it wrote into
    the current folder. In a kept guest TCP's first sequence numbers differ from those in a new one. With fresh=True
    each run has a new guest, and its packets repeat to the byte.
    """

    def __init__(
        self,
        *,
        server: Command | None = None,
        seed: int | None = None,
        fabric: str | None = None,
        env: Mapping[str, str] | None = None,
        sysctls: Iterable[tuple[str, str, str]] = (),
        wait: str | int = LISTENS,
        folder: Path | None = None,
        scratch: bool = False,
        scheduler: str = "fifo",
        fresh: bool = False,
        memory: str | None = None,
        limit_s: float = 86_400.0,
        wall_limit_s: float = 600.0,
        **link: str | int,
    ) -> None:
        """Makes a sandbox; the link's knobs are further parameters, such as RATE="10mbit". Raises ScenarioError.

        The parameters are the options of `priolab sandbox`. sysctls: place, name and value of each. wait: the port at
        which the server must listen before the client starts, `any` or `none`. folder: the programs' current folder;
        None for that of this process. scheduler: `fifo`, or `default` for that of the kernel.
        """
        given = {name: str(value) for name, value in link.items()}
        given |= {knobs.SEED: str(seed)} if seed is not None else {}
        given |= {knobs.FABRIC: fabric} if fabric is not None else {}
        knobs.check(given)
        self._given = given
        self._order = Order(
            knobs=knobs.of_scenario(given),
            seed=knobs.seed(given),
            client=(),
            server=None if server is None else _split(server),
            environment={**ENVIRONMENT, **(env or {})},
            folder=str(Path.cwd() if folder is None else folder.resolve()),
            limit_ns=round(limit_s * _NS),
            sysctls=tuple(sysctls),
            wait=str(wait),
            scratch=scratch,
            fair=scheduler == "default",
        )
        self._wall_limit_s = wall_limit_s
        self._fresh = fresh
        self._memory_mib = knobs.memory_mib(memory)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(keep_guests())
            self._room = stack.enter_context(session.room())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, server: Command | None) -> Self:
        """Makes each later run start this server before its client; None for no server."""
        self._order = replace(self._order, server=None if server is None else _split(server))
        return self

    def run(
        self,
        client: Command,
        *,
        stdin: bytes = b"",
        capture: Path | None = None,
        samples: Path | None = None,
        interval_s: float = 0.01,
        **link: str | int,
    ) -> Result:
        """Runs the server and then the client, until the client ends; returns what they did. Raises LabError.

        stdin: the client's standard input. capture, samples: files to write packets and samples to. interval_s: between
        samples. link: knobs that differ in this run from those of the sandbox.
        """
        given = self._given | {name: str(value) for name, value in link.items()}
        knobs.check(given)
        order = replace(
            self._order,
            knobs=knobs.of_scenario(given),
            seed=knobs.seed(given),
            client=_split(client),
            interval_ns=None if samples is None else round(interval_s * _NS),
        )
        wish = session.Wish(
            order=order,
            fabric=given.get(knobs.FABRIC, knobs.default(knobs.FABRIC)),
            stdin=stdin,
            wall_limit_s=self._wall_limit_s,
            memory_mib=self._memory_mib,
            capture=capture,
            samples=samples,
            fresh=self._fresh,
        )
        fabric, _ = session.usable(wish)
        frames: list[Said] = []
        outcome = session.carry_out(wish, fabric, self._room, frames.extend)
        if outcome.ending is not Ending.ENDED:
            raise StepFailed("sandbox", outcome.reason or outcome.ending)
        return Result(outcome=outcome, frames=frames)


def _split(command: Command) -> tuple[str, ...]:
    return tuple(shlex.split(command) if isinstance(command, str) else map(os.fspath, command))


__all__ = ["ClientFailed", "Command", "LabError", "Result", "Sandbox"]
