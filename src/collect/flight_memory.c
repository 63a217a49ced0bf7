/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs copies of this process that read the memory of others. Invariant: memory of a thread is kept
 * only if the thread slept from when it was listed until all was read.
 */
#include "collect/flight_memory.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/text.h"

/* A copy that takes longer is waiting for something. */
#define TAKE_NS NS_PER_SEC

/* The number of copies that run at a time. */
#define MAX_TAKERS 16

#define PAGE_BYTES 4096u

/* The pages of a window, of which there is one more if it begins in the middle of one. */
#define MAX_PAGES (TOP_BYTES / PAGE_BYTES + 1)

struct process_memory *process_memory_new(uint32_t pid, size_t nr_threads)
{
	struct process_memory *memory;
	size_t bytes = sizeof(*memory) + nr_threads * sizeof(memory->threads[0]);

	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	memory->bytes = bytes;
	memory->pid = pid;
	return memory;
}

void process_memory_free(struct process_memory *memory)
{
	if (memory)
		munmap(memory, memory->bytes);
}

/* Whether all of that was asked for already. */
static bool window_covers(const struct memory_window *window, uint64_t address, size_t size)
{
	const uint64_t bytes = window->place ? WINDOW_BYTES : TOP_BYTES;

	return address >= window->start && address - window->start <= bytes - size;
}

bool thread_memory_want(struct thread_memory *memory, uint64_t address, size_t size)
{
	size_t nr = memory->nr_windows;

	if (nr == MAX_WINDOWS)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (window_covers(&memory->windows[i], address, min_u64(size, WINDOW_BYTES)))
			return false;
	}
	memory->windows[nr] = (struct memory_window){
		.start = address,
		.place = nr ? TOP_BYTES + (uint32_t)(nr - 1) * WINDOW_BYTES : 0,
		.size = nr ? WINDOW_BYTES : TOP_BYTES,
	};
	memory->nr_windows++;
	return true;
}

/* --- in a copy of this process ---------------------------------------------------------------- */

static int mappings_read(int process, struct process_memory *memory)
{
	FILE *maps __cleanup(fclosep) = process_file(process, "maps");
	struct code_name_mapping *mapping = memory->mappings;
	struct code_mapping_name name;

	while (maps && memory->nr_mappings < MAX_CODE_MAPPINGS &&
	       process_maps_next(maps, &mapping->memory, &name)) {
		if (!mapping->memory.exec)
			continue;
		mapping->name = (uint32_t)memory->names_bytes;
		strcpy(memory->names + memory->names_bytes, name.text);
		memory->names_bytes += strlen(name.text) + 1;
		memory->nr_mappings++;
		mapping++;
	}
	memory->has_mappings = maps != NULL;
	return maps ? 0 : -ESRCH;
}

/* Reads page by page, up to the first page that is not there. */
static void window_take(const struct process_memory *process, struct thread_memory *thread,
			struct memory_window *window)
{
	struct iovec here = { thread->memory + window->place, window->size };
	struct iovec there[MAX_PAGES];
	unsigned long pages = 0;
	ssize_t got;

	for (uint32_t at = 0; at < window->size && pages < MAX_PAGES; pages++) {
		uint32_t left = PAGE_BYTES - (uint32_t)((window->start + at) & (PAGE_BYTES - 1));

		there[pages] = (struct iovec){ (void *)(window->start + at),
					       min_u64(left, window->size - at) };
		at += (uint32_t)there[pages].iov_len;
	}
	got = process_vm_readv((pid_t)process->pid, &here, 1, there, pages, 0);
	window->size = got < 0 ? 0 : (uint32_t)got;
	window->is_taken = true;
}

/*
 * Whether a thread sleeps in the call in which it was listed and has not run in between. The kernel tells
 * the registers of a thread only once it is off its CPU, and counts that it has left it.
 */
