/* Carries out a program's reads of the processor's clock: see processor_clock.py. */
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/string.h>
#include <linux/time-internal.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <sysdep/ptrace.h>
#include <priolab.h>

int priolab_no_tsc;

static int __init priolab_choose_tsc(char *word)
{
	priolab_no_tsc = strcmp(word, "clock") == 0;
	return 0;
}
early_param("priolab_tsc", priolab_choose_tsc);

/* Returns whether the program was at such an instruction, which is then carried out. */
bool priolab_reads_tsc(struct uml_pt_regs *regs)
{
	static unsigned long syscalls;
	static unsigned int reads;
	unsigned char code[3] = {};
	unsigned long long now;
	int length;

	if (!priolab_no_tsc || copy_from_user(code, (void __user *)UPT_IP(regs), sizeof(code)))
		return false;
	if (code[0] == 0x0f && code[1] == 0x31)
		length = 2;
	else if (code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9)
		length = 3;
	else
		return false;
	if (syscalls != priolab_syscalls)
		reads = 0;
	syscalls = priolab_syscalls;
	if (++reads > 1000)
		time_travel_ndelay(PRIOLAB_READ_NS);
	now = ktime_get_ns() - priolab_seeded_at;
	regs->gp[HOST_AX] = (unsigned int)now;
	regs->gp[HOST_DX] = now >> 32;
	if (length == 3)
		regs->gp[HOST_CX] = 0;
	regs->gp[HOST_IP] += length;
	return true;
}
