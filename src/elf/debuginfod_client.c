/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the two ends of a client: its folder, and the step from this program without rights to the
 * one that talks to servers. Others may run as its user, so no path below the folder is walked.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/debug_file.h"
#include "elf/debuginfod.h"
#include "elf/debuginfod_private.h"
#include "elf/worker_private.h"

/* A client makes one level of folders. */
#define MAX_FOLDER_DEPTH 4

/* argv of a client: name, DEBUGINFOD_ARGUMENT, the program, the build id. */
enum client_argument {
	CLIENT_ARGUMENT = 1,
	CLIENT_PROGRAM,
	CLIENT_BUILD_ID,
	NR_CLIENT_ARGUMENT,
};

/* Debug files are large: /tmp may be memory. */
int client_folder_make(struct client_folder *folder)
{
	static const char *const templates[] = { "/var/tmp/bpftruss-XXXXXX",
						 "/tmp/bpftruss-XXXXXX" };

	folder->fd = -1;
	folder->path[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(templates); i++) {
		strcpy(folder->path, templates[i]);
		if (mkdtemp(folder->path))
			break;
		folder->path[0] = '\0';
	}
	if (!folder->path[0])
		return -errno;
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder->fd < 0)
		return -errno;
	/* Where that is not allowed, the client stays the user that we are. */
	if (fchown(folder->fd, NOBODY, NOBODY) && errno != EPERM)
		return -errno;
	return 0;
}

/* Takes the descriptor. */
static void folder_empty(int fd, int depth)
{
	DIR *folder = fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		close(fd);
		return;
	}
	while ((entry = readdir(folder))) {
		const char *name = entry->d_name;
		int inner;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !unlinkat(fd, name, 0))
			continue;
		inner = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (inner >= 0 && depth < MAX_FOLDER_DEPTH)
			folder_empty(inner, depth + 1);
		else
			closep(&inner);
		unlinkat(fd, name, AT_REMOVEDIR);
	}
	closedir(folder);
}

void client_folder_done(struct client_folder *folder)
{
	if (folder->fd >= 0)
		folder_empty(folder->fd, 0);
	if (folder->path[0])
		rmdir(folder->path);
}

void debuginfod_client_main(int argc, char **argv)
{
	const struct rlimit no_core = { 0, 0 };
	const struct rlimit size = { MAX_DEBUG_FILE_BYTES, MAX_DEBUG_FILE_BYTES };
	char *const arguments[] = { "debuginfod-find", "debuginfo",
				    argc == NR_CLIENT_ARGUMENT ? argv[CLIENT_BUILD_ID] : NULL,
				    NULL };

	if (argc != NR_CLIENT_ARGUMENT || syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0))
		_exit(1);
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_FSIZE, &size);
	sandbox_drop_privileges();
	/* It is not to outlive us; a change of user takes that back, so it comes after. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		_exit(1);
	execve(argv[CLIENT_PROGRAM], arguments, environ);
	_exit(1);
}
