"""Makes page faults take less time. A run had 24,000 page faults when nothing was changed.

Without the changes a page fault stops a program three times, and takes 30 us.

Rules:
1. A fault maps the pages around its address, as the kernel itself does for files (`fault_around_bytes`): 32 pages, and
   in kernels before 6.11 sixteen. The fault maps the pages that exist. If the program has written to private memory,
   the fault also makes the missing pages, although the program has not used them yet. And it copies the pages that the
   program shares with its parent since fork(2). Of a file, the fault maps up to 256 pages, if the kernel has read them
   before.
2. The host reports the address of a fault, but not whether the program read or wrote. A fault on a page that is mapped
   correctly counts as a write. A fault on a missing page counts as a write if the memory is writable and private. Any
   other fault counts as a read. If the program did write, the fault repeats, and by then the page is present.
3. So the host's fault handler need not run inside the program, and the floating-point registers need not be restored.
   Faults other than SEGV_MAPERR and SEGV_ACCERR are handled without the change.
4. fork(2) marks the new process's pages as not yet accessed. The kernel would map such a page without any access, to
   see the first access as a fault. Only a kernel that runs short of memory has a use for this, and a guest does not, so
   the pages are readable at once. This saves a quarter of a run's page faults.
5. fork(2) copies the pages that the program may write. The kernel would let both processes share them until one writes,
   and copy them one page fault after the other. Python writes into most of its pages, as it counts references there.
   While less than an eighth of the guest's memory is free, pages are shared as before.
"""

from priolab.testbed.guest.kernel_patches.edit import Change, Edit, Effect, included, linked

_TRAP = "arch/um/kernel/trap.c"
_PRESENT = "	} while (!pte_present(*pte));\n"
_FAULT_AROUND = "	priolab_fault_around(vma, address, is_write);\n"
_UNTIL_6_10 = (
    *included("map_present.c", "arch/um/kernel/tlb.c"),
    Edit(_TRAP, "	flush_tlb_page(vma, address);\n", _FAULT_AROUND),
)
_SINCE_6_11 = (Edit(_TRAP, _PRESENT, f"{_PRESENT}{_FAULT_AROUND}"),)
_MORE_OF_A_FILE = Edit("mm/memory.c", "	65536 >> PAGE_SHIFT;", "	1048576 >> PAGE_SHIFT;")
_HAS_VMA = "	*code_out = SEGV_ACCERR;\n"
_ASKS_PROGRAM = (
    "					get_skas_faultinfo(pid,\n							   &regs->faultinfo, aux_fp_regs);"
)

CHANGES = (
    Change(  # rule 1
        name="a page fault brings in many pages",
        effect=Effect.SPEED,
        wordings=tuple(
            (*linked("faults.c"), *edits) for edits in (_UNTIL_6_10, (*_SINCE_6_11, _MORE_OF_A_FILE), _SINCE_6_11)
        ),
    ),
    Change(  # rules 2 and 3
        name="a page fault takes two stops",
        effect=Effect.SPEED,
        before=(6, 16),
        wordings=(
            (
                *linked("fault_info.c"),
                Edit(
                    "arch/x86/um/shared/sysdep/faultinfo_64.h",
                    "#define FAULT_WRITE(fi) ((fi).error_code & 2)",
                    "#define PRIOLAB_ACCESS_UNKNOWN 0x100\n"
                    "#define FAULT_WRITE(fi) ((fi).error_code & PRIOLAB_ACCESS_UNKNOWN ? -1 : (fi).error_code & 2)",
                ),
                Edit(
                    "arch/um/os-Linux/skas/process.c",
                    _ASKS_PROGRAM,
                    "					if (!priolab_knows_fault(si.si_code, si.si_addr, &regs->faultinfo))\n"
                    + _ASKS_PROGRAM,
                ),
                Edit(
                    _TRAP,
                    _HAS_VMA,
                    f"	if (is_write < 0)\n		is_write = priolab_writes(vma, address);\n{_HAS_VMA}",
                ),
            ),
        ),
    ),
    Change(  # rule 4
        name="a forked program reads its pages without faults",
        effect=Effect.SPEED,
        since=(6, 16),
        wordings=((Edit("arch/um/kernel/tlb.c", "if (!pte_young(*pte)) {", "if (0) {"),),),
    ),
    Change(  # rule 5
        name="fork copies what a program may write",
        effect=Effect.SPEED,
        since=(6, 16),
        wordings=(
            (
                Edit(
                    "mm/memory.c",
                    "if (unlikely(folio_try_dup_anon_rmap_pte(folio, page, dst_vma, src_vma))) {",
                    "if ((pte_write(pte) && global_zone_page_state(NR_FREE_PAGES) > totalram_pages() / 8) ||\n"
                    "		    folio_try_dup_anon_rmap_pte(folio, page, dst_vma, src_vma)) {",
                ),
            ),
        ),
    ),
)
