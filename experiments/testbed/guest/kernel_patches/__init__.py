"""Changes of the kernel's source, made before the guest kernel is built from it, and the reasons for them.

Written for Linux 6.1, 6.12 and 7.2; a version between them takes the wording that fits.
"""

from experiments.testbed.guest.kernel_patches import clock, entry, faults, randomness
from experiments.testbed.guest.kernel_patches.edit import Change

CHANGES: tuple[Change, ...] = (*clock.CHANGES, *randomness.CHANGES, *entry.CHANGES, *faults.CHANGES)
