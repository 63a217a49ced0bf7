/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps places in code and their names. Invariants: a place that is not settled is wanted of its file or
 * process, or in the batch of a worker; one that nobody holds is idle, unless it is one of these or has
 * changed; only idle ones are given up for others.
 */
#include "stacks/name_places.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NR_BUCKETS 16384

/* malloc() adds this much to each. */
#define PIECE_BYTES 16
#define NODE_BYTES  48

struct name_places {
	struct stack_table *table;
	struct name_place **buckets;
	void *users;                         /* tree of struct name_user */
	struct name_place *idle, *idle_last; /* the oldest first */
	struct name_place *changed, *changed_last;
	uint64_t name_bytes;
	uint64_t inlined_bytes;
	uint64_t module_bytes;
	struct name_counts counts;
};

/* --- lists ------------------------------------------------------------------------------------ */

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

/* --- life ------------------------------------------------------------------------------------- */

int name_places_new(struct stack_table *table, struct name_places **ret)
{
	struct name_places *places = calloc(1, sizeof(*places));

	if (places)
		places->buckets = calloc(NR_BUCKETS, sizeof(struct name_place *));
	if (!places || !places->buckets) {
		free(places);
		return -ENOMEM;
	}
	places->table = table;
	*ret = places;
	return 0;
}

static void place_free(struct name_place *place)
{
	free(place->inlined);
	free(place->waiters);
	free(place);
}

void name_places_free(struct name_places *places)
{
	struct name_place *next;

	if (!places)
		return;
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		for (struct name_place *place = places->buckets[i]; place; place = next) {
			next = place->next;
			place_free(place);
		}
	}
	tdestroy(places->users, free);
	free(places->buckets);
	free(places);
}

static int compare_users(const void *a, const void *b)
{
	const struct name_user *x = a, *y = b;

	return (x->uid > y->uid) - (x->uid < y->uid);
}

struct name_user *name_places_user(struct name_places *places, uint32_t uid)
{
	const struct name_user like = { .uid = uid };
	struct name_user *const *found = tfind(&like, &places->users, compare_users);
	struct name_user *user = found ? *found : calloc(1, sizeof(*user));

	if (found || !user)
		return user;
	user->uid = uid;
	if (tsearch(user, &places->users, compare_users))
		return user;
	free(user);
	return NULL;
}

/* --- idle ones -------------------------------------------------------------------------------- */

static void idle_add(struct name_places *places, struct name_place *place)
{
	struct name_user *user = place->user;

	place->older = places->idle_last;
	place->newer = NULL;
	*(place->older ? &place->older->newer : &places->idle) = place;
	places->idle_last = place;
	place->before = user->idle_last;
	place->after = NULL;
	*(place->before ? &place->before->after : &user->idle) = place;
	user->idle_last = place;
}

static void idle_remove(struct name_places *places, struct name_place *place)
{
	struct name_user *user = place->user;

	*(place->older ? &place->older->newer : &places->idle) = place->newer;
	*(place->newer ? &place->newer->older : &places->idle_last) = place->older;
	*(place->before ? &place->before->after : &user->idle) = place->after;
	*(place->after ? &place->after->before : &user->idle_last) = place->before;
}

static bool place_is_idle(const struct name_place *place)
{
	return !place->nr_holders && place->settled && !place->changed;
}

static struct name_place **bucket_of(const struct name_places *places, uint32_t file, uint64_t at)
{
	uint64_t hash = (at ^ (uint64_t)file << 44) * 0x9e3779b97f4a7c15;

	return &places->buckets[hash >> 50];
}

static void place_remove(struct name_places *places, struct name_place *place)
{
	struct name_place **at = bucket_of(places, place->file, place->at);

	while (*at != place)
		at = &(*at)->next;
	*at = place->next;
	places->counts.places--;
	place->user->nr_places--;
	places->inlined_bytes -= place->nr_inlined * sizeof(*place->inlined);
	place_free(place);
}

