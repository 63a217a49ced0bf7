/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the descriptors and symbols of files. Invariant: files[n] has the number n, which the
 * programs have given it; all below count are there, those that were never opened without a name.
 */
#include "collect/code_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/code_opening.h"
#include "elf/worker.h"
#include "stacks/process.h"
#include "stacks/watcher.h"

/* To open a file whose process is gone each time, or has something else mapped, before a pause. */
#define MAX_TRIES 16
#define RETRY_S   1

/* Its file system may have no server any more. */
#define TIMEOUT_RETRY_S 60

/* A file that takes too long to read, or finds no room, is put off so often at most. */
#define MAX_PUT_OFFS 2

/* For one file: some are made to take long, and others wait. */
#define LEARN_NS (10 * NS_PER_SEC)

#define WAIT_MS 50

/*
 * An open file keeps its file system mounted: so it is closed when it was not used for so long. Until
 * then it can be named although its process has ended.
 */
#define KEEP_NS (10 * NS_PER_SEC)

/* Mappings of a process that are looked at to find a file. */
#define MAX_LOOKS 64

/* Workers at a time. */
#define MAX_JOBS 4

/* Numbers from MAX_UNWIND_FILES on are ours: files that the programs do not know. */
#define ALL_FILES (2 * MAX_UNWIND_FILES)

/* No vdso has been larger than a few pages; its own header says less than its symbols need. */
#define MAX_VDSO_BYTES (64 * 1024)

struct code_file {
	struct inode_key key;
	bool is_found;           /* it was opened, or must not be */
	char *path;              /* as the first process that had it saw it; NULL: unknown */
	char *module;            /* its name; NULL: unknown */
	int fd;                  /* -1: not open, or cannot be */
	int root;                /* of that process, where its debug file lies; -1: unknown */
	struct timespec written; /* its mtime when it was opened */
	uint64_t used_ns;        /* when these were used last */
	uint32_t owner;          /* who may say how its functions are called, as root may */
	int tries;               /* to open it */
	int put_offs;            /* of reading it */
	bool waits;              /* for a worker, or for its answer */
	bool learned;            /* its table is made, or it has none */
	uint64_t load_offset;
};

/* A worker that reads a file. */
struct learning {
	uint32_t file;
	uint64_t start_ns;
	struct elf_job *job; /* NULL: none */
};

struct code_files {
	struct learning running[MAX_JOBS];
	uint32_t *waiting; /* files without a worker, in order; there is room for all */
	size_t nr_waiting;
	struct code_openings *openings;
	int watcher; /* an epoll instance: tells when a worker or an errand has ended */
	struct unwind_tables *tables;
	struct code_identity identity;
	uint64_t keep_ns;        /* so long files stay open that are not used */
	uint64_t tidied_ns;      /* when they were looked at last */
	struct code_file *files; /* ALL_FILES of them, by number */
	uint32_t count;          /* one past the highest number that was opened */
};

/* Makes all files up to this number. */
static struct code_file *file_at(struct code_files *files, uint32_t number)
{
	for (; files->count <= number; files->count++)
		files->files[files->count] = (struct code_file){ .fd = -1, .root = -1 };
	return &files->files[number];
}

/* --- the vdso --------------------------------------------------------------------------------- */

/* The kernel has only one: it is the same in all processes as in this one. */
static int vdso_open(void)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct code_mapping vdso = { 0 };
	size_t size = start && process_maps_find_own(start, &vdso) ? vdso.end - vdso.start : 0;
	int fd = size && size <= MAX_VDSO_BYTES ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, (const void *)start, size) != (ssize_t)size) {
		close(fd);
		return -1;
	}
	return fd;
}

