/* The end of arch/um/kernel/tlb.c before 6.11: maps the pages of a range that exist. See faults.py. */

void priolab_map_present(struct mm_struct *mm, unsigned long addr, unsigned long end)
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
