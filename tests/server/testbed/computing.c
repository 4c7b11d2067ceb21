/*
 * The first process of a guest: holds numbers in the vector registers while it does what might lose them, and says
 * "kept NAME" or "LOST NAME" for each. Then it switches the guest off.
 *
 * Everything between loading and storing the registers is one asm statement, so that the compiler has no say in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <immintrin.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REGISTERS 16
#define WIDTH 32
#define ROUNDS 200
#define EACH(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11) do(12) do(13) do(14) do(15)
#define LOAD(n) "vmovdqu " #n "*32(%[in]), %%ymm" #n "\n"
#define STORE(n) "vmovdqu %%ymm" #n ", " #n "*32(%[out])\n"
#define CLEAR(n) "vpxor %%xmm" #n ", %%xmm" #n ", %%xmm" #n "\n"

typedef unsigned char Registers[REGISTERS * WIDTH];

static void numbers(Registers in, unsigned seed)
{
	for (size_t i = 0; i < sizeof(Registers); i++)
		in[i] = (unsigned char) (seed * 167 + i * 31 + (i >> 5));
}

/* Whether the registers are what they were after a system call; its result goes to *result. */
static int kept_by_call(unsigned seed, long number, long a, long b, long c, long *result)
{
	Registers in, out;
	unsigned control = 0x1f80 | (seed & 1) << 15, after;
	register long fourth __asm__("r10") = 0;
	long value = number;

	numbers(in, seed);
	_mm_setcsr(control);
	__asm__ volatile(EACH(LOAD) "syscall\n" EACH(STORE)
			 : "+a"(value)
			 : [in] "r"(in), [out] "r"(out), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8",
			   "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15");
	after = _mm_getcsr();
	_mm_setcsr(0x1f80);
	if (result)
		*result = value;
	return memcmp(in, out, sizeof(in)) == 0 && after == control;
}

/* The same, for a page that is read or written for the first time. */
static int kept_by_touch(unsigned seed, volatile char *page, int write)
{
	Registers in, out;

	numbers(in, seed);
	if (write)
		__asm__ volatile(EACH(LOAD) "movb $1, (%[page])\n" EACH(STORE)
				 :
				 : [in] "r"(in), [out] "r"(out), [page] "r"(page)
				 : "memory", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9",
				   "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15");
	else
		__asm__ volatile(EACH(LOAD) "movb (%[page]), %%al\n" EACH(STORE)
				 :
				 : [in] "r"(in), [out] "r"(out), [page] "r"(page)
				 : "rax", "memory", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8",
				   "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15");
	return memcmp(in, out, sizeof(in)) == 0;
}

static int plain_call(void)
{
	int kept = 1;
	for (unsigned i = 0; i < ROUNDS; i++)
		kept &= kept_by_call(i, SYS_getpid, 0, 0, 0, NULL);
	return kept;
}

static int page_fault(void)
{
	size_t length = ROUNDS * 65536;
	char *pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int kept = 1;

	for (unsigned i = 0; i < ROUNDS; i++)
		kept &= kept_by_touch(i, pages + i * 65536L, i & 1);
	munmap(pages, length);
	return kept;
}

static int filled(const char *pages, int from)
{
	int same = 1;

	for (int i = 0; i < 64; i++)
		same &= pages[i * 4096] == (char) (from + i);
	return same;
}

static void fill(char *pages, int from)
{
	for (int i = 0; i < 64; i++)
		pages[i * 4096] = (char) (from + i);
}

static int ended_well(void)
{
	int status = 1;

	wait(&status);
	return status == 0;
}

