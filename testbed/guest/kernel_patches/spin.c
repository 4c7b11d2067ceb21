/* Lets time pass for a program that calls in vain again and again: see spin.py. Included in time.c. */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <asm/unistd.h>
#include "priolab_calls.h"

#define PRIOLAB_FREE_CALLS 1000
#define PRIOLAB_PART 256
#define PRIOLAB_LEAST_NS 1000ULL
#define PRIOLAB_MOST_NS 100000ULL

static bool priolab_is_vain(int number, long returned)
{
	if (returned == -EAGAIN)
		return true;
	switch (number) {
	case __NR_poll:
	case __NR_ppoll:
	case __NR_select:
	case __NR_pselect6:
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
	case __NR_sched_yield:
	case __NR_getpid:
	case __NR_gettid:
	case __NR_getppid:
	case __NR_waitid:
		return true;
	case __NR_wait4:
		return !returned;
	}
	return false;
}

static bool priolab_moves_bytes(int number, long returned)
{
	switch (number) {
	CALLS_THAT_READ:
	CALLS_THAT_WRITE:
		return returned > 0;
	}
	return false;
}

/* switches: the thread's voluntary context switches before the system call that it has just carried out. */
void priolab_spin(int number, long returned, unsigned long switches)
{
	struct task_struct *task = current;
	unsigned long long part_ns;
	unsigned long flags;

	if (task->nvcsw != switches || priolab_moves_bytes(number, returned))
		task->priolab_vain = 0;
	if (task->nvcsw != switches || !priolab_is_vain(number, returned) || time_travel_mode != TT_MODE_INFCPU)
		return;
	if (!task->priolab_vain++)
		task->priolab_vain_since = time_travel_time;
	if (task->priolab_vain <= PRIOLAB_FREE_CALLS)
		return;
	part_ns = clamp((time_travel_time - task->priolab_vain_since) / PRIOLAB_PART, PRIOLAB_LEAST_NS, PRIOLAB_MOST_NS);
	local_irq_save(flags);
	time_travel_update_time(time_travel_time + part_ns, true);
	local_irq_restore(flags);
	yield();
}
