/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the use of getopt. */
#include "cmd/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MAX_OPTIONS     80
#define FIRST_LONG_ONLY 256

const struct option_def *option_at(const struct option_table *table, size_t index)
{
	for (size_t i = 0; i < OPTION_PARTS_MAX && table->parts[i]; i++) {
		if (index < table->parts[i]->count)
			return &table->parts[i]->defs[index];
		index -= table->parts[i]->count;
	}
	return NULL;
}

static int option_key(const struct option_def *def, size_t index)
{
	return def->letter ?: FIRST_LONG_ONLY + (int)index;
}

static int option_argument(const struct option_def *def)
{
	if (!def->arg)
		return no_argument;
	return def->arg[0] == '[' && def->arg[1] == '=' ? optional_argument : required_argument;
}

bool option_takes_argument(const struct option_def *def)
{
	return option_argument(def) != no_argument;
}

static void options_for_getopt(const struct option_table *table, char *letters,
			       struct option *longs)
{
	const struct option_def *def;
	size_t count = 0;

	letters += sprintf(letters, "%s:", table->command_follows ? "+" : "");
	for (; count < MAX_OPTIONS && (def = option_at(table, count)); count++) {
		longs[count] = (struct option){ def->name, option_argument(def), NULL,
						option_key(def, count) };
		if (def->letter)
			letters += sprintf(letters, "%c%s", def->letter, def->arg ? ":" : "");
	}
	longs[count] = (struct option){ 0 };
}

static const struct option_def *option_find(const struct option_table *table, int key)
{
	const struct option_def *def;

	for (size_t i = 0; (def = option_at(table, i)); i++) {
		if (key == option_key(def, i))
			return def;
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
	const struct option_def *def;
	char left[64];

	for (size_t i = 0; (def = option_at(table, i)); i++) {
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
