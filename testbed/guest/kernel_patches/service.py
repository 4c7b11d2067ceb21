"""Gives the programs of a marked process a service time: virtual time for each wake-up, and for each KB sent over TCP.

Rules:
1. A process marks itself: it writes "WAKE KB", both in nanoseconds, to /sys/module/um_arch/parameters/service. All
   processes and threads that it starts from then on are marked, too. Other processes are as without this change.
2. A system call of a marked thread returns later by WAKE for each time that the thread waited in the call and was woken
   (a voluntary context switch), and by KB for each 1000 bytes that TCP accepted in it.
3. The thread sleeps for this time, without slack. It does not spin: all places of a run share one processor, on which
   the link and the client go on meanwhile. Each thread has a processor of its own, so to speak.
4. The sleep is not counted as a wake-up (calls.py). /proc/PID/io has the nanoseconds slept (`service`), with those of
   ended threads and children, and what the process is marked with (`service_wake`, `service_kb`).
5. Reads of the file in rule 1 give, until one gives nothing, the spans of time in which a marked thread slept since the
   last mark: a line "FROM UNTIL" each, in nanoseconds, in order of their ends. EOVERFLOW: there were too many.
"""

from priolab.testbed.guest.kernel_patches import calls
from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, linked

NAME = "a marked process needs time for its work"
"""The change's name."""

_TCP = "net/ipv4/tcp.c"
TASK, SYSCALL = "include/linux/sched.h", "arch/um/kernel/skas/syscall.c"
COUNTERS = "	/* Context switch counts: */\n"
RETURNED = "		PT_REGS_SET_SYSCALL_RETURN(regs, ret);\n"
"""The files with what the kernel knows of a thread, and with the end of a system call, and where they are edited.

After a system call, `priolab_before` has the voluntary context switches that the thread had before it.
"""
_ACCOUNT, _ADDING, _PROC = calls.ACCOUNT, calls.ADDING, calls.PROC
_SENT = "	return copied + copied_syn;\n"
_CALLED = "		unsigned long ret;\n"
_ADDED = "	dst->syscr += src->syscr;\n"
_FORMAT, _VALUE = '		   "syscr: %llu\\n"\n', "		   (unsigned long long)acct.syscr,\n"
_NAMES = ("service", "service_wake", "service_kb")
_VALUES = ("acct.priolab_service_ns", "task->priolab_wake_ns", "task->priolab_kb_ns")

CHANGES = (
    Change(
        name=NAME,
        effect=Effect.RESULT,
        since=(7, 2),
        wordings=(
            (
                *linked("service.c"),
                Edit(
                    TASK,
                    COUNTERS,
                    "	unsigned int			priolab_wake_ns, priolab_kb_ns, priolab_rest;\n"
                    f"	u64				priolab_sent;\n{COUNTERS}",
                ),
                Edit(_TCP, _SENT, f"	priolab_sends(copied + copied_syn);\n{_SENT}"),
                Edit(SYSCALL, _CALLED, "		unsigned long ret, priolab_before = current->nvcsw;\n"),
                Edit(SYSCALL, RETURNED, f"{RETURNED}		priolab_serve(priolab_before);\n"),
                Edit(_ACCOUNT, "	u64 syscr;\n", "	u64 syscr;\n	u64 priolab_service_ns;\n"),
                Edit(_ADDING, _ADDED, f"{_ADDED}	dst->priolab_service_ns += src->priolab_service_ns;\n"),
                Edit(_PROC, _FORMAT, "".join(f'		   "{name}: %llu\\n"\n' for name in _NAMES) + _FORMAT),
                Edit(
                    _PROC, _VALUE, "".join(f"		   (unsigned long long){value},\n" for value in _VALUES) + _VALUE
                ),
            ),
        ),
    ),
)
