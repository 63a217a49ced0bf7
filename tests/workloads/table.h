/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what a workload knows about itself: a table of the calls it made, by process, ABI and
 * number, in memory that its children share. Calls under test are raw instructions, so that libc
 * adds nothing; counted_call() enters what it did, table_add() is for all that it cannot see.
 * table_finish() prints the table, its own write and exit_group included, and ends.
 *
 * A workload whose first argument is "wait" says "ready" and sleeps in read(0) until the test
 * writes a line: nothing but calls of its table happens after that.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

#define TABLE_ROWS   16384
#define TABLE_ERRNOS 4

enum table_abi {
	TABLE_NATIVE,
	TABLE_I386,
	TABLE_X32,
};

/* How a call ended; one call may add several. */
enum table_end {
	END_OK = 0,
	END_INTERRUPTED = 1 << 0,
	END_NO_RETURN = 1 << 1,
	END_DENIED = 1 << 2,  /* an exit without an enter: also untimed */
	END_UNTIMED = 1 << 3, /* begun before counting */
};

struct table_row {
	int pid, abi, nr; /* pid 0: some child, which one is not known */
	uint64_t calls, errors, interrupted, no_return, denied, untimed, bytes;
	struct {
		int err;
		uint64_t count;
	} errnos[TABLE_ERRNOS];
};

static struct table {
	int locked;
	int nr_rows;
	struct table_row rows[TABLE_ROWS];
} *table;

static int table_pid;

/* --- raw calls ------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) long raw_call6(long nr, long a, long b, long c, long d,
							    long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "raw_call6() is missing for this architecture"
#endif
}

/* raw_call(nr, a, …) with up to six arguments of any scalar type. */
#define raw_call(...) raw_call_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define raw_call_(nr, a, b, c, d, e, f, ...) \
	raw_call6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* --- the table ------------------------------------------------------------------------------- */

static inline void table_lock(void)
{
	while (__atomic_exchange_n(&table->locked, 1, __ATOMIC_ACQUIRE))
		;
}

static inline void table_unlock(void)
{
	__atomic_store_n(&table->locked, 0, __ATOMIC_RELEASE);
}

static inline struct table_row *table_row(int pid, int abi, int nr)
{
	struct table_row *row = table->rows;
	struct table_row *end = row + table->nr_rows;

	while (row < end && (row->nr != nr || row->pid != pid || row->abi != abi))
		row++;
	if (row == end) {
		if (table->nr_rows == TABLE_ROWS)
			abort();
		table->nr_rows++;
		row->pid = pid;
		row->abi = abi;
		row->nr = nr;
	}
	return row;
}

static inline void row_add_errors(struct table_row *row, int err, uint64_t times)
{
	int i = 0;

	while (row->errnos[i].count && row->errnos[i].err != err)
		if (++i == TABLE_ERRNOS)
			abort();
	row->errors += times;
	row->errnos[i].err = err;
	row->errnos[i].count += times;
}

static inline bool call_moves_data(int nr)
{
	return nr == SYS_read || nr == SYS_write || nr == SYS_pread64 || nr == SYS_getrandom ||
	       nr == SYS_readv || nr == SYS_writev;
}

static inline void table_add_abi(int abi, int nr, long result, int end)
{
	struct table_row *row;

	table_lock();
	row = table_row(table_pid, abi, nr);
	row->calls++;
	row->interrupted += !!(end & END_INTERRUPTED);
	row->no_return += !!(end & END_NO_RETURN);
	row->denied += !!(end & END_DENIED);
	row->untimed += !!(end & (END_DENIED | END_UNTIMED));
	if (result < 0 && result >= -4095 && !(end & END_INTERRUPTED))
		row_add_errors(row, -result, 1);
	else if (result > 0 && abi == TABLE_NATIVE && call_moves_data(nr))
		row->bytes += result;
	table_unlock();
}

/* Enters one call of the native ABI that was made, or is about to be and will not return. */
static inline void table_add(int nr, long result, int end)
{
	table_add_abi(TABLE_NATIVE, nr, result, end);
}

/* Enters calls that ended alike and move no data; end is END_OK or END_NO_RETURN. */
static inline void table_add_many(int nr, long result, int end, uint64_t times)
{
	struct table_row *row;

	if (!times)
		return;
	table_lock();
	row = table_row(table_pid, TABLE_NATIVE, nr);
	row->calls += times;
	row->no_return += end & END_NO_RETURN ? times : 0;
	if (result < 0)
		row_add_errors(row, -result, times);
	table_unlock();
}

#define counted_call(nr, ...) counted_call_(nr, raw_call(nr, ##__VA_ARGS__))

