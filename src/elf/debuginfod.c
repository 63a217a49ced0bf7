/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs clients of debuginfod: a folder for each, a copy of this process that becomes the client,
 * the file that it has found. The answer of a client is not trusted: the file must be in its
 * folder, and is parsed by a worker. Others may run as the client's user, so we walk no path below
 * the folder.
 */
#include "elf/debuginfod.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
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
	struct debuginfod *debuginfod __cleanup(freep) = calloc(1, sizeof(*debuginfod));

	if (!debuginfod)
		return -ENOMEM;
	debuginfod->program = program_find();
	if (!debuginfod->program)
		return -ENOENT;
	*ret = steal_ptr(&debuginfod);
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

/* --- the client ------------------------------------------------------------------------------- */

struct client_start {
	const char *program, *folder;
	char *build_id;
	int output;
};

/* The client needs these of our environment; the rest may hold what is nobody's business. */
static const char *const passed[] = {
	"DEBUGINFOD_URLS", "DEBUGINFOD_TIMEOUT", "DEBUGINFOD_MAXSIZE", "PATH",        "http_proxy",
	"https_proxy",     "all_proxy",          "no_proxy",           "HTTPS_PROXY", "ALL_PROXY",
	"NO_PROXY",        "SSL_CERT_FILE",      "SSL_CERT_DIR",
};

/* Adds a variable; NULL: it has no value. */
static void environment_add(char ***end, const char *name, const char *value)
{
	if (value && asprintf(*end, "%s=%s", name, value) >= 0)
		++*end;
}

/* Its descriptors are the answer and nothing else. */
static int client_limit(int output)
{
	const struct rlimit no_core = { 0, 0 };
	const struct rlimit size = { MAX_DEBUG_FILE_BYTES, MAX_DEBUG_FILE_BYTES };
	int nothing = open("/dev/null", O_RDWR);

	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
	    dup2(nothing, STDERR_FILENO) < 0 || syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0))
		return -errno;
	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_FSIZE, &size);
	sandbox_drop_privileges();
	/* It still has our memory, and a change of user may have opened that to others of this user. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	alarm(FETCH_SECONDS + 1);
	/* It is not to outlive us; a change of user takes that back, so it comes after. */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ?: prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/* Runs in the copy. */
static int client_become(void *closure, struct copy_answer *ret)
{
	const struct client_start *start = closure;
	char *const arguments[] = { "debuginfod-find", "debuginfo", start->build_id, NULL };
	char *environment[ARRAY_SIZE(passed) + 3] = { NULL }, **end = environment;

	(void)ret;
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		environment_add(&end, passed[i], getenv(passed[i]));
	environment_add(&end, "HOME", start->folder);
	environment_add(&end, "DEBUGINFOD_CACHE_PATH", start->folder);
	if (!client_limit(start->output))
		child_become(start->program, arguments, environment);
	_exit(1);
}

int debuginfod_start(struct debuginfod *debuginfod, const struct elf_identity *identity,
		     struct debuginfod_folder *folder, struct child *ret)
{
	char build_id[2 * MAX_BUILD_ID + 1] = "";
	struct client_start start = { debuginfod->program, folder->path, build_id, -1 };
	int pipes[2], err;

	if (identity->nr_build_id < 2)
		return -ENOENT;
	if (clock_mono_ns() < debuginfod->quiet_until_ns)
		return -EAGAIN;
	for (size_t i = 0; i < identity->nr_build_id; i++)
		snprintf(&build_id[2 * i], 3, "%02x", identity->build_id[i]);
	if (pipe2(pipes, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	start.output = pipes[1];
	err = folder_make(folder) ?: copy_start(client_become, &start, &start.output, 1, ret);
	close(pipes[1]);
	if (err) {
		close(pipes[0]);
		debuginfod_folder_done(folder);
		return err;
	}
	close(ret->output);
	ret->output = pipes[0];
	ret->deadline_ns = clock_mono_ns() + FETCH_SECONDS * NS_PER_SEC;
	return 0;
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

uint64_t debuginfod_again_ns(const struct debuginfod *debuginfod)
{
	return max_u64(debuginfod->quiet_until_ns, clock_mono_ns() + NS_PER_SEC);
}

int debuginfod_finish(struct debuginfod *debuginfod, struct debuginfod_folder *folder,
		      struct child *client)
{
	int status = child_reap(client), err = -ENOENT;

	if (client->is_stopped) {
		err = -ETIMEDOUT;
		if (++debuginfod->slow == MAX_SLOW) {
			debuginfod->slow = 0;
			debuginfod->quiet_ns =
				debuginfod->quiet_ns ? 2 * debuginfod->quiet_ns : QUIET_NS;
			debuginfod->quiet_ns = min_u64(debuginfod->quiet_ns, MAX_QUIET_NS);
			debuginfod->quiet_until_ns = clock_mono_ns() + debuginfod->quiet_ns;
		}
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
