/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of names: a source of files, and workers that play a part. A test is its own worker. */
#pragma once

#include "elf_fixture.h"

#include <sys/prctl.h>

#include "base/clock.h"
#include "base/process.h"
#include "elf/debuginfod.h"
#include "elf/elf_handle.h"
#include "elf/sandbox.h"
#include "stacks/names.h"

/* --- a source of files ------------------------------------------------------------------------ */

#define NR_FILES 64

struct files {
	const char *fixtures[NR_FILES]; /* by number; NULL: nobody has it */
	const char *root;               /* where debug files are; NULL: nowhere */
	const char *path;               /* of a file that is all of them; NULL: they are fixtures */
	uint32_t found;                 /* what a process has mapped */
	uint32_t layout;                /* of all processes */
	bool closed;                    /* they must be searched for */
	bool hang; /* who searches for file 2, or for no layout, waits for ever */
	int err;   /* of opening, for so many times */
	unsigned int errs;
	unsigned int opened;
	int proof_err; /* of a proof that what is opened for reading is the file, until it is dropped */
	unsigned int dropped;
};

/* Some files make a worker play a part, as this program is its own. */
static inline int file_open(const char *name)
{
	if (!strcmp(name, "crash") || !strcmp(name, "idle"))
		return memory_file(name, strlen(name) + 1);
	return fixture_open(name);
}

/* How a file of a worker begins, which may have been opened with O_PATH. */
static inline void beginning_read(int fd, char *text, size_t size)
{
	struct stat status;
	int own __cleanup(closep) = regular_file_reopen(fd, UINT64_MAX, &status);

	text[own < 0 || pread(own, text, size - 1, 0) < 0 ? 0 : size - 1] = 0;
}

