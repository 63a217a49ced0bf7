/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads who holds a mutex of the GNU C library, and finds the thread that is joined. A PI futex has its
 * holder by the rules of the kernel, whatever the library. Ids of holders are those of the innermost
 * pid namespace. The end of a thread wakes the futex at its clear_child_tid: see set_tid_address(2).
 */
#include "collect/futex_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>

#include "base/text.h"
#include "syscalls/names.h"

/* Offsets in a pthread_mutex_t. It begins with the lock, at which others wait. */
#define MUTEX_OWNER 8

/* The threads among which one of another pid namespace is looked for. */
#define MAX_THREADS 4096

static bool is_futex(const struct listed_thread *thread)
{
	return thread->state == LISTED_IN_CALL && thread->sp &&
	       !strcmp(syscall_find_name(thread->abi, thread->nr) ?: "", "futex");
}

void futex_want(struct thread_memory *memory)
{
	if (!is_futex(memory->thread))
		return;
	thread_memory_want(memory, memory->thread->arguments[0], MUTEX_OWNER + sizeof(uint64_t));
}

void futex_read(const struct thread_memory *memory, struct flight *flight)
{
	uint64_t address = flight->thread.arguments[0], lock, owner;

	if (!memory->is_still || !is_futex(&flight->thread) ||
	    !thread_memory_read(memory, address, &lock))
		return;
	flight->futex.word = (uint32_t)lock;
	if (thread_memory_read(memory, address + MUTEX_OWNER, &owner))
		flight->futex.owner = (uint32_t)owner;
}

/* --- what it is ------------------------------------------------------------------------------- */

static bool is_of_gnu_libc(const char *module)
{
	return module && (!strcmp(module, "libc.so.6") || !strcmp(module, "libpthread.so.0"));
}

/* Debug information has other names of the same functions: with underscores, or with a version. */
static bool symbol_is_one_of(const char *symbol, const char *const *names, size_t nr)
{
	size_t length;

	symbol += strspn(symbol, "_");
	if (!strncmp(symbol, "GI_", 3))
		symbol += 3 + strspn(symbol + 3, "_");
	length = strcspn(symbol, "@");
	for (size_t i = 0; i < nr; i++) {
		if (strlen(names[i]) == length && !strncmp(symbol, names[i], length))
			return true;
	}
	return false;
}

static const char *const lockers[] = { "pthread_mutex_lock", "pthread_mutex_lock_full",
				       "pthread_mutex_timedlock", "pthread_mutex_clocklock",
				       "pthread_mutex_clocklock_common" };

/* The frames below which a library's own wait is. */
#define FRAMES_OF_LIBRARY 4

/* Whether the call comes from a function that locks a mutex, without code of others in between. */
static bool stack_locks_mutex(const struct stack *stack)
{
	for (size_t i = 0; stack && i < stack->nr_frames && i < FRAMES_OF_LIBRARY; i++) {
		const struct stack_frame *frame = &stack->frames[i];

		if (!is_of_gnu_libc(frame->module))
			return false;
		if (frame->symbol && symbol_is_one_of(frame->symbol, lockers, ARRAY_SIZE(lockers)))
			return true;
	}
	return false;
}

/* Threads in the order of the futexes that wake when they end. */
struct ends {
	size_t count;
	const struct listed_thread **threads;
};

static int compare_ends(const void *first, const void *second)
{
	const struct listed_thread *a = *(const struct listed_thread *const *)first;
	const struct listed_thread *b = *(const struct listed_thread *const *)second;

	return a->pid != b->pid ? compare_u64(a->pid, b->pid) : compare_u64(a->ends_at, b->ends_at);
}

/*
 * The thread of its process whose end wakes a thread; 0: it is not known. A private futex is not woken.
 * With musl, the threads of a process share one futex, a lock: that tells nothing.
 */
static uint32_t ending_thread(const struct ends *ends, const struct listed_thread *waiter)
{
	const struct listed_thread wanted = { .pid = waiter->pid, .ends_at = waiter->arguments[0] };
	const struct listed_thread *key = &wanted, **found, **end = ends->threads + ends->count;

	if (!waiter->is_still || !wanted.ends_at || waiter->arguments[1] & FUTEX_PRIVATE_FLAG ||
	    !waiter->ends_at || waiter->ends_at == wanted.ends_at)
		return 0;
	found = bsearch(&key, ends->threads, ends->count, sizeof(*ends->threads), compare_ends);
	if (!found || (found > ends->threads && !compare_ends(found - 1, found)) ||
	    (found + 1 < end && !compare_ends(found, found + 1)))
		return 0;
	return (*found)->tid;
}

static void futex_find(struct flight *flight, const struct ends *ends)
{
	const struct listed_thread *thread = &flight->thread;
	struct flight_futex *futex = &flight->futex;
	unsigned int operation = (unsigned int)thread->arguments[1] & FUTEX_CMD_MASK;
	bool is_wait = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;

	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2) {
		futex->kind = FUTEX_OF_MUTEX;
		futex->tid = futex->word & FUTEX_TID_MASK;
	} else if (is_wait && stack_locks_mutex(flight->stack)) {
		futex->kind = FUTEX_OF_MUTEX;
		futex->tid = futex->word ? futex->owner : 0;
	} else if (is_wait) {
		futex->tid = ending_thread(ends, thread);
		futex->kind = futex->tid ? FUTEX_OF_THREAD : FUTEX_OF_ANYTHING;
	}
}

