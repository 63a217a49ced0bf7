/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what others control: /proc of a process, through one descriptor of its folder, and files at
 * their paths.
 */
#pragma once

#include <limits.h>
#include <pwd.h>
#include <sys/types.h>

#include "base/mem.h"
#include "bpftruss/stack_abi.h"

/* A process that is a descriptor cannot become another one, as its number can. -1: there is none. */
int process_open(uint32_t pid);

/* A file of its folder; NULL: it cannot be read. */
FILE *process_file(int process, const char *name);

/* The system call in which a thread sleeps. */
struct process_call {
	int nr;
	uint64_t arguments[6], sp;
};

/* Says which one; false: it is in none, runs, or nobody may know. */
bool process_call_read(int process, uint32_t tid, struct process_call *ret);

/* Whether it is that process, and executes that program. */
bool process_is(int process, const struct process_id *id);

/* Says which one it is; its layout is unknown. */
bool process_identify(int process, uint32_t pid, struct process_id *ret);

/* Whether it executes another program: one that has ended does not. */
bool process_has_executed(int process, const struct process_id *id);

/* A user with a user namespace of his own may have arranged all that his process sees. */
bool process_is_of_our_users(int process);

/* Its pid in its own namespace, and its effective user. */
bool process_status(int process, pid_t *ret_pid, uid_t *ret_user);

/* Part of the memory of a process. */
struct code_mapping {
	uint64_t start, end, offset;
	uint32_t dev; /* as the kernel has it: 12 bits of major, 20 of minor */
	bool exec, write;
	uint64_t ino; /* 0: of no file */
};

/* The file's name without folders; empty: unknown. */
struct code_mapping_name {
	char text[NAME_MAX + 1];
};

/* The next line; lines that make no sense are passed over. NULL: no name is wanted. False: no more. */
bool process_maps_next(FILE *maps, struct code_mapping *ret, struct code_mapping_name *name);

/* The mapping of this process that begins at an address. */
bool process_maps_find_own(uint64_t start, struct code_mapping *ret);

/* --- whether it has ended: asked of the kernel, and not of /proc, which may be another's --- */

/*
 * Whether every thread of a process, by its pid in our own namespace, is past its last system call:
 * it is gone, or waits for its parent. False when that cannot be known, or somebody else has the
 * pid by now. Descriptors of processes need no right.
 */
bool process_has_ended(pid_t pid);

/* Whether a process, by its pid in our own namespace, has no thread of this id any more. */
bool thread_is_gone(pid_t pid, pid_t tid);

/* Whether nobody has a pid in our own namespace, not even what nobody has waited for. */
bool pid_is_free(pid_t pid);

/* --- files ------------------------------------------------------------------------------------ */

/*
 * Opens files at paths that others control: what is opened is a regular file and lies below the
 * given root, whatever symbolic links say. No device is touched, no FIFO waited for.
 */
struct stat;

/*
 * Reads the inode, device and type of a file as the kernel knows them: a server of its file system, which
 * may never answer, is not asked. Nothing else in *status is set. 0 or -errno.
 */
int file_status_known(int root_fd, const char *path, struct stat *status);

/*
 * flags: O_NOFOLLOW, to refuse a link as the last part of the path, or 0. Returns a descriptor opened
 * with O_PATH, which whoever closes it waits for no server, and fills *status; or -ENOENT, -EINVAL (no
 * regular file), -EFBIG (beyond max_bytes), …
 */
int regular_file_find(int root_fd, const char *path, int flags, uint64_t max_bytes,
		      struct stat *status);

/* Opens what was found for reading, if it is such a file; what was found stays open. */
int regular_file_reopen(int found_fd, uint64_t max_bytes, struct stat *status);

/* Both in one. */
int regular_file_open(int root_fd, const char *path, int flags, uint64_t max_bytes,
		      struct stat *status);

/*
 * Reads a whole file, whose path from a folder or AT_FDCWD on is not foreign, with O_NOFOLLOW in flags
 * or without; the text is the caller's. Returns 0, -EINVAL or -EFBIG as above, or another -errno.
 */
int regular_file_read(int root_fd, const char *path, int flags, uint64_t max_bytes, char **ret,
		      size_t *ret_size);

/*
 * Finds a file that may be believed of the code of a user, or says -EPERM: it is his own, or root's and
 * then no secret. For he may have put any file there that he can see, by a mount of his own.
 */
int regular_file_find_trusted(int root_fd, const char *path, int flags, uint64_t max_bytes,
			      uid_t user);

/* Gives up root for a user, who is also the one of HOME, USER and LOGNAME. Returns 0 or an errno. */
int process_become(const struct passwd *user);
