/* Lets a marked process sleep for the time that its work would need: see service.py. */
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <priolab.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "um_arch."

#define PRIOLAB_KB 1000
#define PRIOLAB_MOST_SPANS (1 << 17)
#define PRIOLAB_LINE 48

/* The spans of time in which a marked thread slept, in order of their ends; those that meet are one. taken: read already. */
static struct priolab_span { u64 from, until; } *priolab_spans;
static unsigned int priolab_spans_full, priolab_spans_taken, priolab_spans_lost;

static void priolab_note(u64 from, u64 until)
{
	struct priolab_span *last = priolab_spans + priolab_spans_full - 1;

	if (priolab_spans_full > priolab_spans_taken && from <= last->until) {
		last->from = min(last->from, from);
		last->until = until;
	} else if (priolab_spans_full < PRIOLAB_MOST_SPANS) {
		last[1] = (struct priolab_span){ from, until };
		priolab_spans_full++;
	} else {
		priolab_spans_lost++;
	}
}

void priolab_sends(int bytes)
{
	if (current->priolab_kb_ns)
		current->priolab_sent += bytes;
}

/* switches: the thread's voluntary context switches before the system call that it has just carried out. */
void priolab_serve(unsigned long switches)
{
	struct task_struct *task = current;
	unsigned long switched = task->nvcsw;
	ktime_t due;
	u64 from;

	due = div_u64_rem(task->priolab_rest + task->priolab_sent * task->priolab_kb_ns, PRIOLAB_KB,
			  &task->priolab_rest);
	due += (u64)(switched - switches) * task->priolab_wake_ns;
	task->priolab_sent = 0;
	if (!due)
		return;
	from = ktime_get_ns();
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&due, 0, HRTIMER_MODE_REL);
	priolab_note(from, ktime_get_ns());
	task->nvcsw = switched;
	task->ioac.priolab_service_ns += due;
}

/* Marks the process that writes "WAKE KB". The spans of earlier runs are forgotten, unless it marks itself anew. */
static int priolab_mark(const char *words, const struct kernel_param *kp)
{
	unsigned int wake_ns, kb_ns;

	if (sscanf(words, "%u %u", &wake_ns, &kb_ns) != 2)
		return -EINVAL;
	if (!priolab_spans)
		priolab_spans = kvmalloc_array(PRIOLAB_MOST_SPANS, sizeof(*priolab_spans), GFP_KERNEL);
	if (!priolab_spans)
		return -ENOMEM;
	if (wake_ns || kb_ns)
		priolab_spans_full = priolab_spans_taken = priolab_spans_lost = 0;
	current->priolab_wake_ns = wake_ns;
	current->priolab_kb_ns = kb_ns;
	current->priolab_rest = 0;
	return 0;
}

/* Gives the next spans, a line "FROM UNTIL" each; nothing when all have been read. */
static int priolab_next_spans(char *lines, const struct kernel_param *kp)
{
	int length = 0;

	if (priolab_spans_lost)
		return -EOVERFLOW;
	while (priolab_spans_taken < priolab_spans_full && length + PRIOLAB_LINE < PAGE_SIZE) {
		struct priolab_span *next = priolab_spans + priolab_spans_taken++;

		length += scnprintf(lines + length, PRIOLAB_LINE, "%llu %llu\n", next->from, next->until);
	}
	return length;
}

static const struct kernel_param_ops priolab_service_ops = { .set = priolab_mark, .get = priolab_next_spans };
module_param_cb(service, &priolab_service_ops, NULL, 0600);