static inline long counted_call_(int nr, long result)
{
	table_add(nr, result, END_OK);
	return result;
}

/* Calls that enter no table. */
static inline void raw_calls(int times, int nr)
{
	while (times-- > 0)
		raw_call(nr, 0);
}

static inline long raw_sleep_ns(uint64_t ns)
{
	struct timespec duration = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	return raw_call(SYS_nanosleep, &duration, NULL);
}

/* Returns once a byte could be read, or its pipe has no writer any more. */
static inline void raw_wait(int fd)
{
	char byte;

	while (raw_call(SYS_read, fd, &byte, 1) < 0)
		;
}

static inline void repeat_call(int times, int nr, long a)
{
	for (int i = 0; i < times; i++)
		counted_call(nr, a);
}

/* A call of the 32-bit ABI, entered from a 64-bit process; none where there is no such thing. */
static inline long raw_i386(long nr, long b, long c, long d)
{
	int result = -ENOSYS;

#if defined(__x86_64__)
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "0"((int)nr), "b"(b), "c"(c), "d"(d)
			 : "r8", "r9", "r10", "r11", "memory");
#endif
	return result;
}

static inline void repeat_i386(int times, int nr, long a)
{
#if defined(__x86_64__)
	for (int i = 0; i < times; i++)
		table_add_abi(TABLE_I386, nr, raw_i386(nr, a, 0, 1), END_OK);
#endif
}

/* Prints one JSON array of rows on a line; the write itself is in it, but for its bytes. */
static inline void table_print(void)
{
	static char text[TABLE_ROWS * 160];
	size_t used = 0;

	table_add(SYS_write, 0, END_OK);
#define print(...) (used += snprintf(text + used, sizeof(text) - used, __VA_ARGS__))
	print("{\"writer\":%d,\"rows\":[", table_pid);
	for (int i = 0; i < table->nr_rows; i++) {
		static const char *const abis[] = { "native", "i386", "x32" };
		const struct table_row *row = &table->rows[i];
		const char *comma = "";

		print("%s{\"pid\":%d,\"abi\":\"%s\",\"nr\":%d,\"calls\":%lu,\"errors\":%lu,",
		      i ? "," : "", row->pid, abis[row->abi], row->nr, row->calls, row->errors);
		print("\"interrupted\":%lu,\"no_return\":%lu,\"denied\":%lu,\"untimed\":%lu,",
		      row->interrupted, row->no_return, row->denied, row->untimed);
		print("\"bytes\":%lu,\"errnos\":{", row->bytes);
		for (int e = 0; e < TABLE_ERRNOS && row->errnos[e].count; e++, comma = ",")
			print("%s\"%d\":%lu", comma, row->errnos[e].err, row->errnos[e].count);
		print("}}");
	}
	print("]}\n");
#undef print
	raw_call(SYS_write, STDOUT_FILENO, text, used);
}

/* The end of a process, or with SYS_exit of a thread. */
static inline __attribute__((noreturn)) void counted_exit(int nr, int status)
{
	table_add(nr, 0, END_NO_RETURN);
	for (;;)
		raw_call(nr, status);
}

/* The end of a thread that enters no table. */
static inline __attribute__((noreturn)) void raw_exit(void)
{
	for (;;)
		raw_call(SYS_exit, 0);
}

static inline __attribute__((noreturn)) void table_finish(int status)
{
	table_add(SYS_exit_group, 0, END_NO_RETURN);
	table_print();
	for (;;)
		raw_call(SYS_exit_group, status);
}

/* Sleeps until the test writes a line; how the read ends is enum table_end. */
static inline void counted_line(int end)
{
	char line[16];
	long result = raw_call(SYS_read, STDIN_FILENO, line, sizeof(line));

	table_add(SYS_read, result, end);
}

/* Says that the workload is ready, and sleeps until the test has attached. */
static inline void table_barrier(void)
{
	raw_call(SYS_write, STDOUT_FILENO, "ready\n", 6);
	counted_line(END_UNTIMED);
}

/* Stands in for that: what the test wants is not to be had here. Returns the status to end with. */
static inline int table_refuse(void)
{
	raw_call(SYS_write, STDOUT_FILENO, "ready\nnone\n", 11);
	return 77;
}

/* Memory that children share. */
static inline void *shared_make(size_t size)
{
	void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		abort();
	return shared;
}

/* Makes the table. Whether the workload is to wait; if so, its arguments start one later. */
static inline bool table_init(int *argc, char ***argv)
{
	bool wait = *argc > 1 && !strcmp((*argv)[1], "wait");

	table = shared_make(sizeof(*table));
	table_pid = getpid();
	if (wait) {
		(*argc)--;
		(*argv)++;
	}
	return wait;
}