static int vdso_learn(struct code_files *files)
{
	struct elf_unwind *unwind __cleanup(elf_unwind_freep) = NULL;
	struct code_file *file = file_at(files, FILE_VDSO);

	file->module = strdup("[vdso]");
	file->fd = vdso_open();
	if (!file->module)
		return -ENOMEM;
	if (file->fd >= 0)
		elf_worker_unwind(file->fd, &unwind);
	unwind_tables_publish(files->tables, FILE_VDSO, 0, unwind);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

/* Each file keeps two descriptors for a while. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int code_files_new(struct unwind_tables *tables, const struct code_identity *identity, int watcher,
		   bool lasting, struct code_files **ret)
{
	struct code_files *files __cleanup(code_files_freep) = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->watcher = epoll_create1(EPOLL_CLOEXEC);
	if (files->watcher < 0)
		return -errno;
	files->tables = tables;
	files->identity = *identity;
	files->keep_ns = lasting ? KEEP_NS : UINT64_MAX;
	files->waiting = calloc(MAX_UNWIND_FILES, sizeof(*files->waiting));
	files->files = calloc(ALL_FILES, sizeof(*files->files));
	if (!files->files || !files->waiting)
		return -ENOMEM;
	raise_descriptor_limit();
	err = watcher_add(watcher, files->watcher);
	if (!err)
		err = code_openings_new(identity, files->watcher, &files->openings);
	if (!err)
		err = vdso_learn(files);
	if (!err)
		*ret = steal_ptr(&files);
	return err;
}

static void file_close(struct code_file *file)
{
	closep(&file->fd);
	closep(&file->root);
	file->fd = file->root = -1;
}

void code_files_free(struct code_files *files)
{
	if (!files)
		return;
	for (int i = 0; i < MAX_JOBS; i++)
		elf_job_free(files->running[i].job);
	code_openings_free(files->openings);
	for (uint32_t i = 0; i < files->count; i++) {
		struct code_file *file = &files->files[i];

		file_close(file);
		free(file->path);
		free(file->module);
	}
	closep(&files->watcher);
	free(files->waiting);
	free(files->files);
	free(files);
}

size_t code_files_count(const struct code_files *files)
{
	return files->count - 1;
}

/* --- learning --------------------------------------------------------------------------------- */

/* Keeps what was opened; takes it. */
static void file_take(struct code_file *file, struct mapped_file *opened)
{
	file->is_found = true;
	free(file->path);
	free(file->module);
	file->path = opened->path;
	file->module = opened->name;
	file->fd = opened->fd;
	file->root = opened->root;
	file->owner = opened->owner;
	file->written = opened->written;
	file->used_ns = clock_mono_ns();
	*opened = (struct mapped_file){ .fd = -1, .root = -1 };
}

/*
 * It was opened through the mapping itself: the path may lead to another file by now, or nowhere. But
 * who has made the mapping may have put another one in its place, to have code of others named and
 * unwound by it: only what has the key of the file is the file.
 */
static bool file_check(struct code_file *file, struct mapped_file *opened)
{
	bool is_it;

	/* Frame pointers, and no name: there is nothing by which it could be known for sure. */
	if (opened->fd < 0) {
		is_it = opened->key.dev == file->key.dev;
		file->is_found |= is_it;
	} else {
		is_it = !memcmp(&opened->key, &file->key, sizeof(file->key));
		if (is_it)
			file_take(file, opened);
	}
	return is_it;
}

/* Its process may have ended meanwhile: the next one that has it mapped will do as well. */
static void file_ask_again(struct code_files *files, struct code_file *file, uint32_t number)
{
	uint32_t pause_s = file->tries < MAX_TRIES ? 0 : RETRY_S;

	file->tries += file->tries < MAX_TRIES;
	unwind_tables_ask_again(files->tables, &file->key, number, pause_s);
}

/* Whether there is still something to learn of a file that some process has mapped. */
static bool file_is_new(const struct code_files *files, const struct pending_event *mapping)
{
	const struct code_file *file;

	if (mapping->file <= FILE_VDSO || mapping->file >= MAX_UNWIND_FILES)
		return false;
	file = &files->files[mapping->file];
	return mapping->file >= files->count || (!file->learned && !file->waits);
}

static int file_learn(struct code_files *files, const struct pending_event *mapping)
{
	const struct mapped_place place = { mapping->pid, mapping->start, mapping->end };
	struct code_file *file = file_at(files, mapping->file);

	int err = 0;

	file->key = mapping->key;
	/* One that was put off may be open still. */
	if (file->fd < 0) {
		err = code_openings_add(files->openings, mapping->file, &place);
		file->waits = !err;
		return err;
	}
	file->waits = true;
	files->waiting[files->nr_waiting++] = mapping->file;
	return 0;
}

/* Whoever does not answer is not asked again soon. */
static void file_opened(struct code_files *files, uint32_t number, int err,
			struct mapped_file *opened)
{
	struct code_file *file = &files->files[number];
	bool is_it = !err && file_check(file, opened);

	if (number >= MAX_UNWIND_FILES)
		return;
	if (is_it) {
		files->waiting[files->nr_waiting++] = number;
		return;
	}
	file->waits = false;
	if (err == -ETIMEDOUT)
		unwind_tables_ask_again(files->tables, &file->key, number, TIMEOUT_RETRY_S);
	else
		file_ask_again(files, file, number);
}

static void openings_run(struct code_files *files)
{
	uint32_t number;
	int err;

	for (;;) {
		struct mapped_file opened __cleanup(mapped_file_done) = { .fd = -1, .root = -1 };

		if (!code_openings_next(files->openings, &number, &err, &opened))
			return;
		file_opened(files, number, err, &opened);
	}
}

int code_files_learn(struct code_files *files, const struct pending_event *mappings, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (file_is_new(files, &mappings[i]))
			err = file_learn(files, &mappings[i]);
	}
	return err;
}

