/* Leaves a program's floating-point registers in its host process until the kernel needs them: see entry.py. */
#include <linux/printk.h>
#include <linux/sched.h>
#include <asm/unistd.h>
#include <registers.h>
#include <sysdep/ptrace.h>
#include <priolab.h>

/* Notes that the host process has the registers. Returns 0, as get_fp_registers() does. */
int priolab_leave_fp(struct uml_pt_regs *regs, int pid)
{
	regs->fp_pid = pid;
	return 0;
}

void priolab_keep_fp(struct uml_pt_regs *regs)
{
	if (regs->fp_pid && get_fp_registers(regs->fp_pid, regs->fp))
		printk(KERN_ERR "priolab_keep_fp failed\n");
	regs->fp_pid = 0;
}

void priolab_keep_fp_of(struct task_struct *task)
{
	if (task->mm)
		priolab_keep_fp(&task->thread.regs.regs);
}

/* number: the system call that the program makes. */
void priolab_keep_fp_for(struct uml_pt_regs *regs, long number)
{
	switch (number) {
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
	case __NR_execve:
	case __NR_execveat:
	case __NR_rt_sigreturn:
		priolab_keep_fp(regs);
	}
}