/* What is read after somebody else wrote, and what is written after having been read, is what it should be. */
static int memory_itself(void)
{
	int file = memfd_create("computing", 0), kept = 1;
	char *shared, *own;

	if (file < 0 || ftruncate(file, 64 * 4096))
		return 0;
	shared = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	own = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	fill(shared, 1);
	kept &= filled(own, 1);
	for (int i = 0; i < 64; i += 2)
		own[i * 4096] = 100;
	for (int i = 0; i < 64; i++)
		kept &= own[i * 4096] == (i & 1 ? i + 1 : 100) && shared[i * 4096] == i + 1;
	if (fork() == 0) {
		for (int i = 0; i < 64; i++)
			kept &= own[i * 4096] == (i & 1 ? i + 1 : 100);
		for (int i = 0; i < 64; i++)
			own[i * 4096] = 7;
		shared[1] = 55;
		_exit(!kept);
	}
	kept &= ended_well();
	for (int i = 0; i < 64; i++)
		kept &= own[i * 4096] == (i & 1 ? i + 1 : 100);
	return kept && shared[1] == 55;
}

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	(void) number;
	caught++;
	__asm__ volatile(EACH(CLEAR)::: "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9",
			 "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15");
	syscall(SYS_sched_yield);
}

static int signal_handler(void)
{
	int kept = 1;

	signal(SIGUSR1, on_signal);
	for (unsigned i = 0; i < ROUNDS; i++)
		kept &= kept_by_call(i, SYS_kill, getpid(), SIGUSR1, 0, NULL);
	return kept && caught == ROUNDS;
}

static volatile char *forbidden;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void) number;
	(void) context;
	if (info->si_addr == forbidden)
		caught++;
	mprotect((void *) forbidden, 4096, PROT_READ | PROT_WRITE);
}

/* A write to a page that may only be read, and a reading of one that may not, are the program's to know about. */
static int forbidden_access(void)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	int kept = 1;

	sigaction(SIGSEGV, &act, NULL);
	caught = 0;
	for (unsigned i = 0; i < 20; i++) {
		forbidden = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (i % 4 == 1)
			(void) *forbidden;
		kept &= kept_by_touch(i, forbidden, 1) && *forbidden == 1;
		munmap((void *) forbidden, 4096);
	}
	signal(SIGSEGV, SIG_DFL);
	return kept && caught == 20;
}

static int fork_both_sides(void)
{
	int kept = 1;

	for (unsigned i = 0; i < 20; i++) {
		long child;
		int status = 1;
		int same = kept_by_call(i, SYS_fork, 0, 0, 0, &child);
		if (child == 0)
			_exit(!(same && kept_by_call(i + 1, SYS_getppid, 0, 0, 0, NULL)));
		kept &= same && waitpid((pid_t) child, &status, 0) == child && status == 0;
	}
	return kept;
}

/* A child reads what was there at the fork, whatever its parent writes later, and not what its parent may not read. */
static int fork_memory(void)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char *pages = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int written[2], kept = 1;

	fill(pages, 1);
	mprotect(pages + 63 * 4096, 4096, PROT_NONE);
	if (pipe(written))
		return 0;
	if (fork() == 0) {
		char byte;
		kept &= read(written[0], &byte, 1) == 1;
		for (int i = 0; i < 63; i++)
			kept &= pages[i * 4096] == i + 1;
		sigaction(SIGSEGV, &act, NULL);
		caught = 0;
		forbidden = pages + 63 * 4096;
		_exit(!(kept && *forbidden == 64 && caught == 1));
	}
	for (int i = 0; i < 63; i++)
		pages[i * 4096] = 100;
	kept &= write(written[1], "w", 1) == 1;
	kept &= ended_well();
	munmap(pages, 64 * 4096);
	return kept;
}

/* What a child or a grandchild writes is its own, also where its parent might only read at the fork. */
static int writing_after_fork(void)
{
	char *pages = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int kept;

	fill(pages, 1);
	mprotect(pages, 32 * 4096, PROT_READ);
	if (fork() == 0) {
		kept = filled(pages, 1);
		mprotect(pages, 32 * 4096, PROT_READ | PROT_WRITE);
		fill(pages, 2);
		if (fork() == 0) {
			kept = filled(pages, 2);
			fill(pages, 3);
			_exit(!(kept && filled(pages, 3)));
		}
		_exit(!(ended_well() && kept && filled(pages, 2)));
	}
	kept = ended_well() && filled(pages, 1);
	mprotect(pages, 32 * 4096, PROT_READ | PROT_WRITE);
	fill(pages, 4);
	kept &= filled(pages, 4);
	munmap(pages, 64 * 4096);
	return kept;
}

