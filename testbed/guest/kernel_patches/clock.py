"""Makes the guest's clock stand still while a program works, and makes its movement the same in every run.

Rules:
1. sched_yield(2) moves the scheduler's clock by a tick, and no other clock. Otherwise the scheduler would give the
   processor back to the yielding thread while time stands still. A thread may yield until another thread has
   progressed, as libuv does when it closes a handle. Such a thread would wait for ever. From 6.14 on the kernel
   itself moves the scheduler's clock, but takes the ticks back later. The number of ticks still to be taken back would
   differ from run to run, so the lab's own clock (clock.c) replaces the kernel's.
2. When a program reads the clock, the clock moves by 256 ns. Otherwise programs that wait in a loop would wait for
   ever. A program reads the clock equally often in every run. The kernel's own readings depend on earlier events, so
   these readings do not move the clock.
3. The clock counts nanoseconds, not units of 256 ns, because the remainder would differ from run to run.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, linked

_TIME = "arch/um/kernel/time.c"
_EACH_SYSCALL = "	if (syscall >= 0 && syscall < __NR_syscalls)"
_CLOCK = (
    *linked("clock.c"),
    Edit("arch/um/kernel/skas/syscall.c", _EACH_SYSCALL, f"	priolab_begin_syscall(syscall);\n{_EACH_SYSCALL}"),
    Edit(_TIME, "!time_travel_ext_waiting)", "!time_travel_ext_waiting && time_travel_mode != TT_MODE_INFCPU)"),
)
_UNUSED = Edit(
    _TIME,
    "notrace unsigned long long sched_clock(void)",
    "static __maybe_unused unsigned long long priolab_unused(void)",
)

CHANGES = (
    Change(name="the clock moves for programs only", effect=Effect.RESULT, wordings=((*_CLOCK, _UNUSED), _CLOCK)),
    Change(
        name="the clock counts nanoseconds",
        effect=Effect.RESULT,
        wordings=(
            (
                Edit(
                    "arch/um/include/linux/time-internal.h",
                    "#define TIMER_MULTIPLIER 256",
                    "#define TIMER_MULTIPLIER 1",
                ),
            ),
        ),
    ),
)
