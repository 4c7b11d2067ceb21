"""Makes the ports of a guest's connections the same in each run, whichever runs came before.

The kernel chooses a port by two things beside the addresses and a secret: a table that every connection changes, and
the kernel's time in steps of ten seconds. The table is emptied when the seed is set (seed.c), the time is left out.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, included

_PERIOD = "#define EPHEMERAL_PORT_SHUFFLE_PERIOD "

CHANGES = (
    Change(
        name="ports do not follow from earlier connections",
        effect=Effect.RESULT,
        wordings=(
            (
                *included("ports.c", "net/ipv4/inet_hashtables.c"),
                Edit("net/core/secure_seq.c", f"{_PERIOD}(10 * HZ)", f"{_PERIOD}ULONG_MAX"),
            ),
        ),
    ),
)
