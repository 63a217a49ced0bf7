// SPDX-License-Identifier: BSD-2-Clause
/*
 * Brings code into its address space and calls getppid below it, as lines of input say:
 *   load PATH         dlopen
 *   call NAME NUMBER  a function of the last library, which makes NUMBER calls
 *   HOW PATH NAME NUMBER
 *                     the same of a library that is mapped where the last such one was; HOW is
 *                     over, again (munmap first), moved (mremap) or protect (mprotect)
 *   jit NAME NUMBER   anonymous code, told to perf by that name
 *   same NUMBER       the same code again
 *   bare NUMBER       anonymous code that uses the frame pointer for something else
 *   raw PATH OFFSET NUMBER
 *                     code at an offset of a file that need not be one for the linker
 *   swap PATH OTHER   maps code of a file, and at once that of another one in its place
 *   crowd NUMBER      maps code NUMBER times, each time of another file
 *   walk NUMBER       NUMBER calls below each of those
 *   random NUMBER     NUMBER calls, each below twenty frames that are chosen at random
 * It answers each line with one of its own.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE  __attribute__((noinline))
#define LENGTH    0x3000
#define MAX_CROWD 10000

typedef void function(void (*)(int), int);

static void *library;

static NOINLINE void probe(int number)
{
	for (int i = 0; i < number; i++)
		getppid();
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void enter(function *code, int number)
{
	code(probe, number);
	__asm__ volatile("" ::: "memory");
}

/* Where a function lies in its file: these libraries' addresses are their offsets. */
static size_t function_offset(const char *path, const char *name)
{
	void *other = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	Dl_info info;

	if (!other || !dladdr(dlsym(other, name), &info))
		abort();
	return (size_t)((char *)info.dli_saddr - (char *)info.dli_fbase);
}

static void map_at(char *place, int fd, const char *how)
{
	int prot = PROT_READ | (strcmp(how, "protect") ? PROT_EXEC : 0);
	char *from;

	if (!strcmp(how, "moved")) {
		from = mmap(NULL, LENGTH, prot, MAP_PRIVATE, fd, 0);
		from = mremap(from, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	} else {
		if (!strcmp(how, "again"))
			munmap(place, LENGTH);
		from = mmap(place, LENGTH, prot, MAP_PRIVATE | MAP_FIXED, fd, 0);
		mprotect(from, LENGTH, PROT_READ | PROT_EXEC);
	}
	if (from != place)
		abort();
}

static NOINLINE void map_and_call(const char *how, const char *path, const char *name, int number)
{
	static char *place;
	size_t offset = function_offset(path, name);
	int fd = open(path, O_RDONLY);

	if (!place)
		place = mmap(NULL, LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	map_at(place, fd, how);
	close(fd);
	enter((function *)(place + offset), number);
}

/* xchg %rdi, %rsi; call *%rsi, in a frame: one that says so in rbp, and one that spoils rbp. */
static const unsigned char with_frame[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x87,
					    0xf7, 0xff, 0xd6, 0x5d, 0xc3 };
static const unsigned char bare[] = { 0x55, 0x48, 0xc7, 0xc5, 0x11, 0x22, 0x33, 0x44,
				      0x48, 0x87, 0xf7, 0xff, 0xd6, 0x90, 0x5d, 0xc3 };

static unsigned char *anonymous(const unsigned char *code, size_t bytes)
{
	unsigned char *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memcpy(place, code, bytes);
}

static unsigned char *jit_place;

static NOINLINE void jit_and_call(const char *name, int number)
{
	unsigned char *place = anonymous(with_frame, sizeof(with_frame));
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "a");
	fprintf(map, "%lx %zx %s\n", (unsigned long)place, sizeof(with_frame), name);
	fclose(map);
	jit_place = place;
	enter((function *)place, number);
}

/* Code of a file, whatever else is in it: anywhere, or in place of what is there. */
static char *map_code(const char *path, char *place)
{
	int fd = open(path, O_RDONLY);
	char *found = mmap(place, LENGTH, PROT_READ | PROT_EXEC,
			   MAP_PRIVATE | (place ? MAP_FIXED : 0), fd, 0);

	if (found == MAP_FAILED)
		abort();
	close(fd);
	return found;
}

static NOINLINE void raw_and_call(const char *path, size_t offset, int number)
{
	enter((function *)(map_code(path, NULL) + offset), number);
}

static unsigned char *crowd[MAX_CROWD];

/* Each in a file of its own. */
static void crowd_make(int number)
{
	for (int i = 0; i < number && i < MAX_CROWD; i++) {
		int fd = memfd_create("crowd", MFD_CLOEXEC);

		if (fd < 0 || ftruncate(fd, 4096) ||
		    write(fd, with_frame, sizeof(with_frame)) != sizeof(with_frame))
			abort();
		crowd[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (crowd[i] == MAP_FAILED)
			abort();
		close(fd);
	}
}

static void crowd_call(int number)
{
	for (int i = 0; i < MAX_CROWD && crowd[i]; i++)
		enter((function *)crowd[i], number);
}

/* --- many stacks ------------------------------------------------------------------------------ */

static NOINLINE void descend(unsigned long way, int depth);

static NOINLINE void left(unsigned long way, int depth)
{
	descend(way, depth);
	__asm__ volatile("nop" ::: "memory");
}

static NOINLINE void right(unsigned long way, int depth)
{
	descend(way, depth);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void descend(unsigned long way, int depth)
{
	if (!depth)
		getppid();
	else if (way & 1)
		left(way >> 1, depth - 1);
	else
		right(way >> 1, depth - 1);
	__asm__ volatile("" ::: "memory");
}

static void random_calls(int number)
{
	unsigned long way = 1;

	for (int i = 0; i < number; i++) {
		way = way * 6364136223846793005UL + 1442695040888963407UL;
		descend(way >> 40, 20);
	}
}

static NOINLINE void follow(const char *line)
{
	char word[16], path[4096], other[4096], name[64];
	size_t offset;
	int number;

	if (sscanf(line, "load %4095s", path) == 1)
		library = dlopen(path, RTLD_NOW);
	else if (sscanf(line, "call %63s %d", name, &number) == 2)
		enter((function *)dlsym(library, name), number);
	else if (sscanf(line, "jit %63s %d", name, &number) == 2)
		jit_and_call(name, number);
	else if (sscanf(line, "same %d", &number) == 1)
		enter((function *)jit_place, number);
	else if (sscanf(line, "bare %d", &number) == 1)
		enter((function *)anonymous(bare, sizeof(bare)), number);
	else if (sscanf(line, "swap %4095s %4095s", path, other) == 2)
		map_code(other, map_code(path, NULL));
	else if (sscanf(line, "crowd %d", &number) == 1)
		crowd_make(number);
	else if (sscanf(line, "walk %d", &number) == 1)
		crowd_call(number);
	else if (sscanf(line, "random %d", &number) == 1)
		random_calls(number);
	else if (sscanf(line, "raw %4095s %zu %d", path, &offset, &number) == 3)
		raw_and_call(path, offset, number);
	else if (sscanf(line, "%15s %4095s %63s %d", word, path, name, &number) == 4)
		map_and_call(word, path, name, number);
	else
		abort();
}

int main(void)
{
	char line[10000];

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		follow(line);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
