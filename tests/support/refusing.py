"""A process that may not use seccomp(2), or user namespaces, as in containers; its children may not, either.

A user namespace can be refused at once, or be useless: AppArmor on Ubuntu lets a process make one, and refuses it
everything for which it needs a right, with EPERM. A filter of system calls cannot know the namespace of a process, nor
the file that it writes. So here mounts are refused, with the same error, to every process and in every namespace.
"""

import ctypes
import os
import struct
from collections.abc import Sequence

_ALLOW, _REFUSE = 0x7FFF_0000, 0x0005_0001  # SECCOMP_RET_ALLOW; SECCOMP_RET_ERRNO | EPERM
_UNKNOWN = 0x0005_0026  # SECCOMP_RET_ERRNO | ENOSYS
_LOAD, _IF_EQUAL, _IF_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data
_SECCOMP, _PRCTL = 317, 157  # on x86-64
_CLONE, _UNSHARE, _CLONE3 = 56, 272, 435
_CLONE_NEWUSER = 0x1000_0000
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2
_STEPS = (
    (_LOAD, 0, 0, _NUMBER),
    (_IF_EQUAL, 4, 0, _SECCOMP),
    (_IF_EQUAL, 0, 2, _PRCTL),
    (_LOAD, 0, 0, _FIRST_ARGUMENT),
    (_IF_EQUAL, 1, 0, _PR_SET_SECCOMP),
    (_RETURN, 0, 0, _ALLOW),
    (_RETURN, 0, 0, _REFUSE),
)
_USER_NAMESPACES = (
    (_LOAD, 0, 0, _NUMBER),
    (_IF_EQUAL, 2, 0, _UNSHARE),
    (_IF_EQUAL, 5, 0, _CLONE3),  # its flags cannot be seen; the C library then uses clone
    (_IF_EQUAL, 0, 2, _CLONE),
    (_LOAD, 0, 0, _FIRST_ARGUMENT),
    (_IF_SET, 1, 0, _CLONE_NEWUSER),
    (_RETURN, 0, 0, _ALLOW),
    (_RETURN, 0, 0, _REFUSE),
    (_RETURN, 0, 0, _UNKNOWN),
)
_MOUNTING = (165, 166, 155, 428, 429, 430, 432, 433, 442)
"""mount, umount2, pivot_root, open_tree, move_mount, fsopen, fsmount, fspick, mount_setattr."""

_MOUNTS = (
    (_LOAD, 0, 0, _NUMBER),
    *((_IF_EQUAL, len(_MOUNTING) - place, 0, number) for place, number in enumerate(_MOUNTING)),
    (_RETURN, 0, 0, _ALLOW),
    (_RETURN, 0, 0, _REFUSE),
)


def refuse_seccomp() -> None:
    """Refuse seccomp(2) to this process from now on. Raises OSError."""
    _refuse(_STEPS)


def refuse_user_namespaces() -> None:
    """Refuse unshare(2) and clone(2) with a user namespace to this process from now on. Raises OSError."""
    _refuse(_USER_NAMESPACES)


def refuse_mounts() -> None:
    """Refuse mounts to this process from now on; a user namespace can be made, but not used. Raises OSError."""
    _refuse(_MOUNTS)


def _refuse(filtering: Sequence[tuple[int, int, int, int]]) -> None:
    steps = b"".join(struct.pack("HBBI", *step) for step in filtering)
    memory = ctypes.create_string_buffer(steps)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(filtering), ctypes.addressof(memory)))
    libc = ctypes.CDLL(None, use_errno=True)
    give_up = (_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)  # root need not, so that a program such as sudo works
    for words in (*([give_up] if os.geteuid() else []), (_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*words):
            raise OSError(ctypes.get_errno(), "prctl")
