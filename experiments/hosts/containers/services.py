"""Starts the containers of a project, runs commands in them, and waits for them."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from priolab.common.process import processes
from priolab.common.process.processes import Process, ProcessSettings
from priolab.common.timeouts import BLAME_S
from priolab.experiments.hosts.containers import docker_engine
from priolab.experiments.hosts.containers.docker_engine import STEP_S

END_S = 1.0
"""The most seconds until a container that has ended is reported."""


@dataclass(frozen=True)
class Services:
    """The services of a project.

    ids: the ids of the containers, by service. at_work: the containers that must run, as attached processes, in the
    order of their start.
    """

    ids: dict[str, str]
    at_work: list[Process] = field(default_factory=list)

    def attached(self, service: str, name: str, log: Path) -> Process:
        """Starts a container. The returned process has the container's output, and ends when the container ends."""
        return Process(name, ["docker", "start", "--attach", self.ids[service]], log)

    @contextlib.contextmanager
    def start(self, service: str, name: str, log: Path) -> Iterator[Process]:
        """Starts a container that must run while the context is open. If it ends, later commands fail."""
        with self.attached(service, name, log) as process:
            self.at_work.append(process)
            try:
                yield process
            finally:
                self.at_work.remove(process)

    def check_alive(self) -> None:
        """Raises StepFailed if a container that must run has ended.

        If several of these containers have ended, the error names the container that was started first.
        """
        if not all(process.running for process in self.at_work):
            time.sleep(BLAME_S)  # the container that ended first may be noticed last
            for process in self.at_work:
                process.check_alive()

    def run(self, service: str, command: Sequence[str], timeout_s: float = STEP_S) -> str:
        """Runs a command in the service's container, and returns its output.

        Raises StepFailed, also if a container that must run ends meanwhile.
        """
        self.check_alive()
        return processes.run(
            docker_engine.exec_in(self.ids[service], command),
            step=f"the {service} place",
            timeout_s=timeout_s,
            check_alive=self.check_alive,
        )

    def until(self, process: Process, service: str, command: Sequence[str], log: Path | None = None) -> str:
        """Repeats a command, which waits for the service, until the command succeeds. Returns the output.

        Raises StepFailed. process: the service's container. log: the log for the error; None for that of the process.
        """
        return docker_engine.insist(lambda: self.run(service, command), process, self.check_alive, log)

    def process(self, name: str, service: str, command: Sequence[str], log: Path, stdout: int | None = None) -> Process:
        """Starts a long-lived command in the container of a service. name: the name of the command in errors."""
        return Process(name, docker_engine.exec_in(self.ids[service], command), log, ProcessSettings(stdout=stdout))

    def wait(self, service: str, check_alive: Callable[[], None], what: str) -> None:
        """Waits until the container runs. Raises StepFailed.

        check_alive: raises StepFailed if waiting is in vain. what: the name of this step in errors.
        """
        processes.wait_until(lambda: docker_engine.runs(self.ids[service]), STEP_S, check_alive, what)


def granted(capabilities: Sequence[str], command: Sequence[str]) -> list[str]:
    """Returns the command that runs `command` with these capabilities, which the container must have."""
    names = ",".join(f"+{name}" for name in capabilities)
    return ["setpriv", "--inh-caps", names, "--ambient-caps", names, "--", *command]
