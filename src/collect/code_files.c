/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps files of code: opens them, has their tables made, and closes them. Invariant: files[n] has the
 * number n, which the programs have given it; all below count are there, those that were never opened
 * without a name.
 */
#include "collect/code_files.h"

#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"

/* Each try finds the process gone, or something else mapped; after so many there is a pause. */
#define MAX_TRIES 16
#define RETRY_S   1

/* That pause doubles this many times, up to 16 s. */
#define MAX_DOUBLINGS 4

/* Its file system may have no server any more. */
#define TIMEOUT_RETRY_S 60

/* A file that takes too long to read, or finds no room, is put off so often at most. */
#define MAX_PUT_OFFS 2

/* The table of one file may take this long: some are made to take long, and others wait. */
#define LEARN_NS (10 * NS_PER_SEC)

#define WAIT_MS 50

/*
 * An open file keeps its file system mounted: so it is closed when it was not used for so long. Until
 * then it can be named although its process has ended: names look for it more often than that.
 */
#define KEEP_NS (10 * NS_PER_SEC)

/* Mappings of a process that are looked at to find a file. */
#define MAX_LOOKS 64

/* Numbers from MAX_UNWIND_FILES on are ours: files that the programs do not know. */
#define ALL_FILES (2 * MAX_UNWIND_FILES)

/* No vdso has been larger than a few pages; its own header says less than its symbols need. */
#define MAX_VDSO_BYTES (64 * 1024)

/* Where a file is mapped. */
struct mapped_place {
	uint32_t pid;
	uint64_t start, end;
};

struct code_file {
	struct code_files *files;
	struct opened_code
		code;     /* as the first process that had it saw it; the key is always known */
	bool is_found;    /* it was opened, or must not be */
	int open_err;     /* of the last try to open it: what source_open() returns */
	bool learned;     /* its table is made, or it has none */
	uint64_t used_ns; /* when its descriptors were used last */
	int tries;        /* to open it */
	int put_offs;     /* of reading it */
	uint64_t load_offset;
	struct errand errand; /* opens it, and has its table made */
	struct mapped_place place;
};

struct code_files {
	struct errands *errands;
	struct unwind_tables *tables;
	struct code_identity identity;
	uint64_t keep_ns;        /* so long files stay open that are not used */
	uint64_t tidied_ns;      /* when they were looked at last */
	struct code_file *files; /* ALL_FILES of them, by number */
	uint32_t count;          /* one past the highest number that was opened */
};

/* The child that opens or reads a file asks which one it is by the number of its errand. */
_Static_assert(ERRAND_OPEN == 0 && ERRAND_NAMES == 1 && ERRAND_TABLE == 2 &&
		       3 * MAX_RUNNING_ERRANDS <= FILE_ASKERS,
	       "");

static enum errand_turn file_step(void *closure);
static void file_publish(struct code_file *file, const struct elf_unwind *unwind);

static uint32_t file_number(const struct code_file *file)
{
	return (uint32_t)(file - file->files->files);
}

/* Makes all files up to this number. */
static struct code_file *file_at(struct code_files *files, uint32_t number)
{
	for (; files->count <= number; files->count++) {
		struct code_file *file = &files->files[files->count];

		*file = (struct code_file){ .files = files, .code = NO_CODE };
		errand_init(&file->errand, ERRAND_OPEN, file_step, file);
	}
	return &files->files[number];
}

/* --- the vdso --------------------------------------------------------------------------------- */

/* The kernel has only one: it is the same in all processes as in this one. */
static int vdso_learn(struct code_files *files)
{
	struct code_file *file = file_at(files, FILE_VDSO);
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct code_mapping vdso = { 0 };
	size_t size = start && process_maps_find_own(start, &vdso) ? vdso.end - vdso.start : 0;
	int fd = size && size <= MAX_VDSO_BYTES ? memfd_create("vdso", MFD_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, (const void *)start, size) != (ssize_t)size)
		closep(&fd);
	else
		file->code.fd = fd;
	file->code.name = strdup("[vdso]");
	if (!file->code.name)
		return -ENOMEM;
	if (file->code.fd < 0) {
		file_publish(file, NULL);
		return 0;
	}
	file->errand.kind = ERRAND_TABLE;
	errands_add(files->errands, &file->errand);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

int code_files_new(struct unwind_tables *tables, const struct code_identity *identity,
		   struct errands *errands, bool lasting, struct code_files **ret)
{
	struct code_files *files __cleanup(code_files_freep) = calloc(1, sizeof(*files));
	struct rlimit limit;
	int err;

