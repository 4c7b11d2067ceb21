/* The rules of caution.py in C, for the kernel. caution.py explains them; tests/unit checks that both agree. */
#ifndef PRIOLAB_CAUTION_H
#define PRIOLAB_CAUTION_H

#include "law.h"

struct held {
	__u64 low_ns;
	__u32 low_bytes;
	__u32 own_bytes;
	__u32 lowat_bytes;
	__u32 last_bytes;
};

static inline __attribute__((always_inline)) void notice(struct held *held, __u32 has_bytes, __u32 dry_run)
{
	__u32 left_bytes = dry_run || held->lowat_bytes == 0 ? held->own_bytes : held->lowat_bytes;

	if (has_bytes == left_bytes)
		return;
	held->own_bytes = has_bytes;
	held->lowat_bytes = 0;
	held->low_ns = 0;
}

static inline __attribute__((always_inline)) void bound(struct choice *choice, __u32 own_bytes, __u32 sysctl_bytes)
{
	if (sysctl_bytes != 0 && choice->lowat_bytes > sysctl_bytes) {
		choice->lowat_bytes = sysctl_bytes;
		choice->why = WHY_SYSCTL;
	}
	if (own_bytes != 0 && choice->lowat_bytes > own_bytes) {
		choice->lowat_bytes = own_bytes;
		choice->why = WHY_SERVER;
	}
}

static inline __attribute__((always_inline)) __u32 due(struct held *held, __u32 wanted_bytes, __u32 sysctl_bytes,
						       __u64 now_ns, __u64 hold_ns)
{
	__u32 without_bytes = held->own_bytes != 0 ? held->own_bytes : sysctl_bytes, has_bytes = held->lowat_bytes;
	__u32 twice_bytes = wanted_bytes < held->last_bytes ? wanted_bytes : held->last_bytes;

	held->last_bytes = wanted_bytes;
	if (has_bytes == 0)
		return without_bytes == 0 || differs(without_bytes, wanted_bytes) ? wanted_bytes : 0;
	if (sysctl_bytes != 0 && has_bytes > sysctl_bytes)
		return wanted_bytes;
	if (wanted_bytes >= has_bytes || !differs(has_bytes, wanted_bytes)) {
		held->low_ns = 0;
		return twice_bytes > has_bytes && differs(has_bytes, twice_bytes) ? twice_bytes : 0;
	}
	if (held->low_ns == 0) {
		held->low_ns = now_ns;
		held->low_bytes = wanted_bytes;
	} else if (wanted_bytes > held->low_bytes) {
		held->low_bytes = wanted_bytes;
	}
	return now_ns - held->low_ns >= hold_ns ? held->low_bytes : 0;
}

#endif
