/*
 * Measures the least time, in microseconds, that this host needs to stop a program of a guest, as at a system call, and
 * to continue it. A seccomp filter turns a system call into a signal; two processes on one processor wake each other;
 * the signal handler returns. No guest kernel takes part.
 *
 * `turn` says which process may continue. A process wakes the other only if the other sleeps, so no wake is needless.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STOPS 200000

enum { PROGRAM, KERNEL, KERNEL_AND_PROGRAM_SLEEPS, OVER };

static int *turn;

static long futex(int operation, int value)
{
	return syscall(SYS_futex, turn, operation, value, NULL, NULL, 0);
}

static void stopped(int number, siginfo_t *info, void *context)
{
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 1;
	__atomic_store_n(turn, KERNEL, __ATOMIC_SEQ_CST);
	futex(FUTEX_WAKE, 1);
	if (__sync_bool_compare_and_swap(turn, KERNEL, KERNEL_AND_PROGRAM_SLEEPS))
		while (__atomic_load_n(turn, __ATOMIC_SEQ_CST) == KERNEL_AND_PROGRAM_SLEEPS)
			futex(FUTEX_WAIT, KERNEL_AND_PROGRAM_SLEEPS);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void program(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog all = { sizeof(filter) / sizeof(*filter), filter };
	struct sigaction action = { .sa_sigaction = stopped, .sa_flags = SA_SIGINFO };
	double began_us;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGSYS, &action, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
		_exit(1);
	began_us = now_us();
	for (int i = 0; i < STOPS; i++)
		syscall(SYS_getppid);
	printf("%.2f\n", (now_us() - began_us) / STOPS);
	fflush(stdout);
	__atomic_store_n(turn, OVER, __ATOMIC_SEQ_CST);
	futex(FUTEX_WAKE, 1);
	_exit(0);
}

int main(void)
{
	cpu_set_t one;
	int found, status;

	sched_getaffinity(0, sizeof(one), &one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &one)) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			break;
		}
	sched_setaffinity(0, sizeof(one), &one);
	turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turn == MAP_FAILED)
		return 1;
	if (!fork())
		program();
	while ((found = __atomic_load_n(turn, __ATOMIC_SEQ_CST)) != OVER)
		if (found == PROGRAM)
			futex(FUTEX_WAIT, PROGRAM);
		else if (__atomic_exchange_n(turn, PROGRAM, __ATOMIC_SEQ_CST) == KERNEL_AND_PROGRAM_SLEEPS)
			futex(FUTEX_WAKE, 1);
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
