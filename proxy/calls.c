/* Counts, for each process of a PID namespace, context switches and system calls that read or write.
 *
 * 1. A thread's counts are those of its process, and stay when the thread has ended.
 * 2. Each processor has counts of its own, so that processors do not wait for each other.
 * 3. Machines other than x86-64 have the numbers of calls of <asm-generic/unistd.h>. `make bpf` compiles this file once
 *    for each, into calls.x86_64.bpf.o and, with GENERIC_CALLS, into calls.generic.bpf.o.
 *
 * calls.py fills `place` and reads `processes`. It repeats the layout of the structures.
 */
#include <linux/bpf.h>
#ifdef GENERIC_CALLS
#include <asm-generic/unistd.h>
#else
#include <asm/unistd.h>
#endif
#include <bpf/bpf_helpers.h>

#include "calls.h"

struct place {
	__u64 dev; /* of the PID namespace's file in /proc */
	__u64 ino;
};

struct counts {
	__u64 voluntary;
	__u64 involuntary;
	__u64 reads;
	__u64 writes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct place);
} place SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* the process's id in the PID namespace */
	__type(value, struct counts);
} processes SEC(".maps");

/* Returns the counts of the current process; 0 if it is in another PID namespace. */
static inline __attribute__((always_inline)) struct counts *own_counts(void)
{
	struct counts none = {}, *known;
	struct bpf_pidns_info ids;
	__u32 key = 0;
	const struct place *here = bpf_map_lookup_elem(&place, &key);

	if (!here || bpf_get_ns_current_pid_tgid(here->dev, here->ino, &ids, sizeof(ids)))
		return 0;
	key = ids.tgid;
	known = bpf_map_lookup_elem(&processes, &key);
	if (known)
		return known;
	bpf_map_update_elem(&processes, &key, &none, BPF_ANY);
	return bpf_map_lookup_elem(&processes, &key);
}

SEC("raw_tp/sys_enter")
int count_call(struct bpf_raw_tracepoint_args *context)
{
	struct counts *counts = own_counts();

	if (!counts)
		return 0;
	switch (context->args[1]) {
	CALLS_THAT_READ:
		counts->reads++;
		break;
	CALLS_THAT_WRITE:
		counts->writes++;
		break;
	}
	return 0;
}

/* As the kernel itself counts a switch: voluntary if the thread was not preempted and waits for something. */
SEC("raw_tp/sched_switch")
int count_switch(struct bpf_raw_tracepoint_args *context)
{
	struct counts *counts = own_counts();

	if (!counts)
		return 0;
	if (!context->args[0] && (__u32)context->args[3])
		counts->voluntary++;
	else
		counts->involuntary++;
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