/* --- workers ---------------------------------------------------------------------------------- */

static void file_publish(struct code_files *files, uint32_t number, const struct elf_unwind *unwind)
{
	struct code_file *file = &files->files[number];

	file->waits = false;
	file->learned = true;
	file->load_offset = unwind ? unwind->load_offset : 0;
	file->used_ns = clock_mono_ns();
	unwind_tables_publish(files->tables, number, file->owner, unwind);
}

/* The programs ask again later, but for one that has failed too often. */
static void file_put_off(struct code_files *files, uint32_t number)
{
	struct code_file *file = &files->files[number];

	if (++file->put_offs >= MAX_PUT_OFFS) {
		file_publish(files, number, NULL);
		return;
	}
	file->waits = false;
	unwind_tables_ask_again(files->tables, &file->key, number, RETRY_S);
}

/* Tells whether a failure may pass: whoever parses a file must not have been short of anything. */
static bool failure_may_pass(int err)
{
	static const int passing[] = { -EMFILE, -ENFILE, -EAGAIN, -ENOMEM, -EPROTO, -ETIMEDOUT };

	for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
		if (err == passing[i])
			return true;
	}
	return false;
}

/* Whether a worker is at it now. */
static bool learning_start(struct code_files *files, struct learning *learning, uint32_t number)
{
	struct code_file *file = &files->files[number];
	int err;

	*learning = (struct learning){ .file = number, .start_ns = clock_mono_ns() };
	err = file->fd < 0 ? -EBADF : elf_job_start_unwind(file->fd, &learning->job);
	if (!err)
		err = watcher_add(files->watcher, elf_job_fd(learning->job));
	if (!err)
		return true;
	elf_job_free(steal_ptr(&learning->job));
	if (failure_may_pass(err))
		file_put_off(files, number);
	else
		file_publish(files, number, NULL);
	return false;
}

static void learning_run(struct code_files *files, struct learning *learning)
{
	struct elf_unwind *unwind __cleanup(elf_unwind_freep) = NULL;
	int err;

	if (!fd_is_ready(elf_job_fd(learning->job))) {
		if (clock_mono_ns() - learning->start_ns >= LEARN_NS)
			elf_job_stop(learning->job);
		return;
	}
	err = elf_job_finish_unwind(steal_ptr(&learning->job), &unwind);
	if (failure_may_pass(err))
		file_put_off(files, learning->file);
	else
		file_publish(files, learning->file, unwind);
}

/* How many workers read files of an owner. */
static int owner_workers(const struct code_files *files, uint32_t owner)
{
	int count = 0;

	for (int i = 0; i < MAX_JOBS; i++) {
		const struct learning *learning = &files->running[i];

		count += learning->job && files->files[learning->file].owner == owner;
	}
	return count;
}

