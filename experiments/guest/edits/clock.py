"""The virtual clock stands still while anything works, moves when someone looks at it, and never by chance."""

from experiments.guest.edits.edit import Change, Edit

CHANGES = (
    # While the clock stands still, sched_yield(2) gives the processor back to whoever yielded, and a thread that yields
    # until another has got on (libuv does, when it closes a handle) waits for ever. Let the scheduler's clock, and no
    # other, move a tick with each call (kernels from 6.15 on do the like). And let a program that reads the clock move
    # it by 256 ns, or programs that wait in a loop would wait for ever. A program reads it as often in every run; the
    # kernel itself does not, that depends on what went before, so its own readings move nothing.
    Change(
        (
            Edit(
                "arch/um/kernel/time.c",
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
                """		extern unsigned long priolab_yields;
		unsigned long ret;

		if (time_travel_mode == TT_MODE_INFCPU) {
			if (syscall == __NR_sched_yield)
				priolab_yields++;
			if (syscall == __NR_clock_gettime || syscall == __NR_gettimeofday)
				time_travel_ndelay(256);
		}
		ret = EXECUTE_SYSCALL(syscall, regs);
""",
            ),
            Edit(
                "arch/um/kernel/time.c",
                "		    !time_travel_ext_waiting)\n			time_travel",
                "		    !time_travel_ext_waiting && time_travel_mode != TT_MODE_INFCPU)\n			time_travel",
            ),
        )
    ),
    # The clock counts nanoseconds, not 256 of them: what was left over would differ from run to run.
    Change(
        (
            Edit(
                "arch/um/include/linux/time-internal.h",
                "#define TIMER_MULTIPLIER 256",
                "#define TIMER_MULTIPLIER 1",
            ),
        )
    ),
)
