/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the table of options: as --help, and for the completion of shells. */
#include "cmd/options.h"
#include "model/label.h"
#include "syscalls/families.h"
#include "syscalls/names.h"

/* The width of the column of options in --help. */
#define HELP_COLUMN 27

static void option_print(const struct option_def *def)
{
	const char *line = def->help, *arg = option_argument(def);
	char left[64];

	snprintf(left, sizeof(left), "%c%c%c --%s%s%s", def->letter ? '-' : ' ', def->letter ?: ' ',
		 def->letter ? ',' : ' ', def->name, arg && strncmp(arg, "[=", 2) != 0 ? " " : "",
		 arg ?: "");
	if (strlen(left) > HELP_COLUMN) {
		printf("  %s\n", left);
		left[0] = 0;
	}
	for (; *line; line += line[strcspn(line, "\n")] == '\n') {
		printf("  %-*s %.*s\n", HELP_COLUMN, left, (int)strcspn(line, "\n"), line);
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

/* Whether a verb of the daemon's can tell rows of this key apart. */
static bool verb_has_key(const struct verb *verb, const char *word)
{
	struct diag d = { 0 };
	unsigned int keys;

	return group_keys_parse("by", word, &keys, &d) || !(keys & verb_keys_not_kept(verb->bit));
}

/* Beyond them programs see none. */
#define ERRNOS 512

static void print_words(const struct option_def *def, const struct verb *verb)
{
	bool columns = def->kind == OPTION_SORT || def->kind == OPTION_COLUMNS;

	for (size_t i = 0; i < def->nr_words; i++) {
		if (def->kind != OPTION_KEYS || verb_has_key(verb, def->words[i]))
			printf(" %s", def->words[i]);
	}
	for (size_t i = 0; columns && column_at(i); i++)
		printf(" %s", column_at(i)->name);
	for (int err = 1; def->kind == OPTION_ERRNOS && option_argument(def) && err < ERRNOS;
	     err++) {
		if (errno_name(err))
			printf(" %s", errno_name(err));
	}
	if (def->kind != OPTION_CALLS)
		return;
	for (size_t i = 0; class_name(i); i++)
		printf(" %%%s", class_name(i));
	for (int nr = -1; (nr = syscall_next(LABEL_NATIVE_ABI, nr)) >= 0;)
		printf(" %s", syscall_find_name(LABEL_NATIVE_ABI, nr));
	for (size_t i = 0; family_name(i); i++) {
		if (syscall_find(LABEL_NATIVE_ABI, family_name(i)) < 0)
			printf(" %s", family_name(i));
	}
}

void options_print_completion(const struct verb *verb)
{
	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];

		if (!(def->verbs & verb->bit))
			continue;
		/* If two options share a name, the one for reports has more words. */
		if (verb->bit & VERB_COUNT && !(def->verbs & VERB_COUNT) &&
		    option_find(VERB_COUNT, def->name))
			continue;
		printf("--%s", def->name);
		if (def->letter)
			printf(" -%c", def->letter);
		printf("\t%s\t%.*s\t", option_hint(def), (int)strcspn(def->help, "\n"), def->help);
		print_words(def, verb);
		putchar('\n');
	}
}
