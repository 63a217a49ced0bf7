/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places in code and their names, in memory that is bounded: of all, and of what each user has caused.
 * Knows neither files nor stacks; what has changed of a place is asked for by whoever shows it.
 */
#pragma once

#include <sys/queue.h>

#include "elf/worker.h"
#include "model/stack.h"

/* All places and their names take 16 MiB at most, those of one user half of them. */
#define MAX_PLACES           65536
#define MAX_PLACE_NAME_BYTES (4ULL << 20)

struct name_place;
struct unnamed_stack;
TAILQ_HEAD(place_queue, name_place);

/* Counts the places that a user's processes have caused. */
struct name_user {
	uint32_t uid;
	size_t nr_places;
	uint64_t name_bytes;
	struct place_queue idle; /* those that no stack waits for, the oldest first */
};

/* A place of code that a file has, or a process. */
struct name_place {
	uint32_t file;   /* FILE_NONE: at is an address */
	bool is_asked;   /* its file knows that it is wanted, or was */
	bool settled;    /* there is no more to be known */
	bool failed;     /* since nobody could tell; it may be tried again */
	uint64_t at;     /* offset in the file, of code that is at work: not behind it */
	uint64_t offset; /* of at: from the symbol; else as an address */
	const char *module, *symbol; /* strings of the table; NULL: unknown */
	const char **inlined;        /* names, innermost first; NULL: none */
	struct name_user *user;
	LIST_ENTRY(name_place) same_hash;
	TAILQ_ENTRY(name_place) queue; /* of those that have changed, or are idle: never of both */
	TAILQ_ENTRY(name_place) of_user; /* of its user's that are idle */
	uint64_t version;                /* of all places, when it changed last */
	uint16_t nr_inlined;
	uint32_t nr_holders; /* frames of stacks */
};

/* Grows. */
struct place_list {
	struct name_place **places;
	size_t nr;
};

/* Borrows the place. 0 or -ENOMEM. */
int place_list_add(struct place_list *list, struct name_place *place);

/*
 * Starts a worker that is asked about all places of a list, at their offsets plus a number: see
 * elf/worker.h. The question lacks only its addresses, which are none when this returns.
 */
int place_list_ask(struct place_list *list, uint64_t add, struct elf_question *question,
		   struct child *ret);

struct name_places;

/* Borrows the table, whose strings names are. 0 or -ENOMEM. */
int name_places_new(struct stack_table *table, struct name_places **ret);

/* Places in lists and stacks are gone with it. NULL is fine. */
void name_places_free(struct name_places *places);

/* NULL: no memory. */
struct name_user *name_places_user(struct name_places *places, uint32_t uid);

/*
 * Finds or makes one; file is FILE_NONE for one of a process, which is always made. It is held. NULL:
 * there is no room for more, of all or of that user.
 */
struct name_place *name_places_hold(struct name_places *places, uint32_t file, uint64_t at,
				    struct name_user *user);
void name_places_let_go(struct name_places *places, struct name_place *place);

/* How it is called; beyond what is kept it stays as it is. */
void name_places_put_module(struct name_places *places, struct name_place *place,
			    const char *module);
void name_places_put_offset(struct name_places *places, struct name_place *place, uint64_t offset);
void name_places_put_symbol(struct name_places *places, struct name_place *place,
			    const char *symbol, uint64_t offset);
void name_places_put_inlined(struct name_places *places, struct name_place *place,
			     const struct elf_functions *functions, uint64_t address);

/* Nobody could tell of those that have no name. They are waited for no more, but not given up. */
void name_places_fail(const struct place_list *list);

/* No more is to be known of them; the list is empty then. Failed: something is missing. */
void name_places_settle(struct name_places *places, struct place_list *list, bool failed);
void name_places_settle_one(struct name_places *places, struct name_place *place, bool failed);

/* Grows with each change of a place. */
uint64_t name_places_version(const struct name_places *places);

/*
 * The table's own string of a module, for which there is always room, as for their number. NULL:
 * no memory.
 */
const char *name_places_module(struct name_places *places, const char *module);

void name_places_refuse(struct name_places *places);
void name_places_count(const struct name_places *places, struct name_counts *ret);
