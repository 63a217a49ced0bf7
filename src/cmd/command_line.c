/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes what getopt wants, --help and the words of completion from the table of options. */
#include "cmd/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "syscalls/names.h"

#define MAX_OPTIONS     80 /* of one verb */
#define FIRST_LONG_ONLY 256

/* Returns the value by which getopt names an option. */
static int option_key(size_t index)
{
	return option_defs[index].letter ?: FIRST_LONG_ONLY + (int)index;
}

static void options_for_getopt(const struct verb *verb, char *letters, struct option *longs)
{
	letters += sprintf(letters, "%s:", verb->bit == VERB_COUNT ? "+" : "");
	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];

		if (!(def->verbs & verb->bit))
			continue;
		*longs++ = (struct option){ def->name, option_wants(def), NULL, option_key(i) };
		if (def->letter)
			letters += sprintf(letters, "%c%s", def->letter,
					   option_wants(def) == no_argument ? "" : ":");
	}
	*longs = (struct option){ 0 };
}

static int option_unknown(const struct verb *verb, const char *word, struct diag *d)
{
	char letter[] = { '-', (char)optopt, 0 };
	/* A letter may stand inside a word, as in -cz. */
	bool is_letter = optopt && optopt < FIRST_LONG_ONLY;

	return diag_set(d, DIAG_USAGE, EINVAL,
			"unknown%s option %.100s; 'bpftruss %s%s--help' lists them",
			is_letter ? "" : " or ambiguous", is_letter ? letter : word, verb->name,
			*verb->name ? " " : "");
}

/* Sets the option that getopt has found. */
static int option_take(struct options *o, int key, struct diag *d)
{
	char called[32];

	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];

		if (!(def->verbs & o->verb->bit) || option_key(i) != key)
			continue;
		if (def->letter)
			snprintf(called, sizeof(called), "-%c", def->letter);
		else
			snprintf(called, sizeof(called), "--%s", def->name);
		return option_set(def, o, called, optarg, d);
	}
	return option_unknown(o->verb, o->argv[optind - 1], d);
}

static int words_refuse(const struct options *o, struct diag *d)
{
	bool has_names = option_find(o->verb->bit, "name");

	return diag_set(d, DIAG_USAGE, EINVAL, "%s: \"%.100s\" is no option; %s", o->verb->name,
			o->words[0],
			has_names ? "-n NAME takes processes of that name" : "see --help");
}

int options_read(struct options *o, int argc, char **argv, struct diag *d)
{
	char letters[2 + 2 * MAX_OPTIONS + 1];
	struct option longs[MAX_OPTIONS + 1];
	int key, err = 0;

	options_for_getopt(o->verb, letters, longs);
	o->argc = argc;
	o->argv = argv;
	opterr = 0;
	optind = 0;
	while (!err && (key = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (key == ':')
			return diag_set(d, DIAG_USAGE, EINVAL, "%s needs an argument",
					argv[optind - 1]);
		err = option_take(o, key, d);
	}
	if (err)
		return err;
	o->words = argv + optind;
	o->nr_words = argc - optind;
	if (o->nr_words && o->verb->bit == VERB_COUNT)
		o->command = o->words;
	return o->nr_words && !o->verb->takes_words && !o->help ? words_refuse(o, d) : 0;
}

/* --- help and completion ---------------------------------------------------------------------- */

static void option_print(const struct option_def *def)
{
	const char *line = def->help, *arg = option_argument(def);
	char left[64];

	snprintf(left, sizeof(left), "%c%c%c --%s%s%s", def->letter ? '-' : ' ', def->letter ?: ' ',
		 def->letter ? ',' : ' ', def->name,
		 option_wants(def) == required_argument ? " " : "", arg ?: "");
	for (; *line; line += line[strcspn(line, "\n")] == '\n') {
		printf("  %-27s %.*s\n", left, (int)strcspn(line, "\n"), line);
		line += strcspn(line, "\n");
		left[0] = 0;
	}
}

void options_print_help(const struct verb *verb)
{
	for (size_t i = 0; i < nr_option_defs; i++) {
		if (option_defs[i].verbs & verb->bit)
			option_print(&option_defs[i]);
	}
}

static void print_words(const struct option_def *def)
{
	bool columns = def->kind == OPTION_COLUMN || def->kind == OPTION_COLUMNS;

	for (size_t i = 0; i < def->nr_words; i++)
		printf(" %s", def->words[i]);
	for (size_t i = 0; columns && column_at(i); i++)
		printf(" %s", column_at(i)->name);
	for (size_t i = 0; def->kind == OPTION_CALLS && class_name(i); i++)
		printf(" %%%s", class_name(i));
}

void options_print_completion(const struct verb *verb)
{
	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];

		if (!(def->verbs & verb->bit))
			continue;
		printf("--%s", def->name);
		if (def->letter)
			printf(" -%c", def->letter);
		if (option_wants(def) == required_argument) {
			printf("\t%s\t", option_hint(def) ?: "none");
			print_words(def);
		}
		putchar('\n');
	}
}
