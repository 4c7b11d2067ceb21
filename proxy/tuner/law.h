/* The law of law.py in C, for the kernel. law.py explains it; tests/unit checks that both agree. */
#ifndef PRIOLAB_LAW_H
#define PRIOLAB_LAW_H

#include <linux/types.h>

#define PACKET_BUFFER_BYTES 65536ULL
#define WINDOW_SAYS_NOTHING_SEGMENTS 4
#define RELEASED_SEGMENTS 6
#define REACTION_US 1000
#define US_PER_S 1000000ULL
#define LONGEST_US 2147483647

enum why { WHY_UNKNOWN, WHY_FLOOR, WHY_RATE, WHY_CEILING, WHY_SYSCTL, WHY_SERVER, WHYS };

struct seen {
	__u64 delivery_rate_bytes_s;
	__u64 acked_rate_bytes_s;
	__u64 highest_rate_bytes_s;
	__u32 cwnd_segments;
	__u32 mss_bytes;
	__u32 rtt_us;
};

struct aim {
	__u32 target_us;
	__u32 floor_bytes;
	__u32 ceiling_bytes;
};

struct choice {
	__u64 rate_bytes_s;
	__u32 lowat_bytes;
	__u32 why;
};

/* Returns a * b / c; the largest number if c is 0 or a * b does not fit into 64 bits. */
static inline __attribute__((always_inline)) __u64 scaled(__u64 a, __u64 b, __u64 c)
{
	__u64 most = b == 0 ? ~0ULL : ~0ULL / b;

	/* Prevents clang from using a 128-bit multiplication, which BPF does not have. */
	__asm__ volatile("" : "+r"(most));
	if (c == 0 || a > most)
		return ~0ULL;
	return a * b / c;
}

static inline __attribute__((always_inline)) __u64 delivery_rate_bytes_s(__u32 segments, __u32 interval_us,
									 __u32 mss_bytes)
{
	if (segments == 0 || interval_us == 0)
		return 0;
	return scaled((__u64)segments * mss_bytes, US_PER_S, interval_us);
}

static inline __attribute__((always_inline)) __u64 rate_of(__u64 size_bytes, __u64 time_us)
{
	return time_us == 0 ? 0 : scaled(size_bytes, US_PER_S, time_us);
}

static inline __attribute__((always_inline)) void decide(const struct seen *seen, const struct aim *aim,
							 struct choice *choice)
{
	__u64 rate = seen->delivery_rate_bytes_s, window, goal, least;

	if (seen->acked_rate_bytes_s > rate)
		rate = seen->acked_rate_bytes_s;
	if (seen->highest_rate_bytes_s < rate)
		rate = seen->highest_rate_bytes_s;
	if (seen->rtt_us != 0 && seen->cwnd_segments > WINDOW_SAYS_NOTHING_SEGMENTS) {
		window = scaled((__u64)seen->cwnd_segments * seen->mss_bytes, US_PER_S, seen->rtt_us);
		if (window < rate)
			rate = window;
	}
	goal = scaled(rate, aim->target_us, US_PER_S);
	goal = goal > PACKET_BUFFER_BYTES ? goal - PACKET_BUFFER_BYTES : 0;
	least = scaled(rate, REACTION_US, US_PER_S);
	if (least > aim->ceiling_bytes)
		least = aim->ceiling_bytes;
	least = 2 * (least + (__u64)RELEASED_SEGMENTS * seen->mss_bytes);
	if (least < aim->floor_bytes)
		least = aim->floor_bytes;
	choice->rate_bytes_s = rate;
	choice->why = rate == 0 ? WHY_UNKNOWN : WHY_RATE;
	if (goal < least) {
		goal = least;
		if (rate != 0)
			choice->why = WHY_FLOOR;
	}
	if (goal > aim->ceiling_bytes) {
		goal = aim->ceiling_bytes;
		choice->why = WHY_CEILING;
	}
	choice->lowat_bytes = goal;
}

/* Returns the longest time in us that a byte stays unsent with this value; 0 if no value is set or no rate is known. */
static inline __attribute__((always_inline)) __u32 wait_us(__u32 lowat_bytes, __u64 rate_bytes_s)
{
	__u64 time_us;

	if (lowat_bytes == 0 || rate_bytes_s == 0)
		return 0;
	time_us = scaled(lowat_bytes + PACKET_BUFFER_BYTES, US_PER_S, rate_bytes_s);
	return time_us < LONGEST_US ? time_us : LONGEST_US;
}

/* True if the change is worth a system call: more than an eighth of the old value. */
static inline __attribute__((always_inline)) int differs(__u32 old_bytes, __u32 new_bytes)
{
	__u32 more = old_bytes > new_bytes ? old_bytes - new_bytes : new_bytes - old_bytes;

	return more > old_bytes / 8;
}

#endif
