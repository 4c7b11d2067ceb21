"""Changes the way in which a program of the guest enters the guest's kernel by ptrace(2) of the host.

Kernels from 6.16 on have a quicker way, seccomp(2), and use ptrace(2) only if the host refuses seccomp(2). These
kernels get none of the changes.

Rules:
1. A program's floating-point registers stay in the host process that runs the program. The kernel saves the registers
   only if another task gets the processor, a signal is delivered, or a system call copies or replaces the registers.
   `fp_pid` is the host process that has the registers, 0 if they are saved.
   tests/server/experiments/test_guest_kernel.py tests computations in all these cases.
2. A thread shares the address space of the thread that started it, so no memory has to be mapped again.
3. A program is killed when its kernel ends. Otherwise ptrace(2) would release the program, which would run on with
   system calls to the host. In newer kernels the program's process asks for a signal at its parent's end (stub_exe.c).
"""

from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_HOST = "arch/um/os-Linux/skas/process.c"
_PROCESS = "arch/um/kernel/process.c"

_WITH_EXITKILL = "(void *)(PTRACE_O_TRACESYSGOOD | 1 << 20 /* PTRACE_O_EXITKILL */)"
_STUB_IS_KILLED = Edit(_HOST, "(void *) PTRACE_O_TRACESYSGOOD", _WITH_EXITKILL)
_COPY_IS_KILLED = Edit(_HOST, "(void *)PTRACE_O_TRACESYSGOOD", _WITH_EXITKILL)

_KEEPS_FP = (  # rule 1
    Edit("arch/x86/um/shared/sysdep/ptrace.h", "	int is_user;\n};", "	int is_user;\n	int fp_pid;\n};"),
    Edit(
        "arch/um/include/shared/os.h",
        "extern void userspace(struct uml_pt_regs *regs,",
        "extern void priolab_keep_fp(struct uml_pt_regs *regs);\nextern void userspace(struct uml_pt_regs *regs,",
    ),
    Edit(
        _HOST,
        "void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)\n",
        """void priolab_keep_fp(struct uml_pt_regs *regs)
{
	if (regs->fp_pid && get_fp_registers(regs->fp_pid, regs->fp))
		printk(UM_KERN_ERR "priolab_keep_fp failed, errno = %d\\n", errno);
	regs->fp_pid = 0;
}

void userspace(struct uml_pt_regs *regs, unsigned long *aux_fp_regs)
""",
    ),
    Edit(
        _HOST,
        "			case SIGTRAP + 0x80:\n",
        """			case SIGTRAP + 0x80:
				switch (PT_SYSCALL_NR(regs->gp)) {
				case __NR_clone:
				case __NR_clone3:
				case __NR_fork:
				case __NR_vfork:
				case __NR_execve:
				case __NR_execveat:
				case __NR_rt_sigreturn:
					priolab_keep_fp(regs);
				}
""",
    ),
    Edit(
        _PROCESS,
        "			do_signal(regs);\n",
        """		{
			priolab_keep_fp(&regs->regs);
			do_signal(regs);
		}
""",
    ),
    Edit(
        _PROCESS,
        "	to->thread.prev_sched = from;\n",
        """	if (from->mm)
		priolab_keep_fp(&from->thread.regs.regs);
	to->thread.prev_sched = from;
""",
    ),
)


def _left_in_place(put: str, get: str) -> tuple[Edit, ...]:
    """Returns the edits that leave floating-point registers in the host process, worded for a range of versions.

    put, get: the lines that report a failure of put_fp_registers and of get_fp_registers.
    """
    copies_in, copies_out = (
        "		if (put_fp_registers(pid, regs->fp)) {\n",
        "		if (get_fp_registers(pid, regs->fp)) {\n",
    )
    return (
        *_KEEPS_FP,
        Edit(_HOST, copies_in + put, "		if (regs->fp_pid != pid && put_fp_registers(pid, regs->fp)) {\n" + put),
        Edit(_HOST, copies_out + get + "			fatal_sigsegv();\n		}\n", "		regs->fp_pid = pid;\n"),
    )


CHANGES = (
    Change(  # rule 3
        name="a program ends with its kernel",
        effect=Effect.SAFETY,
        before=(6, 16),
        wordings=((_STUB_IS_KILLED, _COPY_IS_KILLED), (_STUB_IS_KILLED,)),
    ),
    # A host with AMX has 11,008 bytes of floating-point state. PTRACE_SETREGSET takes the whole state or fails with
    # EFAULT, but the kernel reserves only 2,696 bytes. Kernels from 6.13 on ask the host for the size.
    Change(
        name="room for the host's floating-point registers",
        effect=Effect.RESULT,
        before=(6, 13),
        wordings=(
            (
                Edit(
                    "arch/x86/um/user-offsets.c",
                    "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
                    "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
                ),
            ),
        ),
    ),
    # Without this change, copying the 11,008 bytes in both directions takes a third of a system call's time.
    Change(
        name="floating-point registers stay in place",
        effect=Effect.SPEED,
        before=(6, 16),
        wordings=(
            _left_in_place(
                '			printk(UM_KERN_ERR "userspace - ptrace set fp regs "\n',
                '			printk(UM_KERN_ERR "userspace -  get_fp_registers failed, "\n'
                '			       "errno = %d\\n", errno);\n',
            ),
            _left_in_place(
                '			printk(UM_KERN_ERR "%s - ptrace set fp regs failed, errno = %d\\n",\n',
                '			printk(UM_KERN_ERR "%s -  get_fp_registers failed, errno = %d\\n",\n'
                "			       __func__, errno);\n",
            ),
        ),
    ),
    # With this change, vfork(2) by Python's subprocess is quick in a large process.
    Change(  # rule 2
        name="threads share what is mapped",
        effect=Effect.SPEED,
        before=(6, 11),
        wordings=(
            (
                Edit(
                    _PROCESS,
                    "int copy_thread(struct task_struct * p,",
                    """static void priolab_thread_handler(void)
{
	schedule_tail(current->thread.prev_sched);
	arch_switch_to(current);
	current->thread.prev_sched = NULL;
	userspace(&current->thread.regs.regs, current_thread_info()->aux_fp_regs);
}

int copy_thread(struct task_struct * p,""",
                ),
                Edit(
                    _PROCESS,
                    "		handler = fork_handler;\n",
                    "		handler = clone_flags & CLONE_VM ? priolab_thread_handler : fork_handler;\n",
                ),
            ),
        ),
    ),
)
