/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the child that becomes the command. Between fork and execve it makes one blocking read,
 * which ends when the parent writes a byte.
 */
#include "cmd/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

/* As execvp() would, but here, so that failed tries are not counted as the command's. */
static int command_find(const char *name, char *path, size_t size, struct diag *d)
{
	const char *dirs = getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin";
	struct stat st;
	size_t length;

	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		return 0;
	}
	for (const char *dir = dirs;; dir += length + 1) {
		length = strcspn(dir, ":");
		/* An empty element is the current directory. */
		if (length + strlen(name) + 3 <= size) {
			snprintf(path, size, "%.*s/%s", length ? (int)length : 1,
				 length ? dir : ".", name);
			if (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK))
				return 0;
		}
		if (!dir[length])
			break;
	}
	return diag_set(d, DIAG_FAILED, ENOENT, "cannot run \"%s\": not found in PATH", name);
}

static void command_child(const struct command *command, int parent, const char *path, char **argv,
			  const sigset_t *blocked)
{
	ssize_t got;
	char byte;
	int err;

	sigprocmask(SIG_SETMASK, blocked, NULL);
	do {
		got = read(parent, &byte, 1);
	} while (got < 0 && errno == EINTR);
	/* End of file: the parent died before it could count anything. */
	if (got != 1)
		_exit(126);
	if (command->files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &command->files);
	execv(path, argv);
	err = errno;
	if (write(parent, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* Not to be run here: as code that some process has mapped, it is known before its first call. */
static void *program_map(const char *path)
{
	int fd __cleanup(closep) = open(path, O_RDONLY | O_CLOEXEC);
	void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

int command_prepare(struct command *command, char **argv, const sigset_t *blocked, struct diag *d)
{
	char path[PATH_MAX];
	int ends[2];
	int err = command_find(argv[0], path, sizeof(path), d);

	if (err)
		return err;
	command->program = program_map(path);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return diag_set(d, DIAG_FAILED, errno, "cannot make a socket: %s", strerror(errno));
	command->pid = fork();
	if (command->pid == 0) {
		close(ends[0]);
		command_child(command, ends[1], path, argv, blocked);
	}
	err = errno;
	close(ends[1]);
	command->link = ends[0];
	if (command->pid > 0)
		return 0;
	command->pid = 0;
	return diag_set(d, DIAG_FAILED, err, "cannot fork: %s", strerror(err));
}

int command_release(struct command *command, const char *name, struct diag *d)
{
	int child_errno = 0;
	ssize_t got;

	if (write(command->link, "", 1) != 1)
		return diag_set(d, DIAG_FAILED, errno, "cannot start \"%s\": %s", name,
				strerror(errno));
	command->released = true;
	/* End of file: the execve closed the other end. */
	do {
		got = read(command->link, &child_errno, sizeof(child_errno));
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return 0;
	command_wait(command);
	return diag_set(d, DIAG_FAILED, child_errno, "cannot run \"%s\": %s", name,
			strerror(child_errno));
}

bool command_has_ended(struct command *command)
{
	if (!command->reaped && waitpid(command->pid, &command->status, WNOHANG) == command->pid)
		command->reaped = true;
	return command->reaped;
}

void command_wait(struct command *command)
{
	while (!command->reaped) {
		if (waitpid(command->pid, &command->status, 0) == command->pid || errno != EINTR)
			command->reaped = true;
	}
}

int command_exit_status(const struct command *command)
{
	if (WIFSIGNALED(command->status))
		return 128 + WTERMSIG(command->status);
	return WEXITSTATUS(command->status);
}

void command_done(struct command *command)
{
	if (command->program)
		munmap(command->program, 1);
	if (command->pid && !command->released) {
		kill(command->pid, SIGKILL);
		command_wait(command);
	}
	closep(&command->link);
}
