/* The tuner in the kernel: sets TCP_NOTSENT_LOWAT of each connection that a cgroup's servers accept, by the law of
 * law.py.
 *
 * 1. The program decides when a connection is established, once per round trip, on a retransmission, and on a
 *    retransmission timeout (RTO).
 * 2. The program never breaks a connection. If the kernel refuses a value, the refusal is reported once, and the old
 *    value stays.
 * 3. The map `connections` has, by socket cookie, the last decision, and the bytes acknowledged at the end of the last
 *    round trip. If there are too many connections, the oldest entry is dropped; its connection then counts as new.
 *    When the program has been detached, sockets keep their value.
 * 4. If the rule is cautious (caution.py), the program reads the socket's value before it sets a value. With
 *    `keeps_sysctl` a connection is not tuned until its network namespace is in the map `sysctls`.
 * 5. A decision that does not fit into the ring buffer is carried out nevertheless, and counted in the map `lost`.
 *
 * in_kernel.py fills `rules` and `sysctls`, and reads `decisions`, `connections` and `lost`. It repeats the layout of
 * the structures.
 */
#include <linux/bpf.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>

#include "caution.h"
#include "law.h"

#define IPPROTO_TCP 6
#define AF_INET 2

struct rule {
	struct aim aim;
	__u32 port; /* 0 for any port */
	__u32 dry_run;
	__u32 cautious;
	__u32 keeps_sysctl;
	__u64 hold_ns;
};

struct decision {
	__u64 t_ns;
	__u64 delivery_rate_bytes_s;
	__u64 acked_rate_bytes_s;
	__u64 highest_rate_bytes_s;
	__u64 rate_bytes_s;
	__u32 peer[4]; /* in network byte order; an IPv4 address is in the first word */
	__u32 peer_port; /* in network byte order */
	__u32 family;
	__u32 port;
	__u32 event;
	__u32 why;
	__u32 rtt_us;
	__u32 cwnd_segments;
	__u32 mss_bytes;
	__u32 old_bytes;
	__u32 new_bytes;
	__s32 error;
	__u32 padding;
};

struct connection {
	__u64 t_ns; /* the end of the last round trip */
	__u64 acked_bytes; /* all bytes acknowledged at t_ns */
	__u64 acked_rate_bytes_s; /* the rate of bytes acknowledged in that round trip */
	__u64 highest_rate_bytes_s; /* the highest of these rates so far */
	struct held held;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} decisions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); /* GCC 12 has no atomic addition for BPF */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64); /* the cookie of a network namespace */
	__type(value, __u32); /* the sysctl tcp_notsent_lowat of this namespace */
} sysctls SEC(".maps");

/* volatile: the verifier accepts only reads of single words, and compilers would join reads of adjacent words. */
static inline __attribute__((always_inline)) void note_peer(struct decision *decision,
							    const volatile struct bpf_sock_ops *socket)
{
	decision->family = socket->family;
	if (socket->family == AF_INET) {
		decision->peer[0] = socket->remote_ip4;
		decision->peer[1] = decision->peer[2] = decision->peer[3] = 0;
	} else {
		decision->peer[0] = socket->remote_ip6[0];
		decision->peer[1] = socket->remote_ip6[1];
		decision->peer[2] = socket->remote_ip6[2];
		decision->peer[3] = socket->remote_ip6[3];
	}
	decision->peer_port = socket->remote_port;
	decision->port = socket->local_port;
}

static inline __attribute__((always_inline)) void count_lost(void)
{
	__u32 first = 0;
	__u64 *count = bpf_map_lookup_elem(&lost, &first);

	if (count)
		*count += 1;
}

static inline __attribute__((always_inline)) void note(struct bpf_sock_ops *socket, const struct seen *seen,
						       const struct choice *choice, __u32 old_bytes, int error)
{
	struct decision decision;

	decision.t_ns = bpf_ktime_get_ns();
	note_peer(&decision, socket);
	decision.event = socket->op;
	decision.why = choice->why;
	decision.rate_bytes_s = choice->rate_bytes_s;
	decision.delivery_rate_bytes_s = seen->delivery_rate_bytes_s;
	decision.acked_rate_bytes_s = seen->acked_rate_bytes_s;
	decision.highest_rate_bytes_s = seen->highest_rate_bytes_s;
	decision.rtt_us = seen->rtt_us;
	decision.cwnd_segments = seen->cwnd_segments;
	decision.mss_bytes = seen->mss_bytes;
	decision.old_bytes = old_bytes;
	decision.new_bytes = choice->lowat_bytes;
	decision.error = error;
	decision.padding = 0;
	/* Not bpf_ringbuf_reserve: gcc may test its result in a way that the verifier does not recognize. */
	if (bpf_ringbuf_output(&decisions, &decision, sizeof(decision), 0))
		count_lost();
}

/* Returns the bytes that the client has acknowledged, selective acknowledgments (SACK) included. */
static inline __attribute__((always_inline)) __u64 acked_bytes(const volatile struct bpf_sock_ops *socket)
{
	__u64 sacked_segments = socket->sacked_out;

	return socket->bytes_acked + sacked_segments * socket->mss_cache;
}