/* Whoever has half of all, or meets a table that is full, gives up his own first. */
static bool room_make(struct name_places *places, struct name_user *user)
{
	struct name_place *place = NULL;
	bool is_full = places->counts.places >= MAX_PLACES;

	if (user->nr_places < MAX_PLACES / 2 && !is_full)
		return true;
	place = user->idle;
	if (!place && user->nr_places < MAX_PLACES / 2)
		place = places->idle;
	if (!place) {
		places->counts.refused++;
		return false;
	}
	idle_remove(places, place);
	place_remove(places, place);
	return true;
}

/* --- places ----------------------------------------------------------------------------------- */

static struct name_place *place_new(struct name_places *places, uint32_t file, uint64_t at,
				    struct name_user *user)
{
	struct name_place **bucket = bucket_of(places, file, at);
	struct name_place *place;

	if (!room_make(places, user))
		return NULL;
	place = malloc(sizeof(*place));
	if (!place)
		return NULL;
	*place = (struct name_place){
		.file = file,
		.is_raw = file == FILE_NONE,
		.at = at,
		.offset = at,
		.user = user,
		.next = *bucket,
	};
	*bucket = place;
	user->nr_places++;
	places->counts.places++;
	return place;
}

struct name_place *name_places_hold(struct name_places *places, uint32_t file, uint64_t at,
				    struct name_user *user)
{
	struct name_place *place = file == FILE_NONE ? NULL : *bucket_of(places, file, at);

	while (place && (place->file != file || place->at != at))
		place = place->next;
	if (place && place_is_idle(place))
		idle_remove(places, place);
	if (!place)
		place = place_new(places, file, at, user);
	if (place)
		place->nr_holders++;
	return place;
}

static void place_rest(struct name_places *places, struct name_place *place)
{
	if (!place_is_idle(place))
		return;
	if (place->is_raw)
		place_remove(places, place);
	else
		idle_add(places, place);
}

void name_places_let_go(struct name_places *places, struct name_place *place)
{
	place->nr_holders--;
	place_rest(places, place);
}

/* --- who waits -------------------------------------------------------------------------------- */

static uint64_t place_waiting(const struct name_place *place)
{
	return place->settled || place->failed ? 0 : place->nr_waiters;
}

/* Powers of two, so that their number tells how many there is room for. */
int name_places_wait(struct name_places *places, struct name_place *place,
		     struct unnamed_stack *stack)
{
	uint32_t nr = place->nr_waiters;
	struct unnamed_stack **grown;

	if (!(nr & (nr - 1))) {
		grown = reallocarray(place->waiters, nr ? 2 * (size_t)nr : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		place->waiters = grown;
	}
	places->counts.waiting -= place_waiting(place);
	place->waiters[place->nr_waiters++] = stack;
	places->counts.waiting += place_waiting(place);
	return 0;
}

void name_places_forget_waiters(struct name_places *places, struct name_place *place)
{
	places->counts.waiting -= place_waiting(place);
	free(steal_ptr(&place->waiters));
	place->nr_waiters = 0;
}

static void place_change(struct name_places *places, struct name_place *place)
{
	if (place->changed)
		return;
	if (place_is_idle(place))
		idle_remove(places, place);
	place->changed = true;
	place->changed_next = NULL;
	*(places->changed ? &places->changed_last->changed_next : &places->changed) = place;
	places->changed_last = place;
}

struct name_place *name_places_take_changed(struct name_places *places)
{
	struct name_place *place = places->changed;

