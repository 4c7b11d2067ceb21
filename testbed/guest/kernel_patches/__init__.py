"""Changes of the Linux source from which the guest kernel is built, with the reason for each change.

The changes are written for Linux 6.1, 6.12 and 7.2. A version between these gets the wording that fits its source.
"""

from priolab.testbed.guest.kernel_patches import (
    calls,
    clock,
    clock_page,
    entry,
    faults,
    folders,
    host_files,
    host_line,
    page_tables,
    ports,
    processor_clock,
    queue_bytes,
    randomness,
    service,
    spin,
)
from priolab.testbed.guest.kernel_patches.edit import Change

CHANGES: tuple[Change, ...] = (
    *clock.CHANGES,
    *clock_page.CHANGES,
    *calls.CHANGES,
    *service.CHANGES,
    *spin.CHANGES,
    *randomness.CHANGES,
    *ports.CHANGES,
    *queue_bytes.CHANGES,
    *processor_clock.CHANGES,
    *entry.CHANGES,
    *faults.CHANGES,
    *folders.CHANGES,
    *host_files.CHANGES,
    *host_line.CHANGES,
    *page_tables.CHANGES,
)