/* The first of those whose owner has the fewest workers: who has many files holds up nobody else. */
static uint32_t waiting_take(struct code_files *files)
{
	size_t first = 0;
	int fewest = MAX_JOBS + 1;
	uint32_t number;

	for (size_t i = 0; i < files->nr_waiting && fewest; i++) {
		int workers = owner_workers(files, files->files[files->waiting[i]].owner);

		if (workers < fewest) {
			fewest = workers;
			first = i;
		}
	}
	number = files->waiting[first];
	memmove(&files->waiting[first], &files->waiting[first + 1],
		(--files->nr_waiting - first) * sizeof(*files->waiting));
	return number;
}

void code_files_run(struct code_files *files)
{
	openings_run(files);
	for (int i = 0; i < MAX_JOBS; i++) {
		struct learning *learning = &files->running[i];

		if (learning->job)
			learning_run(files, learning);
		while (!learning->job && files->nr_waiting &&
		       !learning_start(files, learning, waiting_take(files)))
			;
	}
}

int code_files_patience_ms(const struct code_files *files)
{
	uint64_t now_ns = clock_mono_ns(), taken_ns;
	int patience = code_openings_patience_ms(files->openings), left;

	for (int i = 0; i < MAX_JOBS; i++) {
		if (!files->running[i].job)
			continue;
		taken_ns = now_ns - files->running[i].start_ns;
		/* One that was stopped is about to end. */
		left = taken_ns < LEARN_NS ? (int)((LEARN_NS - taken_ns) / NS_PER_MS) + 1 : WAIT_MS;
		patience = sooner_ms(patience, left);
	}
	return patience;
}

/* Our signals are blocked and taken by the event loop, to which this gives way. */
static bool is_told_to_end(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP));
}

void code_files_wait(struct code_files *files, uint64_t until_ns)
{
	struct pollfd all = { .fd = files->watcher, .events = POLLIN };
	bool is_busy = true;

	while (is_busy && clock_mono_ns() < until_ns && !is_told_to_end()) {
		code_files_run(files);
		is_busy = code_openings_are_busy(files->openings);
		for (int i = 0; i < MAX_JOBS; i++)
			is_busy |= files->running[i].job != NULL;
		if (is_busy)
			poll(&all, 1, WAIT_MS);
	}
}

/* --- opening for names ------------------------------------------------------------------------ */

/* One that is open still. */
static int source_open(void *closure, uint32_t number, struct opened_code *ret)
{
	struct code_files *files = closure;
	struct code_file *file = number < files->count ? &files->files[number] : NULL;

	/* Its table is not made yet: what file it is will be known then. */
	if (number != FILE_VDSO && (!file || !file->is_found))
		return -EAGAIN;
	if (file->fd < 0)
		return number == FILE_VDSO ? -EBADMSG : -ESRCH;
	*ret = (struct opened_code){
		.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0),
		.root = file->root < 0 ? -1 : fcntl(file->root, F_DUPFD_CLOEXEC, 0),
		.path = file->path ? strdup(file->path) : NULL,
		.owner = file->owner,
		.is_dated = number != FILE_VDSO,
		.written = file->written,
	};
	if (ret->fd < 0)
		return -errno;
	file->used_ns = clock_mono_ns();
	return opened_code_is_unchanged(ret) ? 0 : -EBADMSG;
}

/* At its path, if it is there for us, too: most files are. */
static int open_at_path(const struct code_identity *identity, const struct code_file *file,
			struct mapped_file *ret)
{
	return file->path ? mapped_file_open_path(identity, file->path, ret) : -ESRCH;
}

static bool opened_is(const struct mapped_file *opened, const struct code_file *file)
{
	return opened->fd >= 0 && !memcmp(&opened->key, &file->key, sizeof(file->key));
}

/* Through a process that has it mapped. */
static int open_through(const struct code_identity *identity, const struct code_file *file,
			const struct process_id *id, struct mapped_file *ret)
{
	int process __cleanup(closep) = process_open(id->pid);
	FILE *maps __cleanup(fclosep) = NULL;
	struct code_mapping mapping;
	int looks = 0;

	if (process_is(process, id))
		maps = process_file(process, "maps");
	while (maps && looks < MAX_LOOKS && process_maps_next(maps, &mapping, NULL)) {
		if (!mapping.exec || !mapping.ino)
			continue;
		if (!mapped_file_open(identity, process, mapping.start, mapping.end, ret)) {
			if (opened_is(ret, file))
				return 0;
			mapped_file_done(ret);
		}
		looks++;
	}
	return -ESRCH;
}

