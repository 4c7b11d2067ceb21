"""Makes the guest's clock stand still while a program works, and makes its movement the same in every run.

Rules:
1. sched_yield(2) moves the scheduler's clock by a tick, and no other clock. Otherwise the scheduler would give the
   processor back to the yielding thread while time stands still. A thread may yield until another thread has
   progressed, as libuv does when it closes a handle. Such a thread would wait for ever. From 6.15 on the kernel itself
   moves the scheduler's clock, but takes the ticks back later. The changes keep the ticks, because the number of ticks
   still to be taken back would differ from run to run.
2. When a program reads the clock, the clock moves by 256 ns. Otherwise programs that wait in a loop would wait for
   ever. A program reads the clock equally often in every run. The kernel's own readings depend on earlier events, so
   these readings do not move the clock.
3. The clock counts nanoseconds, not units of 256 ns, because the remainder would differ from run to run.
"""

from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_TIME = "arch/um/kernel/time.c"
_READ_BY_PROGRAMS = """			if (syscall == __NR_clock_gettime || syscall == __NR_gettimeofday)
				time_travel_ndelay(256);
"""
_KERNEL_READS = Edit(  # rule 2
    _TIME,
    "		    !time_travel_ext_waiting)\n			time_travel",
    "		    !time_travel_ext_waiting && time_travel_mode != TT_MODE_INFCPU)\n			time_travel",
)

_UNTIL_6_14 = (
    Edit(
        _TIME,
        "EXPORT_SYMBOL_GPL(time_travel_mode);\n",
        """EXPORT_SYMBOL_GPL(time_travel_mode);

unsigned long priolab_yields;

notrace unsigned long long sched_clock(void)
{
	return (unsigned long long)(jiffies - INITIAL_JIFFIES + priolab_yields) * (NSEC_PER_SEC / HZ);
}
""",
    ),
    Edit(
        "arch/um/kernel/skas/syscall.c",
        "		unsigned long ret = EXECUTE_SYSCALL(syscall, regs);\n",
        f"""		extern unsigned long priolab_yields;
		unsigned long ret;

		if (time_travel_mode == TT_MODE_INFCPU) {{
			if (syscall == __NR_sched_yield)
				priolab_yields++;
{_READ_BY_PROGRAMS}		}}
		ret = EXECUTE_SYSCALL(syscall, regs);
""",
    ),
    _KERNEL_READS,
)

_TAKES_BACK = """	/* clock tick; decrease extra jiffies by keeping sched_clock constant */
	if (tt_extra_sched_jiffies > 0)
		tt_extra_sched_jiffies -= 1;

"""
_SINCE_6_15 = (
    Edit(
        _TIME,
        "			      time_travel_time + time_travel_timer_interval);\n\n" + _TAKES_BACK,
        "			      time_travel_time + time_travel_timer_interval);\n\n",
    ),
    Edit(
        _TIME,
        "static void time_travel_oneshot_timer(struct time_travel_event *e)\n{\n" + _TAKES_BACK,
        "static void time_travel_oneshot_timer(struct time_travel_event *e)\n{\n",
    ),
    Edit(
        "arch/um/kernel/skas/syscall.c",
        "		unsigned long ret;\n",
        f"""		unsigned long ret;

		if (time_travel_mode == TT_MODE_INFCPU)
{_READ_BY_PROGRAMS}""",
    ),
    _KERNEL_READS,
)

CHANGES = (
    Change(name="the clock moves for programs only", effect=Effect.RESULT, wordings=(_UNTIL_6_14, _SINCE_6_15)),
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
