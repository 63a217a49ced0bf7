// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls with known first arguments: close(-n) n times for n up to 13, semop on two semaphores 17
 * and 19 times, and on x86 close(1000 + n) n times for n up to 5 in the 32-bit ABI. Says after
 * them which semaphores these were: {"semaphores":[1,2]}.
 */
#include <sys/ipc.h>
#include <sys/sem.h>

#include "table.h"

static void work_on(int semaphore, int times)
{
	struct sembuf more = { .sem_op = 1 };

	for (int i = 0; i < times; i++)
		counted_call(SYS_semop, semaphore, &more, 1);
	counted_call(SYS_semctl, semaphore, 0, IPC_RMID);
}

int main(int argc, char **argv)
{
	int first = semget(IPC_PRIVATE, 1, 0600), second = semget(IPC_PRIVATE, 1, 0600);
	char line[64];
	int length = sprintf(line, "{\"semaphores\":[%d,%d]}\n", first, second);

	table_start(&argc, &argv);
	for (int n = 1; n <= 13; n++)
		repeat_call(n, SYS_close, -n);
	work_on(first, 17);
	work_on(second, 19);
	for (int n = 1; n <= 5; n++)
		repeat_i386(n, 6, 1000 + n);
	counted_call(SYS_write, STDOUT_FILENO, line, length);
	table_finish(0);
}
