"""Mends set_ptes() of user-mode Linux, which maps several pages in a row: from the third page on it mapped wrong ones.

To get from one page to the next, set_ptes() adds one to the page's number (<linux/pgtable.h>). User-mode Linux added
the number of pages that were left. So a process that was forked by a program with io_uring's rings mapped pages of
other uses, and freed them when it ended. They were then used twice: the kernel reported bad pages, or ran for ever.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_NEXT = Edit(
    "arch/um/include/asm/pgtable.h",
    "(nr << PFN_PTE_SHIFT)",
    "(1UL << PFN_PTE_SHIFT)",
)
_AS_IT_IS = ()
"""For a source that does not have this line."""

CHANGES = (
    Change(
        name="pages in a row are mapped in a row", effect=Effect.RESULT, since=(6, 11), wordings=((_NEXT,), _AS_IT_IS)
    ),
)
