/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns lists of columns: as typed by users, and as keys bring them. Invariant: none stands twice. */
#include <errno.h>
#include <string.h>

#include "report/columns.h"

static const struct column *find(const char *name, size_t length)
{
	const struct column *column;

	for (size_t i = 0; (column = column_at(i)); i++) {
		if (strlen(column->name) == length && !strncmp(column->name, name, length))
			break;
	}
	return column;
}

static int no_column(const char *option, const char *name, size_t length, struct diag *d)
{
	char names[320] = "";

	for (size_t i = 0; column_at(i); i++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
			 column_at(i)->name);
	}
	return diag_set(d, DIAG_USAGE, EINVAL, "%s: no column \"%.*s\"; the columns are %s", option,
			(int)(length < 32 ? length : 32), name, names);
}

int column_find(const char *option, const char *name, const struct column **ret, struct diag *d)
{
	const struct column *column = find(name, strlen(name));

	if (!column)
		return no_column(option, name, strlen(name), d);
	*ret = column;
	return 0;
}

bool column_list_has(const struct column_list *list, const struct column *column)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->columns[i] == column)
			return true;
	}
	return false;
}

void column_list_add(struct column_list *list, const struct column *column)
{
	if (!column_list_has(list, column))
		list->columns[list->count++] = column;
}

int columns_parse(const char *list, struct column_list *ret, struct diag *d)
{
	struct column_list parsed = { .count = 0 };
	const struct column *column;
	size_t length;

	for (const char *at = list;; at += length + 1) {
		length = strcspn(at, ",");
		column = find(at, length);
		if (!column)
			return no_column("--columns", at, length, d);
		column_list_add(&parsed, column);
		if (!at[length])
			break;
	}
	*ret = parsed;
	return 0;
}

void columns_format(const struct column_list *list, char buf[COLUMNS_TEXT_MAX])
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < list->count; i++)
		used += (size_t)snprintf(buf + used, COLUMNS_TEXT_MAX - used, "%s%s",
					 used ? "," : "", list->columns[i]->name);
}

void columns_of_keys(unsigned int keys, struct column_list *ret)
{
	const struct column *column;

	ret->count = 0;
	for (size_t i = 0; (column = column_at(i)); i++) {
		if (keys & column->shown_by)
			column_list_add(ret, column);
	}
}