int futex_waits_find(struct in_flight *list)
{
	const struct listed_thread **threads __cleanup(freep) =
		calloc(list->count, sizeof(*threads));
	struct ends ends = { list->count, threads };

	if (!threads)
		return list->count ? -ENOMEM : 0;
	for (size_t i = 0; i < list->count; i++)
		threads[i] = &list->items[i].thread;
	qsort(threads, list->count, sizeof(*threads), compare_ends);
	for (size_t i = 0; i < list->count; i++) {
		if (is_futex(&list->items[i].thread))
			futex_find(&list->items[i], &ends);
	}
	return 0;
}

/* --- who it is -------------------------------------------------------------------------------- */

/* The id of a thread in the innermost namespace; *ret_nested: that is not ours. 0: there is none. */
static uint32_t inner_tid(int process, const char *tid, bool *ret_nested)
{
	char path[64], line[256];
	FILE *status __cleanup(fclosep) = NULL;
	const char *first, *last;

	snprintf(path, sizeof(path), "task/%.20s/status", tid);
	status = process_file(process, path);
	*ret_nested = false;
	while (status && fgets(line, sizeof(line), status)) {
		if (strncmp(line, "NSpid:\t", 7))
			continue;
		first = strchr(line, '\t');
		last = strrchr(line, '\t');
		*ret_nested = first != last;
		return (uint32_t)strtoul(last, NULL, 10);
	}
	return 0;
}

/* The id, as we know it, of a live thread of a process; 0: there is none. */
static uint32_t thread_find(int process, uint32_t pid, uint32_t tid)
{
	char text[16];
	uint32_t found = 0;
	bool is_nested;
	DIR *threads;
	int folder;

	snprintf(text, sizeof(text), "%u", pid);
	if (!inner_tid(process, text, &is_nested))
		return 0;
	snprintf(text, sizeof(text), "%u", tid);
	if (!is_nested)
		return inner_tid(process, text, &is_nested) == tid ? tid : 0;
	folder = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	threads = folder < 0 ? NULL : fdopendir(folder);
	if (!threads && folder >= 0)
		close(folder);
	for (size_t i = 0; threads && !found && i < MAX_THREADS; i++) {
		const struct dirent *entry = readdir(threads);

		if (!entry)
			break;
		if (*entry->d_name != '.' && inner_tid(process, entry->d_name, &is_nested) == tid)
			found = (uint32_t)strtoul(entry->d_name, NULL, 10);
	}
	if (threads)
		closedir(threads);
	return found;
}

static bool flight_has_thread(const struct flight *flight, uint32_t pid, uint32_t tid)
{
	bool has = flight->thread.tid == tid;

	for (size_t i = 0; i < flight->nr_members && !has; i++)
		has = flight->members[i].tid == tid;
	return has && flight->thread.pid == pid;
}

/* Writes ", in read", if the thread was listed. */
static void state_write(const struct in_flight *list, uint32_t pid, uint32_t tid, char *buf,
			size_t size)
{
	static const char *const states[NR_LISTED_STATE] = {
		[LISTED_OUTSIDE] = ", in no system call",
		[LISTED_STOPPED] = ", stopped",
		[LISTED_AWAKE] = ", running",
	};
	char name[SYSCALL_NAME_MAX];

	*buf = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct listed_thread *thread = &list->items[i].thread;

		if (!flight_has_thread(&list->items[i], pid, tid))
			continue;
		syscall_name(thread->abi, thread->nr, name, sizeof(name));
		if (thread->state == LISTED_IN_CALL)
			snprintf(buf, size, ", in %s", name);
		else
			snprintf(buf, size, "%s", states[thread->state]);
		return;
	}
}

static void fact_add(const struct in_flight *list, struct flight *flight)
{
	uint32_t pid = flight->thread.pid, tid;
	int process __cleanup(closep) = process_open(pid);
	char path[64], comm[32] = "", state[SYSCALL_NAME_MAX + 32], *text = NULL;
	bool is_mutex = flight->futex.kind == FUTEX_OF_MUTEX;
	FILE *file __cleanup(fclosep) = NULL;

	tid = flight->futex.tid;
	if (is_mutex)
		tid = process < 0 ? 0 : thread_find(process, pid, tid);
	snprintf(path, sizeof(path), "task/%u/comm", tid);
	file = tid ? process_file(process, path) : NULL;
	if (!file || !fgets(comm, sizeof(comm), file))
		return;
	comm[strcspn(comm, "\n")] = 0;
	state_write(list, pid, tid, state, sizeof(state));
	if (asprintf(&text, "%s%u (%s)%s", is_mutex ? "" : "the end of thread ", tid, comm, state) >
	    0)
		flight_add_fact(flight, is_mutex ? "lock_held_by" : "waits_for", text);
}

void futex_facts_add(struct in_flight *list)
{
	for (size_t i = 0; i < list->shown; i++) {
		struct flight *flight = &list->items[i];

		if (flight->futex.tid && !flight->gone && !flight->moved)
			fact_add(list, flight);
	}
}