	if (!place)
		return NULL;
	places->changed = place->changed_next;
	place->changed = false;
	place->nr_holders++;
	return place;
}

bool name_places_have_changed(const struct name_places *places)
{
	return places->changed;
}

static void place_fail(struct name_places *places, struct name_place *place, bool failed)
{
	places->counts.failed += (uint64_t)failed - (uint64_t)place->failed;
	place->failed = failed;
}

void name_places_fail(struct name_places *places, const struct place_list *list)
{
	for (size_t i = 0; i < list->nr; i++) {
		struct name_place *place = list->places[i];

		places->counts.waiting -= place_waiting(place);
		place_fail(places, place, true);
	}
}

void name_places_revive(struct name_places *places, struct name_place *place)
{
	places->counts.waiting -= place_waiting(place);
	place_fail(places, place, false);
	place->settled = false;
	places->counts.waiting += place_waiting(place);
}

void name_places_settle_one(struct name_places *places, struct name_place *place, bool failed)
{
	if (place->settled)
		return;
	places->counts.waiting -= place_waiting(place);
	place_fail(places, place, failed);
	place_change(places, place);
	place->settled = true;
}

void name_places_settle(struct name_places *places, struct place_list *list, bool failed)
{
	for (size_t i = 0; i < list->nr; i++)
		name_places_settle_one(places, list->places[i], failed);
	free(list->places);
	*list = (struct place_list){ 0 };
}

/* --- names ------------------------------------------------------------------------------------ */

const char *name_places_module(struct name_places *places, const char *module)
{
	const char *known = module ? stack_table_string(places->table, module) : NULL;

	if (known || !module || stack_table_intern(places->table, module, &known))
		return known;
	places->module_bytes += strlen(module) + 1 + NODE_BYTES;
	return known;
}

/* The table's own string; NULL: there is no room for it, or no memory. */
static const char *symbol_intern(struct name_places *places, struct name_user *user,
				 const char *string)
{
	const char *known = stack_table_string(places->table, string);
	uint64_t bytes = strlen(string) + 1 + NODE_BYTES;

	if (known)
		return known;
	if (places->name_bytes + bytes > MAX_PLACE_NAME_BYTES ||
	    user->name_bytes + bytes > MAX_PLACE_NAME_BYTES / 2) {
		places->counts.refused++;
		return NULL;
	}
	if (stack_table_intern(places->table, string, &known))
		return NULL;
	places->name_bytes += bytes;
	user->name_bytes += bytes;
	return known;
}

void name_places_put_module(struct name_places *places, struct name_place *place,
			    const char *module)
{
	if (!module || (place->module && !strcmp(place->module, module)))
		return;
	module = name_places_module(places, module);
	if (!module)
		return;
	place->module = module;
	place_change(places, place);
}

void name_places_put_offset(struct name_places *places, struct name_place *place, uint64_t offset)
{
	if (place->symbol || place->offset == offset)
		return;
	place->offset = offset;
	place_change(places, place);
}

void name_places_put_symbol(struct name_places *places, struct name_place *place,
			    const char *symbol, uint64_t offset)
{
	if (place->symbol && !strcmp(place->symbol, symbol) && place->offset == offset)
		return;
	symbol = symbol_intern(places, place->user, symbol);
	if (!symbol)
		return;
	place->symbol = symbol;
	place->offset = offset;
	place_change(places, place);
}

/* All of them, or none: a chain with a gap would be another one. */
void name_places_put_inlined(struct name_places *places, struct name_place *place,
			     const char *const *functions, size_t count)
{
	const char **inlined;
	size_t bytes = count * sizeof(*inlined);

	if (!count || place->inlined)
		return;
	if (places->name_bytes + places->inlined_bytes + bytes > MAX_PLACE_NAME_BYTES) {
		places->counts.refused++;
		return;
	}
	inlined = calloc(count, sizeof(*inlined));
	for (size_t i = 0; inlined && i < count; i++) {
		inlined[i] = symbol_intern(places, place->user, functions[i]);
		if (!inlined[i]) {
			free(inlined);
			return;
		}
	}
	if (!inlined)
		return;
	place->inlined = inlined;
	place->nr_inlined = (uint16_t)count;
	places->inlined_bytes += bytes;
	place_change(places, place);
}

/* --- counts ----------------------------------------------------------------------------------- */

void name_places_refuse(struct name_places *places)
{
	places->counts.refused++;
}

void name_places_count(const struct name_places *places, struct name_counts *ret)
{
	*ret = places->counts;
	ret->bytes = places->counts.places * (sizeof(struct name_place) + PIECE_BYTES) +
		     places->name_bytes + places->inlined_bytes + places->module_bytes;
}
