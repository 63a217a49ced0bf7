/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the names share; nobody else includes this. */
#ifndef BPFTRUSS_NAMES_PRIVATE_H
#define BPFTRUSS_NAMES_PRIVATE_H

#include <poll.h>

#include "base/clock.h"
#include "elf/debuginfod.h"
#include "elf/inlines.h"
#include "elf/worker.h"
#include "stacks/names.h"

/* All places and their names take 16 MiB at most. */
#define MAX_PLACES           65536
#define MAX_PLACE_NAME_BYTES (8ULL << 20)

/* Files that are read at a time. Whoever waits for servers, or to ask them, holds up no other. */
#define MAX_FILE_TASKS 4
#define MAX_FETCHES    4
#define MAX_PARKED     56

/* Processes with code of no file, and perf maps that are read at a time. */
#define MAX_NAME_PROCESSES 64
#define MAX_PERF_MAPS      2

struct unnamed_stack;

/* A place in code: of a file, or where no file is, of a process. */
struct name_place {
	uint32_t file; /* FILE_NONE: at is an address */
	bool settled;  /* there is no more to be known */
	bool failed;   /* since nobody could tell */
	uint64_t at;   /* offset in the file, of code that is at work: not behind it */
	const char *module;
	char *symbol;    /* NULL: unknown */
	uint64_t offset; /* of at: from the symbol; else as an address */
	char *inlined;   /* names, one after the other, innermost first; NULL: none */
	size_t nr_inlined;
	size_t bytes; /* of all names */
	struct unnamed_stack **waiters;
	size_t nr_waiters;
};

/* Grows. */
struct place_list {
	struct name_place **places;
	size_t nr, capacity;
};

/* What is known of a file. */
struct name_file {
	uint32_t number;
	struct process_id process; /* the last one that had it mapped */
	struct place_list wanted;
	bool is_queued; /* in the queue of names */
	bool is_busy;   /* a task is at it */
	bool is_hopeless;
	bool is_fetched; /* servers were asked */
	int fetched;     /* what they gave; -1: nothing */
	unsigned int failures;
	uint64_t retry_ns; /* not before */
};

struct name_task;
struct name_process;

struct names {
	struct code_source source;
	struct names_options options;
	struct debuginfod *debuginfod; /* NULL: nobody is asked */
	struct stack_table *table;
	void *places; /* tree of struct name_place */
	void *files;  /* tree of struct name_file */
	struct name_file **queue;
	size_t nr_queue, queue_capacity;
	uint64_t queued_ns; /* when the first of the queue was put there */
	struct name_task *tasks[MAX_FILE_TASKS + MAX_FETCHES + MAX_PARKED];
	struct name_process *processes[MAX_NAME_PROCESSES];
	struct unnamed_stack *first, *last; /* all, in the order in which they came */
	size_t nr_stacks;
	struct unnamed_stack **dirty;
	size_t nr_dirty, dirty_capacity;
	struct stack_frame *frames;            /* room for a stack */
	uint64_t maps_since_ns, maps_taken_ns; /* time for the mappings of processes, of late */
	uint64_t serial;                       /* of the last stack */
	uint64_t begun;                        /* up to this one names are asked for */
	struct names_counts counts;
	int epoll;
};

/* --- places ----------------------------------------------------------------------------------- */

int place_list_add(struct place_list *list, struct name_place *place);

/* The addresses of places in order, each once. The array is the caller's to free. 0 or -ENOMEM. */
int place_list_question(struct place_list *list, uint64_t add, struct elf_addresses *ret);

/* Finds or makes the place of a file; NULL: there is no room for more of them. */
struct name_place *names_place(struct names *names, uint32_t file, uint64_t at,
			       const struct process_id *process);

/* One of a process, which its stack owns. */
struct name_place *place_new_raw(uint64_t address);
void place_free(void *place);

/* Names it; beyond what is kept it stays as it is. */
void place_name(struct names *names, struct name_place *place, const char *symbol, uint64_t offset);
void place_name_inlined(struct names *names, struct name_place *place, const char *const *functions,
			size_t count);

/* No more is to be known of them; the list is empty then. */
void places_settle(struct names *names, struct place_list *list, bool failed);

/* --- stacks ----------------------------------------------------------------------------------- */

/* Whoever has the place is to be shown anew. */
void names_touch(struct names *names, const struct name_place *place);

/* A place is settled: its stacks no longer wait for it. */
void names_release(struct names *names, struct name_place *place);

/* --- files ------------------------------------------------------------------------------------ */

struct name_file *name_file_get(struct names *names, uint32_t number);
void name_file_free(void *file);
int name_file_want(struct names *names, struct name_file *file, struct name_place *place);
void name_tasks_run(struct names *names, bool may_start);
int name_tasks_patience_ms(const struct names *names, bool may_start);
bool name_tasks_are_idle(const struct names *names);
void name_tasks_free(struct names *names);

/* --- processes -------------------------------------------------------------------------------- */

/* What is at an address of a process: a place of a file, or one that the stack owns; NULL: nothing. */
struct name_place *name_process_place(struct names *names, const struct process_id *id,
				      uint64_t address, bool *ret_raw);
void name_processes_run(struct names *names);
int name_processes_patience_ms(const struct names *names);
bool name_processes_are_idle(const struct names *names);
void name_processes_free(struct names *names);

/* --- time ------------------------------------------------------------------------------------- */

/* Waits for a descriptor together with all others. */
int names_watch(struct names *names, int fd);

/* Whether a descriptor is readable now. */
static inline bool fd_is_ready(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, 0) > 0;
}

/* Until a moment, as poll() takes it. */
int until_ms(uint64_t ns);

#endif
