/* The law: computes TCP_NOTSENT_LOWAT from the kernel's figures of a connection. The kernel runs it (sock_ops.c), and
 * tests compare it with the same law in Python (tests/support/tuner/law.py).
 *
 * The effect of LOWAT: a server may write while less than LOWAT bytes are unsent. But the kernel checks this only when
 * it begins a new packet buffer, and each packet buffer then takes bytes until it holds 64 KiB. The kernel wakes a
 * waiting server when less than LOWAT / 2 bytes are unsent. So the next write waits behind LOWAT / 2 to LOWAT + 64 KiB
 * bytes.
 *
 * 1. The rate is the larger of two rates: the kernel's delivery rate, and the rate of bytes acknowledged in the last
 *    round trip. The second rate is needed because the delivery rate follows a faster link a round trip late: the
 *    kernel divides by the longer of the time to send packets and the time to acknowledge them (tcp_rate.c). Two
 *    limits apply. First, the highest rate of bytes of the last second or two: the kernel counts every packet as a full
 *    one, so its delivery rate of many small responses can be ten times too high, and after a loss four packets in the
 *    burst of a shaper give it 50 MB/s on a link of 20 Mbit/s. Second, the congestion window per round trip: after an
 *    idle time the window is small, and an earlier rate no longer applies. A window of four segments or less is
 *    ignored: it comes from BBR's probing of the round trip, or from a timeout, and says nothing of the link. As long
 *    as no rate of bytes is known, LOWAT is the floor. The window per round trip is no measurement: with the initial
 *    window and a round trip of 1.5 ms it is 77 Mbit/s on every link. The floor costs no throughput on a fast link,
 *    because a rate is known after one round trip: the initial window has ten segments, the kernel accepts a whole
 *    packet buffer of 45, and the floor lets the server write again in time for slow start.
 *    Bytes are a rate only over some time: acknowledgments come in clumps, and a shaper lets bursts pass. So a round
 *    trip shorter than 100 ms counts together with those before it (`struct acked`). As long as a connection is younger,
 *    its bytes are divided by 100 ms all the same. Slow start loses nothing by that: until then LOWAT and a packet
 *    buffer are, for a target of 50 ms, half of all bytes acknowledged, which is half of the window. A clump follows a
 *    gap, so the highest rate is at most four times that of two such times in a row; in slow start, and after a rise of
 *    the link's rate, this is more than the rate of the last one.
 * 2. The goal: no byte stays unsent for longer than the target. So the unsent bytes, a packet buffer included, may be
 *    rate x target, and LOWAT = rate x target - 64 KiB. On links slower than 64 KiB per target this LOWAT would be
 *    negative, and the floor applies.
 * 3. The floor: while the server wakes up and writes, the connection sends from the last LOWAT / 2 bytes. These bytes
 *    must cover what the kernel sends before the server can run, and one segment must be left. Otherwise the kernel
 *    regards the connection as limited by the application, and neither the congestion window nor BBR's estimate of the
 *    rate grows. In slow start the kernel sends four segments on an acknowledgment of two. Kernels before commit
 *    4bfe744ff164 of 2022 wake the server only on acknowledgments. When BBR starts, they send six segments between two
 *    acknowledgments, because BBR paces at 2.89 times the measured rate. So the floor has six segments. The bytes must
 *    also cover the server's reaction time, one millisecond at the rate. So LOWAT >= 2 x (6 segments + rate x 1 ms),
 *    and LOWAT >= `floor_bytes`.
 * 4. The ceiling limits the effect of an unrealistic rate, such as that of loopback.
 * 5. A socket's value is changed if the new value differs by more than an eighth of the old value.
 *
 * Arithmetic is unsigned with 64 bits and saturates: a result that does not fit becomes the largest number.
 */
#ifndef PRIOLAB_LAW_H
#define PRIOLAB_LAW_H

#include <linux/types.h>

#define PACKET_BUFFER_BYTES 65536ULL
#define WINDOW_SAYS_NOTHING_SEGMENTS 4
#define RELEASED_SEGMENTS 6
#define REACTION_US 1000
#define US_PER_S 1000000ULL
#define RATE_NS 100000000ULL /* the shortest time over which bytes are a rate */
#define HIGHEST_NS 1000000000ULL /* the highest rate is of this time, and of as much before it */
#define LONGEST_US 2147483647

