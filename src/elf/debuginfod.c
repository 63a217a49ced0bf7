/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the life of a client: a folder for it, the process, the file that it has found. What a
 * client says is not trusted: the file must be in its folder, and is parsed by a worker.
 */
#include "elf/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "elf/debug_file.h"
#include "elf/debuginfod_private.h"
#include "elf/regular_file.h"
#include "elf/spawn.h"

/* The report waits for it. */
#define FETCH_NS     (60 * NS_PER_SEC)
#define FETCH_ALL_NS (120 * NS_PER_SEC)

struct debuginfod {
	char *program;
	uint64_t left_ns; /* of the time for all files */
};

/* --- the program ------------------------------------------------------------------------------ */

static char *program_find(void)
{
	const char *path = getenv("PATH");
	char *folders __cleanup(freep) = strdup(path ?: "/usr/local/bin:/usr/bin:/bin");
	char *rest = NULL, *program;

	for (char *folder = folders ? strtok_r(folders, ":", &rest) : NULL; folder;
	     folder = strtok_r(NULL, ":", &rest)) {
		if (*folder != '/' || asprintf(&program, "%s/debuginfod-find", folder) < 0)
			continue;
		if (!access(program, X_OK))
			return program;
		free(program);
	}
	return NULL;
}

int debuginfod_new(struct debuginfod **ret)
{
	struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));

	if (!debuginfod)
		return -ENOMEM;
	debuginfod->left_ns = FETCH_ALL_NS;
	debuginfod->program = program_find();
	if (!debuginfod->program) {
		free(debuginfod);
		return -ENOENT;
	}
	*ret = debuginfod;
	return 0;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	free(debuginfod->program);
	free(debuginfod);
}

/* --- what it is given ------------------------------------------------------------------------- */

/* Of our environment the client needs these; the rest may hold what is nobody's business. */
static bool variable_is_passed(const char *variable)
{
	static const char *const begins[] = {
		"DEBUGINFOD_URLS=", "DEBUGINFOD_TIMEOUT=", "DEBUGINFOD_MAXSIZE=", "PATH=",
		"http_proxy=",      "https_proxy=",        "all_proxy=",          "no_proxy=",
		"HTTPS_PROXY=",     "ALL_PROXY=",          "NO_PROXY=",           "SSL_CERT_FILE=",
		"SSL_CERT_DIR=",
	};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		if (!strncmp(variable, begins[i], strlen(begins[i])))
			return true;
	}
	return false;
}

/* The array is to be freed, its strings are borrowed. */
static char **environment_make(char *home, char *cache)
{
	size_t nr = 0, count = 0;
	char **variables;

	while (environ[nr])
		nr++;
	variables = calloc(nr + 3, sizeof(*variables));
	if (!variables)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		if (variable_is_passed(environ[i]))
			variables[count++] = environ[i];
	}
	variables[count++] = home;
	variables[count] = cache;
	return variables;
}

static int client_spawn(const struct debuginfod *debuginfod, const struct client_folder *folder,
			char *build_id, int output, pid_t *ret)
{
	char home[PATH_MAX], cache[PATH_MAX];
	char *const argv[] = { "bpftruss", DEBUGINFOD_ARGUMENT, debuginfod->program, build_id,
			       NULL };
	char **environment __cleanup(freep) = environment_make(home, cache);
	posix_spawn_file_actions_t actions;
	int err;

	if (!environment)
		return -ENOMEM;
	snprintf(home, sizeof(home), "HOME=%s", folder->path);
	snprintf(cache, sizeof(cache), "DEBUGINFOD_CACHE_PATH=%s", folder->path);
	err = -posix_spawn_file_actions_init(&actions);
	if (err)
		return err;
	err = -posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	if (!err)
		err = -posix_spawn_file_actions_adddup2(&actions, output, 1);
	if (!err)
		err = -posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_RDWR, 0);
	if (!err)
		err = spawn_self(argv, environment, &actions, ret);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

/* --- what it answers -------------------------------------------------------------------------- */

/* Reaps it, dead or alive. True: it has ended by itself, and well. */
static bool client_wait(pid_t pid, uint64_t end_ns)
{
	int pidfd __cleanup(closep) = (int)syscall(SYS_pidfd_open, pid, 0), status = -1;
	struct pollfd pollfd = { .fd = pidfd, .events = POLLIN };
	uint64_t now = clock_mono_ns();
	int ended = 0;

	for (; pidfd >= 0 && now < end_ns; now = clock_mono_ns()) {
		ended = poll(&pollfd, 1, (int)((end_ns - now) / NS_PER_MS) + 1);
		if (ended > 0 || (ended < 0 && errno != EINTR))
			break;
	}
	/* What it may have started is of its session. */
	if (ended <= 0)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return ended > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The file at the path that it has printed. */
static int answer_open(const struct client_folder *folder, int output)
{
	char path[PATH_MAX];
	ssize_t bytes = read(output, path, sizeof(path) - 1);
	size_t length = strlen(folder->path);
	struct stat status;

	if (bytes <= 0)
		return -ENOENT;
	path[bytes] = '\0';
	path[strcspn(path, "\n")] = '\0';
	if (strncmp(path, folder->path, length) || path[length] != '/')
		return -ENOENT;
	return regular_file_open(folder->fd, path + length, O_NOFOLLOW, MAX_DEBUG_FILE_BYTES,
				 &status);
}

static int client_run(struct debuginfod *debuginfod, const struct client_folder *folder,
		      char *build_id)
{
	uint64_t begin = clock_mono_ns(), taken;
	uint64_t limit = debuginfod->left_ns < FETCH_NS ? debuginfod->left_ns : FETCH_NS;
	int pipes[2], err;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return -errno;
	err = client_spawn(debuginfod, folder, build_id, pipes[1], &pid);
	close(pipes[1]);
	/* A path fits into the pipe: it never has to wait for us. */
	if (!err && !client_wait(pid, begin + limit))
		err = -ENOENT;
	if (!err)
		err = answer_open(folder, pipes[0]);
	close(pipes[0]);
	taken = clock_mono_ns() - begin;
	debuginfod->left_ns -= taken < debuginfod->left_ns ? taken : debuginfod->left_ns;
	return err;
}

int debuginfod_fetch(struct debuginfod *debuginfod, const struct elf_identity *identity)
{
	struct client_folder folder __cleanup(client_folder_done) = { .fd = -1 };
	char build_id[2 * MAX_BUILD_ID + 1] = "";
	int err;

	if (identity->nr_build_id < 2 || !debuginfod->left_ns)
		return -ENOENT;
	for (size_t i = 0; i < identity->nr_build_id; i++)
		snprintf(&build_id[2 * i], 3, "%02x", identity->build_id[i]);
	err = client_folder_make(&folder);
	return err ? err : client_run(debuginfod, &folder, build_id);
}
