/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the texts of paths and files. */
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
	free(texts);
}

int argument_texts_add(struct argument_texts *texts, uint64_t key, const char *text)
{
	char *copy = strdup(text);

	if (!copy || !array_grow(&texts->items, texts->count, sizeof(*texts->items))) {
		free(copy);
		return -ENOMEM;
	}
	texts->items[texts->count++] = (struct argument_text){ key, copy, 0 };
	return 0;
}

void argument_texts_sort(struct argument_texts *texts)
{
	if (texts->count)
		qsort(texts->items, texts->count, sizeof(*texts->items), compare_first_u64);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int argument_texts_number(char **list, size_t count, struct argument_texts **ret)
{
	struct argument_texts *texts __cleanup(argument_texts_freep) = NULL;

	if (argument_texts_new(&texts))
		return -ENOMEM;
	if (count)
		qsort(list, count, sizeof(*list), compare_strings);
	for (size_t i = 0; i < count; i++) {
		if (i && !strcmp(list[i - 1], list[i]))
			continue;
		if (argument_texts_add(texts, ARGUMENT_FIRST + texts->count, list[i]))
			return -ENOMEM;
	}
	*ret = steal_ptr(&texts);
	return 0;
}

static int compare_text(const void *key, const void *member)
{
	return strcmp(key, ((const struct argument_text *)member)->text);
}

uint64_t argument_texts_key(const struct argument_texts *texts, const char *text)
{
	const struct argument_text *found = texts->count
						    ? bsearch(text, texts->items, texts->count,
							      sizeof(*texts->items), compare_text)
						    : NULL;

	return found ? found->key : ARGUMENT_ABSENT;
}

const struct argument_text *argument_texts_find_item(const struct argument_texts *texts,
						     uint64_t key)
{
	size_t at = texts ? place_u64(texts->items, texts->count, sizeof(*texts->items), key) : 0;

	return texts && at < texts->count && texts->items[at].key == key ? &texts->items[at] : NULL;
}

const char *argument_texts_find(const struct argument_texts *texts, uint64_t key)
{
	const struct argument_text *found = argument_texts_find_item(texts, key);

	return found ? found->text : NULL;
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
