/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shuts the cage of a worker. The limits, no_new_privs and the list of calls are conditions; another
 * user and no capabilities are taken where the system lets go of them.
 */
#include "elf/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "elf/wire.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

/* Memory, the open files, the end: nothing that opens, sends or starts anything. */
static const int allowed_calls[] = {
	SCMP_SYS(brk),          SCMP_SYS(clock_gettime),
	SCMP_SYS(close),        SCMP_SYS(exit),
	SCMP_SYS(exit_group),   SCMP_SYS(fstat),
	SCMP_SYS(futex),        SCMP_SYS(getrandom),
	SCMP_SYS(lseek),        SCMP_SYS(madvise),
	SCMP_SYS(mremap),       SCMP_SYS(munmap),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sysinfo), /* qsort() asks for the size of memory */
	SCMP_SYS(write),
#ifdef WITH_ASAN
	SCMP_SYS(getpid),       SCMP_SYS(gettid),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sched_yield),  SCMP_SYS(sigaltstack),
#endif
};

/* Calls that have harmless uses, by an argument: what it has to be where the mask is set. */
static const struct {
	int nr;
	unsigned int argument;
	uint64_t mask;
	uint64_t value;
} allowed_uses[] = {
	/* Memory, but not for code. */
	{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_DUPFD_CLOEXEC },
};

/* libdw looks for the further files that a file names: there are none. */
static const int failing_calls[] = { SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(readlink),
				     SCMP_SYS(readlinkat) };

/*
 * glibc 2.33 to 2.38 asks for fstat() by newfstatat(), with an empty path; but no filter can look at
 * a path. So that call is never made: it raises SIGSYS, and is answered by one that takes none.
 */
#if defined(__x86_64__)
#define CALL_ARGUMENT_0(machine) ((machine)->gregs[REG_RDI])
#define CALL_ARGUMENT_1(machine) ((machine)->gregs[REG_RSI])
#define CALL_ARGUMENT_2(machine) ((machine)->gregs[REG_RDX])
#define CALL_RESULT(machine)     ((machine)->gregs[REG_RAX])
#else
#define CALL_ARGUMENT_0(machine) ((machine)->regs[0])
#define CALL_ARGUMENT_1(machine) ((machine)->regs[1])
#define CALL_ARGUMENT_2(machine) ((machine)->regs[2])
#define CALL_RESULT(machine)     ((machine)->regs[0])
#endif

static void answer_fstat(int number, siginfo_t *info, void *context)
{
	mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
	const char *path = (const char *)CALL_ARGUMENT_1(machine);
	int before = errno;
	long result = -ENOENT;

	(void)number, (void)info;
	if (!*path && syscall(SYS_fstat, CALL_ARGUMENT_0(machine), CALL_ARGUMENT_2(machine)))
		result = -errno;
	else if (!*path)
		result = 0;
	errno = before;
	CALL_RESULT(machine) = result;
}

static int fstat_limit(scmp_filter_ctx filter)
{
	const struct sigaction action = { .sa_sigaction = answer_fstat, .sa_flags = SA_SIGINFO };

	if (sigaction(SIGSYS, &action, NULL))
		return -errno;
	return seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(newfstatat), 1,
				SCMP_CMP(3, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
}

/*
 * Once a file of an overlay has been written to, reading from a descriptor opened before gives what was
 * written. A mapping does not: so the file that was proved is mapped, and cannot be read in any other way.
 */
static int reads_limit(scmp_filter_ctx filter, unsigned int extras)
{
	static const int calls[] = { SCMP_SYS(read), SCMP_SYS(pread64) };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(calls) && !err; i++) {
		for (unsigned int fd = 0; fd < NR_WORKER_FD && !err; fd++) {
			bool may = fd == WORKER_FD_FILE
					   ? extras & WORKER_READS_FILE
					   : fd < WORKER_FD_DEBUG || extras & WORKER_EXTRA(fd);

			err = seccomp_rule_add(filter, may ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EIO),
					       calls[i], 1, SCMP_A0(SCMP_CMP_EQ, fd, 0));
		}
		/* Libraries duplicate it. */
		if (!err)
			err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EIO), calls[i], 1,
					       SCMP_A0(SCMP_CMP_GE, NR_WORKER_FD, 0));
	}
	return err;
}

static void filter_donep(scmp_filter_ctx *filter)
{
	seccomp_release(*filter);
}

static int calls_limit(unsigned int extras)
{
	scmp_filter_ctx filter __cleanup(filter_donep) = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err = filter ? 0 : -ENOMEM;

	err = err ?: seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	err = err ?: fstat_limit(filter);
	err = err ?: reads_limit(filter, extras);
	for (size_t i = 0; i < ARRAY_SIZE(failing_calls) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOENT), failing_calls[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(allowed_calls) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed_calls[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(allowed_uses) && !err; i++) {
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed_uses[i].nr, 1,
				       SCMP_CMP(allowed_uses[i].argument, SCMP_CMP_MASKED_EQ,
						allowed_uses[i].mask, allowed_uses[i].value));
	}
	return err ?: seccomp_load(filter);
}

/* A file that is mostly holes costs whoever made it nothing: it is given no room to be mapped. */
#define MAX_SPARSE 16

static uint64_t file_bytes(int fd)
{
	struct stat status;

	if (fstat(fd, &status) || status.st_size / MAX_SPARSE > status.st_blocks * 512)
		return 0;
	return (uint64_t)status.st_size;
}

/* A descriptor that is not open is left alone. */
static uint64_t mapped_bytes(void)
{
	uint64_t bytes = file_bytes(WORKER_FD_FILE);

	for (int i = 0; i < MAX_DEBUG_FILES; i++)
		bytes += file_bytes(WORKER_FD_DEBUG + i);
	return bytes;
}

/* Makes us the kernel's choice when memory is short. It does no harm if that fails. */
static void memory_offer(void)
{
	int fd __cleanup(closep) = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, WORKER_OOM_SCORE, strlen(WORKER_OOM_SCORE)) < 0)
		return;
}

static int resources_limit(void)
{
	uint64_t memory = WORKER_MEMORY_BYTES + mapped_bytes();
	const struct {
		__rlimit_resource_t resource;
		rlim_t limit;
	} limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_CPU, WORKER_CPU_SECONDS },
		{ RLIMIT_FSIZE, MAX_WIRE_BYTES },
#ifndef WITH_ASAN /* its shadow is terabytes */
		{ RLIMIT_AS, memory },
#endif
	};

	(void)memory;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct rlimit limit = { limits[i].limit, limits[i].limit }, now;

		/* Someone may have set it lower, and then it stays so. */
		if (getrlimit(limits[i].resource, &now))
			return -errno;
		if (now.rlim_max < limit.rlim_max)
			limit.rlim_cur = limit.rlim_max = now.rlim_max;
		if (setrlimit(limits[i].resource, &limit))
			return -errno;
	}
	return 0;
}

/* A container may not let go of users; what can be given up is. */
void sandbox_drop_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	syscall(SYS_setgroups, 0, NULL);
	syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY);
	syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &header, none);
}

int sandbox_enter(unsigned int extras)
{
	int err;

	for (int fd = WORKER_FD_DEBUG; fd < NR_WORKER_FD; fd++) {
		if (!(extras & WORKER_EXTRA(fd)))
			close(fd);
	}
	if (syscall(SYS_close_range, NR_WORKER_FD, ~0U, 0))
		return -errno;
	memory_offer();
	err = resources_limit();
	if (err)
		return err;
	sandbox_drop_privileges();
	/* It is not to outlive whoever waits for it; a change of user takes that back, so it comes after. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return calls_limit(extras);
}
