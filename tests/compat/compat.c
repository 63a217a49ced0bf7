// SPDX-License-Identifier: BSD-2-Clause
/*
 * A 32-bit program for 64-bit Arm, without any library: calls whose numbers live/test_compat.py
 * knows. compat [wait] WHAT, where WHAT is one of
 *   calls   plain ones, unknown ones, one of Arm's private ones, children, signals, denied ones
 *   exec    itself, as "compat again"
 *   sleep   for two seconds, which the test stops and continues
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	NR_EXIT = 1,
	NR_READ = 3,
	NR_WRITE = 4,
	NR_OPEN = 5,
	NR_CLOSE = 6,
	NR_EXECVE = 11,
	NR_GETPID = 20,
	NR_KILL = 37,
	NR_GETPPID = 64,
	NR_SETITIMER = 104,
	NR_WAIT4 = 114,
	NR_CLONE = 120,
	NR_NANOSLEEP = 162,
	NR_PRCTL = 172,
	NR_RT_SIGACTION = 174,
	NR_GETUID32 = 199,
	NR_GETGID32 = 200,
	NR_EXIT_GROUP = 248,
	NR_UNKNOWN = 3000,
	NR_CACHEFLUSH = 0xf0002,
};

enum { SIG_USR1 = 10, SIG_ALRM = 14, SIG_CHLD = 17 };

#define SA_SIGINFO  0x00000004
#define SA_RESTORER 0x04000000

#define PR_SET_SECCOMP      22
#define PR_SET_NO_NEW_PRIVS 38
#define EACCES              13

static long call(long nr, long a, long b, long c, long d)
{
	register long r7 __asm__("r7") = nr, r0 __asm__("r0") = a, r1 __asm__("r1") = b;
	register long r2 __asm__("r2") = c, r3 __asm__("r3") = d;
	register long r4 __asm__("r4") = 0;

	__asm__ volatile("svc 0"
			 : "+r"(r0)
			 : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4)
			 : "memory");
	return r0;
}

static void repeat(int times, long nr, long a)
{
	for (int i = 0; i < times; i++)
		call(nr, a, 0, 0, 0);
}

static void make_children(int times)
{
	for (int i = 0; i < times; i++) {
		long pid = call(NR_CLONE, SIG_CHLD, 0, 0, 0);

		if (!pid) {
			call(NR_GETUID32, 0, 0, 0, 0);
			call(NR_EXIT_GROUP, 0, 0, 0, 0);
		}
		call(NR_WAIT4, pid, 0, 0, 0);
	}
}

/* Ends by rt_sigreturn, as it is given more than the number of its signal. */
static volatile int handled;

static void on_signal(int number, void *info, void *context)
{
	(void)number, (void)info, (void)context;
	handled++;
}

__attribute__((naked)) static void restore(void)
{
	__asm__("mov r7, #173\n\tsvc 0");
}

static void handle(int number)
{
	struct {
		void (*handler)(int number, void *info, void *context);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask[2];
	} action = { on_signal, SA_SIGINFO | SA_RESTORER, restore, { 0, 0 } };

	call(NR_RT_SIGACTION, number, (long)&action, 0, 8);
}

/* Interrupted while the register of a result holds what would be an error. */
static void spin_until_handled(int times)
{
	struct {
		long interval_s, interval_us, value_s, value_us;
	} timer = { 0, 0, 0, 5000 };
	register long kept __asm__("r0");

	call(NR_SETITIMER, 0, (long)&timer, 0, 0);
	kept = -5;
	__asm__ volatile("1: ldr r1, [%1]\n\tcmp r1, %2\n\tblt 1b"
			 : "+r"(kept)
			 : "r"(&handled), "r"(times)
			 : "r1", "cc", "memory");
	if (kept != -5)
		call(NR_EXIT_GROUP, 1, 0, 0, 0);
}

static void make_signals(void)
{
	handle(SIG_USR1);
	handle(SIG_ALRM);
	for (int i = 0; i < 3; i++)
		call(NR_KILL, call(NR_GETPID, 0, 0, 0, 0), SIG_USR1, 0, 0);
	spin_until_handled(4);
}

static void be_denied(int times)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NR_GETGID32, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	call(NR_PRCTL, PR_SET_NO_NEW_PRIVS, 1, 0, 0);
	call(NR_PRCTL, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program, 0);
	repeat(times, NR_GETGID32, 0);
}

static void make_calls(void)
{
	repeat(23, NR_GETPPID, 0);
	repeat(13, NR_CLOSE, -1);
	repeat(7, NR_OPEN, (long)"/nonexistent/bpftruss");
	repeat(5, NR_UNKNOWN, 0);
	repeat(3, NR_CACHEFLUSH, 0);
	make_children(4);
	make_signals();
	be_denied(11);
}

static void exec_again(void)
{
	char *again[] = { "compat", "again", NULL };

	call(NR_EXECVE, (long)"/proc/self/exe", (long)again, 0, 0);
	call(NR_EXIT_GROUP, 1, 0, 0, 0);
}

static void sleep_on(void)
{
	struct {
		long s, ns;
	} duration = { 2, 0 };

	call(NR_NANOSLEEP, (long)&duration, 0, 0, 0);
}

static bool is(const char *word, char initial)
{
	return word && *word == initial;
}

__attribute__((used)) static void run(long *stack)
{
	char **word = (char **)(stack + 1) + 1;
	char line[16];

	if (is(*word, 'w')) {
		call(NR_WRITE, 1, (long)"ready\n", 6, 0);
		call(NR_READ, 0, (long)line, sizeof(line), 0);
		word++;
	}
	if (is(*word, 'c'))
		make_calls();
	else if (is(*word, 'e'))
		exec_again();
	else if (is(*word, 's'))
		sleep_on();
	else if (is(*word, 'a'))
		repeat(19, NR_GETPPID, 0);
	call(NR_EXIT_GROUP, 0, 0, 0, 0);
}

__attribute__((naked)) void _start(void)
{
	__asm__("mov r0, sp\n\tbic sp, sp, #7\n\tb run");
}