static int source_search(void *closure, struct errand_answer *ret)
{
	struct mapped_file opened __cleanup(mapped_file_done) = { .fd = -1, .root = -1 };
	const struct code_search *search = closure;
	const struct code_files *files = search->closure;
	const struct code_file *file = &files->files[search->file];
	struct code_identity identity = files->identity;
	int err;

	identity.asker = search->searcher;
	err = open_at_path(&identity, file, &opened);
	if (err || !opened_is(&opened, file)) {
		mapped_file_done(&opened);
		err = open_through(&identity, file, &search->process, &opened);
	}
	if (err)
		return err;
	mapped_file_pack(&opened, ret);
	opened.fd = opened.root = -1;
	return 0;
}

static size_t source_search_fds(void *closure, int *fds, size_t max)
{
	const struct code_files *files = closure;

	if (!max || files->identity.program < 0)
		return 0;
	fds[0] = files->identity.program;
	return 1;
}

static int source_searched(void *closure, uint32_t number, struct errand_answer *answer,
			   struct opened_code *ret)
{
	struct mapped_file opened;

	(void)closure, (void)number;
	mapped_file_unpack(answer, &opened);
	*ret = (struct opened_code){
		.fd = opened.fd,
		.root = opened.root,
		.path = opened.path,
		.owner = opened.owner,
		.is_dated = true,
		.written = opened.written,
	};
	free(opened.name);
	return opened.fd < 0 ? -ESRCH : 0;
}

/* The number of a file of ours that is known; else the next one. */
static uint32_t file_find(const struct code_files *files, const struct inode_key *key)
{
	for (uint32_t i = MAX_UNWIND_FILES; i < files->count; i++) {
		if (!memcmp(&files->files[i].key, key, sizeof(*key)))
			return i;
	}
	return files->count < MAX_UNWIND_FILES ? MAX_UNWIND_FILES : files->count;
}

/* One that the programs have not seen: where they cannot ask for mappings. */
static uint32_t source_find(void *closure, uint32_t pid, int process,
			    const struct code_mapping *mapping, const char *name)
{
	struct code_files *files = closure;
	struct mapped_place place;
	struct code_file *file;
	struct inode_key key;
	uint32_t number;

	if (files->identity.program >= 0 || mapped_file_key(process, mapping, &key))
		return FILE_NONE;
	number = file_find(files, &key);
	if (number == ALL_FILES)
		return FILE_NONE;
	file = file_at(files, number);
	if (file->is_found)
		return number;
	file->key = key;
	file->is_found = file->learned = true;
	file->module = name ? strdup(name) : NULL;
	/* At once: the process may end before its stacks are named. */
	place = (struct mapped_place){ pid, mapping->start, mapping->end };
	code_openings_add(files->openings, number, &place);
	return number;
}

static uint32_t source_layout(void *closure, const struct process_id *process)
{
	const struct code_files *files = closure;

	return code_identity_layout(&files->identity, process->pid);
}

static const char *source_module(void *closure, uint32_t number)
{
	const struct code_files *files = closure;

	return number < files->count ? files->files[number].module : NULL;
}

static uint64_t source_address(void *closure, uint32_t number, uint64_t offset)
{
	const struct code_files *files = closure;

	return number < files->count ? offset + files->files[number].load_offset : offset;
}

struct code_source code_files_source(struct code_files *files)
{
	return (struct code_source){
		.closure = files,
		.open = source_open,
		.search = source_search,
		.search_fds = source_search_fds,
		.searched = source_searched,
		.find = source_find,
		.layout = source_layout,
		.module = source_module,
		.address = source_address,
	};
}

/* Not the vdso, of which there is no other. */
void code_files_tidy(struct code_files *files)
{
	uint64_t now_ns = clock_mono_ns();

	if (files->keep_ns == UINT64_MAX || now_ns - files->tidied_ns < NS_PER_SEC)
		return;
	files->tidied_ns = now_ns;
	for (uint32_t i = FILE_VDSO + 1; i < files->count; i++) {
		if (!files->files[i].waits && now_ns - files->files[i].used_ns >= files->keep_ns)
			file_close(&files->files[i]);
	}
}
