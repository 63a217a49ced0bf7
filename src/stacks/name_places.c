/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns places in code and their names. Invariant: a place that is not settled is wanted of its file
 * or process, or in the batch of a worker.
 */
#include <errno.h>
#include <search.h>
#include <string.h>

#include "base/mem.h"
#include "stacks/names_private.h"

int place_list_add(struct place_list *list, struct name_place *place)
{
	if (list->nr == list->capacity) {
		size_t capacity = 2 * list->capacity + 16;
		struct name_place **grown =
			reallocarray(list->places, capacity, sizeof(*list->places));

		if (!grown)
			return -ENOMEM;
		list->places = grown;
		list->capacity = capacity;
	}
	list->places[list->nr++] = place;
	return 0;
}

static int compare_at(const void *a, const void *b)
{
	const struct name_place *x = *(struct name_place *const *)a;
	const struct name_place *y = *(struct name_place *const *)b;

	return (x->at > y->at) - (x->at < y->at);
}

int place_list_question(struct place_list *list, uint64_t add, struct elf_addresses *ret)
{
	uint64_t *addresses = calloc(list->nr + 1, sizeof(*addresses));
	size_t nr = 0;

	if (!addresses)
		return -ENOMEM;
	if (list->nr)
		qsort(list->places, list->nr, sizeof(*list->places), compare_at);
	for (size_t i = 0; i < list->nr && nr < MAX_ADDRESSES; i++) {
		uint64_t address = list->places[i]->at + add;

		if (!nr || address > addresses[nr - 1])
			addresses[nr++] = address;
	}
	*ret = (struct elf_addresses){ addresses, nr };
	return 0;
}

/* --- the tree --------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	const struct name_place *x = a, *y = b;

	if (x->file != y->file)
		return x->file > y->file ? 1 : -1;
	return (x->at > y->at) - (x->at < y->at);
}

void place_free(void *node)
{
	struct name_place *place = node;

	free(place->symbol);
	free(place->inlined);
	free(place->waiters);
	free(place);
}

static struct name_place *place_new(struct names *names, const struct name_place *like)
{
	struct name_place *place = malloc(sizeof(*place));

	if (!place)
		return NULL;
	*place = *like;
	place->module = names->source.module(names->source.closure, place->file);
	place->offset = names->source.address(names->source.closure, place->file, place->at);
	if (!tsearch(place, &names->places, compare_places)) {
		free(place);
		return NULL;
	}
	names->counts.places++;
	return place;
}

/* Somebody has a file again that nobody had. */
static void place_try_again(struct names *names, struct name_file *file, struct name_place *place)
{
	if (!place->failed || !file || file->is_hopeless)
		return;
	place->settled = place->failed = false;
	names->counts.failed--;
	if (name_file_want(names, file, place))
		place->settled = true;
}

struct name_place *names_place(struct names *names, uint32_t file, uint64_t at,
			       const struct process_id *process)
{
	const struct name_place like = { .file = file, .at = at };
	struct name_place *const *found = tfind(&like, &names->places, compare_places);
	struct name_file *known = name_file_get(names, file);
	struct name_place *place;

	if (known)
		known->process = *process;
	if (found) {
		place_try_again(names, known, *found);
		return *found;
	}
	if (!known || names->counts.places >= MAX_PLACES) {
		names->counts.refused += file != FILE_NONE;
		return NULL;
	}
	place = place_new(names, &like);
	if (place && name_file_want(names, known, place))
		place->settled = true;
	return place;
}

struct name_place *place_new_raw(uint64_t address)
{
	struct name_place *place = malloc(sizeof(*place));

	if (place)
		*place = (struct name_place){ .file = FILE_NONE, .at = address, .offset = address };
	return place;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool bytes_take(struct names *names, struct name_place *place, size_t bytes)
{
	if (names->counts.bytes + bytes > MAX_PLACE_NAME_BYTES) {
		names->counts.refused++;
		return false;
	}
	names->counts.bytes += bytes;
	place->bytes += bytes;
	return true;
}

void place_name(struct names *names, struct name_place *place, const char *symbol, uint64_t offset)
{
	size_t bytes = strlen(symbol) + 1;
	char *copy;

	if (place->symbol && !strcmp(place->symbol, symbol) && place->offset == offset)
		return;
	if (!bytes_take(names, place, bytes))
		return;
	copy = strdup(symbol);
	if (!copy)
		return;
	if (place->symbol) {
		names->counts.bytes -= strlen(place->symbol) + 1;
		place->bytes -= strlen(place->symbol) + 1;
	}
	free(place->symbol);
	place->symbol = copy;
	place->offset = offset;
	names_touch(names, place);
}

void place_name_inlined(struct names *names, struct name_place *place, const char *const *functions,
			size_t count)
{
	size_t bytes = 0;
	char *at;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(functions[i]) + 1;
	if (!count || place->inlined || !bytes_take(names, place, bytes))
		return;
	place->inlined = at = malloc(bytes);
	if (!at)
		return;
	for (size_t i = 0; i < count; i++)
		at = stpcpy(at, functions[i]) + 1;
	place->nr_inlined = count;
	names_touch(names, place);
}

void places_settle(struct names *names, struct place_list *list, bool failed)
{
	for (size_t i = 0; i < list->nr; i++) {
		struct name_place *place = list->places[i];

		place->settled = true;
		place->failed = failed && !place->symbol;
		names->counts.failed += place->failed;
		names_release(names, place);
	}
	free(list->places);
	*list = (struct place_list){ 0 };
}
