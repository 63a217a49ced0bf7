/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds what a path or a descriptor of a call stands for: a key of the table of arguments, which tells user
 * space what it is called. Rows are split by these keys. Invariant: two arguments that have the same key
 * are the same text or the same file; whatever finds no room has the key of others, and is counted.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "arch.bpf.h"
#include "calls.bpf.h"
#include "losses.bpf.h"
#include "pool.bpf.h"
#include "records.bpf.h"
#include "slots.bpf.h"

#define MODE_TYPE      0170000
#define MODE_SOCKET    0140000
#define MODE_PIPE      0010000
#define ANONYMOUS_FILE 0x09041934 /* the magic number of their file system */
#define PIPE_FILE      0x50495045
#define FAMILY_INET    2
#define FAMILY_INET6   10

/* Names and mounts above a file, of which no more are looked at. */
#define FILE_STEPS 20

/* A socket is looked at so often for the ends that it did not have at first. */
#define SOCKET_SEARCHES 256

/* By record. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct open_argument);
} open_arguments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct argument_entry);
} arguments SEC(".maps");

/* Neither finds any, and so verifiers see no more, unless rows are split so. */
static __always_inline struct open_argument *open_argument_at(u32 index)
{
	return splits_by_argument() ? bpf_map_lookup_elem(&open_arguments, &index) : NULL;
}

static __always_inline struct argument_entry *argument_find(u64 key)
{
	return splits_by_argument() ? bpf_map_lookup_elem(&arguments, &key) : NULL;
}

/* --- keys --------------------------------------------------------------------------------------- */

static __always_inline u64 argument_mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

/* The key of what was read, of whose text so many words count. */
LOOKED_AT_ONCE u64 argument_hash(u32 index, u32 words)
{
	struct open_argument *open = open_argument_at(index);
	u64 hash = hash_seed;

	if (!open)
		return 0;
	hash = argument_mix(hash, open->its.inode);
	hash = argument_mix(hash, (u64)open->its.device << 32 | open->its.generation);
	hash = argument_mix(hash, open->its.flags);
	for (u32 i = 0; i < ARGUMENT_TEXT / 8; i++) {
		if (i >= words)
			break;
		hash = argument_mix(hash, open->its.words[i]);
	}
	return hash | ARGUMENT_FIRST;
}

/* Whether the table has it by that key, and not another whose hash is the same. */
LOOKED_AT_ONCE u32 argument_is_known(u32 index, u64 key, u32 words)
{
	struct open_argument *open = open_argument_at(index);
	struct argument_entry *known = argument_find(key);

	if (!open || !known || known->inode != open->its.inode ||
	    known->device != open->its.device || known->generation != open->its.generation ||
	    (known->flags ^ open->its.flags) & (ARGUMENT_ANONYMOUS | ARGUMENT_SOCKET))
		return 0;
	for (u32 i = 0; i < ARGUMENT_TEXT / 8; i++) {
		if (i >= words)
			break;
		if (known->words[i] != open->its.words[i])
			return 0;
	}
	return 1;
}

/* Enters it in the table, in which it is not. Returns the key that it has from now on. */
LOOKED_AT_ONCE u64 argument_enter(u32 index, u64 key, u32 words, u32 share)
{
	struct open_argument *open = open_argument_at(index);

	if (!open)
		return ARGUMENT_OTHERS;
	if (share_take(share, POOL_PATHS)) {
		if (!bpf_map_update_elem(&arguments, &key, &open->its, BPF_NOEXIST))
			return key;
		share_return(share, POOL_PATHS);
		/* Another thread was faster. */
		if (argument_is_known(index, key, words))
			return key;
	}
	loss_add(LOSS_PATH_TABLE_FULL);
	return ARGUMENT_OTHERS;
}

/*
 * Ends a text of so many bytes that has just been read, less than ARGUMENT_TEXT, with zeros. Returns the
 * words that it takes with its NUL.
 */
static __always_inline u32 text_end(struct open_argument *open, u32 size)
{
	open->its.words[size / 8 & (ARGUMENT_TEXT / 8 - 1)] &= (1UL << size % 8 * 8) - 1;
	return size / 8 + 1;
}

