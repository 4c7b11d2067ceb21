"""LOWAT without a limit, and the names and usual target of tuners. A run without one loads no more (proxy/tuner/)."""

from enum import StrEnum

NO_LIMIT = 2**32 - 1
"""The kernel's default of net.ipv4.tcp_notsent_lowat, in bytes: no limit."""

TARGET_NS = 50 * 10**6
"""The longest time for which a byte may stay unsent (proxy/tuner/law.h, rule 2)."""


class TunerKind(StrEnum):
    """The kinds of tuners, both BPF programs in the kernel: the law alone, or with the rules of a server in use.

    The rules are in proxy/tuner/caution.h.
    """

    BPF = "bpf"
    CAUTIOUS_BPF = "cautious-bpf"
