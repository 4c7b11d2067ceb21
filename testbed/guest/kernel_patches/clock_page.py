"""Lets programs of the guest read the clock without a system call. Half of a run's system calls were such reads.

Rules:
1. The clock is in a page that the kernel shares with all programs, below the vDSO (the code of the kernel that runs in
   programs). The kernel's own clock is this memory, too, so there is nothing to keep in step.
2. The vDSO advances the clock by 256 ns, as the system call does (clock.py). If an event is due by then, the vDSO makes
   a system call, and the kernel delivers the event. So programs see the same times as with system calls alone. The
   call asks for CLOCK_BOOTTIME, which is CLOCK_MONOTONIC here, because filters tell how programs read the other two
   clocks (common/clock_route.py).
3. The page has the first instant at which something is due, and the difference between each clock of the programs and
   the guest's. The kernel renews both whenever they change. If the differences are not constant, because the clock
   does not run at one nanosecond for each nanosecond, the instant is 0: then every read is a system call.
4. The guest has one processor, and nothing interrupts a program in the guest. So the vDSO needs no lock.
5. A program in a time namespace of its own has another clock. It gets a page of zeros, whose instant is 0.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, compiled, linked

_TIME = "arch/um/kernel/time.c"
_VDSO = "arch/x86/um/vdso"
_NEXT = "	time_travel_next_event = tmp->time;\n"
_REMOVED = "	local_irq_restore(flags);\n	return true;\n"

CHANGES = (
    Change(
        name="programs read the clock without a system call",
        effect=Effect.SPEED,
        since=(6, 16),
        wordings=(
            (
                *linked("clock_page.c"),  # rules 1 and 3
                Edit(
                    _TIME,
                    "static unsigned long long time_travel_time;",
                    "#define time_travel_time (priolab_clock->now)",
                ),
                Edit(_TIME, _NEXT, f"{_NEXT}	priolab_renew_due(tmp);\n"),
                Edit(_TIME, _REMOVED, f"	priolab_renew_due(time_travel_first_event());\n{_REMOVED}"),
                Edit(
                    f"{_VDSO}/vma.c",
                    "_install_special_mapping(mm, um_vdso_addr,",
                    "priolab_map_clock(mm, um_vdso_addr,",
                ),
                compiled("vdso.c", _VDSO),  # rule 2
                Edit(f"{_VDSO}/Makefile", "vdso-note.o um_vdso.o", "vdso-note.o priolab_vdso.o"),
            ),
        ),
    ),
)
