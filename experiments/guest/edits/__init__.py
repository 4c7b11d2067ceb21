"""What is changed in the kernel's source before the guest kernel is built from it, and why.

Written for Linux 6.1; a kernel that does not have the lines of a change is built without it.
"""

from experiments.guest.edits import clock, entry, faults, randomness
from experiments.guest.edits.edit import Change

CHANGES: tuple[Change, ...] = (*clock.CHANGES, *randomness.CHANGES, *entry.CHANGES, *faults.CHANGES)
