"""Makes page faults take less time. A run had 24,000 page faults when nothing was changed.

Without the changes a page fault stops a program three times, and takes 30 us.

Rules:
1. A fault maps the pages around its address, as the kernel itself does for files (`fault_around_bytes`): 32 pages, and
   in kernels before 6.11 sixteen. Pages that exist are mapped at once. If a program writes to private memory, missing
   pages are made before it uses them, and pages that it shares with the process that forked it are copied. Of a file,
   256 pages are mapped as far as they have been read before.
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

from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_HANDLE = """/*
 * Note this is constrained to return 0, -EFAULT, -EACCES, -ENOMEM by
"""

_WRITES_AROUND = Edit(
    "arch/um/kernel/trap.c",
    _HANDLE,
    """#define PRIOLAB_AROUND (32 * PAGE_SIZE)

static void priolab_around(struct vm_area_struct *vma, unsigned long address)
{
	unsigned long start = address & ~(PRIOLAB_AROUND - 1), end = start + PRIOLAB_AROUND, addr;
	pmd_t *pmd = pmd_off(vma->vm_mm, address);

	start = max(start, vma->vm_start);
	end = min(end, vma->vm_end);
	for (addr = start; addr < end; addr += PAGE_SIZE) {
		pte_t pte = *pte_offset_kernel(pmd, addr);

		if (!pte_present(pte) || !pte_write(pte))
			handle_mm_fault(vma, addr, FAULT_FLAG_WRITE | FAULT_FLAG_USER, NULL);
	}
}

"""
    + _HANDLE,
)
_SINCE_6_11 = (
    _WRITES_AROUND,
    Edit(
        "arch/um/kernel/trap.c",
        "	} while (!pte_present(*pte));\n	err = 0;\n",
        """	} while (!pte_present(*pte));
	err = 0;
	if (is_write && !(vma->vm_flags & VM_SHARED))
		priolab_around(vma, address);
""",
    ),
)
_MORE_OF_A_FILE = Edit("mm/memory.c", "	65536 >> PAGE_SHIFT;\n", "	1048576 >> PAGE_SHIFT;\n")
_UNTIL_6_10 = (
    Edit(
        "arch/um/kernel/tlb.c",
        "static int flush_tlb_kernel_range_common(unsigned long start, unsigned long end)\n",
        """void priolab_map_present(struct mm_struct *mm, unsigned long addr, unsigned long end)
{
	int force = 0, userspace = 1, ret = 0;
	struct host_vm_change hvc = INIT_HVC(mm, force, userspace);
	pmd_t *pmd = pmd_off(mm, addr);

	for (; addr < end && !ret; addr += PAGE_SIZE)
		if (pte_present(*pte_offset_kernel(pmd, addr)))
			ret = update_pte_range(pmd, addr, addr + PAGE_SIZE, &hvc);
	if (!ret)
		ret = do_ops(&hvc, hvc.index, 1);
	if (ret)
		force_sig(SIGKILL);
}

static int flush_tlb_kernel_range_common(unsigned long start, unsigned long end)
""",
    ),
    Edit(
        "arch/um/kernel/trap.c",
        _HANDLE,
        """#define PRIOLAB_AROUND (16 * PAGE_SIZE)

static void priolab_around(struct vm_area_struct *vma, unsigned long address, int is_write)
{
	extern void priolab_map_present(struct mm_struct *mm, unsigned long addr, unsigned long end);
	unsigned long start = address & ~(PRIOLAB_AROUND - 1), end = start + PRIOLAB_AROUND, addr;
	pmd_t *pmd = pmd_off(vma->vm_mm, address);

	start = max(start, vma->vm_start);
	end = min(end, vma->vm_end);
	if (is_write && !(vma->vm_flags & VM_SHARED))
		for (addr = start; addr < end; addr += PAGE_SIZE)
			if (!pte_present(*pte_offset_kernel(pmd, addr)) || !pte_write(*pte_offset_kernel(pmd, addr)))
				handle_mm_fault(vma, addr, FAULT_FLAG_WRITE | FAULT_FLAG_USER, NULL);
	priolab_map_present(vma->vm_mm, start, end);
}

"""
        + _HANDLE,
    ),
    Edit(
        "arch/um/kernel/trap.c",
        "	flush_tlb_page(vma, address);\nout:",
        "	priolab_around(vma, address, is_write);\nout:",
    ),
)

CHANGES = (
    Change(  # rule 1
        name="a page fault brings in many pages",
        effect=Effect.SPEED,
        wordings=(_UNTIL_6_10, (*_SINCE_6_11, _MORE_OF_A_FILE), _SINCE_6_11),
    ),
    Change(  # rules 2 and 3
        name="a page fault takes two stops",
        effect=Effect.SPEED,
        before=(6, 16),
        wordings=(
            (
                Edit(
                    "arch/x86/um/shared/sysdep/faultinfo_64.h",
                    "#define FAULT_WRITE(fi) ((fi).error_code & 2)",
                    """#define PRIOLAB_ACCESS_UNKNOWN 0x100
#define FAULT_WRITE(fi) ((fi).error_code & PRIOLAB_ACCESS_UNKNOWN ? -1 : (fi).error_code & 2)""",
                ),
                Edit(
                    "arch/um/os-Linux/skas/process.c",
                    "					get_skas_faultinfo(pid,\n"
                    "							   &regs->faultinfo, aux_fp_regs);\n",
                    """					if (si.si_code == SEGV_MAPERR || si.si_code == SEGV_ACCERR)
						regs->faultinfo = (struct faultinfo) {
							.error_code = PRIOLAB_ACCESS_UNKNOWN,
							.cr2 = (unsigned long) si.si_addr,
							.trap_no = 14,
						};
					else
						get_skas_faultinfo(pid, &regs->faultinfo, aux_fp_regs);
""",
                ),
                Edit(
                    "arch/um/kernel/trap.c",
                    _HANDLE,
                    """static int priolab_writes(struct vm_area_struct *vma, unsigned long address)
{
	pte_t *pte = virt_to_pte(vma->vm_mm, address);

	if (pte && pte_present(*pte))
		return pte_young(*pte) && !pte_newpage(*pte) && !pte_newprot(*pte);
	return (vma->vm_flags & (VM_WRITE | VM_SHARED)) == VM_WRITE;
}

"""
                    + _HANDLE,
                ),
                Edit(
                    "arch/um/kernel/trap.c",
                    "	*code_out = SEGV_ACCERR;\n	if (is_write) {",
                    "	if (is_write < 0)\n		is_write = priolab_writes(vma, address);\n"
                    "	*code_out = SEGV_ACCERR;\n	if (is_write) {",
                ),
            ),
        ),
    ),
    Change(  # rule 4
        name="a forked program reads its pages without faults",
        effect=Effect.SPEED,
        since=(6, 16),
        wordings=(
            (
                Edit(
                    "arch/um/kernel/tlb.c",
                    """			if (!pte_young(*pte)) {
				r = 0;
				w = 0;
			} else if (!pte_dirty(*pte))
""",
                    """			if (!pte_dirty(*pte))
""",
                ),
            ),
        ),
    ),
    Change(  # rule 5
        name="fork copies what a program may write",
        effect=Effect.SPEED,
        since=(6, 16),
        wordings=(
            (
                Edit(
                    "mm/memory.c",
                    "		if (unlikely(folio_try_dup_anon_rmap_pte(folio, page, dst_vma, src_vma))) {\n",
                    "\t\tif ((pte_write(pte) && global_zone_page_state(NR_FREE_PAGES) > totalram_pages() / 8) ||\n"
                    "\t\t    folio_try_dup_anon_rmap_pte(folio, page, dst_vma, src_vma)) {\n",
                ),
            ),
        ),
    ),
)