static inline void worker_play(void)
{
	char name[8] = "", debug[8] = "";

	/* The process that has started it may be gone, killed for instance: it is not to stay. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	beginning_read(WORKER_FD_FILE, name, sizeof(name));
	beginning_read(WORKER_FD_DEBUG, debug, sizeof(debug));
	if (!strcmp(name, "crash") || !strcmp(debug, "crash"))
		abort();
	while (!strcmp(name, "idle"))
		pause();
}

static inline int files_open(void *closure, uint32_t file, struct opened_code *ret)
{
	struct files *files = closure;
	struct stat status;

	files->opened++;
	if (files->errs) {
		files->errs--;
		return files->err;
	}
	if (file >= NR_FILES || !files->fixtures[file] || files->closed)
		return -ESRCH;
	*ret = (struct opened_code){
		.fd = files->path ? open(files->path, O_RDONLY | O_CLOEXEC)
				  : file_open(files->fixtures[file]),
		.root = files->root ? open(files->root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1,
		.path = strdup("/app/stripped"),
		.owner = getuid(),
	};
	assert_int_equal(fstat(ret->fd, &status), 0);
	ret->key.ino = status.st_ino;
	ret->key.mtime_s = status.st_mtim.tv_sec;
	ret->key.mtime_ns = (uint32_t)status.st_mtim.tv_nsec;
	return 0;
}

static inline int files_search(void *closure, struct copy_answer *ret)
{
	const struct code_search *search = closure;
	const struct files *files = search->closure;

	while (files->hang && search->file == 2)
		pause();
	if (search->file >= NR_FILES || !files->fixtures[search->file])
		return -ESRCH;
	ret->fds[ret->nr_fds++] = file_open(files->fixtures[search->file]);
	return 0;
}

static inline int files_is_it(const struct elf_proof *proof, int fd)
{
	const struct files *files = proof->closure;
	struct stat status;

	if (files->proof_err)
		return files->proof_err;
	return fstat(fd, &status) || status.st_ino != proof->key.ino ? -ESTALE : 0;
}

static inline void files_drop(void *closure, uint32_t file)
{
	struct files *files = closure;

	(void)file;
	files->dropped++;
	files->proof_err = 0;
}

static inline bool files_key(void *closure, int process, const struct code_mapping *mapping,
			     struct inode_key *ret)
{
	(void)closure, (void)process;
	*ret = (struct inode_key){ .ino = mapping->ino };
	return true;
}

static inline uint32_t files_find(void *closure, uint32_t pid, const struct code_mapping *mapping,
				  const struct inode_key *key, const char *name)
{
	struct files *files = closure;

	(void)pid;
	assert_all(mapping->exec && mapping->ino && key->ino == mapping->ino, name);
	return files->found;
}

/* Asked for in a copy, which may be told to wait for ever. */
static inline uint32_t files_layout(void *closure, const struct process_id *process)
{
	const struct files *files = closure;

	(void)process;
	while (files->hang && !files->layout)
		pause();
	return files->layout;
}

static inline const char *files_module(void *closure, uint32_t file)
{
	const struct files *files = closure;

	return file < NR_FILES ? files->fixtures[file] ?: "gone" : NULL;
}

static inline uint64_t files_address(void *closure, uint32_t file, uint64_t offset)
{
	(void)closure, (void)file;
	return offset;
}

/* --- a service -------------------------------------------------------------------------------- */

struct service {
	struct files files;
	struct stack_table *table;
	struct errands *errands;
	struct names *names;
	uint64_t last_id;
	uint32_t uid; /* of whoever adds stacks */
	uint32_t layout, exec_pages;
};

static inline void service_begin(struct service *s, const struct names_options *options,
				 const struct files *files)
{
	const struct code_source source = {
		.closure = &s->files,
		.fds = { -1, -1 },
		.search = files_search,
		.key = files_key,
		.layout = files_layout,
		.is_it = files_is_it,
		.open = files_open,
		.drop = files_drop,
		.find = files_find,
		.module = files_module,
		.address = files_address,
	};

	*s = (struct service){ .files = *files };
	assert_int_equal(stack_table_new(&s->table), 0);
	assert_int_equal(errands_new(&s->errands), 0);
	assert_int_equal(names_new(&source, options, s->errands, s->table, &s->names), 0);
}

static inline void service_done(struct service *s)
{
	names_free(s->names);
	errands_free(s->errands);
	stack_table_free(s->table);
}

/* Takes one turn of a loop. */
static inline void go_on(struct service *s)
{
	errands_run(s->errands);
	assert_int_equal(names_run(s->names), 0);
}

static inline int patience_of(const struct service *s)
{
	return sooner_ms(names_patience_ms(s->names), errands_patience_ms(s->errands));
}

/* Waits until there is something to do, and does it. */
static inline void wait_and_go_on(struct service *s)
{
	struct pollfd pollfd = { .fd = errands_fd(s->errands), .events = POLLIN };

	assert_true(poll(&pollfd, 1, patience_of(s)) >= 0);
	go_on(s);
}

/* Begins a test of a service with an option, of fixtures that are the files from 2 on. */
#define SERVICE_TEST(name, option, ...)                               \
	TEST_OF(name, struct service, s, service_done, service_begin, \
		&(struct names_options){ option },                    \
		&(struct files){ .fixtures = { NULL, NULL, __VA_ARGS__ } })

static inline uint64_t frame_of(uint32_t file, uint64_t offset)
{
	return (uint64_t)file << FRAME_FILE_SHIFT | offset;
}

static inline const struct stack *add_of(struct service *s, const struct process_id *process,
					 const uint64_t *frames, size_t nr)
{
	struct stack_event event = { .id = ++s->last_id, .nr_frames = (uint16_t)nr };

	event.process = *process;
	event.process.layout = s->layout;
	event.exec_pages = s->exec_pages;
	event.uid = s->uid;
	memcpy(event.frames, frames, nr * sizeof(*frames));
	assert_int_equal(names_add_stack(s->names, &event), 0);
	return stack_table_find(s->table, event.id);
}

static inline const struct stack *add(struct service *s, const uint64_t *frames, size_t nr)
{
	const struct process_id nobody = { .pid = 0 };

	return add_of(s, &nobody, frames, nr);
}

static inline const struct stack *add_one(struct service *s, uint64_t frame)
{
	return add(s, &frame, 1);
}

/* All that can be known is known then. */
static inline void settle(struct service *s)
{
	names_begin(s->names);
	go_on(s);
	while (!names_are_done(s->names))
		wait_and_go_on(s);
}

/* Members of the counts have these values: assert_counts(s, waiting, 0, failed, 1). */
#define assert_counts(s, ...)                                    \
	do {                                                     \
		const struct name_counts counts_ = counts_of(s); \
		assert_has(&counts_, __VA_ARGS__);               \
	} while (0)

static inline struct name_counts counts_of(const struct service *s)
{
	struct name_counts counts;

	names_count(s->names, &counts);
	return counts;
}

/* Where a function is, as an offset in its file. */
static inline uint64_t offset_of(const char *fixture, const char *debug, const char *function)
{
	__cleanup(elf_functions_freep) struct elf_functions *functions = symbols_of(fixture, debug);

	return function_start(functions, function) - functions->identity.load_offset;
}

static inline void assert_frame(const struct stack_frame *frame, const char *module,
				const char *symbol, uint64_t offset)
{
	if (module)
		assert_string_equal(frame->module, module);
	else
		assert_null(frame->module);
	if (symbol)
		assert_string_equal(frame->symbol, symbol);
	else
		assert_null(frame->symbol);
	assert_int_equal(frame->offset, offset);
}

/* --- debug files ------------------------------------------------------------------------------- */

static inline void make_root(char *root, const char *fixture, const char *debug)
{
	int fd __cleanup(closep) = fixture_open(fixture);
	struct elf_identity identity;
	char id[2 * MAX_BUILD_ID + 1] = "";

	assert_int_equal(elf_identity_of_file(fd, &identity), 0);
	for (size_t i = 1; i < identity.nr_build_id; i++)
		snprintf(&id[2 * (i - 1)], 3, "%02x", identity.build_id[i]);
	temporary_name(root);
	assert_non_null(mkdtemp(root));
	shell_run("mkdir -p %s/usr/lib/debug/.build-id/%02x && "
		  "cp %s/%s %s/usr/lib/debug/.build-id/%02x/%s.debug",
		  root, identity.build_id[0], FIXTURES, debug, root, identity.build_id[0], id);
}

static inline void remove_root(const char *root)
{
	shell_run("rm -rf %s", root);
}

/* A test may be started as one of its own processes. */
void test_begin(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], ELF_WORKER_ARGUMENT)) {
		worker_play();
		elf_worker_main(argc, argv);
	}
}
