"""Lets programs of the guest read the clock without a system call. Half of a run's system calls were such reads.

Rules:
1. The clock is in a page that the kernel shares with all programs, below the vDSO (the code of the kernel that runs in
   programs). The kernel's own clock is this memory, too, so there is nothing to keep in step.
2. The vDSO advances the clock by 256 ns, as the system call does (clock.py). If an event is due by then, the vDSO makes
   a system call, and the kernel delivers the event. So programs see the same times as with system calls alone. The
   call asks for CLOCK_BOOTTIME, which is CLOCK_MONOTONIC here, because filters tell how programs read the other two
   clocks (common/clock_route.py).
3. The page has the first instant at which something is due, and the difference between each clock of the programs and
   the guest's. The kernel renews both whenever they change. If the differences are not constant, because the clock
   does not run at one nanosecond for each nanosecond, the instant is 0: then every read is a system call.
4. The guest has one processor, and nothing interrupts a program in the guest. So the vDSO needs no lock.
"""

from priolab.experiments.testbed.guest.kernel_patches.edit import Change, Edit, Effect

_TIME = "arch/um/kernel/time.c"
_HEADER = "arch/um/include/linux/time-internal.h"
_VDSO = "arch/x86/um/vdso/um_vdso.c"
_MAPPING = "arch/x86/um/vdso/vma.c"

_PAGE = Edit(
    _HEADER,
    "#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT\nstruct time_travel_event {\n",
    """/*
 * now: the guest's clock in ns. due: when the next event is due; 0 if programs may not advance the clock.
 * offset: what CLOCK_REALTIME and CLOCK_MONOTONIC have in addition to `now`, in ns. seconds: what time(2) returns.
 */
struct priolab_clock {
	unsigned long long now, due, offset[2], seconds;
};

#define PRIOLAB_READ_NS 256

extern struct priolab_clock *priolab_clock;

#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
struct time_travel_event {
""",
)

_CLOCK_IN_PAGE = (  # rules 1 and 3
    Edit(
        _TIME,
        "static unsigned long long time_travel_time;\n",
        """static struct priolab_clock priolab_first_clock;
struct priolab_clock *priolab_clock = &priolab_first_clock;
#define time_travel_time (priolab_clock->now)
static bool priolab_exact;
static void priolab_renew_due(void);
""",
    ),
    Edit(
        _TIME,
        "	time_travel_next_event = tmp->time;\n	local_irq_restore(flags);\n}\n",
        """	time_travel_next_event = tmp->time;
	priolab_renew_due();
	local_irq_restore(flags);
}

static void priolab_renew_due(void)
{
	struct time_travel_event *first = time_travel_first_event();

	priolab_clock->due = first && priolab_exact && time_travel_mode == TT_MODE_INFCPU ? first->time : 0;
}

static int priolab_renew_offsets(struct notifier_block *block, unsigned long was_set, void *renewed)
{
	struct timekeeper *tk = renewed;
	struct tk_read_base *base = &tk->tkr_mono;
	unsigned long long real = tk->xtime_sec * NSEC_PER_SEC + (base->xtime_nsec >> base->shift) - base->cycle_last;

	priolab_exact = base->clock->read == timer_read && base->mult == 1U << base->shift;
	priolab_clock->seconds = tk->xtime_sec;
	priolab_clock->offset[CLOCK_REALTIME] = real;
	priolab_clock->offset[CLOCK_MONOTONIC] = real + timespec64_to_ns(&tk->wall_to_monotonic);
	priolab_renew_due();
	return 0;
}

static int __init priolab_share_clock(void)
{
	static struct notifier_block renewal = { .notifier_call = priolab_renew_offsets };
	struct priolab_clock *page = (void *)get_zeroed_page(GFP_KERNEL);

	if (!page)
		panic("Cannot allocate the clock's page\\n");
	*page = *priolab_clock;
	priolab_clock = page;
	return pvclock_gtod_register_notifier(&renewal);
}
core_initcall(priolab_share_clock);
""",
    ),
    Edit(
        _TIME,
        "	list_del(&e->list);\n	e->pending = false;\n	local_irq_restore(flags);\n",
        "	list_del(&e->list);\n	e->pending = false;\n	priolab_renew_due();\n	local_irq_restore(flags);\n",
    ),
    Edit(
        _TIME,
        "#include <shared/init.h>\n",
        """#include <shared/init.h>
#include <linux/pvclock_gtod.h>
#include <linux/timekeeper_internal.h>

static u64 timer_read(struct clocksource *cs);
""",
    ),
)

