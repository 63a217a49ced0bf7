/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes and reads the path or file of a row: a text, or null and why there is none. */
#include "json/documents.h"

#include "json/json.h"

/* By enum argument_key; part of the contract. */
static const char *const reasons[NR_ARGUMENT_KEY] = {
	[ARGUMENT_OTHERS] = "no_room", [ARGUMENT_UNKNOWN] = "unreadable", [ARGUMENT_NONE] = "none"
};

void json_put_argument(struct json_writer *to, const struct snapshot *snapshot,
		       const struct row *row)
{
	const char *text = argument_texts_find(snapshot->arguments, row->split_value);
	const char *reason = row->split_value < NR_ARGUMENT_KEY ? reasons[row->split_value] : NULL;

	json_put_text(to, row_split_names[row->split], text);
	if (!text)
		json_put_word(to, "missing", reason ?: reasons[ARGUMENT_OTHERS]);
}

static uint64_t read_reason(const struct json_place *at)
{
	const char *word = json_get_word(at, "missing", 0) ?: "";

	for (uint64_t i = ARGUMENT_OTHERS; i < NR_ARGUMENT_KEY; i++) {
		if (!strcmp(reasons[i], word))
			return i;
	}
	json_refuse(at, "missing is no reason that is known");
	return ARGUMENT_OTHERS;
}

void json_get_argument(const struct json_place *at, struct snapshot *snapshot, struct row *row)
{
	char *text __cleanup(freep) = json_get_text(at, row_split_names[row->split], JSON_OR_NULL);

	if (!snapshot->arguments)
		json_check(at, argument_texts_new(&snapshot->arguments));
	if (!text)
		row->split_value = read_reason(at);
	else if (snapshot->arguments)
		json_check(at, argument_texts_key(snapshot->arguments, text, &row->split_value));
}
