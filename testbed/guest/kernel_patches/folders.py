"""Reads of this machine's folders take their memory from a guest's pages, without mapping them anew.

opendir(3) in user-mode Linux asks for 32 KiB. More than a page is mapped for each request (vmalloc), and such maps are
taken back by a kernel's thread, which does not run while a program under SCHED_RR searches folder after folder. After
some 15,000 folders the addresses were beyond those that user-mode Linux knows as its own, and the guest ended.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_FILE = "arch/um/os-Linux/main.c"
_SMALL = "size <= UM_KERN_PAGE_SIZE"
_NONE = "if (ret == NULL)\n\t\terrno = ENOMEM;"

CHANGES = (
    Change(
        name="folders are read without mapping memory",
        effect=Effect.SPEED,
        wordings=(
            (
                Edit(_FILE, _SMALL, "size <= 16 * UM_KERN_PAGE_SIZE"),
                Edit(_FILE, _NONE, f"if (ret == NULL && kmalloc_ok)\n\t\tret = vmalloc(size);\n\t{_NONE}"),
            ),
        ),
    ),
)
