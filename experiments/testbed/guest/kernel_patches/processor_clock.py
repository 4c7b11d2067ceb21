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

from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

WORD = "priolab_tsc=clock"
"""The word on the kernel's command line that turns this on."""

NAME = "reads of the processor's clock give the guest's"
"""The change's name."""

_TRAP = "arch/um/kernel/trap.c"
_HEADER = "arch/um/include/shared/skas/stub-data.h"
_TRAMPOLINE = "arch/um/os-Linux/skas/process.c"

_FAULTS = (  # rule 1
    Edit(
        _HEADER,
        "struct stub_init_data {\n	int seccomp;\n",
        "struct stub_init_data {\n	int seccomp;\n	int no_tsc;\n",
    ),
    Edit(
        "arch/um/kernel/skas/stub_exe.c",
        "	/* setup signal stack inside stub data */\n",
        """	if (init_data.no_tsc)
		stub_syscall2(__NR_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);

	/* setup signal stack inside stub data */
""",
    ),
    Edit(
        _TRAMPOLINE,
        "		.seccomp = using_seccomp,\n		.stub_start = STUB_START,\n",
        "		.seccomp = using_seccomp,\n		.no_tsc = priolab_no_tsc,\n		.stub_start = STUB_START,\n",
    ),
    Edit(
        _TRAMPOLINE,
        "static int userspace_tramp(void *data)\n",
        "extern int priolab_no_tsc;\n\nstatic int userspace_tramp(void *data)\n",
    ),
)
_CARRIED_OUT = (  # rules 1 and 2
    Edit(
        _TRAP,
        "/**\n * segv_handler() - the SIGSEGV handler\n",
        """int priolab_no_tsc;
unsigned int priolab_tsc_reads;
static unsigned long long priolab_tsc_start;

void priolab_begin_tsc(void)
{
	priolab_tsc_start = ktime_get_ns();
}

static int __init priolab_choose_tsc(char *word)
{
	priolab_no_tsc = strcmp(word, "clock") == 0;
	return 0;
}
early_param("priolab_tsc", priolab_choose_tsc);

/* Returns whether the program was at such an instruction, which is then carried out. */
static bool priolab_read_tsc(struct uml_pt_regs *regs)
{
	unsigned char code[3] = {};
	unsigned long long now;
	int length;

	if (copy_from_user(code, (void __user *)UPT_IP(regs), sizeof(code)))
		return false;
	if (code[0] == 0x0f && code[1] == 0x31)
		length = 2;
	else if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9)
		length = 3;
	else
		return false;
	if (++priolab_tsc_reads > 1000)
		time_travel_ndelay(256);
	now = ktime_get_ns() - priolab_tsc_start;
	regs->gp[HOST_AX] = (unsigned int)now;
	regs->gp[HOST_DX] = now >> 32;
	if (length == 3)
		regs->gp[HOST_CX] = 0;
	regs->gp[HOST_IP] += length;
	return true;
}

/**
 * segv_handler() - the SIGSEGV handler
""",
    ),
    Edit(
        _TRAP,
        "	if (UPT_IS_USER(regs) && !SEGV_IS_FIXABLE(fi)) {\n",
        """	if (UPT_IS_USER(regs) && priolab_no_tsc && !SEGV_IS_FIXABLE(fi) && priolab_read_tsc(regs))
		return;
	if (UPT_IS_USER(regs) && !SEGV_IS_FIXABLE(fi)) {
""",
    ),
    Edit(
        _TRAP,
        "#include <linux/mm.h>\n",
        "#include <linux/init.h>\n#include <linux/mm.h>\n#include <linux/ktime.h>\n#include <asm/delay.h>\n",
    ),
    Edit(
        "arch/um/kernel/skas/syscall.c",
        "	/* Initialize the syscall number and default return value. */\n",
        """	extern unsigned int priolab_tsc_reads;

	priolab_tsc_reads = 0;
	/* Initialize the syscall number and default return value. */
""",
    ),
)

_BEGUN = Edit(  # rule 1
    "drivers/char/random.c",
    "	priolab_seeded = true;\n",
    "	extern void priolab_begin_tsc(void);\n\n	priolab_begin_tsc();\n	priolab_seeded = true;\n",
)

CHANGES = (Change(name=NAME, effect=Effect.RESULT, since=(7, 2), wordings=((*_FAULTS, *_CARRIED_OUT, _BEGUN),)),)
