/* Brings in the pages around a page fault: see faults.py. */
#include <linux/mm.h>
#include <linux/version.h>
#include <priolab.h>

#define MAPS_ITSELF (LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0))
#define PRIOLAB_AROUND ((MAPS_ITSELF ? 16 : 32) * PAGE_SIZE)

void priolab_fault_around(struct vm_area_struct *vma, unsigned long address, int is_write)
{
	unsigned long start = address & ~(PRIOLAB_AROUND - 1), end = start + PRIOLAB_AROUND, addr;
	pmd_t *pmd = pmd_off(vma->vm_mm, address);

	start = max(start, vma->vm_start);
	end = min(end, vma->vm_end);
	if (is_write && !(vma->vm_flags & VM_SHARED))
		for (addr = start; addr < end; addr += PAGE_SIZE) {
			pte_t pte = *pte_offset_kernel(pmd, addr);

			if (!pte_present(pte) || !pte_write(pte))
				handle_mm_fault(vma, addr, FAULT_FLAG_WRITE | FAULT_FLAG_USER, NULL);
		}
#if MAPS_ITSELF
	priolab_map_present(vma->vm_mm, start, end);
#endif
}
