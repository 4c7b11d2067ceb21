"""Lets a program of a guest wait for a line that the lab writes to the guest kernel's standard input.

A read of /sys/module/um_arch/parameters/host_line returns the next line, or nothing when the lab has closed the
standard input. Until the line comes, the host stops the whole guest, its clock included. So a guest that has carried
out its runs can wait for others without using a processor, and nothing in the guest depends on how long it waits.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Effect, linked

NAME = "a program can wait for a line from the host"
"""The change's name."""

CHANGES = (Change(name=NAME, effect=Effect.SPEED, since=(7, 2), wordings=(linked("host_line.c"),)),)
