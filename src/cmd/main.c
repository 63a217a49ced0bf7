/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the choice of the verb. Anything that is not a verb is the truss face: count_main(). */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/debuginfod.h"
#include "elf/worker.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "baseline", baseline_main }, { "compare", compare_main }, { "daemon", daemon_main },
	{ "doctor", doctor_main },     { "history", history_main }, { "snapshot", snapshot_main },
	{ "status", status_main },     { "top", top_main },
};

/* A report must not land in a file that took the number of a closed stdout or stderr. */
static void occupy_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/* What --help and doctor print through stdio must have arrived. */
static int flushed(int status)
{
	struct diag d;

	if (status != STATUS_OK || (!fflush(stdout) && !ferror(stdout)))
		return status;
	diag_set(&d, DIAG_FAILED, errno, "cannot write to stdout: %s", strerror(errno));
	return cmd_fail(&d);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], ELF_WORKER_ARGUMENT))
		elf_worker_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], DEBUGINFOD_ARGUMENT))
		debuginfod_client_main(argc, argv);
	occupy_standard_descriptors();
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(argv[1], verbs[i].name))
			return flushed(verbs[i].run(argc - 1, argv + 1));
	}
	return flushed(count_main(argc, argv));
}
