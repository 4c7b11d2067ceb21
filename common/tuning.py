"""The names of the tuners, and the tuner's usual target. A run without a tuner loads no more of it (proxy/tuner/)."""

from enum import StrEnum

TARGET_NS = 50 * 10**6
"""The longest time for which a byte may stay unsent (proxy/tuner/law.py, rule 2)."""


class TunerKind(StrEnum):
    """The kinds of tuners: a BPF program in the kernel, or a process that polls.

    Each may be cautious (proxy/tuner/caution.py).
    """

    BPF = "bpf"
    USERLAND = "userland"
    CAUTIOUS_BPF = "cautious-bpf"
    CAUTIOUS_USERLAND = "cautious-userland"

    @property
    def is_in_kernel(self) -> bool:
        """True if the tuner is a BPF program in the kernel."""
        return self in (self.BPF, self.CAUTIOUS_BPF)

    @property
    def is_cautious(self) -> bool:
        """True if the tuner keeps the rules of `priolab tune`."""
        return self in (self.CAUTIOUS_BPF, self.CAUTIOUS_USERLAND)
