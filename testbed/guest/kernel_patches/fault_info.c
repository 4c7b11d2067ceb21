/* Tells from the address of a fault what the program did: see faults.py. */
#include <linux/mm.h>
#include <linux/signal.h>
#include <sysdep/faultinfo.h>
#include <priolab.h>

/* Returns true if the code and the address that the host reports are enough, and fills in `fault`. */
bool priolab_knows_fault(int code, void *address, struct faultinfo *fault)
{
	if (code != SEGV_MAPERR && code != SEGV_ACCERR)
		return false;
	*fault = (struct faultinfo) {
		.error_code = PRIOLAB_ACCESS_UNKNOWN,
		.cr2 = (unsigned long)address,
		.trap_no = 14,
	};
	return true;
}

int priolab_writes(struct vm_area_struct *vma, unsigned long address)
{
	pte_t *pte = virt_to_pte(vma->vm_mm, address);

	if (pte && pte_present(*pte))
		return pte_young(*pte) && !pte_newpage(*pte) && !pte_newprot(*pte);
	return (vma->vm_flags & (VM_WRITE | VM_SHARED)) == VM_WRITE;
}
