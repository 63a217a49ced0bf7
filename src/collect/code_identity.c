/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps a file for a moment, and asks a program of ours for its key. */
#include "collect/code_identity.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpftruss/abi.h"
#include "truss.skel.h"

#include "base/mem.h"
#include "base/process.h"

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

static int maps_ask(const struct stat *status, const void *place, struct file_identity *ret)
{
	struct code_mapping mapping;

	if (!process_maps_find_own((uintptr_t)place, &mapping))
		return -ENOENT;
	ret->name[0] = 0;
	ret->key = (struct inode_key){
		.dev = mapping.dev,
		.ino = mapping.ino,
		.mtime_s = status->st_mtim.tv_sec,
		.mtime_ns = status->st_mtim.tv_nsec,
	};
	return 0;
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
		err = maps_ask(&status, place, ret);
	munmap(place, bytes);
	return err;
}
