/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the use of getopt. */
#include "cmd/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MAX_OPTIONS     64
#define FIRST_LONG_ONLY 256

static int option_key(const struct option_table *table, size_t i)
{
	return table->defs[i].letter ?: FIRST_LONG_ONLY + (int)i;
}

static int option_argument(const struct option_def *def)
{
	if (!def->arg)
		return no_argument;
	return def->arg[0] == '[' && def->arg[1] == '=' ? optional_argument : required_argument;
}

static void options_for_getopt(const struct option_table *table, char *letters,
			       struct option *longs)
{
	letters += sprintf(letters, "%s:", table->command_follows ? "+" : "");
	for (size_t i = 0; i < table->count; i++) {
		const struct option_def *def = &table->defs[i];

		longs[i] = (struct option){ def->name, option_argument(def), NULL,
					    option_key(table, i) };
		if (def->letter)
			letters += sprintf(letters, "%c%s", def->letter, def->arg ? ":" : "");
	}
	longs[table->count] = (struct option){ 0 };
}

static const struct option_def *option_find(const struct option_table *table, int key)
{
	for (size_t i = 0; i < table->count; i++) {
		if (key == option_key(table, i))
			return &table->defs[i];
	}
	return NULL;
}

static int option_unknown(const struct option_table *table, const char *word, struct diag *d)
{
	/* A letter may stand inside a word, as in -cz. */
	if (optopt && optopt < FIRST_LONG_ONLY)
		return diag_set(d, DIAG_USAGE, EINVAL, "unknown option -%c; '%s' lists them",
				optopt, table->help_command);
	return diag_set(d, DIAG_USAGE, EINVAL, "unknown or ambiguous option %s; '%s' lists them",
			word, table->help_command);
}

int option_table_parse(const struct option_table *table, int argc, char **argv, void *options,
		       struct diag *d)
{
	char letters[2 + 2 * MAX_OPTIONS + 1];
	struct option longs[MAX_OPTIONS + 1];
	const struct option_def *def;
	int key, err;

	options_for_getopt(table, letters, longs);
	opterr = 0;
	while ((key = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (key == ':')
			return diag_set(d, DIAG_USAGE, EINVAL, "%s needs an argument",
					argv[optind - 1]);
		def = option_find(table, key);
		if (!def)
			return option_unknown(table, argv[optind - 1], d);
		err = def->set(options, optarg, d);
		if (err)
			return err;
	}
	return optind;
}

void option_table_print(const struct option_table *table)
{
	char left[64];

	for (size_t i = 0; i < table->count; i++) {
		const struct option_def *def = &table->defs[i];
		const char *line = def->help;

		snprintf(left, sizeof(left), "%c%c%c --%s%s%s", def->letter ? '-' : ' ',
			 def->letter ?: ' ', def->letter ? ',' : ' ', def->name,
			 option_argument(def) == required_argument ? " " : "", def->arg ?: "");
		for (; *line; line += line[strcspn(line, "\n")] == '\n') {
			printf("  %-27s %.*s\n", left, (int)strcspn(line, "\n"), line);
			line += strcspn(line, "\n");
			left[0] = 0;
		}
	}
}
