/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workers against files that mean harm. This program is its own worker; a file that begins with the
 * name of a part makes it play that part instead: one that foreign bytes have taken over.
 */
#include "elf_fixture.h"

#include <sys/syscall.h>

#include "elf/sandbox.h"

/* --- workers gone bad ------------------------------------------------------------------------- */

#define PLAY(name, ...)               \
	static bool play_##name(void) \
	{                             \
		return __VA_ARGS__;   \
	}

PLAY(crash, (abort(), false))

static bool play_liar(void)
{
	char lie[4096];

	memset(lie, 0xff, sizeof(lie));
	return write(WORKER_FD_OUTPUT, lie, sizeof(lie)) != sizeof(lie);
}

PLAY(mute, false)
PLAY(stranger, (_exit(EPERM), false))

PLAY(homeless, (_exit(WORKER_NO_CAGE), false))

static bool play_idler(void)
{
	char byte;

	if (sandbox_enter(WORKER_READS_FILE))
		return false;
	while (pread(WORKER_FD_FILE, &byte, 1, 0) >= 0)
		;
	return false;
}

/* A worker has no files to open. */
PLAY(opener, !sandbox_enter(0) && open("/etc/passwd", O_RDONLY) < 0 && errno == ENOENT)

/* Nor can it be learned whether there are: the flag says that the path may be empty, no more. */
static bool play_looker(void)
{
	struct stat status;

	return !sandbox_enter(0) &&
	       syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &status, AT_EMPTY_PATH) &&
	       errno == ENOENT;
}

/* Memory that is short is taken from workers first. */
static bool play_offered(void)
{
	int score = open("/proc/self/oom_score_adj", O_RDONLY);
	char text[16] = "";

	return score >= 0 && dup2(score, WORKER_FD_DEBUG) >= 0 &&
	       !sandbox_enter(WORKER_EXTRA(WORKER_FD_DEBUG)) &&
	       pread(WORKER_FD_DEBUG, text, sizeof(text) - 1, 0) > 0 && !strcmp(text, "1000\n");
}

/* A worker may ask for the size, in whatever way the C library does. */
static bool play_measurer(void)
{
	struct stat status = { 0 }, same = { 0 };

	return !sandbox_enter(0) && !fstat(WORKER_FD_FILE, &status) &&
	       !syscall(SYS_newfstatat, WORKER_FD_FILE, "", &same, AT_EMPTY_PATH) &&
	       status.st_size == sizeof("measurer") && same.st_size == status.st_size &&
	       syscall(SYS_newfstatat, 1000, "", &same, AT_EMPTY_PATH) && errno == EBADF;
}

/* The file that was proved is mapped; to read from it, by whatever descriptor, is another thing. */
static bool play_reader(void)
{
	char byte;

	return !sandbox_enter(0) && pread(WORKER_FD_FILE, &byte, 1, 0) < 0 && errno == EIO &&
	       read(fcntl(WORKER_FD_FILE, F_DUPFD_CLOEXEC, 0), &byte, 1) < 0 && errno == EIO &&
	       mmap(NULL, 1, PROT_READ, MAP_PRIVATE, WORKER_FD_FILE, 0) != MAP_FAILED;
}

/* Workers that try to get out end before they can say that all is well. */
PLAY(forker, !sandbox_enter(0) && fork() >= 0)
PLAY(coder, !sandbox_enter(0) &&
		    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))

PLAY(killer, !sandbox_enter(0) && !kill(getppid(), 0))

/* Descriptors besides its own are not open any more. */
PLAY(heir, !sandbox_enter(0) && fcntl(WORKER_FD_DEBUG, F_GETFD) < 0 && errno == EBADF)

/* A player that finds all as it should be says EBADMSG. */
static const struct part {
	const char *name;
	bool (*play)(void);
	int expected;
} parts[] = {
	{ "crash", play_crash, -EPROTO },       { "liar", play_liar, -EPROTO },
	{ "mute", play_mute, -EPROTO },         { "homeless", play_homeless, -ENOSYS },
	{ "stranger", play_stranger, -EPROTO }, { "opener", play_opener, -EBADMSG },
	{ "looker", play_looker, -EBADMSG },    { "measurer", play_measurer, -EBADMSG },
	{ "offered", play_offered, -EBADMSG },  { "forker", play_forker, -EPROTO },
	{ "coder", play_coder, -EPROTO },       { "killer", play_killer, -EPROTO },
	{ "heir", play_heir, -EBADMSG },        { "idler", play_idler, 0 },
	{ "reader", play_reader, -EBADMSG },
};