/* --- paths -------------------------------------------------------------------------------------- */

LOOKED_AT_ONCE u64 path_key(u32 index, u64 address, u32 share)
{
	struct open_argument *open = open_argument_at(index);
	u32 size, words, cut = 0;
	long got;
	u64 key;

	if (!open || !address)
		return ARGUMENT_NONE;
	/* One more than are kept, and the NUL: then a path is known to be longer. */
	got = user_string_read(open->its.text, ARGUMENT_TEXT + 1, address);
	if (got < 0)
		return ARGUMENT_UNKNOWN;
	size = (u32)got;
	if (size >= ARGUMENT_TEXT) {
		size = ARGUMENT_TEXT - 1;
		cut = ARGUMENT_CUT;
	}
	words = text_end(open, size);
	open->its.inode = 0;
	open->its.device = open->its.generation = 0;
	open->its.flags = 0;
	key = argument_hash(index, words);
	open->its.flags = cut;
	return argument_is_known(index, key, words) ? key
						    : argument_enter(index, key, words, share);
}

/* --- files -------------------------------------------------------------------------------------- */

static __always_inline struct file *task_file(struct task_struct *task, u32 fd)
{
	struct fdtable *table = task->files->fdt;
	struct file *file = NULL;

	if (fd < table->max_fds)
		bpf_probe_read_kernel(&file, sizeof(file), (void *)((u64)table->fd + fd * 8UL));
	return file;
}

/* Notes which inode it is. Returns the words of its name that count, too. */
static __always_inline u32 open_file_identify(struct open_argument *open, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	u64 magic = BPF_CORE_READ(sb, s_magic);
	u32 type = BPF_CORE_READ(inode, i_mode) & MODE_TYPE;
	long got;

	open->its.inode = BPF_CORE_READ(inode, i_ino);
	open->its.device = BPF_CORE_READ(sb, s_dev);
	open->its.generation = BPF_CORE_READ(inode, i_generation);
	open->its.flags = type == MODE_SOCKET                       ? ARGUMENT_SOCKET
			  : type == MODE_PIPE && magic == PIPE_FILE ? ARGUMENT_PIPE
								    : 0;
	if (magic != ANONYMOUS_FILE)
		return 0;
	open->its.flags = ARGUMENT_ANONYMOUS;
	got = bpf_probe_read_kernel_str(open->its.text, ARGUMENT_TEXT,
					BPF_CORE_READ(file, f_path.dentry, d_name.name));
	return text_end(open, got > 0 ? (u32)(got - 1) & (ARGUMENT_TEXT - 1) : 0);
}

/* Adds a name, unless there is no room for it. */
static __always_inline bool name_add(struct open_argument *open, struct dentry *dentry)
{
	u32 at = open->its.used;
	long got;

	if (at >= ARGUMENT_TEXT)
		return false;
	got = bpf_probe_read_kernel_str(&open->its.text[at], ARGUMENT_TEXT,
					BPF_CORE_READ(dentry, d_name.name));
	if (got <= 0 || at + got > ARGUMENT_TEXT)
		return false;
	open->its.used = at + got;
	return true;
}

/* Notes the names from a file up to the root that its process sees, or as many as there is room for. */
LOOKED_AT_ONCE int open_file_name(u32 index, u64 address)
{
	struct mount *mount = NULL;
	const u64 mount_offset = __builtin_preserve_field_info(mount->mnt, BPF_FIELD_BYTE_OFFSET);
	struct open_argument *open = open_argument_at(index);
	struct file *file = (struct file *)address;
	struct task_struct *task = current_task();
	struct dentry *dentry, *parent, *root;
	void *root_mount;

	if (!open)
		return 0;
	root_mount = (void *)BPF_CORE_READ(task, fs, root.mnt) - mount_offset;
	root = BPF_CORE_READ(task, fs, root.dentry);
	mount = (void *)BPF_CORE_READ(file, f_path.mnt) - mount_offset;
	dentry = BPF_CORE_READ(file, f_path.dentry);
	for (int i = 0; i < FILE_STEPS; i++) {
		if (dentry == root && mount == root_mount)
			return 0;
		parent = BPF_CORE_READ(dentry, d_parent);
		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
			struct mount *above = BPF_CORE_READ(mount, mnt_parent);

			if (above == mount || !above)
				return 0;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
		} else if (!name_add(open, dentry) || dentry == parent) {
			/* A name in no folder, as that of a memfd, is not all that there is to say. */
			break;
		} else {
			dentry = parent;
		}
	}
	open->its.flags |= ARGUMENT_CUT;
	return 0;
}

