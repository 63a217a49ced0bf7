/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of all options of all verbs: from it come the command line, the daemon's configuration,
 * --help and completion.
 */
#ifndef BPFTRUSS_OPTION_TABLE_H
#define BPFTRUSS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "cmd/options.h"

/* Tells how an argument is read, and what its member is. */
enum option_kind {
	OPTION_FLAG,     /* bool; yes or no in files */
	OPTION_VALUE,    /* no argument: an enum becomes value */
	OPTION_CHOICE,   /* one of words: an enum becomes its index */
	OPTION_NUMBER,   /* integer from 1 to high */
	OPTION_SIZE,     /* bytes */
	OPTION_SECONDS,  /* ns */
	OPTION_TIME,     /* ns, short, with a unit */
	OPTION_DURATION, /* ns, long, with a unit */
	OPTION_PERCENT,  /* double; none is 0 if value is set */
	OPTION_MOMENT,   /* text: what it means depends on when that is asked */
	OPTION_TEXT,
	OPTION_FILE, /* a path */
	OPTION_PATH, /* an absolute path */
	OPTION_GROUP,
	OPTION_ADDRESS,  /* ADDRESS:PORT on loopback */
	OPTION_CALLS,    /* struct syscall_set * */
	OPTION_KEYS,     /* enum group_key bits */
	OPTION_COLUMN,   /* const struct column * */
	OPTION_COLUMNS,  /* struct column_list */
	OPTION_PIDS,     /* struct targets */
	OPTION_SELECTOR, /* struct targets; value is the enum selector_kind */
	NR_OPTION_KIND,
};

struct option_def {
	const char *name;
	char letter; /* 0: long form only */
	enum option_kind kind;
	unsigned int verbs;  /* enum verb_bit */
	size_t offset, size; /* of the member of struct options */
	const char *help;    /* further lines after a newline */
	const char *section; /* of configuration files; NULL: none has it */
	bool reloads;        /* a running daemon obeys it when it reads its files anew */
	const char *arg;     /* in --help; NULL: as its kind has it; "[=…": may be left out */
	size_t also;         /* offset of a bool that becomes true, too; 0: none */
	const char *range;   /* of an amount from low to high, in words; NULL: its kind's */
	uint64_t low, high;
	unsigned int value;
	const char *const *words;
	size_t nr_words;
};

extern const struct option_def option_defs[];
extern const size_t nr_option_defs;

/* The option of a verb by its long name; NULL when absent. */
const struct option_def *option_find(enum verb_bit verb, const char *name);

/* Returns what stands for its argument in --help; NULL: it takes none. */
const char *option_argument(const struct option_def *def);

/* no_argument, required_argument or optional_argument, of getopt.h. */
int option_wants(const struct option_def *def);

/*
 * Returns what completes its argument: "word" (one of the words), "list" (some of them, with commas),
 * "file" (or one of the words), "name" (of what the option is called); NULL: nothing.
 */
const char *option_hint(const struct option_def *def);

/*
 * Sets a member from an argument, NULL if there is none. A fault is a usage error that begins with
 * what the user wrote: called. The argument must live as long as the options.
 */
int option_set(const struct option_def *def, struct options *options, const char *called,
	       const char *arg, struct diag *d);

#endif
