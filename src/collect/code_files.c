/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the descriptors and symbols of files. Invariant: files[n] has the number n, which the
 * programs have given it; all below count are there, those that were never opened without a name.
 */
#include "collect/code_files.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/mapped_file.h"
#include "elf/debug_file.h"
#include "elf/debuginfod.h"
#include "elf/worker.h"

/* To open a file whose process is gone each time, or has something else mapped, before a pause. */
#define MAX_TRIES 16
#define RETRY_S   1

/* A file that takes too long to read, or finds no room, is put off so often at most. */
#define MAX_PUT_OFFS 2

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
	bool is_found;           /* it was opened, or must not be */
	char *path;              /* as the first process that had it saw it; NULL: unknown */
	char *module;            /* its name; NULL: unknown */
	int fd;                  /* -1: cannot be opened */
	int root;                /* of that process, where its debug file lies; -1: unknown */
	int debug;               /* that debug file, -1: none */
	struct timespec written; /* its mtime when it was opened */
	uint32_t owner;          /* who may say how its functions are called, as root may */
	int tries;               /* to open it */
	int put_offs;            /* of reading it */
	bool learned;            /* its table is made, or it has none */
	uint64_t load_offset;
	bool symbols_tried;
	bool fetch_tried;
	struct elf_symbols *symbols;
};

struct code_files {
	struct unwind_tables *tables;
	struct code_identity identity;
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

int code_files_new(struct unwind_tables *tables, const struct code_identity *identity,
		   const struct collector_options *options, struct code_files **ret)
{
	struct code_files *files __cleanup(code_files_freep) = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->tables = tables;
	files->identity = *identity;
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

/* Keeps what was opened; takes it. */
static void file_take(struct code_file *file, struct mapped_file *opened)
{
	file->is_found = true;
	file->path = opened->path;
	file->module = opened->name;
	file->fd = opened->fd;
	file->root = opened->root;
	file->owner = opened->owner;
	file->written = opened->written;
	*opened = (struct mapped_file){ .fd = -1, .root = -1 };
}

/*
 * Through the mapping itself: the path may lead to another file by now, or nowhere. But who has made
 * the mapping may have put another one in its place, to have code of others named and unwound by
 * it: only what has the key of the file is the file.
 */
static int file_open(struct code_files *files, struct code_file *file,
		     const struct pending_event *mapping)
{
	struct mapped_file opened __cleanup(mapped_file_done) = { .fd = -1, .root = -1 };
	int process __cleanup(closep) = process_open(mapping->pid);
	int err =
		mapped_file_open(&files->identity, process, mapping->start, mapping->end, &opened);

	/* Frame pointers, and no name: there is nothing by which it could be known for sure. */
	if (!err && opened.fd < 0)
		file->is_found = opened.key.dev == file->key.dev;
	else if (!err && !memcmp(&opened.key, &file->key, sizeof(file->key)))
		file_take(file, &opened);
	return err == -ENOMEM ? err : 0;
}

/* A file that a worker is reading. */
struct learning {
	uint32_t file;
	struct elf_job *job; /* NULL: none, since it cannot be opened */
	bool too_many;       /* none, for want of descriptors or memory */
};

static void learning_begin(const struct code_file *file, struct learning *learning)
{
	int err = 0;

	if (file->fd >= 0)
		err = elf_job_start(ELF_JOB_UNWIND, file->fd, -1, &learning->job);
	learning->too_many = err == -EMFILE || err == -ENFILE || err == -EAGAIN || err == -ENOMEM;
}

/* Its process may have ended meanwhile: the next one that has it mapped will do as well. */
static void file_ask_again(struct code_files *files, struct code_file *file, uint32_t number)
{
	uint32_t pause_s = file->tries < MAX_TRIES ? 0 : RETRY_S;

	file->tries += file->tries < MAX_TRIES;
	unwind_tables_ask_again(files->tables, &file->key, number, pause_s);
}

static int learning_start(struct code_files *files, const struct pending_event *mapping,
			  struct learning *learning)
{
	struct code_file *file = file_at(files, mapping->file);

	*learning = (struct learning){ .file = mapping->file };
	file->key = mapping->key;
	/* One that was put off is open already. */
	if (!file->is_found && file_open(files, file, mapping))
		return -ENOMEM;
	if (!file->is_found)
		file_ask_again(files, file, mapping->file);
	learning_begin(file, learning);
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
	if (learning->file >= MAX_UNWIND_FILES)
		return;
	if (++file->put_offs >= MAX_PUT_OFFS)
		unwind_tables_publish(files->tables, learning->file, NULL);
	else
		unwind_tables_ask_again(files->tables, &file->key, learning->file, 0);
}

static void learning_finish(struct code_files *files, struct learning *learning, uint64_t until_ns)
{
	struct elf_unwind *unwind __cleanup(elf_unwind_freep) = NULL;
	struct code_file *file = &files->files[learning->file];

	if (!file->is_found)
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
			unwind_tables_ask_again(files->tables, &mappings[i].key, mappings[i].file,
						0);
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
		debug_use(file, debug_file_open(file->root, file->path, file->owner,
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

/* The number of a file that is known; else the next of ours. */
static uint32_t file_find(const struct code_files *files, const struct inode_key *key)
{
	for (uint32_t i = FILE_VDSO + 1; i < files->count; i++) {
		if (!memcmp(&files->files[i].key, key, sizeof(*key)))
			return i;
	}
	return files->count < MAX_UNWIND_FILES ? MAX_UNWIND_FILES : files->count;
}

uint32_t code_files_open(struct code_files *files, int process, const struct code_mapping *mapping)
{
	struct mapped_file opened __cleanup(mapped_file_done) = { .fd = -1, .root = -1 };
	struct learning learning = { .job = NULL };
	struct code_file *file;

	if (mapped_file_open(&files->identity, process, mapping->start, mapping->end, &opened) ||
	    opened.fd < 0)
		return FILE_NONE;
	learning.file = file_find(files, &opened.key);
	if (learning.file == ALL_FILES)
		return FILE_NONE;
	file = file_at(files, learning.file);
	if (file->is_found)
		return learning.file;
	file->key = opened.key;
	file_take(file, &opened);
	learning_begin(file, &learning);
	learning_finish(files, &learning, clock_mono_ns() + NAME_NS);
	return learning.file;
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