static bool thread_sleeps_on(int process, const struct listed_thread *thread)
{
	unsigned long long number, switches = 0;
	char path[64], line[256];
	FILE *file __cleanup(fclosep) = NULL;
	FILE *status __cleanup(fclosep) = NULL;
	int nr;

	snprintf(path, sizeof(path), "task/%u/syscall", thread->tid);
	file = process_file(process, path);
	if (!file || !fgets(line, sizeof(line), file) || sscanf(line, "%d %llx", &nr, &number) != 2)
		return false;
	snprintf(path, sizeof(path), "task/%u/status", thread->tid);
	status = process_file(process, path);
	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &number) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &number) == 1)
			switches += number;
	}
	return status && switches == thread->switches;
}

static int memory_run(void *closure, struct copy_answer *ret)
{
	struct process_memory *memory = closure;
	int process __cleanup(closep) = process_open(memory->pid);
	int err = memory->has_mappings ? 0 : mappings_read(process, memory);

	(void)ret;
	for (size_t i = 0; i < memory->nr_threads && !err; i++) {
		struct thread_memory *thread = &memory->threads[i];
		bool is_new = false;

		for (size_t j = 0; j < thread->nr_windows; j++) {
			if (thread->windows[j].is_taken)
				continue;
			window_take(memory, thread, &thread->windows[j]);
			is_new = true;
		}
		if (is_new)
			thread->is_still = thread_sleeps_on(process, thread->thread);
	}
	return err;
}

/* --- here ------------------------------------------------------------------------------------- */

static bool memory_is_wanted(const struct process_memory *memory)
{
	bool is_wanted = !memory->has_mappings;

	for (size_t i = 0; i < memory->nr_threads; i++) {
		const struct thread_memory *thread = &memory->threads[i];

		/* Windows are taken in their order. */
		is_wanted |=
			thread->nr_windows && !thread->windows[thread->nr_windows - 1].is_taken;
	}
	return is_wanted;
}

static void taker_start(struct process_memory *memory, struct child *ret)
{
	if (!copy_start(memory_run, memory, NULL, 0, ret))
		ret->deadline_ns = clock_mono_ns() + TAKE_NS;
}

/* An overdue copy may still write to the memory that it shares. */
static void taker_finish(struct process_memory **memory, struct child *taker)
{
	struct copy_answer answer __cleanup(copy_answer_done) = { .nr_fds = 0 };

	if (!taker->pid || copy_finish(taker, &answer))
		process_memory_free(steal_ptr(memory));
}

void process_memory_take(struct process_memory **processes, size_t nr)
{
	struct process_memory **wanted[MAX_TAKERS];
	struct child takers[MAX_TAKERS];
	size_t running;

	for (size_t i = 0; i < nr;) {
		for (running = 0; i < nr && running < MAX_TAKERS; i++) {
			if (!processes[i] || !memory_is_wanted(processes[i]))
				continue;
			wanted[running] = &processes[i];
			takers[running] = NO_CHILD;
			taker_start(processes[i], &takers[running++]);
		}
		while (running--)
			taker_finish(wanted[running], &takers[running]);
	}
}

size_t thread_memory_copy(const struct thread_memory *memory, uint64_t address, void *to,
			  size_t size)
{
	size_t most = 0;

	for (size_t i = 0; i < memory->nr_windows && most < size; i++) {
		const struct memory_window *window = &memory->windows[i];
		uint64_t offset = address - window->start;
		size_t there;

		if (!window->is_taken || address < window->start || offset >= window->size)
			continue;
		there = min_u64(size, window->size - offset);
		if (there <= most)
			continue;
		memcpy(to, memory->memory + window->place + offset, there);
		most = there;
	}
	return most;
}

bool thread_memory_read(const struct thread_memory *memory, uint64_t address, uint64_t *ret)
{
	return thread_memory_copy(memory, address, ret, sizeof(*ret)) == sizeof(*ret);
}

const struct code_name_mapping *process_memory_find(const struct process_memory *memory,
						    uint64_t address)
{
	for (size_t i = 0; i < memory->nr_mappings; i++) {
		const struct code_name_mapping *mapping = &memory->mappings[i];

		if (address >= mapping->memory.start && address < mapping->memory.end)
			return mapping;
	}
	return NULL;
}
