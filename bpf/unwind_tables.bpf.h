/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the answer to one question: by what rule does code at this address find its caller? From a
 * cache of each CPU, else from the table of the file that is mapped there, which user space made.
 * Nothing is known of processes: the kernel's own list of mappings is asked each time.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/stack_abi.h"
#include "arch.bpf.h"
#include "pool.bpf.h"
#include "selector.bpf.h"

const volatile bool stacks = false;
const volatile bool frame_pointers = false;
/* See features_of_btrfs(). */
const volatile __s32 btrfs_inode_to_root = 0;
const volatile __s32 btrfs_root_to_id = 0;

#define EBUSY   16
#define VM_EXEC 4
#define BTRFS   0x9123683e /* the magic number of its super blocks */

#define NS_PER_SECOND 1000000000ULL

struct unwind_slab_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct unwind_slab));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAX_SLABS);
	__type(key, u32);
	__array(values, struct unwind_slab_map);
} unwind_slabs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_UNWIND_PAGES);
	__type(key, u32);
	__type(value, struct unwind_page);
} unwind_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_UNWIND_RULES);
	__type(key, u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_UNWIND_FILES);
	__type(key, u32);
	__type(value, struct unwind_file);
} unwind_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_UNWIND_FILES);
	__type(key, struct inode_key);
	__type(value, struct inode_file);
} unwind_inodes SEC(".maps");

/* Numbers of files that were given so far. */
struct {
	__u32 last;
} file_numbers __attribute__((aligned(64))) SEC(".data.file_numbers") = { FILE_VDSO };

/* New stacks, and files that need a table. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} stack_events SEC(".maps");

/* Answers for the code at an address; frame is the address that was asked for, without flags. */
struct unwind_answer {
	u64 frame;
	struct unwind_rule rule;
	u32 end; /* enum stack_end: anything but STACK_COMPLETE is the reason to stop */
};

struct unwind_cached {
	u64 pc;
	u64 frame;
	struct unwind_rule rule;
	u32 layout;
	u32 pad;
};

/*
 * A cache is as large as a value of a per-CPU map may be. Entries 2n and 2n + 1 take turns. The programs that walk
 * user stacks, WALK_ENTER and WALK_EXIT, have one each: since 7.2 one may interrupt the other.
 */
#define CACHE_ENTRIES 1024
#define NR_CACHES     2

struct unwind_cache {
	struct unwind_cached entries[CACHE_ENTRIES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_CACHES);
	__type(key, u32);
	__type(value, struct unwind_cache);
} unwind_cache SEC(".maps");

/*
 * Without --stacks there is none of these maps, and kernels before 5.17 have no bpf_find_vma(). They
 * look at each function that is not static, called or not (up to 6.7): so each asks for this first.
 */
static __always_inline bool tables_can_be_walked(void)
{
	return ARCH_HAS_TABLES && stacks && !frame_pointers &&
	       bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop) &&
	       bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma);
}

/* A mapping, as far as it matters here. */
struct mapping {
	u64 start, end;
	u64 offset; /* in the file, of its start */
	struct inode_key key;
	bool of_file;
	bool is_vdso;
};

static __always_inline void inode_mtime(struct inode *inode, struct inode_key *key)
{
	struct inode___before_6_7 *oldest = (void *)inode;
	struct inode___6_7 *old = (void *)inode;

	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		key->mtime_s = inode->i_mtime_sec;
		key->mtime_ns = inode->i_mtime_nsec;
	} else if (bpf_core_field_exists(old->__i_mtime)) {
		key->mtime_s = BPF_CORE_READ(old, __i_mtime.tv_sec);
		key->mtime_ns = BPF_CORE_READ(old, __i_mtime.tv_nsec);
	} else {
		key->mtime_s = BPF_CORE_READ(oldest, i_mtime.tv_sec);
		key->mtime_ns = BPF_CORE_READ(oldest, i_mtime.tv_nsec);
	}
}

