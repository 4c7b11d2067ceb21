/* Counts what a process does and how often it was woken, for /proc/PID/io: see calls.py. */
#include <linux/sched/signal.h>
#include <asm/unistd.h>
#include "priolab_calls.h"
#include <priolab.h>

void priolab_count_call(int number)
{
	switch (number) {
	CALLS_THAT_READ:
		current->ioac.priolab_reads++;
		break;
	CALLS_THAT_WRITE:
		current->ioac.priolab_writes++;
		break;
	}
}

unsigned long priolab_switches(struct task_struct *task, int voluntary)
{
	struct signal_struct *all = task->signal;
	unsigned long switches = voluntary ? all->nvcsw + all->cnvcsw : all->nivcsw + all->cnivcsw;
	struct task_struct *thread;

	rcu_read_lock();
	for_each_thread(task, thread)
		switches += voluntary ? thread->nvcsw : thread->nivcsw;
	rcu_read_unlock();
	return switches;
}