static const struct part *part_find(int fd)
{
	char name[16] = "";

	if (pread(fd, name, sizeof(name) - 1, 0) <= 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!strcmp(name, parts[i].name))
			return &parts[i];
	}
	return NULL;
}

static int part_open(const char *name)
{
	return memory_file(name, strlen(name) + 1);
}

TEST(test_bad_workers)
{
	uint64_t address = 1;
	const struct elf_addresses one = { &address, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int fd __cleanup(closep) = part_open(parts[i].name);
		struct elf_unwind *unwind = NULL;
		struct elf_functions *functions = NULL;

		if (!parts[i].expected)
			continue;
		assert_int_equal(worker_unwind(fd, &unwind), parts[i].expected);
		assert_int_equal(worker_functions(ELF_SYMBOLS, fd, NULL, &one, &functions),
				 parts[i].expected);
		assert_int_equal(worker_functions(ELF_INLINES, fd, NULL, &one, &functions),
				 parts[i].expected);
		assert_all(!unwind, !functions);
	}
}

/* A value of /proc/PID/status. */
static void status_read(pid_t pid, const char *key, char *value, size_t size)
{
	char path[64], line[256];
	FILE *file __cleanup(fclosep) = NULL;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	value[0] = '\0';
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, strlen(key)))
			snprintf(value, size, "%s",
				 line + strlen(key) + strspn(line + strlen(key), ":\t"));
	}
	value[strcspn(value, "\n")] = '\0';
}

/* Tests what a worker is allowed, once it is at work; and that nobody has to wait for it to end. */
TEST(test_cage)
{
	static const struct text_pair allowed[] = {
		{ "NoNewPrivs:", "1" },
		{ "CapEff:", "0000000000000000" },
		{ "CapPrm:", "0000000000000000" },
		{ "Uid:", "65534\t65534\t65534\t65534" },
	};
	int fd __cleanup(closep) = part_open("idler");
	const struct elf_question question = { .kind = ELF_UNWIND, .fd = fd };
	__cleanup(child_done) struct child child = NO_CHILD;
	char value[64];

	assert_int_equal(elf_worker_start(&question, &child), 0);
	for (int i = 0; i < 500; i++) {
		status_read(child.pid, "Seccomp:", value, sizeof(value));
		if (!strcmp(value, "2"))
			break;
		usleep(10000);
	}
	assert_string_equal(value, "2");
	/* The last is known to root only. */
	for (size_t i = 0; i < (getuid() ? 3 : ARRAY_SIZE(allowed)); i++) {
		status_read(child.pid, allowed[i].given, value, sizeof(value));
		assert_string_equal(value, allowed[i].expected);
	}
	if (!getuid()) {
		status_read(child.pid, "Groups:", value, sizeof(value));
		assert_true(value[0] == '\0' || value[0] == ' ');
	}
	assert_true(child_timeout_ms(&child) > 1000);
}

/* --- files that are none ---------------------------------------------------------------------- */

TEST(test_not_regular)
{
	const struct elf_addresses none = { NULL, 0 };
	struct elf_functions *functions = NULL;
	int pipes[2], folder __cleanup(closep) = open("/", O_RDONLY | O_CLOEXEC);

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(worker_functions(ELF_SYMBOLS, folder, NULL, &none, &functions), -EINVAL);
	assert_int_equal(worker_functions(ELF_SYMBOLS, pipes[0], NULL, &none, &functions), -EINVAL);
	assert_int_equal(worker_functions(ELF_PERF_MAP, pipes[0], NULL, &none, &functions),
			 -EINVAL);
	assert_int_equal(worker_functions(ELF_SYMBOLS, -1, NULL, &none, &functions), -EBADF);
	assert_null(functions);
	close(pipes[0]);
	close(pipes[1]);
}