enum why { WHY_UNKNOWN, WHY_FLOOR, WHY_RATE, WHY_CEILING, WHY_SYSCTL, WHY_SERVER, WHYS };

/* The kernel's figures of a connection. */
struct seen {
	__u64 delivery_rate_bytes_s; /* 0: unknown */
	__u64 acked_rate_bytes_s; /* of the last round trip, or of the last 100 ms; 0 during the first one */
	__u64 highest_rate_bytes_s; /* the highest rate of bytes of the last second or two; 0: none was measured */
	__u32 cwnd_segments;
	__u32 mss_bytes;
	__u32 rtt_us; /* smoothed; 0: unknown */
};

/* What the client has acknowledged. A span ends with a round trip, and takes RATE_NS at least. */
struct acked {
	__u64 span_ns[3]; /* the begins of the span now, of the last one, and of the one before it */
	__u64 since_ns; /* the begin of the time in which highest_bytes_s was measured */
	__u64 rate_bytes_s; /* since the begin of the last span */
	__u64 highest_bytes_s; /* the highest of these rates since since_ns, each at most four times that of one more span */
	__u64 before_bytes_s; /* the highest one in the time before */
	__u32 span_bytes[3]; /* what had been acknowledged at the begins of the spans, modulo 2^32 */
	__u32 all_bytes; /* the most that had been acknowledged, modulo 2^32 */
};

struct aim {
	__u32 target_us; /* the longest time for which a byte may stay unsent; at least 1 */
	__u32 floor_bytes; /* at least 1 */
	__u32 ceiling_bytes; /* at least the floor, and below 2^31 */
};

struct choice {
	__u64 rate_bytes_s; /* the rate from which the value was computed; 0: unknown */
	__u32 lowat_bytes;
	__u32 why; /* enum why: the rule that decided */
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

/* Returns a rate of bytes since a time; over RATE_NS, if less has passed. */
static inline __attribute__((always_inline)) __u64 rate_since(__u32 size_bytes, __u64 time_ns)
{
	return rate_of(size_bytes, (time_ns > RATE_NS ? time_ns : RATE_NS) / 1000);
}

/* Begins the measurement. all_bytes: what the client has acknowledged by now, modulo 2^32. now_ns: not 0. */
static inline __attribute__((always_inline)) void begin_acked(struct acked *acked, __u32 all_bytes, __u64 now_ns)
{
	acked->span_ns[0] = acked->span_ns[1] = acked->span_ns[2] = acked->since_ns = now_ns;
	acked->span_bytes[0] = acked->span_bytes[1] = acked->span_bytes[2] = acked->all_bytes = all_bytes;
	acked->rate_bytes_s = acked->highest_bytes_s = acked->before_bytes_s = 0;
}

/* Notes the end of a round trip. all_bytes may be less than it was, and then does not count: after a timeout the kernel
 * may forget what was acknowledged selectively.
 */
static inline __attribute__((always_inline)) void note_acked(struct acked *acked, __u32 all_bytes, __u64 now_ns)
{
	__u64 rate;

	if ((__s32)(all_bytes - acked->all_bytes) > 0)
		acked->all_bytes = all_bytes;
	if (now_ns - acked->span_ns[0] >= RATE_NS) {
		acked->span_ns[2] = acked->span_ns[1];
		acked->span_ns[1] = acked->span_ns[0];
		acked->span_ns[0] = now_ns;
		acked->span_bytes[2] = acked->span_bytes[1];
		acked->span_bytes[1] = acked->span_bytes[0];
		acked->span_bytes[0] = acked->all_bytes;
	}
	acked->rate_bytes_s = rate_since(acked->all_bytes - acked->span_bytes[1], now_ns - acked->span_ns[1]);
	rate = 4 * rate_since(acked->all_bytes - acked->span_bytes[2], now_ns - acked->span_ns[2]);
	if (acked->rate_bytes_s < rate)
		rate = acked->rate_bytes_s;
	if (now_ns - acked->since_ns >= HIGHEST_NS) {
		acked->since_ns = now_ns;
		acked->before_bytes_s = acked->highest_bytes_s;
		acked->highest_bytes_s = rate;
	}
	if (acked->highest_bytes_s < rate)
		acked->highest_bytes_s = rate;
}

static inline __attribute__((always_inline)) __u64 highest_rate_bytes_s(const struct acked *acked)
{
	return acked->highest_bytes_s > acked->before_bytes_s ? acked->highest_bytes_s : acked->before_bytes_s;
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
