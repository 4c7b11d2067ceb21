"""Lets the work of a front's server take time in a guest (SERVICE), and collects when the server was at work.

The guest's kernel does both: testbed/guest/kernel_patches/service.py has its rules.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from priolab.common.descriptors import read_beginning, with_descendants
from priolab.common.errors import InvalidRun, StepFailed
from priolab.common.formats.samples import ServiceSpan
from priolab.common.process.processes import Process
from priolab.common.procfs import number_in
from priolab.experiments.scenario.service import Service
from priolab.proxy.front import Start

_KERNELS = Path("/sys/module/um_arch/parameters/service")  # rules 1 and 5
_NONE = Service(wake_ns=0, kb_ns=0)


@contextmanager
def serving(service: Service, journal: Path, start: Start, command: tuple[str, ...], log: Path) -> Iterator[Process]:
    """A context: starts a server that needs a service time, as `start` does, and writes the journal at its end.

    Raises StepFailed, and InvalidRun if a process of the server has another service time at the end.
    """
    _mark(service)
    try:
        starting = start(command, log)
    finally:
        _mark(_NONE)
    with starting as process:
        assert isinstance(process, Process)
        yield process
        _check_marked(service, process.pid)
        _write_spans(journal)


def _mark(service: Service) -> None:
    """Marks this thread, and so what it starts from now on."""
    try:
        _KERNELS.write_text(f"{service.wake_ns} {service.kb_ns}")
    except OSError as error:
        raise StepFailed(f"setting SERVICE={service}", error.strerror or str(error)) from error


def _check_marked(service: Service, server_pid: int) -> None:
    for pid in with_descendants(server_pid):
        counts = read_beginning(f"/proc/{pid}/io")
        found = [number_in(counts, name) for name in ("service_wake", "service_kb")]
        if found not in ([service.wake_ns, service.kb_ns], [None, None]):  # None: the process has just ended
            seen = replace(service, wake_ns=found[0] or 0, kb_ns=found[1] or 0)
            raise InvalidRun("SERVICE of the front's processes", str(service), str(seen) or "none")


def _write_spans(journal: Path) -> None:
    """Writes the spans of time since the mark in which the server was at work."""
    try:
        with journal.open("w") as lines:
            while text := _KERNELS.read_text():
                for from_ns, until_ns in (map(int, line.split()) for line in text.splitlines()):
                    lines.write(ServiceSpan(t_ns=from_ns, until_ns=until_ns).to_json() + "\n")
    except OSError as error:
        raise StepFailed("reading when the front's server was at work", error.strerror or str(error)) from error
