/* The tuner in the kernel: sets TCP_NOTSENT_LOWAT of each connection that a cgroup's servers accept, by the law of law.h.
 *
 * 1. The program decides when a connection is established, once per round trip, on a retransmission, and on a
 *    retransmission timeout (RTO).
 * 2. The program never breaks a connection. If the kernel refuses a value, the refusal is counted, the first one of the
 *    connection is logged, and the old value stays.
 * 3. The state of a connection is stored with its socket, and ends with it. A connection that another instance of the
 *    program has tuned counts as new. When the program has been detached, sockets keep their value.
 * 4. If the rule is cautious (caution.h), the program reads the socket's value before it sets a value. With `known_only`
 *    a connection is not tuned until its network namespace is in the map `sysctls`. While nothing is to be set, the
 *    program reads value and sysctl only at each eighth sample, because to read them costs more than to decide.
 * 5. Which ports are tuned is asked at each event, which clients when a connection is first seen. Connections that are not
 *    tuned have no state.
 * 6. A decision that does not fit into the ring buffer is carried out and counted nevertheless.
 * 7. All counts are atomic additions: an interrupt may run the program again on the same processor.
 *
 * maps.h has the program's maps, and what loaders write and read there. priority_tuner.bpf.o is this file as
 * `make bpf` compiles it.
 */
#include <linux/bpf.h>
#include <linux/tcp.h>
#include <bpf/bpf_helpers.h>

#include "maps.h"

#define IPPROTO_TCP 6
#define AF_INET 2
#define READ_EVERY 8

static inline __attribute__((always_inline)) void count(void *number, __s64 more)
{
	__sync_fetch_and_add((__s64 *)number, more);
}

/* Returns the number of bits that a number below 2^31 has; without branches, each of which the verifier would follow. */
static inline __attribute__((always_inline)) __u32 bucket_of(__u32 number)
{
	__u64 rest = number, bits = 0, more;

	for (__u32 half = 16; half != 0; half /= 2) {
		more = (((1ULL << half) - 1 - rest) >> 63) * half; /* half if the rest is larger */
		rest >>= more;
		bits += more;
	}
	return (bits + rest) & (BUCKETS - 1);
}

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

static inline __attribute__((always_inline)) void note(struct bpf_sock_ops *socket, const struct seen *seen,
						       const struct choice *choice, __u32 old_bytes, int error,
						       struct counts *counts)
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
	if (bpf_ringbuf_output(&decisions, &decision, sizeof(decision), 0))
		count(&counts->unlogged, 1);
}

/* Moves a connection from one value or wait to another in the counts of open connections. */
static inline __attribute__((always_inline)) void move(__s64 buckets[BUCKETS], __s64 *sum, __u32 from, __u32 to)
{
	if (from == to)
		return;
	count(&buckets[bucket_of(from)], -1);
	count(&buckets[bucket_of(to)], 1);
	count(sum, (__s64)to - from);
}

/* Returns the bytes that the client has acknowledged, selective acknowledgments (SACK) included; modulo 2^32, as no
 * round trip has more than a window of 2^30 bytes.
 */
static inline __attribute__((always_inline)) __u32 acked_bytes(const volatile struct bpf_sock_ops *socket)
{
	__u64 sacked_segments = socket->sacked_out;

	return socket->bytes_acked + sacked_segments * socket->mss_cache;
}

/* Reads the sysctl of the connection's network namespace, if it counts; returns true if the connection may be tuned. */
static inline __attribute__((always_inline)) int is_known(struct bpf_sock_ops *socket, const struct rule *rule,
							  struct connection *connection)
{
	__u64 namespace;
	__u32 *known;

	connection->sysctl_bytes = 0;
	if (!rule->known_only)
		return 1;
	namespace = bpf_get_netns_cookie(socket);
	known = bpf_map_lookup_elem(&sysctls, &namespace);
	if (known)
		connection->sysctl_bytes = *known;
	return known != 0;
}

/* Returns the value to set now, the choice reduced to its limits; 0 to set none. */
static inline __attribute__((always_inline)) __u32 due_of(const struct rule *rule, __u32 sysctl_bytes,
							  struct held *held, struct choice *choice, __u64 now_ns)
{
	bound(choice, held->own_bytes, sysctl_bytes);
	return due(held, choice->lowat_bytes, sysctl_bytes, now_ns, rule->hold_ns);
}

/* Reduces the choice to its limits; returns true if a value is to be set or an error is to be reported.
 *
 * *error: set to a number other than 0 if the socket's value cannot be read.
 */
