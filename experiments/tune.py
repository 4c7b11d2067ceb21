"""`priolab tune`: the tuner outside the lab, beside a server that knows nothing of it, until it is told to stop."""

import argparse
import os
import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from experiments.cache import cache_folder
from experiments.errors import ScenarioError, StepFailed, Unavailable
from experiments.report import Report
from netem import units
from proxy.tuner import compiler
from proxy.tuner.in_kernel import InKernel
from proxy.tuner.journal import Decision, writing
from proxy.tuner.law import FLOOR_BYTES, TARGET_NS, Aim
from proxy.tuner.tuner import CannotTune, Note, Tuner
from proxy.tuner.userland import Userland

_WHAT = "priolab tune"
_STEP = "tuning"
_PORT_MOST = 65535


def add_to(commands: Any) -> None:
    """The command and its words; commands: what argparse's add_subparsers gave."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "tune", help="set TCP_NOTSENT_LOWAT of a running server's connections", allow_abbrev=False
    )
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--cgroup", type=Path, help="in the kernel, what a cgroup's servers accept from now on (root)")
    whose.add_argument("--pid", type=int, help="from outside, what a process and its descendants have accepted")
    parser.add_argument(
        "--target-delay", default=f"{TARGET_NS // 10**6}ms", metavar="TIME", help="of unsent bytes, at most (50ms)"
    )
    parser.add_argument("--floor", default=str(FLOOR_BYTES), metavar="BYTES", help=f"never less ({FLOOR_BYTES})")
    parser.add_argument("--port", type=int, help="only connections to this port of the server's")
    parser.add_argument("--dry-run", action="store_true", help="decide, and set nothing")
    parser.add_argument("--log", type=Path, metavar="FILE", help="append decisions as JSON lines")
    parser.set_defaults(do=tune)


def tune(options: argparse.Namespace, report: Report) -> int:
    """Until SIGINT or SIGTERM. Raises ScenarioError, Unavailable, StepFailed."""
    aim = _aim(options.target_delay, options.floor)
    if options.port is not None and not 0 < options.port <= _PORT_MOST:
        raise ScenarioError("--port", str(options.port), f"1 to {_PORT_MOST}")
    stopped = threading.Event()
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda *_: stopped.set())
    with ExitStack() as stack:
        try:
            log = stack.enter_context(writing(options.log)) if options.log else None
        except OSError as error:
            raise StepFailed(_STEP, f"{options.log} cannot be written: {error.strerror}") from error

        def note(decision: Decision) -> None:
            report.say(str(decision))
            if log:
                log(decision)

        tuner = stack.enter_context(_tuner(options, aim, note))
        where = f"cgroup {options.cgroup}" if options.cgroup else f"process {options.pid}"
        report.say(f"tuning {where} ({tuner.kind}); target {units.format_time(aim.target_us * 1000)}; Ctrl-C ends it")
        _work(tuner, stopped)
    report.say("stopped; connections keep what they have")
    return 0


def _work(tuner: Tuner, stopped: threading.Event) -> None:
    try:
        while not stopped.is_set():
            next_ns = tuner.look(time.monotonic_ns())
            stopped.wait(max(0, next_ns - time.monotonic_ns()) / 10**9)
    except CannotTune as error:
        raise StepFailed(_STEP, str(error)) from error


def _aim(target_delay: str, floor: str) -> Aim:
    try:
        target_us = units.parse_time_ns(target_delay) // 1000
    except ValueError:
        target_us = 0
    try:
        aim = Aim(target_us=target_us)
    except ValueError:
        raise ScenarioError("--target-delay", target_delay, "a time such as 50ms") from None
    try:
        return Aim(target_us=aim.target_us, floor_bytes=int(floor))
    except ValueError:
        raise ScenarioError("--floor", floor, f"1 to {aim.ceiling_bytes} bytes") from None


def _tuner(options: argparse.Namespace, aim: Aim, note: Note) -> Tuner:
    try:
        if options.pid is not None:
            return Userland(options.pid, aim, note, port=options.port, dry_run=options.dry_run)
        if not (options.cgroup / "cgroup.controllers").exists():
            allowed = "a folder of a cgroup2 hierarchy, as `find / -name cgroup.controllers` shows them"
            raise ScenarioError("--cgroup", str(options.cgroup), allowed)
        program = compiler.compiled(cache_folder())
        return InKernel(program, options.cgroup, aim, note, port=options.port, dry_run=options.dry_run)
    except CannotTune as error:
        raise Unavailable(_WHAT, str(error), _remedy(options)) from error


def _remedy(options: argparse.Namespace) -> str:
    if os.geteuid() != 0:
        return "run as root" + ("" if options.pid else ", or use --pid for a server of your own")
    if options.pid is not None:
        return "name the server's first process"
    return f"{compiler.REMEDY}, or use --pid"