static int fails(const struct elf_proof *proof, int fd)
{
	(void)proof, (void)fd;
	return -ESTALE;
}

/* Asked of the very descriptor that is parsed: opened for reading, and with the one it needs besides. */
static int has_inode(const struct elf_proof *proof, int fd)
{
	struct stat status;

	if ((fcntl(fd, F_GETFL) & (O_PATH | O_ACCMODE)) != O_RDONLY ||
	    fcntl(proof->fd, F_GETFD) < 0)
		return -EINVAL;
	return fstat(fd, &status) || status.st_ino != proof->key.ino ? -ESTALE : 0;
}

TEST(test_a_file_is_proved)
{
	int found __cleanup(closep) = open(FIXTURES "/stripped", O_PATH | O_CLOEXEC);
	int other __cleanup(closep) = memory_file("", 0);
	struct elf_proof proof = { .is_it = fails, .fd = other };
	const struct elf_question question = { .kind = ELF_UNWIND, .fd = found, .proof = &proof };
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	struct stat status;

	assert_int_equal(fstat(found, &status), 0);
	assert_int_equal(worker_ask(&question, &unwind), -ESTALE);
	proof.is_it = has_inode;
	proof.key.ino = status.st_ino + 1;
	assert_int_equal(worker_ask(&question, &unwind), -ESTALE);
	assert_null(unwind);
	proof.key.ino = status.st_ino;
	assert_int_equal(worker_ask(&question, &unwind), 0);
	assert_true(unwind->nr_rows > 0);
}

/* Acts as if somebody had typed Ctrl-C while the file was opened. */
static int interrupts(const struct elf_proof *proof, int fd)
{
	(void)proof, (void)fd;
	kill(getpid(), SIGINT);
	return getsid(0) == getpid() ? 0 : -EINVAL;
}

