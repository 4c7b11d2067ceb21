/* The rules of a cautious tuner, for servers in use: the tuner never exceeds a limit of the server or the system.
 * Tests compare them with the same rules in Python (tests/support/tuner/caution.py).
 *
 * 1. If a socket has a value of TCP_NOTSENT_LOWAT that the tuner did not set, the value is the server's own limit; 0
 *    means no limit. The tuner never sets a larger value than the server's own limit.
 * 2. If the settings say so, the tuner never exceeds the sysctl tcp_notsent_lowat of the socket's network namespace.
 * 3. The tuner does not change a socket if the new value is about the same as the value without the tuner.
 * 4. The law computes a wanted value from each sample. The tuner raises the socket's value when the wanted values of
 *    two samples in a row are larger, to the smaller of the two wanted values. The tuner must not wait longer, or the
 *    connection could run out of data. The tuner lowers the socket's value when all wanted values within `hold_ns` are
 *    smaller, to the largest of them. So a rate that rises for a single round trip, or falls for a few, changes
 *    nothing.
 */
#ifndef PRIOLAB_CAUTION_H
#define PRIOLAB_CAUTION_H

#include "law.h"

/* The state that the tuner keeps for a connection. */
struct held {
	__u64 low_ns; /* since when all wanted values were below lowat_bytes; 0: the last one was not */
	__u32 low_bytes; /* the largest wanted value since then */
	__u32 own_bytes; /* the value that the server itself set; 0: none */
	__u32 lowat_bytes; /* the value that the tuner set; 0: none */
	__u32 last_bytes; /* the wanted value of the last sample */
};

/* Notes the socket's value: if the tuner did not set it, it is the server's own limit. */
static inline __attribute__((always_inline)) void notice(struct held *held, __u32 has_bytes, __u32 dry_run)
{
	__u32 left_bytes = dry_run || held->lowat_bytes == 0 ? held->own_bytes : held->lowat_bytes;

	if (has_bytes == left_bytes)
		return;
	held->own_bytes = has_bytes;
	held->lowat_bytes = 0;
	held->low_ns = 0;
}

/* Reduces the law's choice to the server's own limit and to the sysctl; 0 means no limit. */
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

/* Returns the value to set now; 0 to set none. wanted_bytes: the wanted value of the sample, reduced to its limits. */
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