/* Notes the ends of a socket, as far as it has any by now. */
LOOKED_AT_ONCE int socket_search(u32 index, u64 address)
{
	struct open_argument *open = open_argument_at(index);
	struct file *file = (struct file *)address;
	struct socket *socket = BPF_CORE_READ(file, private_data);
	struct sock *sk = BPF_CORE_READ(socket, sk);
	struct socket_ends *ends;

	if (!open)
		return 0;
	ends = &open->its.ends;
	ends->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	ends->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (ends->family != FAMILY_INET && ends->family != FAMILY_INET6)
		return 0;
	ends->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	ends->peer_port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	if (ends->family == FAMILY_INET) {
		bpf_core_read(ends->local, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(ends->peer, 4, &sk->__sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		bpf_core_read(ends->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(ends->peer, 16, &sk->__sk_common.skc_v6_daddr);
	}
	return 0;
}

/* Sockets are connected after they were made, and calls tell of them in between. */
LOOKED_AT_ONCE int socket_follow(u32 index, u64 key, u64 address)
{
	struct open_argument *open = open_argument_at(index);
	struct argument_entry *known = argument_find(key);

	if (!open || !known || known->ends.peer_port || known->searches >= SOCKET_SEARCHES)
		return 0;
	known->searches++;
	socket_search(index, address);
	known->ends = open->its.ends;
	return 0;
}

LOOKED_AT_ONCE u64 open_file_key(u32 index, s32 fd, u32 share)
{
	struct open_argument *open = open_argument_at(index);
	struct task_record *record = record_find(index);
	struct file *file;
	u32 words, flags;
	u64 key;

	if (!open || !record || fd < 0)
		return ARGUMENT_NONE;
	file = task_file(current_task(), fd);
	if (!file)
		return ARGUMENT_UNKNOWN;
	words = open_file_identify(open, file);
	flags = open->its.flags;
	key = argument_hash(index, words);
	if (argument_is_known(index, key, words)) {
		if (flags & ARGUMENT_SOCKET)
			socket_follow(index, key, (u64)file);
		return key;
	}
	open->its.pid = record->pid;
	open->its.fd = fd;
	open->its.used = open->its.searches = 0;
	if (flags & ARGUMENT_SOCKET)
		socket_search(index, (u64)file);
	else if (!flags)
		open_file_name(index, (u64)file);
	return argument_enter(index, key, words, share);
}

/* --- calls -------------------------------------------------------------------------------------- */

/* The index of the argument that calls of a number are split by, plus 1; 0: they have none. */
static __always_inline u32 call_split_argument(u16 abi, s32 nr)
{
	struct call_plan *plan = call_is_chosen(abi, nr) ? call_plan_of(abi, nr) : NULL;

	if (!plan)
		return 0;
	return split_by == SPLIT_PATH ? plan->first_path : plan->first_fd;
}

LOOKED_AT_ONCE u64 argument_key(u32 index, u32 argument, u32 share)
{
	struct open_argument *open = open_argument_at(index);
	u64 value;

	if (!open || !argument)
		return ARGUMENT_ABSENT;
	value = open->arguments[(argument - 1) & 7];
	return split_by == SPLIT_PATH ? path_key(index, value, share)
				      : open_file_key(index, (s32)value, share);
}

/* The key of a call that begins. */
static __always_inline u64 call_argument(u32 index, struct pt_regs *regs, u16 abi, s32 nr,
					 u32 share)
{
	struct open_argument *open = open_argument_at(index);
	u32 argument = call_split_argument(abi, nr);

	if (!open || !argument)
		return ARGUMENT_ABSENT;
	regs_arguments(regs, abi, open->arguments);
	return argument_key(index, argument, share);
}
