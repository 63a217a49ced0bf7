// SPDX-License-Identifier: BSD-2-Clause
/*
 * evicted TIMES [execve]: opens files that do not exist, by names which the processor has not seen yet: each stands
 * at the end of a page of a file that is mapped and was never touched, and goes on in the next. Every other
 * name is that of unlink() for a change; or all are of programs that it tries to execute.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096
#define FIRST 20 /* bytes of a name in its first page */

static char *fresh_pages(int fd, int number)
{
	char name[64], *pages;

	snprintf(name, sizeof(name), "/no/such/folder/%08d/of/two/pages", number);
	if (pwrite(fd, name, strlen(name) + 1, PAGE - FIRST) < 0)
		exit(1);
	pages = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	/* It would map pages around the one that is touched. */
	if (pages == MAP_FAILED || madvise(pages, 2 * PAGE, MADV_RANDOM))
		exit(1);
	return pages;
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1, fd = memfd_create("names", 0);

	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		return 1;
	for (int i = 0; i < times; i++) {
		char *pages = fresh_pages(fd, i);

		if (argc > 2)
			execve(pages + PAGE - FIRST, (char *[]){ NULL }, NULL);
		else if (i % 2)
			unlink(pages + PAGE - FIRST);
		else
			open(pages + PAGE - FIRST, O_RDONLY);
		munmap(pages, 2 * PAGE);
	}
	return 0;
}
