/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file of a mapping. The user of the process may change the mapping at any moment: so all
 * that is said of the file is read from one descriptor.
 */
#include "collect/code_files.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "bpftruss/call_abi.h"
#include "truss.skel.h"

/* --- which file it is ------------------------------------------------------------------------- */

void code_identity_init(struct code_identity *identity, const struct truss_bpf *skel)
{
	identity->program = bpf_program__fd(skel->progs.identify_code);
	identity->keys = (const void *)skel->data_identified->identified.keys;
	identity->names = (const void *)skel->data_identified->identified.names;
	identity->asker = 0;
	identity->tasks = bpf_map__fd(skel->maps.tasks);
}

/* The program runs as this process: it looks at the same list of mappings as for all others. */
static int program_ask(const struct code_identity *identity, const void *place,
		       struct file_identity *ret)
{
	uint64_t question[] = { (uintptr_t)place, identity->asker };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = question, .ctx_size_in = sizeof(question));
	int err = bpf_prog_test_run_opts(identity->program, &run);

	if (err)
		return err;
	if (!run.retval)
		return -EAGAIN;
	ret->key = identity->keys[identity->asker];
	snprintf(ret->name, sizeof(ret->name), "%s", identity->names[identity->asker]);
	return 0;
}

/* What /proc/PID/maps and the file say. Subvolumes of btrfs differ only in the device that the file says. */
static int shown_key(const struct code_mapping *mapping, int fd, struct inode_key *ret)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME, &status))
		return -errno;
	*ret = (struct inode_key){
		.dev = mapping->dev,
		.ino = mapping->ino,
		.mtime_s = status.stx_mtime.tv_sec,
		.mtime_ns = status.stx_mtime.tv_nsec,
		.subvolume = status.stx_dev_major << 20 | status.stx_dev_minor,
	};
	return 0;
}

static int maps_ask(int fd, const void *place, struct file_identity *ret)
{
	struct code_mapping mapping;

	if (!process_maps_find_own((uintptr_t)place, &mapping))
		return -ENOENT;
	ret->name[0] = 0;
	return shown_key(&mapping, fd, &ret->key);
}

uint32_t code_identity_layout(const struct code_identity *identity, uint32_t pid)
{
	int process __cleanup(closep) = (int)syscall(SYS_pidfd_open, pid, 0);
	struct task_ref ref = { 0 };

	if (process < 0 || bpf_map_lookup_elem(identity->tasks, &process, &ref))
		return 0;
	return ref.layout;
}

int code_identity_read(const struct code_identity *identity, int fd, struct file_identity *ret)
{
	struct stat status;
	size_t bytes;
	void *place;
	int err;

	if (fstat(fd, &status))
		return -errno;
	/* A block is a huge page where there are no smaller ones. */
	bytes = (size_t)status.st_blksize;
	place = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (place == MAP_FAILED)
		return -errno;
	if (identity->program >= 0)
		err = program_ask(identity, place, ret);
	else
		err = maps_ask(fd, place, ret);
	munmap(place, bytes);
	return err;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Leaves out what the kernel adds to the path of a file that is gone. */
static char *file_path(int fd)
{
	static const char gone[] = " (deleted)";
	char link[32], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return NULL;
	path[length] = 0;
	if ((size_t)length > strlen(gone) && !strcmp(path + length - strlen(gone), gone))
		path[length - (ssize_t)strlen(gone)] = 0;
	return strdup(path);
}

static int mapping_find(int process, uint64_t start, uint64_t end)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "map_files/%lx-%lx", start, end);
	fd = openat(process, link, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Finds out which file it is, where it is, and its name, as the process sees it. But if root has
 * not arranged that view, debug files of root's files are looked for where we see them, and names
 * are those in the file system itself. The descriptor for reading is not kept: closing one may mean
 * waiting for a server.
 */
static int file_read(const struct code_identity *identity, int process, int fd,
		     const struct stat *status, struct opened_code *file)
{
	struct file_identity found = { .name = "" };
	int err = code_identity_read(identity, fd, &found);
	const char *name = found.name;
	bool is_arranged;

	if (err)
		return err;
	file->key = found.key;
	file->owner = status->st_uid;
	file->path = file_path(file->fd);
	file->root = openat(process, "root", O_PATH | O_CLOEXEC | O_DIRECTORY);
	/* In this order: there is no way back from a namespace to ours. */
	is_arranged = !process_is_of_our_users(process);
	if (is_arranged && !file->owner && file->root >= 0) {
		close(file->root);
		file->root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	}
	if (!is_arranged)
		name = file->path ? basename(file->path) : "";
	file->name = *name ? strdup(name) : NULL;
	return *name && !file->name ? -ENOMEM : 0;
}

int mapped_file_open(const struct code_identity *identity, int process, uint64_t start,
		     uint64_t end, struct opened_code *ret)
{
	struct opened_code file __cleanup(opened_code_close) = NO_CODE;
	int found __cleanup(closep) = mapping_find(process, start, end);
	int fd __cleanup(closep) = -1, err;
	struct statx known;
	struct stat status;

	if (found < 0)
		return found;
	fd = regular_file_reopen(found, UINT64_MAX, &status);
	/* Other failures may pass; these say that a file must not be read, or is none. */
	if (fd < 0 && fd != -EACCES && fd != -EPERM && fd != -EINVAL)
		return fd;
	if (fd < 0) {
		/* A FUSE of another user tells its device, and no inode. */
		if (statx(found, "", AT_EMPTY_PATH, 0, &known))
			return -errno;
		file.key.dev = known.stx_dev_major << 20 | known.stx_dev_minor;
		file.key.ino = known.stx_mask & STATX_INO ? known.stx_ino : 0;
		err = 0;
	} else {
		file.fd = found;
		found = -1;
		err = file_read(identity, process, fd, &status, &file);
	}
	if (err)
		return err;
	*ret = file;
	file = NO_CODE;
	return 0;
}

int mapped_file_key(int process, const struct code_mapping *mapping, struct inode_key *ret)
{
	int found __cleanup(closep) = mapping_find(process, mapping->start, mapping->end);

	return found < 0 ? found : shown_key(mapping, found, ret);
}

int mapped_file_open_path(const struct code_identity *identity, const char *path,
			  struct opened_code *ret)
{
	struct opened_code file __cleanup(opened_code_close) = NO_CODE;
	struct file_identity found = { .name = "" };
	int fd __cleanup(closep) = -1, err;
	struct stat status;

	file.root = open("/", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (file.root < 0)
		return -errno;
	file.fd = regular_file_find(file.root, path, 0, UINT64_MAX, &status);
	fd = file.fd < 0 ? file.fd : regular_file_reopen(file.fd, UINT64_MAX, &status);
	err = fd < 0 ? fd : code_identity_read(identity, fd, &found);
	if (err)
		return err;
	file.key = found.key;
	file.owner = status.st_uid;
	file.path = strdup(path);
	*ret = file;
	file = NO_CODE;
	return 0;
}
