/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs clients of debuginfod: a folder for each, the process, the file that it has found. What a client
 * says is not trusted: the file must be in its folder, and is parsed by a worker. Others may run as the
 * client's user, so we walk no path below the folder.
 */
#include "elf/debuginfod.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/process.h"
#include "elf/sandbox.h"

#define FETCH_SECONDS 60

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

/* A client makes one level of folders. */
#define MAX_FOLDER_DEPTH 4

/* argv of a client: name, DEBUGINFOD_ARGUMENT, the program, the build id. */
enum client_argument {
	CLIENT_ARGUMENT = 1,
	CLIENT_PROGRAM,
	CLIENT_BUILD_ID,
	NR_CLIENT_ARGUMENT,
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

/* --- its folder ------------------------------------------------------------------------------- */

/* Debug files are large: /tmp may be memory. */
static int folder_make(struct debuginfod_folder *folder)
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

void debuginfod_folder_done(struct debuginfod_folder *folder)
{
	if (!folder->path[0])
		return;
	if (folder->fd >= 0)
		folder_empty(folder->fd, 0);
	rmdir(folder->path);
	folder->path[0] = '\0';
}

/* --- what it is given ------------------------------------------------------------------------- */

/* The client needs these of our environment; the rest may hold what is nobody's business. */
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

/* In a process that fork() has made. */
static _Noreturn void client_become(const struct debuginfod *debuginfod,
				    const struct debuginfod_folder *folder, char *build_id,
				    int output)
{
	char home[PATH_MAX], cache[PATH_MAX];
	char *const argv[] = { "bpftruss", DEBUGINFOD_ARGUMENT, debuginfod->program, build_id,
			       NULL };
	char **environment = environment_make(home, cache);
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	snprintf(home, sizeof(home), "HOME=%s", folder->path);
	snprintf(cache, sizeof(cache), "DEBUGINFOD_CACHE_PATH=%s", folder->path);
	if (environment && dup2(nothing, 0) == 0 && dup2(output, 1) == 1 && dup2(nothing, 2) == 2)
		child_become(argv, environment);
	_exit(1);
}

static int client_run(struct debuginfod *debuginfod, char *build_id,
		      struct debuginfod_folder *folder, struct child *ret)
{
	int pipes[2], err = folder_make(folder);
	pid_t pid;

	if (err)
		return err;
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	ret->output = pipes[0];
	pid = fork();
	if (!pid)
		client_become(debuginfod, folder, build_id, pipes[1]);
	err = pid < 0 ? -errno : child_adopt(ret, pid, FETCH_SECONDS);
	close(pipes[1]);
	return err;
}

int debuginfod_start(struct debuginfod *debuginfod, const struct elf_identity *identity,
		     struct debuginfod_folder *folder, struct child *ret)
{
	char build_id[2 * MAX_BUILD_ID + 1] = "";
	struct child child = NO_CHILD;
	int err;

	if (identity->nr_build_id < 2)
		return -ENOENT;
	if (clock_mono_ns() < debuginfod->quiet_until_ns)
		return -EAGAIN;
	for (size_t i = 0; i < identity->nr_build_id; i++)
		snprintf(&build_id[2 * i], 3, "%02x", identity->build_id[i]);
	err = client_run(debuginfod, build_id, folder, &child);
	if (!err) {
		*ret = child;
		return 0;
	}
	child_done(&child);
	debuginfod_folder_done(folder);
	return err;
}

/* --- what it answers -------------------------------------------------------------------------- */

/* Opens the file at the path that it has printed. */
static int answer_open(const struct debuginfod_folder *folder, int output)
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

static void servers_were_slow(struct debuginfod *debuginfod)
{
	uint64_t quiet_ns = debuginfod->quiet_ns ? 2 * debuginfod->quiet_ns : QUIET_NS;

	if (++debuginfod->slow < MAX_SLOW)
		return;
	debuginfod->slow = 0;
	debuginfod->quiet_ns = quiet_ns < MAX_QUIET_NS ? quiet_ns : MAX_QUIET_NS;
	debuginfod->quiet_until_ns = clock_mono_ns() + debuginfod->quiet_ns;
}

uint64_t debuginfod_again_ns(const struct debuginfod *debuginfod)
{
	uint64_t soon_ns = clock_mono_ns() + NS_PER_SEC;

	return debuginfod->quiet_until_ns > soon_ns ? debuginfod->quiet_until_ns : soon_ns;
}

int debuginfod_finish(struct debuginfod *debuginfod, struct debuginfod_folder *folder,
		      struct child *client)
{
	int status = child_reap(client), err = -ENOENT;

	if (client->is_stopped) {
		servers_were_slow(debuginfod);
		err = -ETIMEDOUT;
	} else {
		debuginfod->slow = 0;
		debuginfod->quiet_ns = 0;
		if (!status)
			err = answer_open(folder, client->output);
	}
	child_done(client);
	debuginfod_folder_done(folder);
	return err;
}

/* --- the client ------------------------------------------------------------------------------- */

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
