/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the descriptors and symbols of files. Invariant: files[n] has the number n, which the
 * programs have given it; all below count are there, those that were never opened without a name.
 */
#include "collect/code_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "elf/debug_file.h"
#include "elf/debuginfod.h"
#include "elf/worker.h"

/* To open a file whose process is gone each time. */
#define MAX_TRIES 16

#define WAIT_MS 50

/* For a file that is wanted for its name only. */
#define NAME_NS (2 * NS_PER_SEC)

/* Workers at a time. */
#define MAX_JOBS 4

/* Numbers from MAX_UNWIND_FILES on are ours: files that the programs do not know. */
#define ALL_FILES (2 * MAX_UNWIND_FILES)

/* No vdso has been larger than a few pages; its own header says less than its symbols need. */
#define MAX_VDSO_BYTES (64 * 1024)

struct code_file {
	struct inode_key key;
	char *path;              /* as the first process that had it saw it; NULL: unknown */
	char *module;            /* its last part */
	int fd;                  /* -1: cannot be opened */
	int root;                /* of that process, where its debug file lies; -1: unknown */
	int debug;               /* that debug file, -1: none */
	struct timespec written; /* its mtime when it was opened */
	int tries;               /* to open and read it */
	bool learned;            /* its table is made, or it has none */
	uint64_t load_offset;
	bool symbols_tried;
	bool fetch_tried;
	struct elf_symbols *symbols;
};

struct code_files {
	struct unwind_tables *tables;
	bool inlines;
	struct debuginfod *debuginfod; /* NULL: not to be asked */
	struct code_file *files;       /* ALL_FILES of them, by number */
	uint32_t count;                /* one past the highest number that was opened */
};

/* Makes all files up to this number. */
static struct code_file *file_at(struct code_files *files, uint32_t number)
{
	for (; files->count <= number; files->count++)
		files->files[files->count] =
			(struct code_file){ .fd = -1, .root = -1, .debug = -1 };
	return &files->files[number];
}

/* --- the vdso --------------------------------------------------------------------------------- */

/* Bytes of the mapping that begins at start. */
static size_t mapping_size(uint64_t start)
{
	FILE *maps __cleanup(fclosep) = fopen("/proc/self/maps", "re");
	unsigned long from, to;
	char line[PATH_MAX + 128];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from == start)
			return to - from;
	}
	return 0;
}

/* The kernel has only one: it is the same in all processes as in this one. */
static int vdso_open(void)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	size_t size = start ? mapping_size(start) : 0;
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
	unwind_tables_publish(files->tables, FILE_VDSO, unwind);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

/* Each file keeps a descriptor, until its symbols are asked for. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int code_files_new(struct unwind_tables *tables, const struct collector_options *options,
		   struct code_files **ret)
{
	struct code_files *files __cleanup(code_files_freep) = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->tables = tables;
	files->inlines = options->inlines;
	if (options->debuginfod) {
		err = debuginfod_new(&files->debuginfod);
		if (err)
			return err;
	}
	files->files = calloc(ALL_FILES, sizeof(*files->files));
	if (!files->files)
		return -ENOMEM;
	raise_descriptor_limit();
	err = vdso_learn(files);
	if (!err)
		*ret = steal_ptr(&files);
	return err;
}

static void file_close(struct code_file *file)
{
	closep(&file->fd);
	closep(&file->root);
	closep(&file->debug);
	file->fd = file->root = file->debug = -1;
}

void code_files_free(struct code_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->count; i++) {
		struct code_file *file = &files->files[i];

		file_close(file);
		elf_symbols_free(file->symbols);
		free(file->path);
		free(file->module);
	}
	debuginfod_free(files->debuginfod);
	free(files->files);
	free(files);
}

size_t code_files_count(const struct code_files *files)
{
	return files->count - 1;
}

/* --- learning --------------------------------------------------------------------------------- */

/* The path of a mapping's file, without what the kernel adds to that of one that is gone. */
static char *mapping_path(const char *link)
{
	static const char gone[] = " (deleted)";
	char path[PATH_MAX];
	ssize_t length = readlink(link, path, sizeof(path) - 1);

	if (length <= 0)
		return NULL;
	path[length] = 0;
	if ((size_t)length > strlen(gone) && !strcmp(path + length - strlen(gone), gone))
		path[length - (ssize_t)strlen(gone)] = 0;
	return strdup(path);
}

/*
 * Through the mapping itself: the path may lead to another file by now, or nowhere. Only what is a
 * regular file is opened, so that it neither waits nor moves anything.
 */
