/*
 * The first process of a guest: reads the clock in all ways, and says "kept NAME" or "LOST NAME" for each property of
 * the clock. Then it switches the guest off.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define STEP_NS 256
#define READS 100000 /* longer than two ticks of the kernel's timer */
#define SECOND_NS 1000000000LL

static long long ns(struct timespec at)
{
	return at.tv_sec * SECOND_NS + at.tv_nsec;
}

static long long by_library(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return ns(at);
}

static long long by_call(clockid_t clock)
{
	struct timespec at;

	syscall(SYS_clock_gettime, clock, &at);
	return ns(at);
}

/* Each read moves the clock by the same step, through the C library, by a system call, and in turn. */
static int steps(void)
{
	int kept = 1;

	for (int way = 0; way < 3; way++) {
		long long last = by_call(CLOCK_MONOTONIC);

		for (int i = 0; i < READS; i++) {
			int library = way == 0 || (way == 2 && i % 3);
			long long at = library ? by_library(CLOCK_MONOTONIC) : by_call(CLOCK_MONOTONIC);

			kept &= at - last == STEP_NS;
			last = at;
		}
	}
	return kept;
}

/* The time of day keeps its distance from the other clock, also in microseconds, and after it was set. */
static int time_of_day(void)
{
	int kept = 1;

	for (int round = 0; round < 3; round++) {
		struct timespec day = { .tv_sec = 1000000 * (round + 1), .tv_nsec = 7 * round };
		struct timeval now;
		long long distance;

		kept &= clock_settime(CLOCK_REALTIME, &day) == 0;
		distance = by_call(CLOCK_REALTIME) + STEP_NS - by_call(CLOCK_MONOTONIC);
		for (int i = 0; i < READS; i++)
			kept &= by_library(CLOCK_REALTIME) + STEP_NS - by_library(CLOCK_MONOTONIC) == distance;
		gettimeofday(&now, NULL);
		kept &= now.tv_sec * 1000000LL + now.tv_usec == (by_library(CLOCK_REALTIME) - STEP_NS) / 1000;
		kept &= now.tv_sec - day.tv_sec < 10 && time(NULL) == syscall(SYS_time, NULL);
	}
	return kept;
}

static volatile sig_atomic_t rung;

static void on_alarm(int number)
{
	(void) number;
	rung = 1;
}

/* A program that only reads the clock gets its timer's signal with the first read at or after the timer's time. */
static int timers(void)
{
	int kept = 1;

	signal(SIGALRM, on_alarm);
	for (int i = 1; i <= 20; i++) {
		struct itimerval timer = { .it_value.tv_usec = 1234 * i };
		long long begun = by_library(CLOCK_MONOTONIC), last = begun;

		rung = 0;
		setitimer(ITIMER_REAL, &timer, NULL);
		while (!rung && last - begun < SECOND_NS)
			last = by_library(CLOCK_MONOTONIC);
		last -= begun + 1234000LL * i;
		kept &= rung && last >= 0 && last <= 4 * STEP_NS;
	}
	return kept;
}

/* Two processes that read the clock see one clock, whoever reads it. */
static int processes(void)
{
	long long first = by_library(CLOCK_MONOTONIC), last;
	int status = 1;

	if (fork() == 0) {
		int kept = 1;

		for (int i = 1; i <= READS; i++)
			kept &= by_library(CLOCK_MONOTONIC) == first + STEP_NS * (long long) i;
		_exit(!kept);
	}
	wait(&status);
	last = by_library(CLOCK_MONOTONIC);
	return status == 0 && last == first + STEP_NS * (READS + 1LL);
}

/* Under a filter that refuses to tell the time by a system call, the C library still tells it. */
static int in_place(void)
{
	struct sock_filter refuse[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_time, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettimeofday, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, CLOCK_MONOTONIC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(refuse) / sizeof(refuse[0]), .filter = refuse };
	int status = 1;

	if (fork() == 0) {
		struct timespec at;
		struct timeval now;
		int kept = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;

		kept &= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
		kept &= syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &at) == -1 && errno == EPERM;
		for (int i = 0; i < READS; i++)
			kept &= clock_gettime(CLOCK_MONOTONIC, &at) == 0 && clock_gettime(CLOCK_REALTIME, &at) == 0;
		kept &= time(NULL) > 0 && gettimeofday(&now, NULL) == 0;
		_exit(!kept);
	}
	wait(&status);
	return status == 0;
}

/* The processor's clock is the guest's, does not move it, and passes for a program that waits for it alone. */
static int processor(void)
{
	unsigned core;
	long long begun = by_library(CLOCK_MONOTONIC), at;
	unsigned long long ticks = __rdtsc();
	int kept = 1;

	for (int i = 0; i < 100; i++)
		kept &= __rdtsc() == ticks && __rdtscp(&core) == ticks;
	for (int i = 0; kept && __rdtsc() < ticks + 10000000 && i < READS; i++)
		continue;
	at = by_call(CLOCK_MONOTONIC) - begun;
	return kept && at > 10000000 && at < 10000000 + 4 * STEP_NS && __rdtsc() == ticks + at;
}

int main(void)
{
	static const struct {
		const char *name;
		int (*keeps)(void);
	} cases[] = {
		{ "steps", steps },	    { "time of day", time_of_day }, { "timers", timers },
		{ "processes", processes }, { "in place", in_place },   { "processor", processor },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("%s %s\n", cases[i].keeps() ? "kept" : "LOST", cases[i].name);
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
