"""Builds the guest kernel for commands that need it, and shows the progress on the terminal."""

from experiments.commands.console import Report
from experiments.testbed.guest import kernel


def built_kernel(report: Report) -> kernel.BuildRecord:
    """Builds the guest kernel unless it is built already; returns its record. Raises LabError."""
    if not kernel.is_built():
        with report.kernel_progress() as tell:
            kernel.build(tell)
    record = kernel.record()
    assert record is not None
    return record
