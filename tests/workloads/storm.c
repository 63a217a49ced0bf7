// SPDX-License-Identifier: BSD-2-Clause
/*
 * storm KIND NUMBER [USER]: what makes rows without end, one task after the other, as that user.
 * The calls that matter are answered by a filter, or have numbers that no kernel knows: none does
 * anything. At its end it says how many of them it made.
 *
 *   numbers    threads, each of which calls 64 numbers that nobody has called before, and ends
 *   names      processes, each of a name of its own, with all known calls of an ABI
 *   errnos     threads, each of which calls 16 numbers that fail in 60 ways
 *   processes  processes that make two calls
 *   users      processes, each of a user of its own: takes root
 *   stay       processes that stay until the end, each with a thread that makes all known calls of
 *              an ABI, and ends
 *   hoard      processes that stay until the end, each of which does what numbers and errnos do;
 *              the end is a line on stdin
 */

#include "filter.h"

#define FRESH_NUMBERS 64
#define FRESH_FIRST   4000
#define OTHER_CALLS   512
#define FAILING_FIRST 480
#define FAILING_CALLS 16
#define FAILING_WAYS  60
#define ERRNO_LIMIT   500 /* below those by which a call is restarted */
#define FIRST_USER    100000

#if defined(__x86_64__)
#define OTHER_ABI 0x40000000 /* x32 */
#else
#define OTHER_ABI 0
#endif

static struct thread thread;
static int made;
static int over[2], done[2]; /* pipes: whoever stays reads from one and writes to the other */

/* --- the filter -------------------------------------------------------------------------------- */

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE      (SECCOMP_RET_ERRNO | ENOSYS)

/* Failing calls fail as their first argument says, those of the other ABI all alike. */
static void refuse_calls(void)
{
	struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FAILING_FIRST + FAILING_CALLS, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FAILING_FIRST, 0, 3),
		LOAD(args[0]),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_A, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, REFUSE),
	};

	filter_load(code, COUNT(code), 0);
}

/* But for the end of the process: where there is no other ABI. */
static void refuse_all(void)
{
	struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, REFUSE),
	};

	filter_load(code, COUNT(code), 0);
}

/* --- what one task does ------------------------------------------------------------------------ */

static void call_numbers(int index)
{
	for (int i = 0; i < FRESH_NUMBERS; i++)
		raw_call(FRESH_FIRST + index * FRESH_NUMBERS + i);
}

static void call_errnos(int index)
{
	for (int call = 0; call < FAILING_CALLS; call++) {
		for (int i = 0; i < FAILING_WAYS; i++)
			raw_call(FAILING_FIRST + call,
				 1 + (index * FAILING_WAYS + i) % ERRNO_LIMIT);
	}
}

static void call_others(void)
{
	if (!OTHER_ABI)
		refuse_all();
	for (int nr = 0; nr < OTHER_CALLS; nr++) {
		if (OTHER_ABI || nr != SYS_exit_group)
			raw_call(OTHER_ABI | nr);
	}
}

static void call_names(int index)
{
	char name[16];

	snprintf(name, sizeof(name), "storm%d", index);
	raw_call(SYS_prctl, PR_SET_NAME, name);
	call_others();
}

static void call_processes(int index)
{
	raw_calls(2, SYS_getppid);
}

static void call_users(int index)
{
	if (raw_call(SYS_setresuid, FIRST_USER + index, FIRST_USER + index, FIRST_USER + index))
		abort();
	raw_call(SYS_getppid);
}

static void stay(int index);
static void hoard(int index);

static const struct kind {
	const char *name;
	void (*run)(int index);
	int calls;
	bool threads, stays;
} kinds[] = {
	{ "numbers", call_numbers, FRESH_NUMBERS, true, false },
	{ "names", call_names, OTHER_ABI ? OTHER_CALLS : OTHER_CALLS - 1, false, false },
	{ "errnos", call_errnos, FAILING_CALLS *FAILING_WAYS, true, false },
	{ "processes", call_processes, 2, false, false },
	{ "users", call_users, 1, false, false },
	{ "stay", stay, OTHER_ABI ? OTHER_CALLS : OTHER_CALLS - 1, false, true },
	{ "hoard", hoard, FRESH_NUMBERS + FAILING_CALLS *FAILING_WAYS, false, true },
};

static const struct kind *kind;

/* --- tasks ------------------------------------------------------------------------------------- */

static int run_thread(void *arg)
{
	kind->run(((struct thread *)arg)->index);
	raw_exit();
}

/* Asleep: it shall have the CPU. */
static void thread_run(int index, int (*run)(void *))
{
	int running;

	thread_start(&thread, index, run);
	while ((running = __atomic_load_n(&thread.running, __ATOMIC_ACQUIRE)))
		raw_call(SYS_futex, &thread.running, 0 /* FUTEX_WAIT */, running, NULL);
}

static int run_others(void *arg)
{
	call_others();
	raw_exit();
}

static void wait_for_end(void)
{
	raw_call(SYS_close, over[1]);
	raw_call(SYS_write, done[1], "", 1);
	raw_wait(over[0]);
}

static void stay(int index)
{
	thread_run(index, run_others);
	wait_for_end();
}

static void hoard(int index)
{
	call_errnos(index);
	call_numbers(index);
	wait_for_end();
}

static void make_process(int index)
{
	long pid = raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		abort();
	if (!pid) {
		kind->run(index);
		for (;;)
			raw_call(SYS_exit_group, 0);
	}
	if (!kind->stays)
		raw_call(SYS_wait4, pid, NULL, 0, 0);
}

int main(int argc, char **argv)
{
	int number, user;

	table_start(&argc, &argv);
	number = arg_number(argc, argv, 2, 100);
	user = arg_number(argc, argv, 3, 0);
	for (int i = 0; i < COUNT(kinds) && argc > 1; i++) {
		if (!strcmp(kinds[i].name, argv[1]))
			kind = &kinds[i];
	}
	if (!kind || (user && (setresgid(user, user, user) || setresuid(user, user, user))))
		return 1;
	if (pipe(over) || pipe(done))
		return 1;
	refuse_calls();
	for (; made < number; made++) {
		if (kind->threads)
			thread_run(made, run_thread);
		else
			make_process(made);
	}
	for (int i = 0; i < made && kind->stays; i++)
		raw_wait(done[0]);
	printf("{\"calls\":%ld}\n", (long)made * kind->calls);
	fflush(stdout);
	if (kind->run == hoard)
		raw_wait(0);
	close(over[1]);
	for (int i = 0; i < made && kind->stays; i++)
		wait(NULL);
	return 0;
}
