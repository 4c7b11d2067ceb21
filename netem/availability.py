"""Says why a kernel has no netem, or no other queueing discipline. Errors and `priolab doctor` have these words."""

from pathlib import Path

from priolab.netem.tc import Command

TRIAL: tuple[Command, ...] = (
    ("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"),
    ("tc", "qdisc", "del", "dev", "lo", "root"),
)
"""Commands that fail if the place's kernel has no netem."""

NETEM = "sch_netem"
NO_GUEST_KERNEL = "needs the guest kernel"
# Without extended error messages tc has only the number ENOENT.
_REFUSALS = ("Error: Specified qdisc kind is unknown", "RTNETLINK answers: No such file or directory")


def netem_counts_bytes() -> bool:
    """True if this kernel's netem can limit a queue in bytes: the guest's kernel can since Linux 7.2."""
    return Path("/sys/module/sch_netem/parameters/bytes").exists()


def lack_in_guest(qdisc: str) -> str:
    """Returns the reason why guests do not have a queueing discipline."""
    return f"the guest kernel has no sch_{qdisc}"


def lack_of_netem(failure: str) -> str:
    """Returns the reason why netem is not available. failure: the error of a command that needs netem.

    Only certain errors prove that the kernel has no netem; after any other error the reason says that this is unknown.
    """
    if any(refusal in failure for refusal in _REFUSALS):
        return f"this kernel has no {NETEM}"
    return f"unknown if this kernel has {NETEM}: {failure}"


def refusal(qdisc: str, failure: str) -> str:
    """Returns the reason why a queueing discipline is not available. failure: the error of a command that needs it."""
    return f"this kernel refuses sch_{qdisc}: {failure}"
