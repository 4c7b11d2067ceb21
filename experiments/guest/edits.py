"""What is changed in the kernel's source before the guest kernel is built from it, and why.

Three of these mend what keeps a virtual clock or a large processor from working; the others make a guest do the same
each time, to the nanosecond. They are written for Linux 6.1; a kernel that does not have the lines is built without.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """One replacement in the source, for kernels that have the line."""

    file: str
    old: str
    new: str


EDITS = (
    # A host with AMX has 11,008 bytes of floating-point state, and PTRACE_SETREGSET takes all of it or fails with
    # EFAULT; the kernel sets 2,696 aside. Kernels from 6.13 on ask the host for the size.
    Edit("arch/x86/um/user-offsets.c", "DEFINE_LONGS(HOST_FP_SIZE, 2696);", "DEFINE_LONGS(HOST_FP_SIZE, 12288);"),
    # While the clock stands still, sched_yield(2) gives the processor back to whoever yielded, and a thread that yields
    # until another has got on (libuv does, when it closes a handle) waits for ever. Let the scheduler's clock, and no
    # other, move a tick with each call. Kernels from 6.15 on do the like.
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
    # Whoever reads the clock moves it, or programs that wait in a loop would wait for ever. A program reads it as often
    # in every run; the kernel itself does not, that depends on what went before.
    Edit(
        "arch/um/kernel/time.c",
        "		    !time_travel_ext_waiting)\n			time_travel",
        "		    !time_travel_ext_waiting && time_travel_mode != TT_MODE_INFCPU)\n			time_travel",
    ),
    # The clock counts nanoseconds, not 256 of them: what was left over would differ from run to run.
    Edit("arch/um/include/linux/time-internal.h", "#define TIMER_MULTIPLIER 256", "#define TIMER_MULTIPLIER 1"),
    # Everything random in a guest follows from what is written to /sys/module/random/parameters/seed, from then on;
    # before, from a constant. Nothing of the host's gets in.
    Edit(
        "arch/um/os-Linux/util.c",
        "	return getrandom(buf, len, flags);\n",
        """	static unsigned char state;
	size_t i;

	for (i = 0; i < len; i++)
		((unsigned char *)buf)[i] = state++;
	return len;
""",
    ),
    Edit(
        "drivers/char/random.c",
        "	u8 key[CHACHA_KEY_SIZE];\n\n	extract_entropy(key, sizeof(key));\n",
        """	u8 key[CHACHA_KEY_SIZE];

	if (priolab_seeded) {
		WRITE_ONCE(base_crng.birth, jiffies);
		return;
	}
	extract_entropy(key, sizeof(key));
""",
    ),
    Edit(
        "drivers/char/random.c",
        "/* This extracts a new crng key from the input pool. */\n",
        """static bool priolab_seeded;

static int priolab_seed(const char *seed, const struct kernel_param *kp)
{
	unsigned long flags;
	u8 key[CHACHA_KEY_SIZE];

	blake2s(key, seed, NULL, sizeof(key), strlen(seed), 0);
	spin_lock_irqsave(&base_crng.lock, flags);
	memcpy(base_crng.key, key, sizeof(base_crng.key));
	WRITE_ONCE(base_crng.generation, base_crng.generation + 1);
	priolab_seeded = true;
	spin_unlock_irqrestore(&base_crng.lock, flags);
	return 0;
}

static const struct kernel_param_ops priolab_seed_ops = { .set = priolab_seed };
module_param_cb(seed, &priolab_seed_ops, NULL, 0200);

/* This extracts a new crng key from the input pool. */
""",
    ),
    # Every five minutes of its own clock, whatever is going on, the kernel would draw one number per interface.
    Edit(
        "net/core/neighbour.c",
        "return base ? prandom_u32_max(base) + (base >> 1) : 0;",
        "return base;",
    ),
)
