/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the texts of paths and files. */
#include "model/argument.h"

#include "base/text.h"

int argument_texts_new(struct argument_texts **ret)
{
	struct argument_texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return -ENOMEM;
	texts->refs = 1;
	*ret = texts;
	return 0;
}

struct argument_texts *argument_texts_ref(struct argument_texts *texts)
{
	if (texts)
		texts->refs++;
	return texts;
}

void argument_texts_free(struct argument_texts *texts)
{
	if (!texts || --texts->refs)
		return;
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i].text);
	free(texts->items);
	tdestroy(texts->by_text, free);
	free(texts);
}

int argument_texts_add(struct argument_texts *texts, uint64_t key, const char *text)
{
	char *copy = strdup(text);

	if (!copy || !array_grow(&texts->items, texts->count, sizeof(*texts->items))) {
		free(copy);
		return -ENOMEM;
	}
	texts->items[texts->count++] = (struct argument_text){ key, copy };
	return 0;
}

void argument_texts_sort(struct argument_texts *texts)
{
	if (texts->count)
		qsort(texts->items, texts->count, sizeof(*texts->items), compare_first_u64);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct argument_text *)a)->text,
		      ((const struct argument_text *)b)->text);
}

int argument_texts_key(struct argument_texts *texts, const char *text, uint64_t *ret)
{
	struct argument_text item = { ARGUMENT_FIRST + texts->count, (char *)text };
	struct argument_text **found = tfind(&item, &texts->by_text, compare_texts);

	if (!found) {
		if (argument_texts_add(texts, item.key, text))
			return -ENOMEM;
		item.text = texts->items[texts->count - 1].text;
		if (!tree_add(&texts->by_text, &item, sizeof(item), compare_texts))
			return -ENOMEM;
	}
	*ret = found ? (*found)->key : item.key;
	return 0;
}

const char *argument_texts_find(const struct argument_texts *texts, uint64_t key)
{
	size_t at = texts ? place_u64(texts->items, texts->count, sizeof(*texts->items), key) : 0;

	return texts && at < texts->count && texts->items[at].key == key ? texts->items[at].text
									 : NULL;
}

size_t path_folder_length(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	while (length && path[length - 1] != '/')
		length--;
	while (length > 1 && path[length - 1] == '/')
		length--;
	return length;
}
