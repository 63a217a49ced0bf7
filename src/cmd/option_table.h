/* SPDX-License-Identifier: BSD-2-Clause */
/* Options as a table, from which getopt's arguments and the lines of --help are made. */
#ifndef BPFTRUSS_OPTION_TABLE_H
#define BPFTRUSS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

#define OPTION_OFF "no"

struct option_def {
	const char *name;
	const char *arg;  /* NULL: takes none */
	const char *help; /* further lines after a newline */
	/* One without an argument gets NULL for yes, as from each flag, and OPTION_OFF for no. */
	int (*set)(void *options, const char *arg, struct diag *d);
	char letter; /* 0: long form only */
};

/* Options that belong together, in the order of --help. */
struct option_part {
	const struct option_def *defs;
	size_t count;
};

#define OPTION_PARTS_MAX 8

struct option_table {
	const struct option_part *parts[OPTION_PARTS_MAX]; /* NULL after the last */
	const char *help_command;                          /* what lists the options */
	bool command_follows; /* the first word that is no option ends them */
};

/*
 * Calls set for each option, in order. Returns the index in argv of the first word that is no
 * option, or fills d and returns a negative errno.
 */
int option_table_parse(const struct option_table *table, int argc, char **argv, void *options,
		       struct diag *d);

/* The option at an index over all parts; NULL after the last. */
const struct option_def *option_at(const struct option_table *table, size_t index);

/* Whether it takes an argument, or may. */
bool option_takes_argument(const struct option_def *def);

/* Prints a line an option on stdout. */
void option_table_print(const struct option_table *table);

#endif
