/* Begins a new thread without mapping its creator's memory anew: see entry.py. */
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/thread_info.h>
#include <os.h>
#include <priolab.h>

extern void arch_switch_to(struct task_struct *to);

void priolab_thread_handler(void)
{
	schedule_tail(current->thread.prev_sched);
	arch_switch_to(current);
	current->thread.prev_sched = NULL;
	userspace(&current->thread.regs.regs, current_thread_info()->aux_fp_regs);
}
