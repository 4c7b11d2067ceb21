/*
 * The first process of a guest: does the work that the environment variable WHAT names, and switches the guest off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096L

static void system_calls(void)
{
	for (int i = 0; i < 200000; i++)
		syscall(SYS_getppid);
}

static void round_trips(void)
{
	int to[2], from[2];
	char byte = 0;

	if (pipe(to) || pipe(from))
		exit(1);
	if (!fork()) {
		while (read(to[0], &byte, 1) == 1 && byte == 0)
			if (write(from[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < 30000; i++)
		if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
			exit(1);
	byte = 1;
	if (write(to[1], &byte, 1) != 1)
		exit(1);
	wait(NULL);
}

static void faults(void)
{
	for (int round = 0; round < 20; round++) {
		char *memory = mmap(NULL, 10000 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (long page = 0; page < 10000; page++)
			memory[page * PAGE] = 1;
		munmap(memory, 10000 * PAGE);
	}
}

static void forks(void)
{
	for (int i = 0; i < 500; i++) {
		if (!fork())
			_exit(0);
		wait(NULL);
	}
}

int main(void)
{
	const char *what = getenv("WHAT");

	if (what && !strcmp(what, "system-calls"))
		system_calls();
	else if (what && !strcmp(what, "round-trips"))
		round_trips();
	else if (what && !strcmp(what, "faults"))
		faults();
	else if (what && !strcmp(what, "forks"))
		forks();
	puts("done");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 1;
}
