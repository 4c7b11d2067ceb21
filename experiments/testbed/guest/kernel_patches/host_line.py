"""Lets a program of a guest wait for a line that the lab writes to the guest kernel's standard input.

A read of /sys/module/um_arch/parameters/host_line returns the next line, or nothing when the lab has closed the
standard input. Until the line comes, the host stops the whole guest, its clock included. So a guest that has carried
out its runs can wait for others without using a processor, and nothing in the guest depends on how long it waits.
"""

from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

NAME = "a program can wait for a line from the host"
"""The change's name."""

_LAST_INCLUDE = '#include "um_arch.h"\n'
_READ = Edit(
    "arch/um/kernel/um_arch.c",
    _LAST_INCLUDE,
    _LAST_INCLUDE
    + """
static int priolab_host_line(char *line, const struct kernel_param *kp)
{
	int length;

	do
		length = os_read_file(0, line, PAGE_SIZE - 1);
	while (length == -EINTR);
	return length;
}

static const struct kernel_param_ops priolab_host_line_ops = { .get = priolab_host_line };
module_param_cb(host_line, &priolab_host_line_ops, NULL, 0400);
""",
)

CHANGES = (Change(name=NAME, effect=Effect.SPEED, since=(7, 2), wordings=((_READ,),)),)
