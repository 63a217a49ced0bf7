/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files through the mappings of processes. Invariant: a process is unwound and named only by files that
 * were opened through its own mappings, that /proc calls the same and whose code is what the process has in
 * its memory. One that was put in the place of another is not parsed.
 */
#include "collect/flight_code.h"

#include <sys/stat.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/code_files.h"

#define FIRST_FILE (FILE_VDSO + 1)

/* The number of bytes compared on each side of a program counter, and from the header. */
#define COMPARED_CODE   128
#define COMPARED_HEADER 4096
#define MAX_COMPARED    COMPARED_HEADER

/* The longest waits for a file and for its table. */
#define OPEN_NS  (2 * NS_PER_SEC)
#define TABLE_NS (8 * NS_PER_SEC)

/* A file that a process has mapped. */
struct flight_file {
	uint32_t pid, dev;
	uint64_t ino;
	uint32_t same_as; /* a file that another one has mapped; FILE_NONE: none */
	char *name;       /* NULL: unknown */
	bool is_known;
	struct opened_code code;
	struct elf_unwind *unwind; /* NULL: frame pointers */
};

struct flight_code {
	struct code_identity identity; /* by what /proc says: no program is there to be asked */
	struct flight_file *files;     /* owned, by number */
	uint32_t count;
};

int flight_code_new(struct flight_code **ret)
{
	struct flight_code *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	code->identity.program = code->identity.tasks = -1;
	*ret = code;
	return 0;
}

void flight_code_free(struct flight_code *code)
{
	if (!code)
		return;
	for (uint32_t i = 0; i < code->count; i++) {
		opened_code_close(&code->files[i].code);
		elf_unwind_free(code->files[i].unwind);
		free(code->files[i].name);
	}
	free(code->files);
	free(code);
}

static struct flight_file *file_at(const struct flight_code *code, uint32_t number)
{
	return number >= FIRST_FILE && number - FIRST_FILE < code->count
		       ? &code->files[number - FIRST_FILE]
		       : NULL;
}

uint32_t flight_code_find(struct flight_code *code, const struct flight_place *place)
{
	const struct code_mapping *mapping = &place->mapping;
	uint32_t i = 0;

	while (i < code->count &&
	       (code->files[i].pid != place->pid || code->files[i].dev != mapping->dev ||
		code->files[i].ino != mapping->ino))
		i++;
	if (i < code->count)
		return code->files[i].same_as ?: FIRST_FILE + i;
	if (i == MAX_FLIGHT_FILES || !array_grow(&code->files, i, sizeof(*code->files)))
		return FILE_NONE;
	code->files[i] = (struct flight_file){
		.pid = place->pid,
		.dev = mapping->dev,
		.ino = mapping->ino,
		.name = *place->name ? strdup(place->name) : NULL,
		.code = NO_CODE,
	};
	code->count++;
	return FIRST_FILE + i;
}

bool flight_code_is_known(const struct flight_code *code, uint32_t number)
{
	const struct flight_file *file = file_at(code, number);

	return !file || file->is_known;
}

/* --- in a copy of this process ---------------------------------------------------------------- */

struct file_question {
	const struct flight_code *code;
	const struct flight_place *place;
};

/* Whether a part of a process's memory is what a file has at an offset. */
static bool memory_is_of_file(uint32_t pid, uint64_t start, size_t bytes, int fd, uint64_t offset)
{
	char in_file[MAX_COMPARED], in_memory[MAX_COMPARED];
	struct iovec here = { in_memory, bytes }, there = { (void *)start, bytes };
	ssize_t got = pread(fd, in_file, bytes, (off_t)offset);

	/* The mapping has zeros beyond the end of the file. */
	if (got <= 0)
		return false;
	here.iov_len = there.iov_len = (size_t)got;
	return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == got &&
	       !memcmp(in_file, in_memory, (size_t)got);
}

/* Whether the code around a program counter is that of the file. */
static bool code_is_of_file(const struct flight_place *place, int fd)
{
	const struct code_mapping *mapping = &place->mapping;
	uint64_t from = max_u64(mapping->start, place->pc - min_u64(place->pc, COMPARED_CODE));
	uint64_t to = min_u64(mapping->end, place->pc + COMPARED_CODE);

	return memory_is_of_file(place->pid, from, to - from, fd,
				 from - mapping->start + mapping->offset);
}

/* Compares the header, if it is mapped: with it the build id and some names. */
static bool header_is_of_file(int process, const struct flight_place *place, int fd)
{
	FILE *maps __cleanup(fclosep) = process_file(process, "maps");
	struct code_mapping mapping;

	while (maps && process_maps_next(maps, &mapping, NULL)) {
		if (mapping.dev == place->mapping.dev && mapping.ino == place->mapping.ino &&
		    !mapping.offset && !mapping.write)
			return memory_is_of_file(place->pid, mapping.start, COMPARED_HEADER, fd, 0);
	}
	return maps;
}

/*
 * On an overlay, a file that was written to since it was mapped is another file with the same
 * number.
 */
