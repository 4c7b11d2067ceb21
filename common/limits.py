"""The limits of this process and its children, which a shell sets by `ulimit` (getrlimit(2))."""

import resource
from collections.abc import Mapping

_MIB = 2**20
_OPTIONS = {
    resource.RLIMIT_AS: "-v",
    resource.RLIMIT_DATA: "-d",
    resource.RLIMIT_FSIZE: "-f",
    resource.RLIMIT_NOFILE: "-n",
}
_AROUND_GUEST_MIB = 64
_NODE_MIB = 936  # Node needs between 600,000 and 800,000 KiB
_DESCRIPTORS = 128  # a run needs between 80 and 100


def too_low_for_run(memory_mib: int) -> str | None:
    """Returns the limit that is too low for a run, in words; None if all suffice.

    memory_mib: the memory of its guest, which is a file and a mapping; 0 without a guest.
    """
    least = {resource.RLIMIT_NOFILE: _DESCRIPTORS, resource.RLIMIT_AS: _NODE_MIB * _MIB}
    if memory_mib:  # the guest's own kernel gives Node its memory
        least |= dict.fromkeys((resource.RLIMIT_AS, resource.RLIMIT_FSIZE), (memory_mib + _AROUND_GUEST_MIB) * _MIB)
    return _too_low(least)


def too_low_for_drawing() -> str | None:
    """Returns the limit that is too low for the drawing library's JavaScript engine, in words; None if all suffice.

    The engine reserves 8 GiB of addresses. If it cannot, it ends the whole process.
    """
    return _too_low({resource.RLIMIT_AS: 9 * 1024 * _MIB, resource.RLIMIT_DATA: 1024 * _MIB})


def _too_low(least: Mapping[int, int]) -> str | None:
    for limit, needed in least.items():
        allowed, _ = resource.getrlimit(limit)
        if allowed != resource.RLIM_INFINITY and allowed < needed:
            counts = limit == resource.RLIMIT_NOFILE
            has, lacks = (str(each) if counts else f"{each // _MIB} MiB" for each in (allowed, needed))
            return f"`ulimit {_OPTIONS[limit]}` allows {has}, and {lacks} are needed"
    return None