static int file_open(struct code_file *file, const struct pending_event *mapping)
{
	struct stat st = { 0 };
	char link[96], root[32];
	const char *slash;

	snprintf(link, sizeof(link), "/proc/%u/map_files/%llx-%llx", mapping->pid, mapping->start,
		 mapping->end);
	file->path = mapping_path(link);
	if (!file->path)
		return 0;
	slash = strrchr(file->path, '/');
	file->module = strdup(slash ? slash + 1 : file->path);
	if (!file->module)
		return -ENOMEM;
	errno = 0;
	if (!stat(link, &st) && S_ISREG(st.st_mode))
		file->fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		/* As if it were not there: later there may be room for it. */
		freep(&file->path);
		freep(&file->module);
		file->path = file->module = NULL;
		return 0;
	}
	file->written = st.st_mtim;
	snprintf(root, sizeof(root), "/proc/%u/root", mapping->pid);
	file->root = open(root, O_PATH | O_CLOEXEC | O_DIRECTORY);
	return 0;
}

/* A file that a worker is reading. */
struct learning {
	uint32_t file;
	struct elf_job *job; /* NULL: none, since it cannot be opened */
	bool too_many;       /* none, for want of descriptors or memory */
};

/* Its process may have ended meanwhile: the next one that has it mapped will do as well. */
static int learning_start(struct code_files *files, const struct pending_event *mapping,
			  struct learning *learning)
{
	struct code_file *file = file_at(files, mapping->file);
	int err = 0;

	*learning = (struct learning){ .file = mapping->file };
	file->key = mapping->key;
	/* One that was put off is open already. */
	if (!file->path && file_open(file, mapping))
		return -ENOMEM;
	/* Not for ever: a path may be longer than the kernel can say. */
	if (!file->path && mapping->file < MAX_UNWIND_FILES && file->tries++ < MAX_TRIES)
		unwind_tables_ask_again(files->tables, &file->key, mapping->file);
	if (file->fd >= 0)
		err = elf_job_start(ELF_JOB_UNWIND, file->fd, -1, &learning->job);
	learning->too_many = err == -EMFILE || err == -ENFILE || err == -EAGAIN || err == -ENOMEM;
	return 0;
}

/* Our signals are blocked and taken by the event loop, to which this gives way. */
static bool is_told_to_end(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP));
}

/* Whether a worker is done by then. Files of anybody are read here: some are made to take long. */
static bool job_is_done(const struct elf_job *job, uint64_t until_ns)
{
	struct pollfd fd = { .fd = elf_job_fd(job), .events = POLLIN };
	int got;

	do {
		got = poll(&fd, 1, WAIT_MS);
	} while (got <= 0 && clock_mono_ns() < until_ns && !is_told_to_end());
	return got > 0;
}

/* The programs ask again later, but for one that has taken too long too often. */
static void learning_put_off(struct code_files *files, struct learning *learning)
{
	struct code_file *file = &files->files[learning->file];

	elf_job_free(steal_ptr(&learning->job));
	file->tries += MAX_TRIES / 2;
	if (learning->file >= MAX_UNWIND_FILES)
		return;
	if (file->tries >= MAX_TRIES)
		unwind_tables_publish(files->tables, learning->file, NULL);
	else
		unwind_tables_ask_again(files->tables, &file->key, learning->file);
}

static void learning_finish(struct code_files *files, struct learning *learning, uint64_t until_ns)
{
	struct elf_unwind *unwind __cleanup(elf_unwind_freep) = NULL;
	struct code_file *file = &files->files[learning->file];

	if (!file->path)
		return;
	if (learning->too_many || (learning->job && !job_is_done(learning->job, until_ns))) {
		learning_put_off(files, learning);
		return;
	}
	if (learning->job)
		elf_job_finish_unwind(steal_ptr(&learning->job), &unwind);
	file->learned = true;
	file->load_offset = unwind ? unwind->load_offset : 0;
	if (learning->file < MAX_UNWIND_FILES)
		unwind_tables_publish(files->tables, learning->file, unwind);
}

/* Whether there is still something to learn of a file that some process has mapped. */
static bool file_is_new(const struct code_files *files, const struct pending_event *mapping)
{
	if (mapping->file <= FILE_VDSO || mapping->file >= MAX_UNWIND_FILES)
		return false;
	return mapping->file >= files->count || !files->files[mapping->file].learned;
}

int code_files_learn(struct code_files *files, const struct pending_event *mappings, size_t count,
		     uint64_t budget_ns)
{
	uint64_t until_ns = clock_mono_ns() + budget_ns;
	struct learning running[MAX_JOBS];
	size_t first = 0, last = 0;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		if (!file_is_new(files, &mappings[i]))
			continue;
		if (clock_mono_ns() > until_ns || is_told_to_end()) {
			unwind_tables_ask_again(files->tables, &mappings[i].key, mappings[i].file);
			continue;
		}
		if (last - first == MAX_JOBS)
			learning_finish(files, &running[first++ % MAX_JOBS], until_ns);
		err = learning_start(files, &mappings[i], &running[last++ % MAX_JOBS]);
	}
	while (first < last)
		learning_finish(files, &running[first++ % MAX_JOBS], until_ns);
	return err;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Whether a debug file would tell more than the file, whose own symbols are there. */
