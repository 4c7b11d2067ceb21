"""Lets time pass for a program that calls in vain again and again, such as one that polls until it may send more.

The guest's clock stands still while a program works. A program that asks without end whether it may go on would wait
for what only time brings: for hours of this machine's time.

Rules:
1. A call is in vain if it does not wait, and asks (poll(2) and its kin, sched_yield(2), getpid(2), wait4(2) that finds
   no child) or fails with EAGAIN. A call that waits, or that moves bytes, ends a thread's row of calls in vain.
2. The first 1,000 calls of a row are as without this change, so no program that waits as it should is changed.
3. Each further call lasts a 256th of the time since the row began, at least 1 µs and at most 100 µs, or until
   something is due: a packet or a timer is never late. Then other programs that can run have their turn.
4. All of this follows from what the thread did, and from the guest's clock. So it repeats.
"""

from priolab.testbed.guest.kernel_patches import service
from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, included

NAME = "time passes for a program that calls in vain"
"""The change's name."""

_FIELDS = "	unsigned long			priolab_vain;\n	u64				priolab_vain_since;\n"
_CALL = "		priolab_spin(syscall, ret, priolab_before);\n"

CHANGES = (
    Change(
        name=NAME,
        effect=Effect.RESULT,
        since=(7, 2),
        wordings=(
            (
                *included("spin.c", "arch/um/kernel/time.c"),
                Edit(service.TASK, service.COUNTERS, _FIELDS + service.COUNTERS),
                Edit(service.SYSCALL, service.RETURNED, service.RETURNED + _CALL),
            ),
        ),
    ),
)