static inline __attribute__((always_inline)) void end_round_trip(struct connection *connection, __u64 now_ns,
								 __u64 acked)
{
	__u64 more = acked > connection->acked_bytes ? acked - connection->acked_bytes : 0;

	connection->acked_rate_bytes_s = rate_of(more, (now_ns - connection->t_ns) / 1000);
	if (connection->acked_rate_bytes_s > connection->highest_rate_bytes_s)
		connection->highest_rate_bytes_s = connection->acked_rate_bytes_s;
	connection->acked_bytes = acked;
	connection->t_ns = now_ns;
}

/* Reduces the choice to its limits; returns true if a value is to be set or an error is to be reported.
 *
 * *error: set to a number other than 0 if the socket's value cannot be read.
 */
static inline __attribute__((always_inline)) int is_due(struct bpf_sock_ops *socket, const struct rule *rule,
							struct held *held, struct choice *choice, int *error)
{
	__u64 namespace = bpf_get_netns_cookie(socket);
	__u32 *known, sysctl_bytes = 0, due_bytes;
	int has_bytes = 0;

	if (rule->keeps_sysctl) {
		known = bpf_map_lookup_elem(&sysctls, &namespace);
		if (!known)
			return 0;
		sysctl_bytes = *known;
	}
	*error = bpf_getsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &has_bytes, sizeof(has_bytes));
	if (*error)
		return 1;
	notice(held, has_bytes, rule->dry_run);
	bound(choice, held->own_bytes, sysctl_bytes);
	due_bytes = due(held, choice->lowat_bytes, sysctl_bytes, bpf_ktime_get_ns(), rule->hold_ns);
	choice->lowat_bytes = due_bytes;
	return due_bytes != 0;
}

static inline __attribute__((always_inline)) void decide_for(struct bpf_sock_ops *socket, const struct rule *rule,
							     struct connection *connection, int is_new)
{
	struct held *held = &connection->held;
	int error = 0, lowat_bytes;
	struct choice choice;
	struct seen seen;
	__u32 old_bytes;

	seen.mss_bytes = socket->mss_cache;
	seen.cwnd_segments = socket->snd_cwnd;
	seen.rtt_us = socket->srtt_us >> 3;
	seen.delivery_rate_bytes_s =
		delivery_rate_bytes_s(socket->rate_delivered, socket->rate_interval_us, seen.mss_bytes);
	seen.acked_rate_bytes_s = connection->acked_rate_bytes_s;
	seen.highest_rate_bytes_s = connection->highest_rate_bytes_s;
	decide(&seen, &rule->aim, &choice);
	if (rule->cautious) {
		if (!is_due(socket, rule, held, &choice, &error))
			return;
	} else if (held->lowat_bytes != 0 && !differs(held->lowat_bytes, choice.lowat_bytes)) {
		return;
	}
	old_bytes = held->lowat_bytes != 0 ? held->lowat_bytes : held->own_bytes;
	lowat_bytes = choice.lowat_bytes;
	if (!error && !rule->dry_run)
		error = bpf_setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat_bytes, sizeof(lowat_bytes));
	if (!error) {
		held->lowat_bytes = choice.lowat_bytes;
		held->low_ns = 0;
	}
	if (!error || is_new)
		note(socket, &seen, &choice, old_bytes, error);
}

static inline __attribute__((always_inline)) void look_at(struct bpf_sock_ops *socket, const struct rule *rule)
{
	__u64 cookie = bpf_get_socket_cookie(socket);
	struct connection *known = bpf_map_lookup_elem(&connections, &cookie), *connection = known, fresh;

	if (!known) {
		fresh.t_ns = bpf_ktime_get_ns();
		fresh.acked_bytes = acked_bytes(socket);
		fresh.acked_rate_bytes_s = fresh.highest_rate_bytes_s = 0;
		fresh.held.low_ns = 0;
		fresh.held.low_bytes = fresh.held.own_bytes = fresh.held.lowat_bytes = fresh.held.last_bytes = 0;
		connection = &fresh;
	} else if (socket->op == BPF_SOCK_OPS_RTT_CB) {
		end_round_trip(known, bpf_ktime_get_ns(), acked_bytes(socket));
	}
	decide_for(socket, rule, connection, connection == &fresh);
	if (connection == &fresh)
		bpf_map_update_elem(&connections, &cookie, &fresh, BPF_ANY);
}

SEC("sockops")
int tune(struct bpf_sock_ops *socket)
{
	__u32 first = 0;
	const struct rule *rule = bpf_map_lookup_elem(&rules, &first);

	if (!rule || (rule->port != 0 && socket->local_port != rule->port))
		return 1;
	switch (socket->op) {
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		bpf_sock_ops_cb_flags_set(socket, socket->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTT_CB_FLAG |
							  BPF_SOCK_OPS_RETRANS_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG);
		look_at(socket, rule);
		break;
	case BPF_SOCK_OPS_RTT_CB:
	case BPF_SOCK_OPS_RETRANS_CB:
	case BPF_SOCK_OPS_RTO_CB:
		look_at(socket, rule);
		break;
	}
	return 1;
}

char licence[] SEC("license") = "Dual MIT/GPL";