static inline void table_start(int *argc, char ***argv)
{
	if (table_init(argc, argv))
		table_barrier();
}

/* Argument i as a number. */
static inline int arg_number(int argc, char **argv, int i, int otherwise)
{
	return i < argc ? atoi(argv[i]) : otherwise;
}

/* Argument i as a text; "" where there is none. */
static inline const char *arg_text(int argc, char **argv, int i)
{
	return i < argc ? argv[i] : "";
}

/* Begins what a workload does once the test has attached; then it prints its table and ends. */
#define WORKLOAD(argc, argv)                         \
	static void workload(int argc, char **argv); \
	int main(int argc, char **argv)              \
	{                                            \
		table_start(&argc, &argv);           \
		workload(argc, argv);                \
		table_finish(0);                     \
	}                                            \
	static void workload(int argc, char **argv)

/* --- time, without system calls --------------------------------------------------------------- */

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static inline uint64_t timeval_ns(struct timeval tv)
{
	return tv.tv_sec * 1000000000ULL + tv.tv_usec * 1000ULL;
}

static inline void burn_us(int us)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + us * 1000ULL;

	while (clock_ns(CLOCK_MONOTONIC) < end)
		;
}

/* Sets a handler without SA_RESTART. */
static inline void signal_handle(int number, void (*handler)(int))
{
	sigaction(number, &(struct sigaction){ .sa_handler = handler }, NULL);
}

/* --- processes and threads -------------------------------------------------------------------- */

/* Works like fork(), by one counted clone. The child knows its pid without asking for it. */
static inline int counted_fork(void)
{
	unsigned long flags = CLONE_CHILD_SETTID | SIGCHLD;
	int child;

#if defined(__x86_64__)
	child = raw_call(SYS_clone, flags, 0, 0, &table_pid, 0);
#else
	child = raw_call(SYS_clone, flags, 0, 0, 0, &table_pid);
#endif
	if (child)
		table_add(SYS_clone, child, END_OK);
	return child;
}

static inline int counted_wait(int pid)
{
	int status = 0;

	counted_call(SYS_wait4, pid, &status, 0, 0);
	return status;
}

static inline void counted_waits(int number)
{
	while (number--)
		counted_wait(-1);
}

struct thread {
	int running; /* its tid, until the kernel clears it */
	int index;
	char stack[32768] __attribute__((aligned(16)));
};

/* A thread made by one clone and nothing else. It is to end by counted_exit(SYS_exit). */
static inline void thread_start(struct thread *thread, int index, int (*run)(void *))
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
		    CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	thread->index = index;
	thread->running = -1;
	if (clone(run, thread->stack + sizeof(thread->stack), flags, thread, &thread->running, NULL,
		  &thread->running) < 0) {
		perror("clone");
		abort();
	}
}

/* Waits in user mode: by then the thread has entered its exit. */
static inline void thread_join(const struct thread *thread)
{
	while (__atomic_load_n(&thread->running, __ATOMIC_ACQUIRE))
		;
}

static inline void threads_start(struct thread *threads, int number, int (*run)(void *))
{
	for (int i = 0; i < number; i++)
		thread_start(&threads[i], i, run);
}

/*
 * Waits until a thread is in a call, however long it takes on a busy machine: until then the file begins with
 * another number or word. Whether the caller is counted.
 */
static inline void thread_await_in(const struct thread *thread, int nr, bool counted)
{
	char path[64], wanted[16], found[sizeof(wanted)] = "";
	long result;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", thread->running);
	snprintf(wanted, sizeof(wanted), "%d ", nr);
	fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY);
	if (counted)
		table_add(SYS_openat, fd, END_OK);
	while (strncmp(found, wanted, strlen(wanted))) {
		burn_us(1000);
		result = raw_call(SYS_pread64, fd, found, sizeof(found) - 1, 0);
		if (counted)
			table_add(SYS_pread64, result, END_OK);
	}
	result = raw_call(SYS_close, fd);
	if (counted)
		table_add(SYS_close, result, END_OK);
}

/* As threads_start(), with indices from first on, where the caller is counted. */
static inline void counted_threads(struct thread *threads, int first, int number,
				   int (*run)(void *))
{
	for (int i = 0; i < number; i++) {
		thread_start(&threads[i], first + i, run);
		table_add(SYS_clone, 1, END_OK);
	}
}

static inline void threads_join(const struct thread *threads, int number)
{
	for (int i = 0; i < number; i++)
		thread_join(&threads[i]);
}