#define LARGE (96L << 20)

/* A program that has more than half of the memory can fork. */
static int large_fork(void)
{
	char *pages = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int kept = 1;
	pid_t child;

	for (long at = 0; at < LARGE; at += 4096)
		*(long *) (pages + at) = at;
	child = fork();
	for (long at = 0; at < LARGE; at += 4096)
		kept &= *(long *) (pages + at) == at;
	if (child == 0)
		_exit(!kept);
	kept &= child > 0 && ended_well();
	munmap(pages, LARGE);
	return kept;
}

/* A child maps the pages of its parent's ring, which the kernel has allocated as one block. Linux 6.1 has no rings. */
static int ring_after_fork(void)
{
	struct io_uring_params parameters = { 0 };
	int ring = syscall(SYS_io_uring_setup, 256, &parameters), kept = 1;
	size_t size = parameters.sq_entries * sizeof(struct io_uring_sqe);
	char *pages;
	pid_t child;

	if (ring < 0)
		return errno == ENOSYS;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
	for (size_t at = 0; at < size; at += 4096)
		*(size_t *) (pages + at) = at + 1;
	child = fork();
	for (size_t at = 0; at < size; at += 4096)
		kept &= *(size_t *) (pages + at) == at + 1;
	if (child == 0)
		_exit(!kept);
	kept &= size > 2 * 4096 && child > 0 && ended_well();
	munmap(pages, size);
	close(ring);
	return kept;
}

static void *yielding(void *seed)
{
	intptr_t kept = 1;

	for (unsigned i = 0; i < ROUNDS; i++)
		kept &= kept_by_call((unsigned) (intptr_t) seed + i * 8, SYS_sched_yield, 0, 0, 0, NULL);
	return (void *) kept;
}

static int threads(void)
{
	pthread_t thread[4];
	int kept = 1;

	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, yielding, (void *) i);
	for (int i = 0; i < 4; i++) {
		void *same;
		pthread_join(thread[i], &same);
		kept &= same != NULL;
	}
	return kept;
}

/* A sleeper is woken by a signal while another process computes. */
static int processes(void)
{
	int status, kept = 1;
	pid_t child[3];

	for (int i = 0; i < 3; i++)
		if ((child[i] = fork()) == 0)
			_exit(yielding((void *) (intptr_t) (i + 3)) == NULL);
	kept &= yielding((void *) 77) != NULL;
	for (int i = 0; i < 3; i++)
		kept &= waitpid(child[i], &status, 0) == child[i] && status == 0;
	return kept;
}

static char *program;

static int another_program(void)
{
	int kept = 1;

	for (unsigned i = 0; i < 5; i++) {
		pid_t child = vfork();
		int status = 1;
		if (child == 0) {
			execl(program, program, "child", NULL);
			_exit(1);
		}
		kept &= kept_by_call(i, SYS_wait4, child, (long) &status, 0, NULL) && status == 0;
	}
	return kept;
}

int main(int count, char **words)
{
	static const struct {
		const char *name;
		int (*keeps)(void);
	} cases[] = {
		{ "system call", plain_call },	   { "page fault", page_fault },     { "memory", memory_itself },
		{ "signal", signal_handler },	   { "fault", forbidden_access },    { "fork", fork_both_sides },
		{ "fork's memory", fork_memory },  { "threads", threads },	     { "processes", processes },
		{ "exec", another_program },	   { "copies", writing_after_fork }, { "large fork", large_fork },
		{ "ring", ring_after_fork },
	};

	if (count > 1 && strcmp(words[1], "child") == 0)
		return !(plain_call() && page_fault());
	program = words[0];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("%s %s\n", cases[i].keeps() ? "kept" : "LOST", cases[i].name);
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
