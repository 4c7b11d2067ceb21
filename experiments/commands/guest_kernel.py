"""`priolab kernel`: builds the guest kernel, as do commands that need it, and shows the progress."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from priolab.common.errors import Unavailable
from priolab.common.home import kernel_command
from priolab.experiments.commands.console import Report
from priolab.testbed import guest_requirements, kernel, prebuilt


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab kernel` to its parser."""
    parser.add_argument("--quiet-if-present", action="store_true", help="print nothing if the kernel is built already")
    parser.add_argument("--archive", action="store_true", help="pack the kernel into a file for other machines")
    parser.set_defaults(do=_do)


def _do(options: Namespace, report: Report) -> int:
    if kernel.is_built():
        if options.quiet_if_present:
            return 0
    else:
        options.kept = lambda: "the next build continues where this one ended"
        built_kernel(report)
    report.say(f"guest kernel: {kernel.path()}")
    if options.archive:
        report.say(f"on another machine: {kernel_command(prebuilt.archive(kernel.path(), Path()))}")
    return 0


def built_kernel(report: Report) -> kernel.BuildRecord:
    """Builds the guest kernel unless it is built already; returns its record. Raises LabError."""
    if not kernel.is_built():
        if not guest_requirements.builds_guests():
            raise Unavailable("the guest kernel", *guest_requirements.NO_GUESTS)
        with report.kernel_progress() as tell:
            kernel.build(tell)
    record = kernel.record()
    assert record is not None
    return record
