/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps names of descriptors by process and number; private to descriptors.h. Invariant: memory is
 * bounded, and no process takes more than half of it from others: it makes room by forgetting its
 * own oldest names, or the process that was quiet longest.
 */
#pragma once

#include "base/mem.h"

#define MAX_PROCESSES  4096
#define MAX_ENTRIES    65536
#define MAX_NAME_BYTES (4UL << 20) /* of all names */

/* The longest name; longer paths are not kept. */
#define MAX_NAME 1023

/* Shared by the copies of a descriptor. */
struct fd_name {
	uint64_t inode; /* of a socket; 0: not known */
	uint32_t refs;
	uint16_t length;
	bool is_socket; /* the text is its protocol and addresses */
	char text[];    /* untrusted bytes, with a NUL */
};

enum entry_flag {
	ENTRY_LATE = 1 << 0, /* see DESCRIPTOR_LATE */
	ENTRY_CLOSES_ON_EXEC = 1 << 1,
	ENTRY_STAYS_ON_EXEC = 1 << 2, /* neither: not known */
	ENTRY_INCOMPLETE = 1 << 3,    /* /proc has a better name */
	ENTRY_ASKED = 1 << 4,         /* known from /proc; else from the call that has made it */
};

struct fd_entry {
	struct fd_name *name;  /* owned; NULL: it is known that there is none to be had */
	uint32_t process;      /* index */
	int32_t fd;            /* or AT_FDCWD */
	uint32_t generation;   /* of its process when this was known to be so */
	uint64_t known_ns;     /* since when; CLOCK_MONOTONIC, 0: not known */
	uint32_t flags;        /* enum entry_flag */
	uint32_t next;         /* in its bucket; so is every index here: 0 for none */
	uint32_t newer, older; /* of the same process */
};

enum pids { PIDS_NOT_ASKED, PIDS_OURS, PIDS_FOREIGN };

struct fd_process {
	uint32_t pid; /* 0: unused */
	uint32_t next;
	uint32_t newer, older;   /* by when it was used last */
	uint32_t newest, oldest; /* entries */
	uint32_t count;
	uint32_t generation; /* grows when what is known may be wrong */
	size_t name_bytes;
	uint64_t seen_ns; /* when its last call ended */
	uint64_t number;  /* of the last call of its first thread */
	enum pids pids;
	bool shares;         /* its descriptors are also another process's */
	bool shares_folder;  /* so is its current folder */
	bool has_threads;    /* besides the first one */
	bool threads_differ; /* these may have descriptors or a folder of their own */
};

struct fd_table {
	struct fd_process *processes; /* MAX_PROCESSES + 1 */
	struct fd_entry *entries;     /* MAX_ENTRIES + 1 */
	uint32_t *process_buckets, *entry_buckets;
	uint32_t free_process, free_entry;     /* lists by next */
	uint32_t used_processes, used_entries; /* none beyond these ever was */
	uint32_t newest, oldest;               /* processes */
	size_t name_bytes;
	uint64_t evicted; /* entries */
};

/* Returns 0 or -ENOMEM; fd_table_done() accepts a table of zeros. */
int fd_table_init(struct fd_table *table);
void fd_table_done(struct fd_table *table);

/* Memory that it takes. */
size_t fd_table_bytes(const struct fd_table *table);

/* NULL: nothing is known of it. */
struct fd_process *fd_process_find(const struct fd_table *table, uint32_t pid);

/* The same, but makes it if need be, and marks it as used last. */
struct fd_process *fd_process_use(struct fd_table *table, uint32_t pid);

/* Forgets a process and all of its entries. */
void fd_process_drop(struct fd_table *table, struct fd_process *process);

/* NULL: nothing is known of the descriptor. */
struct fd_entry *fd_entry_find(const struct fd_table *table, const struct fd_process *process,
			       int fd);

/*
 * Sets what a descriptor is; the name is taken over. Others may be forgotten for it. NULL: there is no
 * room. Nobody knows since when it is that.
 */
struct fd_entry *fd_entry_set(struct fd_table *table, struct fd_process *process, int fd,
			      struct fd_name *name, uint32_t flags);
void fd_entry_drop(struct fd_table *table, struct fd_entry *entry);

/* Whether an entry can be made without another being forgotten. */
bool fd_table_has_room(const struct fd_table *table);

/* A name with one reference, made for a process. Entries may be forgotten for it. NULL: no room. */
struct fd_name *fd_name_new(struct fd_table *table, struct fd_process *process, const char *text,
			    size_t length);
struct fd_name *fd_name_ref(struct fd_name *name);
void fd_name_drop(struct fd_table *table, struct fd_name *name);

/* The entry at an index; NULL for 0. */
static inline struct fd_entry *fd_entry_at(const struct fd_table *table, uint32_t index)
{
	return index ? &table->entries[index] : NULL;
}
