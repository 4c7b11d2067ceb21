"""Lets programs of a guest read the guest's clock where they read the processor's (RDTSC, RDTSCP).

The processor's clock runs in real time. A program that reads it depends on the speed of the host: its runs would not
repeat. Go's runtime and Envoy read it.

Rules:
1. With the word priolab_tsc=clock on the kernel's command line, these instructions fault on the host (PR_SET_TSC of
   prctl(2)). The guest's kernel carries them out: the result is the time in nanoseconds since the seed of random
   numbers was set (randomness.py), because Go's runtime makes random numbers of it.
2. Such a read does not move the clock, so programs that only note the time when they start, as ld.so(8) does, change
   nothing. A program may wait for the processor's clock alone: from a thousand reads without a system call on, each
   read moves the clock as far as a system call that reads it.
3. Without the word nothing changes. On some virtual machines the host takes a tenth to a quarter more time for a run
   with it, because it has to change a register whenever it switches between program and guest kernel.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, linked

WORD = "priolab_tsc=clock"
"""The word on the kernel's command line that turns this on."""

NAME = "reads of the processor's clock give the guest's"
"""The change's name."""

_FAULT = "	if (UPT_IS_USER(regs) && !SEGV_IS_FIXABLE(fi)) {"
_STACK = "	/* setup signal stack inside stub data */"
_SECCOMP = "		.seccomp = using_seccomp,"

CHANGES = (
    Change(
        name=NAME,
        effect=Effect.RESULT,
        since=(7, 2),
        wordings=(
            (
                *linked("processor_clock.c"),
                Edit(
                    "arch/um/kernel/trap.c",
                    _FAULT,
                    "	if (UPT_IS_USER(regs) && !SEGV_IS_FIXABLE(fi) && priolab_reads_tsc(regs))\n		return;\n"
                    + _FAULT,
                ),
                Edit(
                    "arch/um/include/shared/skas/stub-data.h", "	int seccomp;", "	int seccomp;\n	int no_tsc;"
                ),
                Edit("arch/um/os-Linux/skas/process.c", _SECCOMP, f"{_SECCOMP}\n		.no_tsc = priolab_no_tsc,"),
                Edit(
                    "arch/um/kernel/skas/stub_exe.c",
                    _STACK,
                    "	if (init_data.no_tsc)\n"
                    f"		stub_syscall2(__NR_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);\n\n{_STACK}",
                ),
            ),
        ),
    ),
)