	if (!files)
		return -ENOMEM;
	files->errands = errands;
	files->tables = tables;
	files->identity = *identity;
	files->keep_ns = lasting ? KEEP_NS : UINT64_MAX;
	files->files = calloc(ALL_FILES, sizeof(*files->files));
	if (!files->files)
		return -ENOMEM;
	/* Each file keeps two descriptors for a while. */
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	err = vdso_learn(files);
	if (!err)
		*ret = steal_ptr(&files);
	return err;
}

static void file_close(struct code_file *file)
{
	closep(&file->code.fd);
	closep(&file->code.root);
	file->code.fd = file->code.root = -1;
}

void code_files_free(struct code_files *files)
{
	if (!files)
		return;
	for (uint32_t i = 0; i < files->count; i++) {
		struct code_file *file = &files->files[i];

		errands_remove(files->errands, &file->errand);
		opened_code_close(&file->code);
	}
	free(files->files);
	free(files);
}

size_t code_files_count(const struct code_files *files)
{
	return files->count - 1;
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool opened_is(const struct opened_code *opened, const struct code_file *file)
{
	return opened->fd >= 0 && !memcmp(&opened->key, &file->code.key, sizeof(file->code.key));
}

/*
 * It was opened through the mapping itself: the path may lead to another file by now, or nowhere. But
 * who has made the mapping may have put another one in its place, to have code of others named and
 * unwound by it: only what has the key of the file is the file.
 */
static bool file_check(struct code_file *file, struct opened_code *opened)
{
	bool is_it = opened_is(opened, file);

	if (is_it) {
		opened_code_close(&file->code);
		file->code = *opened;
		*opened = NO_CODE;
		file->is_found = true;
		file->used_ns = clock_mono_ns();
	} else if (opened->fd < 0) {
		/* Frame pointers, and no name: there is nothing by which it could be known for sure. */
		is_it = opened->key.dev == file->code.key.dev &&
			(!opened->key.ino || opened->key.ino == file->code.key.ino);
		file->is_found |= is_it;
	}
	return is_it;
}

static void file_publish(struct code_file *file, const struct elf_unwind *unwind)
{
	file->learned = true;
	file->load_offset = unwind ? unwind->load_offset : 0;
	file->used_ns = clock_mono_ns();
	unwind_tables_publish(file->files->tables, file_number(file), file->code.owner, unwind);
}

static void file_ask_again(struct code_file *file, uint32_t pause_s)
{
	unwind_tables_ask_again(file->files->tables, &file->code.key, file_number(file), pause_s);
}

/* Runs in the copy of this process. */
static int place_run(void *closure, struct copy_answer *ret)
{
	const struct code_file *file = closure;
	struct code_identity identity = file->files->identity;
	struct opened_code opened;
	int process = process_open(file->place.pid), err;

	if (process < 0)
		return -ESRCH;
	identity.asker = file->errand.number;
	err = mapped_file_open(&identity, process, file->place.start, file->place.end, &opened);
	if (!err)
		opened_code_pack(&opened, ret);
	return err;
}

/* The more often it has failed, the longer: at first whoever has it mapped is asked at once. */
static uint32_t pause_s(struct code_file *file)
{
	int late = file->tries++ - MAX_TRIES;

	return late < 0 ? 0 : RETRY_S << (late < MAX_DOUBLINGS ? late : MAX_DOUBLINGS);
}

/* Whoever wants names need not wait: a permission stays missing, and a mapping that is gone stays gone. */
static int open_failure(int err)
{
	if (err == -EPERM || err == -EACCES)
		return -EACCES;
	return err == -ESRCH || err == -ENOENT ? -ESRCH : -EAGAIN;
}

/* Its process may have ended meanwhile: the next one that has it mapped will do as well. */
static enum errand_turn open_finish(struct code_file *file)
{
	struct opened_code opened __cleanup(opened_code_close) = NO_CODE;
	struct copy_answer answer = { .nr_fds = 0 };
	int err = copy_finish(&file->errand.child, &answer);
	bool is_it;

	if (!err)
		opened_code_unpack(&answer, &opened);
	file->open_err = open_failure(err);
	is_it = !err && file_check(file, &opened);
	if (file_number(file) >= MAX_UNWIND_FILES)
		return ERRAND_OVER;
	if (is_it && file->code.fd >= 0) {
		file->errand.kind = ERRAND_TABLE;
		return ERRAND_AGAIN;
	}
	/* A server that does not answer is not asked again soon. */
	if (is_it)
		file_publish(file, NULL);
	else
		file_ask_again(file, err == -ETIMEDOUT ? TIMEOUT_RETRY_S : pause_s(file));
	return ERRAND_OVER;
}

/* --- tables ----------------------------------------------------------------------------------- */

/*
 * The programs ask again later for a file that was put off, unless it has failed too often. A file
 * that could not be opened, or was replaced by another, is opened anew, through any process that
 * has it then.
 */
static enum errand_turn table_end(struct code_file *file, int err, const struct elf_unwind *unwind)
{
	/* The worker may have been short of something: then the file is worth another try. */
	bool may_pass = err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -EPROTO ||
			err == -ETIMEDOUT;

	/* The programs do not ask for that of the vdso. */
	bool is_asked = file_number(file) != FILE_VDSO;

	if (is_asked && (err == -EAGAIN || err == -ESTALE)) {
		file_close(file);
		file_ask_again(file, pause_s(file));
	} else if (is_asked && may_pass && ++file->put_offs < MAX_PUT_OFFS) {
		file_ask_again(file, RETRY_S);
	} else {
		file_publish(file, unwind);
	}
	return ERRAND_OVER;
}

/* Runs in a copy of this process. */
static int source_is_it(const struct elf_proof *proof, int fd)
{
	const struct code_files *files = proof->closure;
	struct code_identity identity = files->identity;
	struct file_identity found = { .name = "" };
	int err;

	identity.asker = proof->number;
	err = code_identity_read(&identity, fd, &found);
	if (err)
		return err == -ESTALE ? -EAGAIN : err;
	return memcmp(&found.key, &proof->key, sizeof(found.key)) ? -ESTALE : 0;
}

/* It may have been closed while it waited: then it is opened again. */
static enum errand_turn table_begin(struct code_file *file)
{
	const struct elf_proof proof = {
		.is_it = source_is_it,
		.closure = file->files,
		.fd = file->files->identity.program,
		.number = file->errand.number,
		.key = file->code.key,
	};
	int err;

	if (file->code.fd < 0) {
		file->errand.kind = ERRAND_OPEN;
		return ERRAND_AGAIN;
	}
	/* There is no other vdso than ours. */
	err = code_table_start(file->code.fd, file_number(file) == FILE_VDSO ? NULL : &proof,
			       &file->errand.child);
	/* It stays open: its process may have ended when a child can be started. */
	if (err == -EAGAIN || err == -ENOMEM)
		return ERRAND_REFUSED;
	if (err)
		return table_end(file, err, NULL);
	file->errand.child.deadline_ns = clock_mono_ns() + LEARN_NS;
	return ERRAND_RUNS;
}

static enum errand_turn file_step(void *closure)
{
	struct elf_unwind *unwind __cleanup(elf_unwind_freep) = NULL;
	struct code_file *file = closure;
	const int *program = &file->files->identity.program;
	bool has_ended = file->errand.child.pid;
	int err;

	if (file->errand.kind == ERRAND_OPEN && has_ended)
		return open_finish(file);
	if (file->errand.kind == ERRAND_OPEN)
		return copy_start(place_run, file, program, *program >= 0, &file->errand.child)
			       ? ERRAND_REFUSED
			       : ERRAND_RUNS;
	if (!has_ended)
		return table_begin(file);
	err = code_table_finish(&file->errand.child, &unwind);
	return table_end(file, err, unwind);
}

/* --- learning --------------------------------------------------------------------------------- */

/* Opens it, or has its table made: one that was put off may be open still. */
static void file_ask(struct code_file *file, const struct mapped_place *place)
{
	int process __cleanup(closep) = process_open(place->pid);
	struct stat status;

	file->place = *place;
	file->errand.kind = file->code.fd < 0 ? ERRAND_OPEN : ERRAND_TABLE;
	/* The process that has mapped it. */
	file->errand.user = process < 0 || fstat(process, &status) ? 0 : status.st_uid;
	file->errand.due_ns = 0;
	errands_add(file->files->errands, &file->errand);
}

void code_files_learn(struct code_files *files, const struct pending_event *mapping)
{
	const struct mapped_place place = { mapping->pid, mapping->start, mapping->end };
	struct code_file *file;

	if (mapping->file <= FILE_VDSO || mapping->file >= MAX_UNWIND_FILES)
		return;
	file = file_at(files, mapping->file);
	if (file->learned || errand_is_busy(&file->errand))
		return;
	file->code.key = mapping->key;
	file_ask(file, &place);
}

/* They are taken by the event loop, to which this gives way. */
bool user_wants_end(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP));
}