_MAPPED = (  # rule 1
    Edit(_MAPPING, "#include <asm/elf.h>\n", "#include <asm/elf.h>\n#include <linux/time-internal.h>\n"),
    Edit(
        _MAPPING,
        "	vma = _install_special_mapping(mm, um_vdso_addr, PAGE_SIZE,\n",
        """	vma = _install_special_mapping(mm, um_vdso_addr - PAGE_SIZE, PAGE_SIZE,
		VM_READ|VM_WRITE|VM_SHARED|VM_MAYREAD|VM_MAYWRITE|VM_MAYSHARE,
		&clock_mapping);
	if (!IS_ERR(vma)) {
		pgprot_t dirty = __pgprot(pgprot_val(vma->vm_page_prot) | _PAGE_DIRTY);

		if (remap_pfn_range(vma, vma->vm_start, PHYS_PFN(__pa(priolab_clock)), PAGE_SIZE, dirty))
			vma = ERR_PTR(-ENOMEM);
	}
	if (IS_ERR(vma))
		goto out;

	vma = _install_special_mapping(mm, um_vdso_addr, PAGE_SIZE,
""",
    ),
    Edit(
        _MAPPING,
        "		.pages = &um_vdso,\n	};\n",
        """		.pages = &um_vdso,
	};
	static struct page *no_pages[1];
	static struct vm_special_mapping clock_mapping = {
		.name = "[vvar]",
		.pages = no_pages,
	};
""",
    ),
    Edit(_MAPPING, "	mmap_write_unlock(mm);\n", "out:\n	mmap_write_unlock(mm);\n"),
)

_READ_IN_PLACE = (  # rule 2
    Edit(
        _VDSO,
        "int __vdso_clock_gettime(clockid_t clock, struct __kernel_timespec *ts)\n{\n	long ret;\n",
        """static __always_inline struct priolab_clock *priolab_shared_clock(void)
{
	unsigned long here;

	asm("lea 0(%%rip), %0" : "=r" (here));
	return (struct priolab_clock *)((here & ~4095UL) - 4096);
}

/* Returns the time in ns; 0 if it cannot be read in place. */
static __always_inline unsigned long long priolab_read(clockid_t clock)
{
	struct priolab_clock *shared = priolab_shared_clock();
	long ret;

	if (!shared->due || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
		return 0;
	if (shared->now + PRIOLAB_READ_NS >= shared->due) {
		struct __kernel_timespec at;

		asm volatile("syscall"
			: "=a" (ret)
			: "0" (__NR_clock_gettime), "D" (CLOCK_BOOTTIME), "S" (&at)
			: "rcx", "r11", "memory");
		return at.tv_sec * 1000000000ULL + at.tv_nsec - shared->offset[CLOCK_MONOTONIC] + shared->offset[clock];
	}
	shared->now += PRIOLAB_READ_NS;
	return shared->now + shared->offset[clock];
}

int __vdso_clock_gettime(clockid_t clock, struct __kernel_timespec *ts)
{
	unsigned long long at = priolab_read(clock);
	long ret;

	if (at) {
		ts->tv_sec = at / 1000000000;
		ts->tv_nsec = at % 1000000000;
		return 0;
	}
""",
    ),
    Edit(
        _VDSO,
        "int __vdso_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz)\n{\n	long ret;\n",
        """int __vdso_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz)
{
	unsigned long long at = tv && !tz ? priolab_read(CLOCK_REALTIME) : 0;
	long ret;

	if (at) {
		tv->tv_sec = at / 1000000000;
		tv->tv_usec = at % 1000000000 / 1000;
		return 0;
	}
""",
    ),
    Edit(
        _VDSO,
        "__kernel_old_time_t __vdso_time(__kernel_old_time_t *t)\n{\n	long secs;\n",
        """__kernel_old_time_t __vdso_time(__kernel_old_time_t *t)
{
	struct priolab_clock *shared = priolab_shared_clock();
	long secs;

	if (shared->due) {
		if (t)
			*t = shared->seconds;
		return shared->seconds;
	}
""",
    ),
    Edit(_VDSO, "#include <linux/time.h>\n", "#include <linux/time.h>\n#include <linux/time-internal.h>\n"),
)

CHANGES = (
    Change(
        name="programs read the clock without a system call",
        effect=Effect.SPEED,
        since=(6, 16),
        wordings=((_PAGE, *_CLOCK_IN_PAGE, *_MAPPED, *_READ_IN_PLACE),),
    ),
)