/* The terminal is nobody's to a worker: a signal that came for us, and waits, does not end it. */
TEST(test_a_worker_is_not_interrupted)
{
	int found __cleanup(closep) = open(FIXTURES "/stripped", O_PATH | O_CLOEXEC);
	const struct elf_proof proof = { .is_it = interrupts, .fd = -1 };
	const struct elf_question question = { .kind = ELF_UNWIND, .fd = found, .proof = &proof };
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	sigset_t interrupt, before;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	assert_int_equal(sigprocmask(SIG_BLOCK, &interrupt, &before), 0);
	assert_int_equal(worker_ask(&question, &unwind), 0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

/* Somebody holds a lease: that may pass, and is nothing about the file. */
TEST(test_a_file_that_cannot_be_opened_now)
{
	char path[] = "/tmp/bpftruss-test-XXXXXX";
	int held __cleanup(closep) = mkostemp(path, O_CLOEXEC);
	int found __cleanup(closep) = open(path, O_PATH | O_CLOEXEC);
	struct elf_unwind *unwind = NULL;

	assert_true(held >= 0 && found >= 0);
	unlink(path);
	/* The holder of the lease is told that somebody would like to read. */
	signal(SIGIO, SIG_IGN);
	assert_int_equal(fcntl(held, F_SETLEASE, F_WRLCK), 0);
	assert_int_equal(worker_unwind(found, &unwind), -EAGAIN);
	assert_int_equal(fcntl(held, F_SETLEASE, F_UNLCK), 0);
	assert_int_equal(worker_unwind(found, &unwind), -EBADMSG);
	assert_null(unwind);
}

TEST(test_empty)
{
	const struct elf_addresses none = { NULL, 0 };
	int fd __cleanup(closep) = memory_file("", 0);
	__cleanup(elf_functions_freep) struct elf_functions *map = NULL;
	struct elf_unwind *unwind = NULL;
	struct elf_functions *functions = NULL;

	assert_int_equal(worker_unwind(fd, &unwind), -EBADMSG);
	assert_int_equal(worker_functions(ELF_SYMBOLS, fd, NULL, &none, &functions), -EBADMSG);
	/* A perf map with nothing in it yet. */
	assert_int_equal(worker_functions(ELF_PERF_MAP, fd, NULL, &none, &map), 0);
	assert_int_equal(map->nr, 0);
}

/* --- the same as in this process -------------------------------------------------------------- */

TEST(test_same_answer)
{
	int fd __cleanup(closep) = fixture_open("stripped");
	int found __cleanup(closep) = open(FIXTURES "/stripped", O_PATH | O_CLOEXEC);
	int debug_fd __cleanup(closep) = fixture_open("stripped.debug");
	const struct debug_files debug = debug_file(debug_fd);
	__cleanup(addresses_done) struct elf_addresses all = addresses_from(0, ALL_BYTES);
	__cleanup(elf_functions_freep) struct elf_functions *there = NULL, *here = NULL;
	__cleanup(elf_unwind_freep) struct elf_unwind *far = NULL, *near = NULL;

	/* A worker opens its files for itself. */
	assert_int_equal(worker_unwind(found, &far), 0);
	assert_int_equal(elf_unwind_read(fd, &near), 0);
	assert_int_equal(far->nr_rows, near->nr_rows);
	assert_memory_equal(far->rows, near->rows, far->nr_rows * sizeof(*far->rows));
	assert_int_equal(worker_functions(ELF_SYMBOLS, found, &debug, &all, &there), 0);
	assert_int_equal(elf_symbols_read(fd, &debug, &all, &here), 0);
	assert_int_equal(there->nr, here->nr);
	assert_true(here->nr > 0);
	for (size_t i = 0; i < here->nr; i++) {
		uint64_t address = here->list[i].address;

		assert_string_equal(name_at(there, address), name_at(here, address));
	}
	/* Its offset in the file is as it was. */
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
}

/* --- files that mean harm --------------------------------------------------------------------- */

#define PARALLEL 4

struct crowd {
	struct child workers[PARALLEL]; /* without a pid: none */
	size_t next;
	size_t good;
	size_t crashed;
};

/* Rows, if there are any, ascend. */
static bool answer_is_allowed(int err, const struct elf_unwind *unwind)
{
	for (size_t i = 1; unwind && i < unwind->nr_rows; i++) {
		if (unwind->rows[i].pc <= unwind->rows[i - 1].pc)
			return false;
	}
	return err == 0 || err == -EBADMSG || err == -ENOTSUP || err == -E2BIG || err == -ENOMEM;
}

static void worker_end(struct crowd *crowd, struct child *worker, bool is_unwind)
{
	__cleanup(elf_functions_freep) struct elf_functions *functions = NULL;
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	int err = is_unwind ? elf_worker_unwind(worker, &unwind)
			    : elf_worker_functions(worker, &functions);

	assert_true(err == -EPROTO || answer_is_allowed(err, unwind));
	crowd->good += !err;
	crowd->crashed += err == -EPROTO;
}

/* Every other one reads symbols. */
static void worker_add(struct crowd *crowd, const struct bytes *bytes)
{
	__cleanup(addresses_done) struct elf_addresses some = addresses_from(0x1000, 4096);
	int fd __cleanup(closep) = memory_file(bytes->data, bytes->size);
	size_t at = crowd->next++ % PARALLEL;
	bool is_unwind = at % 2;
	const struct elf_question question = {
		.kind = is_unwind ? ELF_UNWIND : ELF_SYMBOLS,
		.fd = fd,
		.addresses = is_unwind ? NULL : &some,
	};

	if (crowd->workers[at].pid)
		worker_end(crowd, &crowd->workers[at], is_unwind);
	assert_int_equal(elf_worker_start(&question, &crowd->workers[at]), 0);
}

static void crowd_end(struct crowd *crowd)
{
	for (size_t at = 0; at < PARALLEL; at++) {
		if (crowd->workers[at].pid)
			worker_end(crowd, &crowd->workers[at], at % 2);
	}
}

TEST(test_truncated)
{
	__cleanup(bytes_done) struct bytes bytes = fixture_bytes("lean");
	struct crowd crowd = { 0 };
	size_t size = bytes.size;

	for (size_t i = 0; i < size; i += 64) {
		bytes.size = i;
		/* Both kinds, as the places take turns. */
		worker_add(&crowd, &bytes);
		worker_add(&crowd, &bytes);
	}
	crowd_end(&crowd);
	/* All that is missing from some is section headers. */
	assert_true(crowd.good > 0);
}

static const char *const mutated_names[] = { "lean", "mini", "cxx" };

/* The nth of them has its own bytes at random; headers are where it hurts. */
static struct bytes mutated_bytes(size_t n)
{
	struct bytes bytes = fixture_bytes(mutated_names[n % ARRAY_SIZE(mutated_names)]);
	uint64_t seed = 11 + n;
	size_t flips = 1 + random_below(&seed, 20);
	size_t limit = random_below(&seed, 2) ? 1024 : bytes.size;

	while (flips--)
		bytes.data[random_below(&seed, limit)] = random_u64(&seed);
	return bytes;
}

#define MUTATIONS 300

TEST(test_mutated)
{
	struct crowd crowd = { 0 };

	for (size_t n = 0; n < MUTATIONS; n++) {
		__cleanup(bytes_done) struct bytes bytes = mutated_bytes(n);

		worker_add(&crowd, &bytes);
	}
	crowd_end(&crowd);
	assert_true(crowd.good > 0 && crowd.good < MUTATIONS);
	/* A library may have its bugs; we may not. */
	assert_true(crowd.crashed < MUTATIONS / 100);
}

struct mutated_progress {
	size_t next, good, wrong;
};

/* Answers like a worker, but in this process. */
static void mutated_read(struct mutated_progress *progress)
{
	const size_t n = progress->next++;
	__cleanup(bytes_done) struct bytes bytes = mutated_bytes(n);
	__cleanup(addresses_done) struct elf_addresses some = addresses_from(0x1000, 4096);
	__cleanup(elf_functions_freep) struct elf_functions *functions = NULL;
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	int fd __cleanup(closep) = memory_file(bytes.data, bytes.size);
	const struct debug_files none = { .nr = 0 };
	int err = n / ARRAY_SIZE(mutated_names) % 2
			  ? elf_unwind_read(fd, &unwind)
			  : elf_symbols_read(fd, &none, &some, &functions);

	progress->good += !err;
	progress->wrong += !answer_is_allowed(err, unwind);
}

/* Goes on behind the file that has ended the child before, by its bytes or by its length. */
static void mutated_child(struct mutated_progress *progress)
{
	while (progress->next < 10 * MUTATIONS) {
		alarm(10);
		mutated_read(progress);
	}
	_exit(0);
}

/* To start a worker takes the sanitizers much longer than to read a file: more are read without one. */
TEST(test_mutated_without_worker)
{
	struct mutated_progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
						 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t crashed = 0;
	int status = -1;

	assert_ptr_not_equal(progress, MAP_FAILED);
	while (status) {
		const pid_t pid = fork_must();

		if (!pid)
			mutated_child(progress);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		crashed += status != 0;
		assert_true(crashed < 10 * MUTATIONS / 100);
	}
	assert_int_equal(progress->next, 10 * MUTATIONS);
	assert_int_equal(progress->wrong, 0);
	assert_true(progress->good > 0 && progress->good < 10 * MUTATIONS);
	munmap(progress, sizeof(*progress));
}

/* Every word of the header and of the tables that it names, as large as it can be. */
TEST(test_absurd)
{
	__cleanup(bytes_done) struct bytes bytes = fixture_bytes("lean");
	struct crowd crowd = { 0 };
	uint64_t sections;

	memcpy(&sections, bytes.data + 40, sizeof(sections));
	for (size_t at = 16; at + 8 <= bytes.size; at += 8) {
		uint64_t saved;

		if (at == 16 + 13 * 56)
			at = sections;
		memcpy(&saved, bytes.data + at, 8);
		memset(bytes.data + at, at % 16 ? 0xff : 0x7f, 8);
		worker_add(&crowd, &bytes);
		worker_add(&crowd, &bytes);
		memcpy(bytes.data + at, &saved, 8);
	}
	crowd_end(&crowd);
	assert_true(crowd.good > 0);
}

void test_begin(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], ELF_WORKER_ARGUMENT)) {
		const struct part *part = part_find(WORKER_FD_FILE);
		if (part)
			_exit(part->play() ? EBADMSG : 0);
		elf_worker_main(argc, argv);
	}
}