static bool opened_is_mapped(const struct opened_code *opened, int process,
			     const struct flight_place *place)
{
	int fd __cleanup(closep) = -1;
	struct stat status;

	if (opened->fd < 0 || opened->key.dev != place->mapping.dev ||
	    opened->key.ino != place->mapping.ino)
		return false;
	fd = regular_file_reopen(opened->fd, UINT64_MAX, &status);
	return fd >= 0 && code_is_of_file(place, fd) && header_is_of_file(process, place, fd);
}

static int open_run(void *closure, struct copy_answer *ret)
{
	struct opened_code opened __cleanup(opened_code_close) = NO_CODE;
	const struct file_question *question = closure;
	const struct flight_place *place = question->place;
	int process __cleanup(closep) = process_open(place->pid);
	int err = mapped_file_open(&question->code->identity, process, place->mapping.start,
				   place->mapping.end, &opened);

	if (!err && !opened_is_mapped(&opened, process, place))
		err = -ESTALE;
	if (!err)
		opened_code_pack(&opened, ret);
	return err;
}

/* The file that a worker parses is the one that was compared. */
static int source_is_it(const struct elf_proof *proof, int fd)
{
	const struct flight_code *code = proof->closure;
	struct file_identity found = { .name = "" };
	int err = code_identity_read(&code->identity, fd, &found);

	return err ?: memcmp(&found.key, &proof->key, sizeof(found.key)) ? -ESTALE : 0;
}

/* --- learning --------------------------------------------------------------------------------- */

static void child_hurry(struct child *child, uint64_t most_ns, uint64_t until_ns)
{
	child->deadline_ns =
		min_u64(child->deadline_ns, min_u64(clock_mono_ns() + most_ns, until_ns));
}

static int file_open(struct flight_code *code, struct flight_file *file,
		     const struct flight_place *place, uint64_t until_ns)
{
	struct file_question question = { code, place };
	struct copy_answer answer = { .nr_fds = 0 };
	struct child child = NO_CHILD;
	int err = copy_start(open_run, &question, NULL, 0, &child);

	if (err)
		return err;
	child_hurry(&child, OPEN_NS, until_ns);
	err = copy_finish(&child, &answer);
	if (!err)
		opened_code_unpack(&answer, &file->code);
	return err;
}

/* Processes may have different files of one inode: each opens its own; one file is parsed once. */
static bool file_is_shared(const struct flight_code *code, struct flight_file *file)
{
	for (uint32_t i = 0; i < code->count; i++) {
		const struct flight_file *other = &code->files[i];

		if (other == file || !other->is_known || other->same_as || other->code.fd < 0 ||
		    memcmp(&other->code.key, &file->code.key, sizeof(file->code.key)) != 0)
			continue;
		file->same_as = FIRST_FILE + i;
		opened_code_close(&file->code);
		return true;
	}
	return false;
}

void flight_code_learn(struct flight_code *code, uint32_t number, const struct flight_place *place,
		       uint64_t until_ns)
{
	struct flight_file *file = file_at(code, number);
	struct child child = NO_CHILD;
	struct elf_proof proof = { .is_it = source_is_it, .closure = code, .fd = -1 };

	if (!file || file->is_known)
		return;
	file->is_known = true;
	if (file_open(code, file, place, until_ns) || file->code.fd < 0 ||
	    file_is_shared(code, file))
		return;
	proof.key = file->code.key;
	if (code_table_start(file->code.fd, &proof, &child))
		return;
	child_hurry(&child, TABLE_NS, until_ns);
	code_table_finish(&child, &file->unwind);
}

struct unwind_rule flight_code_rule(const struct flight_code *code, uint32_t number,
				    uint64_t offset)
{
	const struct flight_file *file = file_at(code, number);
	const struct elf_unwind *unwind = file ? file->unwind : NULL;
	uint64_t pc = unwind ? offset + unwind->load_offset : 0;
	size_t after;

	if (!unwind || pc < unwind->text_start || pc >= unwind->text_end)
		return (struct unwind_rule){ .cfa = CFA_NONE };
	after = place_u64(unwind->rows, unwind->nr_rows, sizeof(*unwind->rows), pc + 1);
	return after ? unwind->rows[after - 1].rule : (struct unwind_rule){ .cfa = CFA_NONE };
}

/* --- names ------------------------------------------------------------------------------------ */

static int source_open(void *closure, uint32_t number, struct opened_code *ret)
{
	const struct flight_file *file = file_at(closure, number);
	int err;

	if (!file || file->code.fd < 0)
		return -EINVAL;
	err = opened_code_copy(&file->code, ret);
	return err == -ESTALE ? -EINVAL : err;
}

/* Another file has taken its place: nothing is read of it any more. */
static void source_drop(void *closure, uint32_t number)
{
	struct flight_file *file = file_at(closure, number);

	if (file)
		opened_code_close(&file->code);
}

static const char *source_module(void *closure, uint32_t number)
{
	const struct flight_file *file = file_at(closure, number);

	return file ? file->name : NULL;
}

static uint64_t source_address(void *closure, uint32_t number, uint64_t offset)
{
	const struct flight_file *file = file_at(closure, number);

	return file && file->unwind ? offset + file->unwind->load_offset : offset;
}

struct code_source flight_code_source(struct flight_code *code)
{
	return (struct code_source){
		.closure = code,
		.fds = { -1, -1 },
		.is_it = source_is_it,
		.open = source_open,
		.drop = source_drop,
		.module = source_module,
		.address = source_address,
	};
}