/* The subvolume of an inode of btrfs, for others 0. Without BTF of btrfs it is 0, too. */
static __always_inline u32 inode_subvolume(struct inode *inode)
{
	void *root = NULL;
	u64 id = 0;

	if (inode->i_sb->s_magic != BTRFS || !btrfs_inode_to_root)
		return 0;
	bpf_probe_read_kernel(&root, sizeof(root), (void *)inode + btrfs_inode_to_root);
	bpf_probe_read_kernel(&id, sizeof(id), root + btrfs_root_to_id);
	return id;
}

static __always_inline void inode_key_of(struct vm_area_struct *vma, struct inode_key *key)
{
	struct inode *inode = vma->vm_file->f_inode;

	key->dev = inode->i_sb->s_dev;
	key->generation = inode->i_generation;
	key->ino = inode->i_ino;
	inode_mtime(inode, key);
	key->subvolume = inode_subvolume(inode);
}

/* With a variable on the stack, the verifier would follow each way to fill it. */
struct mapping_question {
	struct mapping *mapping;
};

static long mapping_read(struct task_struct *task, struct vm_area_struct *vma,
			 struct mapping_question *question)
{
	struct mapping *mapping = question->mapping;

	if (!mapping)
		return 0;
	mapping->start = vma->vm_start;
	mapping->end = vma->vm_end;
	mapping->of_file = vma->vm_file;
	if (mapping->of_file) {
		mapping->offset = vma->vm_pgoff << UNWIND_PAGE_SHIFT;
		inode_key_of(vma, &mapping->key);
	} else if (bpf_core_field_exists(task->mm->context.vdso)) {
		mapping->is_vdso = vma->vm_start == (u64)task->mm->context.vdso;
	}
	return 0;
}

/* Finds the mapping of the current task at or after an address. Returns 0 or an errno. */
LOOKED_AT_ONCE int mapping_find(u64 address, struct mapping *ret)
{
	struct mapping_question question = { .mapping = ret };

	if (!tables_can_be_walked() || !ret)
		return 0;
	return bpf_find_vma(bpf_get_current_task_btf(), address, mapping_read, &question, 0);
}

static __always_inline u32 file_number_new(void)
{
	return __sync_add_and_fetch(&file_numbers.last, 1);
}

/* Gives a file that is seen for the first time a number, if there is room for its user. */
static __noinline struct inode_file *file_new(const struct inode_key *key, u32 share)
{
	struct inode_file file = {};

	if (*(volatile u32 *)&file_numbers.last >= MAX_UNWIND_FILES - 1 ||
	    !share_take(share, POOL_FILES))
		return NULL;
	/* A number is lost where two CPUs see the same file: there are enough. */
	file.number = file_number_new();
	if (file.number >= MAX_UNWIND_FILES ||
	    bpf_map_update_elem(&unwind_inodes, key, &file, BPF_NOEXIST))
		share_return(share, POOL_FILES);
	return bpf_map_lookup_elem(&unwind_inodes, key);
}

/* NULL when it has no number. In this order: a chain of calls has no more than 512 bytes of stack. */
static __always_inline struct inode_file *file_find(const struct inode_key *key,
						    struct task_struct *task)
{
	struct inode_file *found = bpf_map_lookup_elem(&unwind_inodes, key);

	return found ?: file_new(key, task_share(task));
}

/* Where /proc shows a task's memory: a leader that has ended shows none. */
static __always_inline struct task_struct *task_with_memory(struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	return leader->mm ? leader : task;
}

static __always_inline u32 pid_with_memory(struct task_struct *task)
{
	struct task_struct *shown = task_with_memory(task);

	return pid_here(shown, shown->pid);
}

static __always_inline bool file_was_asked(const struct inode_file *file)
{
	u32 asked = file->asked;

	return asked == FILE_ASKED || (asked && bpf_ktime_get_ns() / NS_PER_SECOND < asked);
}

