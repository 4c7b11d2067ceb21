/* The page with the guest's clock, which the kernel shares with all programs: see clock_page.py. */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/pvclock_gtod.h>
#include <linux/string.h>
#include <linux/time-internal.h>
#include <linux/timekeeper_internal.h>
#include <priolab.h>

static struct priolab_clock priolab_first_clock;
struct priolab_clock *priolab_clock = &priolab_first_clock;
static bool priolab_exact;
static unsigned long long priolab_first_event;

static void priolab_write_due(void)
{
	priolab_clock->due = priolab_exact && time_travel_mode == TT_MODE_INFCPU ? priolab_first_event : 0;
}

/* first: the event that is due first; NULL if there is none. */
void priolab_renew_due(struct time_travel_event *first)
{
	priolab_first_event = first ? first->time : 0;
	priolab_write_due();
}

static int priolab_renew_offsets(struct notifier_block *block, unsigned long was_set, void *renewed)
{
	struct timekeeper *tk = renewed;
	struct tk_read_base *base = &tk->tkr_mono;
	unsigned long long real = tk->xtime_sec * NSEC_PER_SEC + (base->xtime_nsec >> base->shift) - base->cycle_last;

	priolab_exact = !strcmp(base->clock->name, "time-travel-clock") && base->mult == 1U << base->shift;
	priolab_clock->seconds = tk->xtime_sec;
	priolab_clock->offset[CLOCK_REALTIME] = real;
	priolab_clock->offset[CLOCK_MONOTONIC] = real + timespec64_to_ns(&tk->wall_to_monotonic);
	priolab_write_due();
	return 0;
}

static int __init priolab_share_clock(void)
{
	static struct notifier_block renewal = { .notifier_call = priolab_renew_offsets };
	struct priolab_clock *page = (void *)get_zeroed_page(GFP_KERNEL);

	if (!page)
		panic("Cannot allocate the clock's page\n");
	*page = *priolab_clock;
	priolab_clock = page;
	return pvclock_gtod_register_notifier(&renewal);
}
core_initcall(priolab_share_clock);

/*
 * Maps the clock's page below the vDSO, and then the vDSO. The arguments are those of _install_special_mapping().
 * A program in a time namespace of its own gets a page of zeros.
 */
struct vm_area_struct *priolab_map_clock(struct mm_struct *mm, unsigned long vdso, unsigned long length,
					 unsigned long flags, const struct vm_special_mapping *mapping)
{
	static struct page *no_pages[1];
	static struct vm_special_mapping clock_mapping = {
		.name = "[vvar]",
		.pages = no_pages,
	};
	struct vm_area_struct *vma = _install_special_mapping(mm, vdso - PAGE_SIZE, PAGE_SIZE,
		VM_READ|VM_WRITE|VM_SHARED|VM_MAYREAD|VM_MAYWRITE|VM_MAYSHARE,
		&clock_mapping);
	bool shares = current->nsproxy->time_ns == init_nsproxy.time_ns;
	unsigned long page = shares ? PHYS_PFN(__pa(priolab_clock)) : page_to_pfn(ZERO_PAGE(0));
	pgprot_t dirty;

	if (IS_ERR(vma))
		return vma;
	dirty = __pgprot(pgprot_val(vma->vm_page_prot) | _PAGE_DIRTY);
	if (remap_pfn_range(vma, vma->vm_start, page, PAGE_SIZE, dirty))
		return ERR_PTR(-ENOMEM);
	return _install_special_mapping(mm, vdso, length, flags, mapping);
}
