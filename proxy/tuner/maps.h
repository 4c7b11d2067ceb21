/* The maps of the tuner's program, sock_ops.c, and the structures in them: all that a loader needs to know.
 *
 * 1. The loader writes `rules` and, if the rule says so, `ports`, `clients` and `sysctls`, before it attaches the
 *    program. It may change them at any time.
 * 2. The program writes `counts`, `decisions`, `connections` and `others`.
 * 3. All numbers have the machine's byte order, unless a comment says otherwise. No structure has hidden padding.
 * 4. The user's side repeats this layout: in_kernel.py, and service/.
 */
#ifndef PRIOLAB_MAPS_H
#define PRIOLAB_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "caution.h"
#include "law.h"

#define BUCKETS 32

/* The one entry of `rules`. A program without a rule (target_us 0) tunes nothing. */
struct rule {
	struct aim aim; /* target_us, floor_bytes, ceiling_bytes; usual: 50000, 4096, 64 MiB */
	__u32 picks_ports; /* 1: tune only connections to the server's ports in `ports` */
	__u32 dry_run; /* 1: decide and count, but set no value */
	__u32 cautious; /* 1: keep the rules of caution.h */
	__u32 known_only; /* 1: tune only in namespaces that are in `sysctls`; if cautious, never exceed the value there */
	__u32 logs; /* 1: write decisions into the ring buffer */
	__u64 hold_ns; /* cautious: how long values must be lower before the program lowers one; usual: 10^9 */
	__u32 picks_clients; /* 1: `clients` tells which connections are tuned, when the program first sees them */
	__u32 share; /* of 65536 connections, how many are tuned, by a hash of the client's address and port; 65536: all */
};

/* The one entry of `ports`: a bit for each port of the server, set if connections to it are tuned. */
struct ports {
	__u8 bits[8192];
};

/* A key of `clients`: the first bits of an IPv6 address, or of an IPv4 address after the 96 bits of ::ffff:0:0/96. */
struct network {
	__u32 bits;
	__u8 address[16];
};

/* A record of `decisions`: a value that was set, or the first one of a connection that the kernel refused. */
struct decision {
	__u64 t_ns; /* CLOCK_MONOTONIC */
	__u64 delivery_rate_bytes_s;
	__u64 acked_rate_bytes_s;
	__u64 highest_rate_bytes_s;
	__u64 rate_bytes_s; /* the rate that the law used */
	__u32 peer[4]; /* in network byte order; an IPv4 address is in the first word */
	__u32 peer_port; /* in network byte order */
	__u32 family; /* AF_INET or AF_INET6 */
	__u32 port; /* the server's */
	__u32 event; /* BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, _RTT_CB, _RETRANS_CB or _RTO_CB */
	__u32 why; /* enum why */
	__u32 rtt_us;
	__u32 cwnd_segments;
	__u32 mss_bytes;
	__u32 old_bytes; /* the value before; 0 for none */
	__u32 new_bytes;
	__s32 error; /* 0, or the negative number of the error with which the kernel refused */
	__u32 padding;
};

/* The program's state of a connection. A loader finds it in `connections` by a descriptor of the socket, else in `others`.
 *
 * To restore a socket whose value is held.lowat_bytes, set held.own_bytes.
 */
struct connection {
	struct acked acked; /* acked.since_ns 0: the program has not seen the connection before */
	struct held held;
	__u32 wait_us; /* the wait that is in counts.waits; 0: unknown */
	__u32 sysctl_bytes; /* the sysctl, as the program last read it; 0: no limit */
	__u16 unread; /* samples that may yet be decided without reading the socket's value and the sysctl */
	__u8 refused; /* 1: the kernel has refused a value */
	__u8 tuned; /* 1: a value was set */
	__u32 padding;
};

/* The one entry of `counts`, for each processor. A number is the sum over all processors, and is never lost.
 *
 * The first numbers only grow. `values` and `waits` are about the connections that are open now (seen - closed): bucket
 * i has those with 2^(i-1) <= value < 2^i, bucket 0 those without. A value is the TCP_NOTSENT_LOWAT that the program
 * set. A wait is the longest time in us that a byte stays unsent with this value, (value + 64 KiB) / rate; it is moved
 * when it has changed by more than an eighth. In a single processor's numbers they may be negative.
 */
struct counts {
	__u64 seen; /* connections */
	__u64 closed; /* of those seen */
	__u64 tuned; /* of those seen, connections that had a value set at least once */
	__u64 refused; /* calls in which the kernel refused to read or to set a value */
	__u64 forgotten; /* events without effect, because the kernel had no memory for the connection's state */
	__u64 unlogged; /* decisions that did not fit into the ring buffer */
	__u64 decisions[WHYS]; /* values set, by enum why; in a dry run, those that would have been set */
	__s64 values[BUCKETS];
	__s64 waits[BUCKETS];
	__s64 values_bytes; /* the sum of all values */
	__s64 waits_us; /* the sum of all waits */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ports);
} ports SEC(".maps");

/* The longest prefix decides. A loader writes the prefix of no bits, too. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct network);
	__type(value, __u32); /* 1: connections of these clients are tuned */
} clients SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18); /* bytes; a loader may choose another power of two before it loads */
} decisions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int); /* a descriptor of the socket */
	__type(value, struct connection);
} connections SEC(".maps");

/* For connections that the kernel does not let `connections` store: from Linux 7.0 on, all of them on processors without
 * an atomic exchange of 16 bytes, and in User-Mode Linux (kmalloc_nolock() in mm/slub.c).
 *
 * If there are too many, those that were unused for longest are dropped, and later count as new.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096); /* a loader may choose another number before it loads */
	__type(key, __u64); /* the socket's cookie (SO_COOKIE) */
	__type(value, struct connection);
} others SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64); /* the cookie of a network namespace (SO_NETNS_COOKIE) */
	__type(value, __u32); /* the sysctl tcp_notsent_lowat of this namespace */
} sysctls SEC(".maps");

#endif