/* The number of a mapping's file; user space is asked once for its table. */
LOOKED_AT_ONCE u32 file_ask(const struct mapping *mapping)
{
	struct task_struct *task = current_task();
	struct pending_event event = { .pid = pid_with_memory(task) };
	struct inode_file *file;

	if (!stacks || !mapping)
		return FILE_NONE;
	event.key = mapping->key;
	event.start = mapping->start;
	event.end = mapping->end;
	/* The copy is on the stack: up to 6.2 no key of a map may be in an argument's memory. */
	file = file_find(&event.key, task);
	if (!file)
		return FILE_NONE;
	if (file_was_asked(file))
		return file->number;
	event.file = file->number;
	/* Without room it is asked again. */
	if (!bpf_ringbuf_output(&stack_events, &event, sizeof(event), 0))
		file->asked = FILE_ASKED;
	return file->number;
}

/*
 * Holds the answers for those who ask at the same time: the key of a file, and its name in its own
 * folder, which no mount changes.
 */
struct {
	__u64 keys[FILE_ASKERS][sizeof(struct inode_key) / sizeof(__u64)];
	char names[FILE_ASKERS][FILE_NAME_SIZE];
} identified __attribute__((aligned(64))) SEC(".data.identified");

struct file_question {
	struct inode_key key;
	u32 asker;
};

static long file_read(struct task_struct *task, struct vm_area_struct *vma,
		      struct file_question *question)
{
	u32 asker = question->asker & (FILE_ASKERS - 1);
	const unsigned char *name;
	char *place;

	if (!vma->vm_file)
		return 0;
	barrier_var(asker);
	if (asker >= FILE_ASKERS)
		return 0;
	place = identified.names[asker];
	inode_key_of(vma, &question->key);
	name = BPF_CORE_READ(vma, vm_file, f_path.dentry, d_name.name);
	if (bpf_probe_read_kernel_str(place, FILE_NAME_SIZE, name) < 0)
		*place = 0;
	return 0;
}

/*
 * Reads the key of the file that the current task, one of user space's, has mapped at an address.
 * False: none.
 */
static __noinline int file_identify(u64 address, u32 asker)
{
	struct file_question question = { .asker = asker };

	if (!tables_can_be_walked() ||
	    bpf_find_vma(bpf_get_current_task_btf(), address, file_read, &question, 0))
		return 0;
	asker &= FILE_ASKERS - 1;
	barrier_var(asker);
	if (asker >= FILE_ASKERS)
		return 0;
	__builtin_memcpy(identified.keys[asker], &question.key, sizeof(question.key));
	return question.key.ino != 0;
}

/* Code that has just been mapped will run soon: its file's table had better be there. */
static __noinline int table_foresee(u64 address)
{
	struct mapping mapping = {};

	if (!mapping_find(address, &mapping) && mapping.of_file)
		file_ask(&mapping);
	return 0;
}

/* 1 if a < b, else 0; both below 2^31. */
static __always_inline u32 is_less(u32 a, u32 b)
{
	u32 less = (a - b) >> 31;

	/* The compiler would make a branch or a mask of it, and the verifier take both ways. */
	barrier_var(less);
	return less;
}

/*
 * The rule of the last of a page's rows that begins at or before an offset in the page; the first
 * one always does. A function of its own for the verifier, without branches: it would follow every
 * path of the search for each frame.
 */
LOOKED_AT_ONCE u32 unwind_row_rule(u32 slab, u32 first, u32 count, u32 offset)
{
	struct unwind_slab *rows;
	u32 zero = 0, at = 0;
	void *map;

	if (!tables_can_be_walked())
		return 0;
	map = bpf_map_lookup_elem(&unwind_slabs, &slab);
	rows = map ? bpf_map_lookup_elem(map, &zero) : NULL;
	if (!rows)
		return 0;
	for (u32 step = 1 << UNWIND_PAGE_SHIFT; step; step >>= 1) {
		u32 next = at + step;
		u32 row = (first + next) & (SLAB_ROWS - 1);

		row = rows->rows[row] >> 16;
		at += step * (is_less(next, count) & is_less(row, offset + 1));
	}
	return rows->rows[(first + at) & (SLAB_ROWS - 1)] & 0xffff;
}