static bool debug_is_needed(const struct code_files *files, const struct code_file *file)
{
	const struct elf_identity *identity = elf_symbols_identity(file->symbols);

	return !identity->has_symtab || (files->inlines && !identity->has_dwarf);
}

/* Takes the descriptor, which may be an error. */
static void debug_use(struct code_file *file, int debug)
{
	struct elf_symbols *better;

	if (debug < 0)
		return;
	file->debug = debug;
	if (elf_symbols_identity(file->symbols)->has_symtab ||
	    elf_worker_symbols(file->fd, file->debug, &better))
		return;
	elf_symbols_free(file->symbols);
	file->symbols = better;
}

/* Who writes into a file while it is mapped gets no names of what it was, or is. */
static bool file_is_unchanged(const struct code_file *file)
{
	struct stat st;

	return !fstat(file->fd, &st) && st.st_mtim.tv_sec == file->written.tv_sec &&
	       st.st_mtim.tv_nsec == file->written.tv_nsec;
}

static void symbols_load(struct code_files *files, struct code_file *file)
{
	if (file->fd < 0 || (file != &files->files[FILE_VDSO] && !file_is_unchanged(file)) ||
	    elf_worker_symbols(file->fd, -1, &file->symbols))
		return;
	if (file->root >= 0 && debug_is_needed(files, file))
		debug_use(file, debug_file_open(file->root, file->path,
						elf_symbols_identity(file->symbols)));
}

/* Once for each file; what is not needed any more is closed. */
static void symbols_need(struct code_files *files, struct code_file *file)
{
	if (file->symbols_tried)
		return;
	file->symbols_tried = true;
	symbols_load(files, file);
	/* As long as one of ours is open, no other file can have its inode number. */
	if (!files->inlines && !files->debuginfod && file < &files->files[MAX_UNWIND_FILES])
		file_close(file);
}

void code_files_fetch(struct code_files *files, uint32_t number)
{
	struct code_file *file;

	if (!files->debuginfod || number <= FILE_VDSO || number >= files->count)
		return;
	file = &files->files[number];
	if (file->fetch_tried)
		return;
	file->fetch_tried = true;
	symbols_need(files, file);
	if (file->symbols && file->debug < 0 && debug_is_needed(files, file))
		debug_use(file,
			  debuginfod_fetch(files->debuginfod, elf_symbols_identity(file->symbols)));
	if (!files->inlines)
		file_close(file);
}

bool code_files_dwarf(struct code_files *files, uint32_t number, int *fd, int *debug_fd)
{
	struct code_file *file;

	if (number == FILE_NONE || number >= files->count)
		return false;
	file = &files->files[number];
	symbols_need(files, file);
	if (file->fd < 0 || !file->symbols)
		return false;
	*fd = file->fd;
	*debug_fd = elf_symbols_identity(file->symbols)->has_dwarf ? -1 : file->debug;
	return elf_symbols_identity(file->symbols)->has_dwarf || file->debug >= 0;
}

static uint32_t file_find(const struct code_files *files, uint32_t dev, uint64_t ino)
{
	/* The latest: it may have been written anew. */
	for (uint32_t i = files->count; i-- > FILE_VDSO + 1;) {
		if (files->files[i].key.dev == dev && files->files[i].key.ino == ino)
			return i;
	}
	return FILE_NONE;
}

uint32_t code_files_open(struct code_files *files, uint32_t pid, const struct code_mapping *mapping)
{
	uint32_t number = file_find(files, mapping->dev, mapping->ino);
	uint32_t own = files->count < MAX_UNWIND_FILES ? MAX_UNWIND_FILES : files->count;
	const struct pending_event seen = {
		.pid = pid,
		.file = own,
		.key = { .dev = mapping->dev, .ino = mapping->ino },
		.start = mapping->start,
		.end = mapping->end,
	};
	struct learning learning;

	if (number || own == ALL_FILES)
		return number;
	if (learning_start(files, &seen, &learning))
		return FILE_NONE;
	learning_finish(files, &learning, clock_mono_ns() + NAME_NS);
	return own;
}

uint64_t code_files_address(const struct code_files *files, uint32_t file, uint64_t offset)
{
	return file < files->count ? offset + files->files[file].load_offset : offset;
}

void code_files_name(struct code_files *files, uint32_t number, uint64_t address, bool exact,
		     struct code_name *ret)
{
	struct elf_symbol symbol;
	struct code_file *file;

	*ret = (struct code_name){ .offset = address };
	if (number == FILE_NONE || number >= files->count)
		return;
	file = &files->files[number];
	ret->module = file->module;
	symbols_need(files, file);
	/* A return address may be the first byte of the next function. */
	if (!file->symbols || !elf_symbols_find(file->symbols, address - !exact, &symbol))
		return;
	ret->symbol = symbol.name;
	ret->offset = address - symbol.addr;
}