static inline __attribute__((always_inline)) int is_due(struct bpf_sock_ops *socket, const struct rule *rule,
							struct connection *connection, struct choice *choice,
							__u64 now_ns, int *error)
{
	struct held *held = &connection->held, next = *held;
	struct choice reduced = *choice;
	int has_bytes = 0;

	if (connection->unread != 0) {
		connection->unread--;
		if (due_of(rule, connection->sysctl_bytes, &next, &reduced, now_ns) == 0) {
			*held = next;
			return 0;
		}
	}
	if (!is_known(socket, rule, connection))
		return 0;
	connection->unread = READ_EVERY - 1;
	*error = bpf_getsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &has_bytes, sizeof(has_bytes));
	if (*error)
		return 1;
	notice(held, has_bytes, rule->dry_run);
	choice->lowat_bytes = due_of(rule, connection->sysctl_bytes, held, choice, now_ns);
	return choice->lowat_bytes != 0;
}

/* Sets the value that was chosen, unless it cannot be: *error is then another number than 0. Counts and logs it. */
static inline __attribute__((always_inline)) void set(struct bpf_sock_ops *socket, const struct rule *rule,
						      struct connection *connection, const struct seen *seen,
						      const struct choice *choice, int error, struct counts *counts)
{
	struct held *held = &connection->held;
	__u32 old_bytes = held->lowat_bytes != 0 ? held->lowat_bytes : held->own_bytes;
	int lowat_bytes = choice->lowat_bytes;
	__u32 first = !connection->refused;

	if (!error && !rule->dry_run)
		error = bpf_setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat_bytes, sizeof(lowat_bytes));
	if (error) {
		count(&counts->refused, 1);
		connection->refused = 1;
	} else {
		held->lowat_bytes = choice->lowat_bytes;
		held->low_ns = 0;
		if (choice->why < WHYS)
			count(&counts->decisions[choice->why], 1);
		if (!connection->tuned)
			count(&counts->tuned, 1);
		connection->tuned = 1;
	}
	if (rule->logs && (!error || first))
		note(socket, seen, choice, old_bytes, error, counts);
}

static inline __attribute__((always_inline)) void decide_for(struct bpf_sock_ops *socket, const struct rule *rule,
							     struct connection *connection, __u64 now_ns,
							     struct counts *counts)
{
	struct held *held = &connection->held;
	__u32 before_bytes = held->lowat_bytes, now_us;
	struct choice choice;
	struct seen seen;
	int error = 0;

	seen.mss_bytes = socket->mss_cache;
	seen.cwnd_segments = socket->snd_cwnd;
	seen.rtt_us = socket->srtt_us >> 3;
	seen.delivery_rate_bytes_s =
		delivery_rate_bytes_s(socket->rate_delivered, socket->rate_interval_us, seen.mss_bytes);
	seen.acked_rate_bytes_s = connection->acked.rate_bytes_s;
	seen.highest_rate_bytes_s = highest_rate_bytes_s(&connection->acked);
	decide(&seen, &rule->aim, &choice);
	if (rule->cautious ? is_due(socket, rule, connection, &choice, now_ns, &error)
			   : is_known(socket, rule, connection) &&
				     (held->lowat_bytes == 0 || differs(held->lowat_bytes, choice.lowat_bytes)))
		set(socket, rule, connection, &seen, &choice, error, counts);
	move(counts->values, &counts->values_bytes, before_bytes, held->lowat_bytes);
	now_us = wait_us(held->lowat_bytes, choice.rate_bytes_s);
	if (differs(connection->wait_us, now_us)) {
		move(counts->waits, &counts->waits_us, connection->wait_us, now_us);
		connection->wait_us = now_us;
	}
}

/* Returns true if the rule tunes connections to this port of the server. */
static inline __attribute__((always_inline)) int is_port(const struct rule *rule, __u32 port)
{
	__u32 first = 0;
	const struct ports *picked;

	if (!rule->picks_ports)
		return 1;
	picked = bpf_map_lookup_elem(&ports, &first);
	return picked && picked->bits[(port & 0xffff) >> 3] >> (port & 7) & 1;
}

