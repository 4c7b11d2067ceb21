/* The first process of a guest: prints the first random number that it draws, and where the kernel has put its stack. */

#include <stdio.h>
#include <sys/random.h>
#include <sys/reboot.h>

int main(void)
{
	unsigned long drawn = 0;

	if (getrandom(&drawn, sizeof(drawn), 0) == sizeof(drawn))
		printf("kept %lx at %p\n", drawn, (void *)&drawn);
	fflush(stdout);
	return reboot(RB_POWER_OFF);
}
