"""`priolab tune`: runs the tuner outside the lab, beside a running server, until the command is stopped."""

import argparse
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from priolab.common.formats.decisions import Decision
from priolab.common.tuning import TARGET_NS
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.tuner_log import DecisionPrinter, TunerLog, complain, teller
from priolab.experiments.errors import ScenarioError, StepFailed, Unavailable
from priolab.experiments.scenario.knob import whole
from priolab.experiments.scenario.knobs import KNOBS
from priolab.netem import control, units
from priolab.proxy.tuner.caution import Caution
from priolab.proxy.tuner.claim import Claimed, claimed_cgroup, claimed_process
from priolab.proxy.tuner.in_kernel import InKernel
from priolab.proxy.tuner.law import CEILING_BYTES, FLOOR_BYTES, Aim
from priolab.proxy.tuner.namespaces import Sysctls
from priolab.proxy.tuner.tuner import CannotTune, Note, Say, Tuner
from priolab.proxy.tuner.userland import Userland

_WHAT = "priolab tune"
_STEP = "tuning"
_PORT_MOST = 65535
_CEILING_MOST = 2**31 - 1
_PID_MOST = 2**22
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NEVER_NS = 2**63
_T = TypeVar("_T")
_Make = Callable[[Note, Say], Tuner]


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab tune` to its parser."""
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument(
        "--cgroup",
        type=Path,
        help="tune, by a program in the kernel, the connections that servers of this cgroup accept (needs root)",
    )
    whose.add_argument("--pid", help="tune, by this process, the connections of the process PID and of its descendants")
    parser.add_argument(
        "--target-delay",
        default=f"{TARGET_NS // 10**6}ms",
        metavar="TIME",
        help="longest wait of a byte in the send queue (default: 50ms)",
    )
    parser.add_argument(
        "--floor", default=str(FLOOR_BYTES), metavar="BYTES", help=f"lowest LOWAT to set (default: {FLOOR_BYTES})"
    )
    parser.add_argument(
        "--ceiling",
        metavar="BYTES",
        help=f"highest LOWAT to set (default: {CEILING_BYTES}, or less if the sysctl tcp_notsent_lowat is less)",
    )
    parser.add_argument("--port", help="tune only connections to this port of the server")
    parser.add_argument("--dry-run", action="store_true", help="compute and print values of LOWAT, but set none")
    parser.add_argument("--restore", action="store_true", help="at the end, give open connections their previous LOWAT")
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="append each decision about a connection to FILE, as a line of JSON; SIGHUP reopens FILE",
    )
    parser.add_argument("--quiet", action="store_true", help="print no lines about connections")
    parser.set_defaults(do=tune)


def tune(options: argparse.Namespace, report: Report) -> int:
    """Tunes until SIGINT or SIGTERM or, if no log is written, SIGHUP. Raises ScenarioError, Unavailable, StepFailed."""
    target = KNOBS["TARGET_DELAY"]
    target_ns = _parsed("--target-delay", options.target_delay, target.parse, target.allowed)
    floor_bytes = _parsed("--floor", options.floor, whole(1, CEILING_BYTES), f"1 to {CEILING_BYTES} bytes")
    aim = Aim(target_us=target_ns // 1000, floor_bytes=floor_bytes, ceiling_bytes=_ceiling(options, floor_bytes))
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    say = teller(report)
    restored: list[int] = []
    with _explained(options):
        make = _checked(options, aim)
    with ExitStack() as stack:
        told = stack.enter_context(control.signals(heard))
        log = stack.enter_context(_log(options.log, partial(complain, report))) if options.log else None
        printer = DecisionPrinter((lambda _: None) if options.quiet else say)

        def note(decision: Decision) -> None:
            if log:
                log.note(decision)
            printer.note(decision)

        with ExitStack() as at_work:
            with _explained(options):
                tuner = at_work.enter_context(make(note, say))
            if options.restore:
                at_work.callback(lambda: restored.append(tuner.restore()))
            where = f"cgroup {options.cgroup}" if options.cgroup else f"process {options.pid}"
            say(f"tuning {where} ({tuner.kind}); target delay {units.format_time(target_ns)}; Ctrl-C ends the tuner")
            _work(tuner, told, log, printer)
        printer.look(_NEVER_NS)
    say(f"stopped; connections {f'given back their previous LOWAT: {restored[0]}' if restored else 'keep their LOWAT'}")
    return 0


def _work(tuner: Tuner, told: socket.socket, log: TunerLog | None, printer: DecisionPrinter) -> None:
    """Tunes until a signal ends the command. If a log is written, SIGHUP reopens the log and does not end the command.

    told: a socket to which the number of each signal is written. There is no Python signal handler, because a handler
    could block forever: it would run in the tuning thread, and this thread may hold a lock that the handler needs.
    """
    waited_for = [told.fileno()] if tuner.readable is None else [told.fileno(), tuner.readable]
    try:
        while True:
            next_ns = tuner.look(time.monotonic_ns())
            next_ns = min(next_ns, printer.look(time.monotonic_ns()))
            wait_s = max(0, next_ns - time.monotonic_ns()) / 10**9
            if told.fileno() not in select.select(waited_for, [], [], wait_s)[0]:
                continue
            if log is None or set(told.recv(len(_SIGNALS))) != {signal.SIGHUP}:
                return
            log.reopen()
    except CannotTune as error:
        raise StepFailed(_STEP, str(error)) from error


def _ceiling(options: argparse.Namespace, floor_bytes: int) -> int:
    if options.ceiling is None:
        return CEILING_BYTES
    allowed = f"{floor_bytes} (the floor) to {_CEILING_MOST} bytes"
    return _parsed("--ceiling", options.ceiling, whole(floor_bytes, _CEILING_MOST), allowed)


def _parsed(word: str, text: str, parse: Callable[[str], _T], allowed: str) -> _T:
    try:
        return parse(text)
    except ValueError:
        raise ScenarioError(word, text, allowed) from None


def _log(path: Path, say: Say) -> TunerLog:
    try:
        return TunerLog(path, say)
    except OSError as error:
        raise StepFailed(_STEP, f"{path} cannot be written: {error.strerror}") from error


def _checked(options: argparse.Namespace, aim: Aim) -> _Make:
    """Checks the options and the machine before the tuner starts; returns a function that makes the tuner.

    Raises CannotTune, ScenarioError, StepFailed.
    """
    port = None
    if options.port is not None:
        port = _parsed("--port", options.port, whole(1, _PORT_MOST), f"1 to {_PORT_MOST}")
    dry_run, sysctls = options.dry_run, None if options.ceiling else Sysctls()
    if options.pid is not None:
        pid = _parsed("--pid", options.pid, whole(1, _PID_MOST), f"1 to {_PID_MOST}")
        beside = Caution(claim=claimed_process, sysctls=sysctls)
        with Userland(pid, aim, lambda _: None, caution=beside):
            return lambda note, _: Userland(pid, aim, note, port=port, dry_run=dry_run, caution=beside)
    _check_cgroup(options.cgroup)
    within = Caution(claim=claimed_cgroup, sysctls=sysctls)
    return lambda note, say: InKernel(options.cgroup, aim, note, say, port=port, dry_run=dry_run, caution=within)


def _check_cgroup(cgroup: Path) -> None:
    try:
        (cgroup / "cgroup.controllers").stat()
    except (FileNotFoundError, NotADirectoryError):
        allowed = "a folder of a cgroup2 hierarchy; `find / -name cgroup.controllers` finds a file in each"
        raise ScenarioError("--cgroup", str(cgroup), allowed) from None
    except OSError as error:
        raise StepFailed(_STEP, f"{cgroup}: {error.strerror}") from error


@contextmanager
def _explained(options: argparse.Namespace) -> Iterator[None]:
    try:
        yield
    except CannotTune as error:
        if options.pid is not None or isinstance(error, Claimed):
            remedy = error.remedy or "use --cgroup"
        else:
            remedy = ", or ".join(filter(None, (error.remedy, "use --pid for a server of your own")))
        raise Unavailable(_WHAT, str(error), remedy) from error