bool code_files_are_learned(const struct code_files *files)
{
	return errands_are_idle(files->errands, ERRAND_OPEN, UINT64_MAX) &&
	       errands_are_idle(files->errands, ERRAND_TABLE, UINT64_MAX);
}

void code_files_wait(struct code_files *files, uint64_t until_ns)
{
	struct errands *errands = files->errands;
	struct pollfd all = { .fd = errands_fd(errands), .events = POLLIN };

	while (clock_mono_ns() < until_ns && !user_wants_end()) {
		errands_run(errands);
		if (code_files_are_learned(files))
			return;
		poll(&all, 1, sooner_ms(WAIT_MS, errands_patience_ms(errands)));
	}
}

/* --- opening for names ------------------------------------------------------------------------ */

/* Returns a file that is still open. */
static int source_open(void *closure, uint32_t number, struct opened_code *ret)
{
	struct code_files *files = closure;
	struct code_file *file = number < files->count ? &files->files[number] : NULL;
	int err;

	/* Its table is not made yet: what file it is will be known then. */
	if (number != FILE_VDSO && (!file || !file->is_found)) {
		if (file && errand_is_busy(&file->errand))
			return -EINPROGRESS;
		return file && file->open_err ? file->open_err : -EAGAIN;
	}
	if (file->code.fd < 0)
		return number == FILE_VDSO ? -EBADMSG : -ESRCH;
	file->used_ns = clock_mono_ns();
	err = opened_code_copy(&file->code, ret);
	if (err != -ESTALE)
		return err;
	/* Another process that has it mapped may know the one that was meant. */
	file_close(file);
	return -ESRCH;
}

