/* The vDSO of the guest's kernel, which reads the clock in the page that lies below it: see clock_page.py. */
#define DISABLE_BRANCH_PROFILING
#include <linux/time.h>
#include <asm/unistd.h>
#include <priolab.h>

int __vdso_clock_gettime(clockid_t clock, struct __kernel_timespec *ts);
int __vdso_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz);
__kernel_old_time_t __vdso_time(__kernel_old_time_t *t);

static __always_inline long priolab_syscall(long number, unsigned long first, void *second)
{
	long ret;

	asm volatile("syscall"
		: "=a" (ret)
		: "0" (number), "D" (first), "S" (second)
		: "rcx", "r11", "memory");
	return ret;
}

static __always_inline struct priolab_clock *priolab_shared_clock(void)
{
	unsigned long here;

	asm("lea 0(%%rip), %0" : "=r" (here));
	return (struct priolab_clock *)((here & ~4095UL) - 4096);
}

/* Returns the time in ns; 0 if it cannot be read in place. */
static __always_inline unsigned long long priolab_read(clockid_t clock)
{
	struct priolab_clock *shared = priolab_shared_clock();
	struct __kernel_timespec at;

	if (!shared->due || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
		return 0;
	if (shared->now + PRIOLAB_READ_NS >= shared->due) {
		priolab_syscall(__NR_clock_gettime, CLOCK_BOOTTIME, &at);
		return at.tv_sec * 1000000000ULL + at.tv_nsec - shared->offset[CLOCK_MONOTONIC] + shared->offset[clock];
	}
	shared->now += PRIOLAB_READ_NS;
	return shared->now + shared->offset[clock];
}

int __vdso_clock_gettime(clockid_t clock, struct __kernel_timespec *ts)
{
	unsigned long long at = priolab_read(clock);

	if (!at)
		return priolab_syscall(__NR_clock_gettime, clock, ts);
	ts->tv_sec = at / 1000000000;
	ts->tv_nsec = at % 1000000000;
	return 0;
}
int clock_gettime(clockid_t, struct __kernel_timespec *) __attribute__((weak, alias("__vdso_clock_gettime")));

int __vdso_gettimeofday(struct __kernel_old_timeval *tv, struct timezone *tz)
{
	unsigned long long at = tv && !tz ? priolab_read(CLOCK_REALTIME) : 0;

	if (!at)
		return priolab_syscall(__NR_gettimeofday, (unsigned long)tv, tz);
	tv->tv_sec = at / 1000000000;
	tv->tv_usec = at % 1000000000 / 1000;
	return 0;
}
int gettimeofday(struct __kernel_old_timeval *, struct timezone *)
	__attribute__((weak, alias("__vdso_gettimeofday")));

__kernel_old_time_t __vdso_time(__kernel_old_time_t *t)
{
	struct priolab_clock *shared = priolab_shared_clock();

	if (!shared->due)
		return priolab_syscall(__NR_time, (unsigned long)t, 0);
	if (t)
		*t = shared->seconds;
	return shared->seconds;
}
__kernel_old_time_t time(__kernel_old_time_t *t) __attribute__((weak, alias("__vdso_time")));
