"""The names of the tuners, and the tuner's usual target. A run without a tuner loads no more of it (proxy/tuner/)."""

from enum import StrEnum

TARGET_NS = 50 * 10**6
"""The longest time for which a byte may stay unsent (proxy/tuner/law.h, rule 2)."""


class TunerKind(StrEnum):
    """The kinds of tuners, both BPF programs in the kernel: the law alone, or with the rules of a server in use.

    The rules are in proxy/tuner/caution.h.
    """

    BPF = "bpf"
    CAUTIOUS_BPF = "cautious-bpf"