/* Returns true if the rule tunes this client's connection. */
static inline __attribute__((always_inline)) int is_client(const struct rule *rule,
							   const volatile struct bpf_sock_ops *socket)
{
	union {
		struct network network;
		struct {
			__u32 bits, address[4];
		};
	} client = {};
	__u32 hash, *tuned;

	client.bits = 128;
	if (socket->family == AF_INET) {
		client.network.address[10] = client.network.address[11] = 0xff;
		client.address[3] = socket->remote_ip4;
	} else {
		client.address[0] = socket->remote_ip6[0];
		client.address[1] = socket->remote_ip6[1];
		client.address[2] = socket->remote_ip6[2];
		client.address[3] = socket->remote_ip6[3];
	}
	hash = socket->remote_port;
	for (int word = 0; word < 4; word++)
		hash = (hash ^ client.address[word] ^ hash >> 15) * 0x9e3779b1;
	if ((hash ^ hash >> 13) * 0x85ebca6b >> 16 >= rule->share)
		return 0;
	if (!rule->picks_clients)
		return 1;
	tuned = bpf_map_lookup_elem(&clients, &client);
	return tuned && *tuned;
}

/* Begins the state of a connection that the program has not seen before. */
static inline __attribute__((always_inline)) void meet(struct bpf_sock_ops *socket, struct connection *connection,
						       __u64 now_ns, struct counts *counts)
{
	begin_acked(&connection->acked, acked_bytes(socket), now_ns);
	count(&counts->seen, 1);
	count(&counts->values[0], 1);
	count(&counts->waits[0], 1);
	bpf_sock_ops_cb_flags_set(socket, socket->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTT_CB_FLAG |
						  BPF_SOCK_OPS_RETRANS_CB_FLAG | BPF_SOCK_OPS_RTO_CB_FLAG |
						  BPF_SOCK_OPS_STATE_CB_FLAG);
}

/* Returns the state of a connection; 0 if there is none, and none is made. */
static inline __attribute__((always_inline)) struct connection *state_of(struct bpf_sock_ops *socket, int makes)
{
	struct bpf_sock *key = socket->sk;
	struct connection *state, none = {};
	__u64 cookie;

	if (!key)
		return 0;
	state = bpf_sk_storage_get(&connections, key, 0, makes ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (state)
		return state;
	cookie = bpf_get_socket_cookie(socket);
	state = bpf_map_lookup_elem(&others, &cookie);
	if (state || !makes)
		return state;
	bpf_map_update_elem(&others, &cookie, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&others, &cookie);
}

static inline __attribute__((always_inline)) void look_at(struct bpf_sock_ops *socket, const struct rule *rule,
							  struct counts *counts)
{
	struct connection *connection = state_of(socket, 0);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!connection || connection->acked.since_ns == 0) {
		if (!is_client(rule, socket))
			return;
		connection = state_of(socket, 1);
	}
	if (!connection) {
		count(&counts->forgotten, 1);
		return;
	}
	if (connection->acked.since_ns == 0)
		meet(socket, connection, now_ns, counts);
	else if (socket->op == BPF_SOCK_OPS_RTT_CB)
		note_acked(&connection->acked, acked_bytes(socket), now_ns);
	decide_for(socket, rule, connection, now_ns, counts);
}

/* Ends the state of a connection that has been closed. The kernel frees it with the socket if it is not in `others`. */
static inline __attribute__((always_inline)) void forget(struct bpf_sock_ops *socket, struct counts *counts)
{
	struct connection *connection = state_of(socket, 0);
	__u64 cookie = bpf_get_socket_cookie(socket);

	if (!connection || connection->acked.since_ns == 0)
		return;
	count(&counts->closed, 1);
	count(&counts->values[bucket_of(connection->held.lowat_bytes)], -1);
	count(&counts->values_bytes, -(__s64)connection->held.lowat_bytes);
	count(&counts->waits[bucket_of(connection->wait_us)], -1);
	count(&counts->waits_us, -(__s64)connection->wait_us);
	connection->acked.since_ns = 0;
	bpf_map_delete_elem(&others, &cookie);
}

SEC("sockops")
int tune(struct bpf_sock_ops *socket)
{
	__u32 first = 0;
	const struct rule *rule = bpf_map_lookup_elem(&rules, &first);
	struct counts *numbers = bpf_map_lookup_elem(&counts, &first);

	if (!rule || !numbers)
		return 1;
	/* Before the port is looked at, which may have been another one when the connection began. */
	if (socket->op == BPF_SOCK_OPS_STATE_CB && socket->args[1] == BPF_TCP_CLOSE)
		forget(socket, numbers);
	if (rule->aim.target_us == 0 || !is_port(rule, socket->local_port))
		return 1;
	switch (socket->op) {
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_RTT_CB:
	case BPF_SOCK_OPS_RETRANS_CB:
	case BPF_SOCK_OPS_RTO_CB:
		look_at(socket, rule, numbers);
	}
	return 1;
}

char licence[] SEC("license") = "Dual MIT/GPL";
