/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the life of a client: a folder for it, the process, the file that it has found. What a
 * client says is not trusted: the file must be in its folder, and is parsed by a worker.
 */
#include "elf/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

#define FETCH_NS (60 * NS_PER_SEC)

/*
 * A file that takes too long is that file's matter. If so many do, without an answer in between, servers
 * are left alone for a minute, and for twice as long each time after that.
 */
#define MAX_SLOW     4
#define QUIET_NS     (60 * NS_PER_SEC)
#define MAX_QUIET_NS (600 * NS_PER_SEC)

struct debuginfod {
	char *program;
	unsigned int slow; /* files that took too long, one after the other */
	uint64_t quiet_ns; /* how long servers were left alone last */
	uint64_t quiet_until_ns;
};

struct debuginfod_job {
	struct debuginfod *debuginfod;
	struct client_folder folder;
	pid_t pid; /* 0: there is none any more */
	int pidfd;
	int output;
	bool is_stopped;
	uint64_t start_ns;
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

/* --- a job ------------------------------------------------------------------------------------ */

static int job_run(struct debuginfod_job *job, char *build_id)
{
	int pipes[2], err = client_folder_make(&job->folder);

	if (err)
		return err;
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	job->output = pipes[0];
	err = client_spawn(job->debuginfod, &job->folder, build_id, pipes[1], &job->pid);
	close(pipes[1]);
	if (err) {
		job->pid = 0;
		return err;
	}
	job->pidfd = (int)syscall(SYS_pidfd_open, job->pid, 0);
	return job->pidfd < 0 ? -errno : 0;
}

int debuginfod_start(struct debuginfod *debuginfod, const struct elf_identity *identity,
		     struct debuginfod_job **ret)
{
	struct debuginfod_job *job __cleanup(debuginfod_job_freep) = NULL;
	char build_id[2 * MAX_BUILD_ID + 1] = "";
	uint64_t now_ns = clock_mono_ns();
	int err;

	if (identity->nr_build_id < 2)
		return -ENOENT;
	if (now_ns < debuginfod->quiet_until_ns)
		return -EAGAIN;
	for (size_t i = 0; i < identity->nr_build_id; i++)
		snprintf(&build_id[2 * i], 3, "%02x", identity->build_id[i]);
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct debuginfod_job){ .debuginfod = debuginfod,
					.folder = { .fd = -1 },
					.pidfd = -1,
					.output = -1,
					.start_ns = now_ns };
	err = job_run(job, build_id);
	if (!err)
		*ret = steal_ptr(&job);
	return err;
}

int debuginfod_job_fd(const struct debuginfod_job *job)
{
	return job->pidfd;
}

int debuginfod_job_timeout_ms(const struct debuginfod_job *job)
{
	uint64_t taken_ns = clock_mono_ns() - job->start_ns;

	return taken_ns < FETCH_NS ? (int)((FETCH_NS - taken_ns) / NS_PER_MS) + 1 : 0;
}

static void servers_were_slow(struct debuginfod *debuginfod)
{
	uint64_t quiet_ns = debuginfod->quiet_ns ? 2 * debuginfod->quiet_ns : QUIET_NS;

	if (++debuginfod->slow < MAX_SLOW)
		return;
	debuginfod->slow = 0;
	debuginfod->quiet_ns = quiet_ns < MAX_QUIET_NS ? quiet_ns : MAX_QUIET_NS;
	debuginfod->quiet_until_ns = clock_mono_ns() + debuginfod->quiet_ns;
}

void debuginfod_job_stop(struct debuginfod_job *job)
{
	/* Its session has all that it may have started. */
	if (job->pid)
		kill(-job->pid, SIGKILL);
	if (!job->is_stopped)
		servers_were_slow(job->debuginfod);
	job->is_stopped = true;
}

uint64_t debuginfod_again_ns(const struct debuginfod *debuginfod)
{
	uint64_t soon_ns = clock_mono_ns() + NS_PER_SEC;

	return debuginfod->quiet_until_ns > soon_ns ? debuginfod->quiet_until_ns : soon_ns;
}

int debuginfod_finish(struct debuginfod_job *job)
{
	int status = -1, err = -ENOENT;

	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	job->pid = 0;
	if (job->is_stopped)
		err = -ETIMEDOUT;
	else
		job->debuginfod->slow = job->debuginfod->quiet_ns = 0;
	if (!job->is_stopped && WIFEXITED(status) && !WEXITSTATUS(status))
		err = answer_open(&job->folder, job->output);
	debuginfod_job_free(job);
	return err;
}

void debuginfod_job_free(struct debuginfod_job *job)
{
	if (!job)
		return;
	if (job->pid) {
		kill(-job->pid, SIGKILL);
		while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	closep(&job->pidfd);
	closep(&job->output);
	client_folder_done(&job->folder);
	free(job);
}