/* The rule for an address of a file; rule 0 is CFA_NONE. */
static __noinline int file_rule(const struct unwind_file *file, u64 address,
				struct unwind_rule *ret)
{
	u64 page = (address - file->text_start) >> UNWIND_PAGE_SHIFT;
	struct unwind_page *entry;
	struct unwind_rule *rule;
	u32 at;

	if (address < file->text_start || page >= file->nr_pages)
		return 0;
	at = file->first_page + page;
	entry = bpf_map_lookup_elem(&unwind_pages, &at);
	if (!entry)
		return 0;
	at = unwind_row_rule(entry->first >> 16, entry->first & 0xffff, entry->count,
			     address & ((1 << UNWIND_PAGE_SHIFT) - 1));
	rule = bpf_map_lookup_elem(&unwind_rules, &at);
	if (rule)
		*ret = *rule;
	return 0;
}

/* Answers with what the table of a mapping's file, which has this number, says. */
static __noinline int mapping_answer(const struct mapping *mapping, u32 number, u64 pc,
				     struct unwind_answer *answer)
{
	struct unwind_file *file = number ? bpf_map_lookup_elem(&unwind_files, &number) : NULL;
	u64 offset = pc - mapping->start + mapping->offset;

	if (!file) {
		answer->end = STACK_TABLE_PENDING;
		return 0;
	}
	answer->frame = (u64)number << FRAME_FILE_SHIFT | (offset & FRAME_OFFSET_MASK);
	if (!file->ready) {
		answer->end = STACK_TABLE_PENDING;
		return 0;
	}
	return file_rule(file, offset + file->load_offset, &answer->rule);
}

/* Does unwind_find() without the cache; the verifier looks at it once, as at unwind_row_rule(). */
LOOKED_AT_ONCE int unwind_find_uncached(u64 pc, struct unwind_answer *answer)
{
	struct mapping mapping = {};
	int err;

	if (!tables_can_be_walked() || !answer)
		return 0;
	err = mapping_find(pc, &mapping);
	if (err) {
		answer->end = err == -EBUSY ? STACK_MM_BUSY : STACK_NO_RULE;
		return 0;
	}
	if (pc < mapping.start) {
		answer->end = STACK_NO_RULE;
		return 0;
	}
	if (mapping.of_file || mapping.is_vdso)
		return mapping_answer(&mapping, mapping.is_vdso ? FILE_VDSO : file_ask(&mapping),
				      pc, answer);
	answer->frame |= FRAME_OF_NO_FILE;
	return 0;
}

/* Answers for the code before pc, or at it where it was interrupted there. */
static __always_inline void unwind_find(struct unwind_cache *cache, u32 layout, u64 pc,
					struct unwind_answer *answer)
{
	u32 at = (pc + ((u64)layout << 40)) * 0x9e3779b97f4a7c15 >> 55;
	struct unwind_cached *first, *second;

	barrier_var(at);
	at = (at & (CACHE_ENTRIES / 2 - 1)) * 2;
	first = &cache->entries[at];
	second = &cache->entries[at + 1];
	answer->end = STACK_COMPLETE;
	if (first->pc == pc && first->layout == layout) {
		answer->frame = first->frame;
		answer->rule = first->rule;
		return;
	}
	if (second->pc == pc && second->layout == layout) {
		answer->frame = second->frame;
		answer->rule = second->rule;
		return;
	}
	answer->frame = FRAME_RAW | pc;
	answer->rule = (struct unwind_rule){};
	unwind_find_uncached(pc, answer);
	if (answer->end != STACK_COMPLETE || !layout)
		return;
	*second = *first;
	first->pc = pc;
	first->layout = layout;
	first->frame = answer->frame;
	first->rule = answer->rule;
}
