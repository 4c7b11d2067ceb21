"""Changes the way in which a program of the guest enters the guest's kernel by ptrace(2) of the host.

Kernels from 6.16 on have a quicker way, seccomp(2), and use ptrace(2) only if the host refuses seccomp(2). These
kernels get none of the changes.

Rules:
1. A program's floating-point registers stay in the host process that runs the program. The kernel saves the registers
   only if another task gets the processor, a signal is delivered, or a system call copies or replaces the registers.
   `fp_pid` is the host process that has the registers, 0 if they are saved.
   tests/server/testbed/test_guest_kernel.py tests computations in all these cases.
2. A thread shares the address space of the thread that started it, so no memory has to be mapped again.
3. A program is killed when its kernel ends. Otherwise ptrace(2) would release the program, which would run on with
   system calls to the host. In newer kernels the program's process asks for a signal at its parent's end (stub_exe.c).
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, linked

_HOST = "arch/um/os-Linux/skas/process.c"
_PROCESS = "arch/um/kernel/process.c"

_WITH_EXITKILL = "(void *)(PTRACE_O_TRACESYSGOOD | 1 << 20 /* PTRACE_O_EXITKILL */)"
_STUB_IS_KILLED = Edit(_HOST, "(void *) PTRACE_O_TRACESYSGOOD", _WITH_EXITKILL)
_COPY_IS_KILLED = Edit(_HOST, "(void *)PTRACE_O_TRACESYSGOOD", _WITH_EXITKILL)
_SYSCALL = "			case SIGTRAP + 0x80:\n"
_SWITCH = "	to->thread.prev_sched = from;\n"

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
        wordings=((Edit("arch/x86/um/user-offsets.c", "HOST_FP_SIZE, 2696", "HOST_FP_SIZE, 12288"),),),
    ),
    # Without this change, copying the 11,008 bytes in both directions takes a third of a system call's time.
    Change(  # rule 1
        name="floating-point registers stay in place",
        effect=Effect.SPEED,
        before=(6, 16),
        wordings=(
            (
                *linked("fp.c"),
                Edit(
                    "arch/x86/um/shared/sysdep/ptrace.h",
                    "	int is_user;\n};",
                    "	int is_user;\n	int fp_pid;\n};",
                ),
                Edit(_HOST, "if (put_fp_registers(", "if (regs->fp_pid != pid && put_fp_registers("),
                Edit(_HOST, "if (get_fp_registers(pid, regs->fp)) {", "if (priolab_leave_fp(regs, pid)) {"),
                Edit(
                    _HOST, _SYSCALL, f"{_SYSCALL}				priolab_keep_fp_for(regs, PT_SYSCALL_NR(regs->gp));\n"
                ),
                Edit(
                    _PROCESS,
                    "			do_signal(regs);",
                    "			priolab_keep_fp(&regs->regs), do_signal(regs);",
                ),
                Edit(_PROCESS, _SWITCH, f"	priolab_keep_fp_of(from);\n{_SWITCH}"),
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
                *linked("threads.c"),
                Edit(
                    _PROCESS,
                    "handler = fork_handler;",
                    "handler = clone_flags & CLONE_VM ? priolab_thread_handler : fork_handler;",
                ),
            ),
        ),
    ),
)
