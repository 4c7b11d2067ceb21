"""Runs programs in the containers of a project: starts them, asks them, waits for them."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.errors import StepFailed
from experiments.host import processes
from experiments.host.processes import Process
from experiments.testbed.containers import docker_engine

READY_S = 30
"""Seconds a service may take until it is ready."""

STEP_S = 60.0
"""Seconds a command in a container may take."""

RETRY_S = 1.0
_BLAME_S = 0.5  # the first container to end may be seen last


@dataclass(frozen=True)
class Services:
    """The services. ids: of the containers, by service. at_work: the processes that must run, in starting order."""

    ids: dict[str, str]
    at_work: list[Process] = field(default_factory=list)

    def attached(self, service: str, name: str, log: Path) -> Process:
        """Starts a container attached: the process has its output, and ends when it does."""
        return Process(name, ["docker", "start", "--attach", self.ids[service]], log)

    @contextlib.contextmanager
    def start(self, service: str, name: str, log: Path) -> Iterator[Process]:
        """Starts a container without which nothing else is to go on."""
        with self.attached(service, name, log) as process:
            self.at_work.append(process)
            try:
                yield process
            finally:
                self.at_work.remove(process)

    def check_alive(self) -> None:
        """Raises StepFailed if a container that must run has ended: of several, for the one started first."""
        if not all(process.running for process in self.at_work):
            time.sleep(_BLAME_S)
            for process in self.at_work:
                process.check_alive()

    def run(self, service: str, command: Sequence[str], timeout_s: float = STEP_S) -> str:
        """Runs a command; returns its output. Raises StepFailed, also when a container ends meanwhile."""
        return processes.run(
            docker_engine.exec_in(self.ids[service], command),
            step=f"the {service} place",
            timeout_s=timeout_s,
            check_alive=self.check_alive,
        )

    def until(self, process: Process, service: str, command: Sequence[str], log: Path | None = None) -> str:
        """Runs a command that waits for the service until it succeeds; returns its output. Raises StepFailed.

        A container reported as running may still be too young to run a command.
        """
        end = time.monotonic() + READY_S
        while True:
            try:
                return self.run(service, command)
            except StepFailed as error:
                process.wait(RETRY_S)  # a container that has ended gives its reason a moment later
                self.check_alive()
                if time.monotonic() > end:
                    raise StepFailed(process.name, error.reason, log or process.log) from error

    def process(self, name: str, service: str, command: Sequence[str], log: Path, stdout: int | None = None) -> Process:
        """Starts a long-lived command in a container."""
        return Process(name, docker_engine.exec_in(self.ids[service], command), log, stdout=stdout)

    def wait(self, service: str, check_alive: Callable[[], None], what: str) -> None:
        """Waits until the container runs. Raises StepFailed; check_alive raises the reason if it never will."""
        processes.wait_until(lambda: self._runs(service), STEP_S, check_alive, what)

    def _runs(self, service: str) -> bool:
        with contextlib.suppress(StepFailed):
            return docker_engine.docker("inspect", "--format", "{{.State.Running}}", self.ids[service]) == "true"
        return False


def granted(capabilities: Sequence[str], command: Sequence[str]) -> list[str]:
    """The command, with capabilities that the container was granted."""
    names = ",".join(f"+{name}" for name in capabilities)
    return ["setpriv", "--inh-caps", names, "--ambient-caps", names, "--", *command]
