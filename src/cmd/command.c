/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the child that becomes the command. Between fork and execve that makes one blocking read, which
 * ends when the parent writes a byte.
 */
#include "cmd/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/process.h"

bool command_search(const char *name, char *path, size_t size)
{
	const char *dirs = getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin";
	struct stat st;
	size_t length;

	if (strchr(name, '/')) {
		snprintf(path, size, "%s", name);
		return true;
	}
	for (const char *dir = dirs;; dir += length + 1) {
		length = strcspn(dir, ":");
		/* An empty element is the current directory. */
		if (length + strlen(name) + 3 <= size) {
			snprintf(path, size, "%.*s/%s", length ? (int)length : 1,
				 length ? dir : ".", name);
			if (!stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK))
				return true;
		}
		if (!dir[length])
			return false;
	}
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
	err = command->user ? process_become(command->user) : 0;
	if (!err) {
		execv(path, argv);
		err = errno;
	}
	if (write(parent, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* --- what it will map -------------------------------------------------------------------------- */

/* Maps a file without running it: code that a process has mapped is known before its first call. */
static void code_map(struct command *command, const char *path)
{
	int fd __cleanup(closep) = open(path, O_RDONLY | O_CLOEXEC);
	void *page = MAP_FAILED;

	if (fd >= 0 && command->nr_pages < MAX_COMMAND_PAGES)
		page = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (page != MAP_FAILED)
		command->pages[command->nr_pages++] = page;
}

/* The program that a script names in its first line; false: it is no script. */
static bool script_program(const char *path, char *program, size_t size)
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	char line[PATH_MAX + 64] = "", first[PATH_MAX] = "", second[PATH_MAX] = "";
	char third[PATH_MAX] = "";

	if (!file || !fgets(line, sizeof(line), file) || strncmp(line, "#!", 2) != 0)
		return false;
	sscanf(line, "#! %4095s %4095s %4095s", first, second, third);
	/* env looks for it in PATH; -S is for one with arguments. */
	if (!strcmp(first, "/usr/bin/env") || !strcmp(first, "/bin/env"))
		return *second &&
		       command_search(strcmp(second, "-S") ? second : third, program, size);
	snprintf(program, size, "%s", first);
	return *first;
}

#define LIST_MS    2000 /* whatever it waits for, nobody waits for long */
#define LIST_BYTES (64 << 10)

/* Becomes ldd, which loads a program as its user would have it, and does not run it. */
static void libraries_child(const struct command *command, const char *path, int output)
{
	char *argv[] = { "ldd", (char *)path, NULL };

	setpgid(0, 0);
	dup2(output, STDOUT_FILENO);
	close(STDERR_FILENO);
	if (!command->user || !process_become(command->user))
		execvp(argv[0], argv);
	_exit(127);
}

/* Returns the output of ldd so far, to be freed. NULL: no memory, or ldd cannot be run. */
static char *libraries_list(const struct command *command, const char *path)
{
	uint64_t until_ns = clock_mono_ns() + LIST_MS * NS_PER_MS;
	char *text = calloc(1, LIST_BYTES);
	struct pollfd output = { .events = POLLIN };
	size_t used = 0;
	ssize_t got = 1;
	int ends[2];
	pid_t pid;

	if (!text || pipe2(ends, O_CLOEXEC))
		return text;
	pid = fork();
	if (pid == 0)
		libraries_child(command, path, ends[1]);
	close(ends[1]);
	output.fd = ends[0];
	while (pid > 0 && got > 0 && used + 1 < LIST_BYTES && clock_mono_ns() < until_ns) {
		if (poll(&output, 1, LIST_MS / 20) > 0) {
			got = read(ends[0], text + used, LIST_BYTES - 1 - used);
			used += got > 0 ? (size_t)got : 0;
		}
	}
	if (pid > 0) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(ends[0]);
	return text;
}

/* Lines are "NAME => PATH (ADDRESS)" or "PATH (ADDRESS)". */
static void libraries_map(struct command *command, const char *path)
{
	char *text __cleanup(freep) = libraries_list(command, path), *at = text, *line;

	while ((line = at ? strsep(&at, "\n") : NULL)) {
		char *library = strchr(line, '/'), *end = library ? strrchr(library, '(') : NULL;

		if (!end || end - library < 2)
			continue;
		end[-1] = 0;
		code_map(command, library);
	}
}

#define MAX_SCRIPTS 4 /* of which one runs the other */

/* Everything that the command maps before it runs code of its own. */
static void command_map(struct command *command, const char *path)
{
	char program[PATH_MAX], next[PATH_MAX];

	snprintf(program, sizeof(program), "%s", path);
	for (int i = 0; i < MAX_SCRIPTS && script_program(program, next, sizeof(next)); i++)
		memcpy(program, next, sizeof(program));
	code_map(command, program);
	libraries_map(command, program);
}

/* --- its life ---------------------------------------------------------------------------------- */

int command_set_user(struct command *command, const char *name, struct diag *d)
{
	const char *who = *name ? name : getenv("SUDO_USER");

	if (!who)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--as-user: nobody called sudo; give --as-user=USER");
	command->user = getpwnam(who);
	return command->user ? 0
			     : diag_set(d, DIAG_USAGE, ENOENT,
					"--as-user: no user is called \"%.64s\"", who);
}

int command_prepare(struct command *command, char **argv, const sigset_t *blocked, bool maps,
		    struct diag *d)
{
	char path[PATH_MAX];
	int ends[2];
	int err;

	if (!command_search(argv[0], path, sizeof(path)))
		return diag_set(d, DIAG_FAILED, ENOENT, "cannot run \"%s\": not found in PATH",
				argv[0]);
	if (maps)
		command_map(command, path);
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

void command_wait(struct command *command)
{
	while (!command->reaped) {
		if (waitpid(command->pid, &command->status, 0) == command->pid || errno != EINTR)
			command->reaped = true;
	}
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

void command_done(struct command *command)
{
	for (size_t i = 0; i < command->nr_pages; i++)
		munmap(command->pages[i], 1);
	command->nr_pages = 0;
	if (command->pid && !command->released) {
		kill(command->pid, SIGKILL);
		command_wait(command);
	}
	closep(&command->link);
}
