/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes and reads the path or file of a row: a text, or null and why there is none. */
#include "json/documents.h"

#include "json/json.h"

/* Names by enum argument_key; they are part of the contract. */
static const char *const reasons[NR_ARGUMENT_KEY] = {
	[ARGUMENT_OTHERS] = "no_room", [ARGUMENT_UNKNOWN] = "unreadable", [ARGUMENT_NONE] = "none"
};

const char *json_argument_reason(enum argument_key key)
{
	return reasons[key] ?: reasons[ARGUMENT_OTHERS];
}

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

void json_get_argument(const struct json_place *at, const struct argument_texts *texts,
		       struct row *row)
{
	char *text __cleanup(freep) = json_get_text(at, row_split_names[row->split], JSON_OR_NULL);

	if (!text)
		row->split_value = read_reason(at);
	else if (texts)
		row->split_value = argument_texts_key(texts, text);
}

/* The key of a row that has a path or a file, or null in its place. */
static const char *split_key(const struct json_place *row)
{
	const char *found = NULL;

	for (enum call_split split = SPLIT_PATH; split < NR_CALL_SPLIT; split++) {
		if (json_object_get(row->object, row_split_names[split]))
			found = row_split_names[split];
	}
	return found;
}

struct text_list {
	char **texts; /* owned, as each of them */
	size_t count;
};

static void text_list_done(struct text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->texts[i]);
	free(list->texts);
}

void json_get_arguments(const struct json_place *whole, struct argument_texts **ret)
{
	const json_t *rows = json_get_list(whole, "rows");
	struct text_list list __cleanup(text_list_done) = { .count = 0 };
	struct json_place at;
	bool is_split = false;

	list.texts = calloc(json_array_size(rows) + 1, sizeof(*list.texts));
	if (!list.texts)
		json_check(whole, -ENOMEM);
	for (size_t i = 0; json_get_element(whole, rows, i, &at); i++) {
		const char *key = split_key(&at);
		char *text = key ? json_get_text(&at, key, JSON_OR_NULL) : NULL;

		is_split |= key != NULL;
		if (text)
			list.texts[list.count++] = text;
	}
	if (is_split)
		json_check(whole, argument_texts_number(list.texts, list.count, ret));
}