static void source_drop(void *closure, uint32_t number)
{
	struct code_files *files = closure;

	if (number < files->count && number != FILE_VDSO &&
	    !errand_is_busy(&files->files[number].errand))
		file_close(&files->files[number]);
}

/* Through a process that has it mapped. */
static int open_through(const struct code_identity *identity, const struct code_file *file,
			const struct process_id *id, struct opened_code *ret)
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
			opened_code_close(ret);
		}
		looks++;
	}
	return -ESRCH;
}

static int source_search(void *closure, struct copy_answer *ret)
{
	struct opened_code opened __cleanup(opened_code_close) = NO_CODE;
	const struct code_search *search = closure;
	const struct code_files *files = search->closure;
	const struct code_file *file = &files->files[search->file];
	struct code_identity identity = files->identity;
	int err;

	identity.asker = search->number;
	/* Most files are at their path for us, too. */
	err = file->code.path ? mapped_file_open_path(&identity, file->code.path, &opened) : -ESRCH;
	if (err || !opened_is(&opened, file)) {
		opened_code_close(&opened);
		err = open_through(&identity, file, &search->process, &opened);
	}
	if (!err)
		opened_code_pack(&opened, ret);
	return err;
}

/* Where the programs cannot ask for mappings, they have not seen all files. */
static bool source_key(void *closure, int process, const struct code_mapping *mapping,
		       struct inode_key *ret)
{
	const struct code_files *files = closure;

	return files->identity.program < 0 && !mapped_file_key(process, mapping, ret);
}

static uint32_t source_find(void *closure, uint32_t pid, const struct code_mapping *mapping,
			    const struct inode_key *key, const char *name)
{
	const struct mapped_place place = { pid, mapping->start, mapping->end };
	struct code_files *files = closure;
	uint32_t number = MAX_UNWIND_FILES;
	struct code_file *file;

	while (number < files->count &&
	       memcmp(&files->files[number].code.key, key, sizeof(*key)) != 0)
		number++;
	if (number < files->count)
		return number;
	if (number == ALL_FILES)
		return FILE_NONE;
	file = file_at(files, number);
	file->code.key = *key;
	file->is_found = file->learned = true;
	file->code.name = name ? strdup(name) : NULL;
	/* Asks at once: the process may end before its stacks are named. */
	file_ask(file, &place);
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

	return number < files->count ? files->files[number].code.name : NULL;
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
		.fds = { files->identity.program, files->identity.tasks },
		.search = source_search,
		.key = source_key,
		.layout = source_layout,
		.is_it = source_is_it,
		.open = source_open,
		.drop = source_drop,
		.find = source_find,
		.module = source_module,
		.address = source_address,
	};
}

/* Leaves the vdso alone, of which there is no other. */
void code_files_tidy(struct code_files *files)
{
	uint64_t now_ns = clock_mono_ns();

	if (files->keep_ns == UINT64_MAX || now_ns - files->tidied_ns < NS_PER_SEC)
		return;
	files->tidied_ns = now_ns;
	for (uint32_t i = FILE_VDSO + 1; i < files->count; i++) {
		/* A file that waits for its turn is opened again then. */
		if (!files->files[i].errand.is_running &&
		    now_ns - files->files[i].used_ns >= files->keep_ns)
			file_close(&files->files[i]);
	}
}
