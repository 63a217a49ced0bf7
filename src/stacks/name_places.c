/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps places in code and their names. Invariants: a place that is not settled is wanted of its file or
 * process, or in the batch of a worker; one that nobody holds is idle, unless it is one of these or has
 * changed; only idle ones are given up for others.
 */
#include "stacks/name_places.h"

#include "base/text.h"

#define NR_BUCKETS 16384

/* malloc() adds this much to each. */
#define PIECE_BYTES 16
#define NODE_BYTES  48

struct name_places {
	struct stack_table *table;
	LIST_HEAD(place_bucket, name_place) * buckets;
	void *users;             /* tree of struct name_user */
	struct place_queue idle; /* the oldest first */
	uint64_t version;
	uint64_t name_bytes;
	uint64_t inlined_bytes;
	uint64_t module_bytes;
	struct name_counts counts;
};

/* --- lists ------------------------------------------------------------------------------------ */

int place_list_add(struct place_list *list, struct name_place *place)
{
	if (!array_grow(&list->places, list->nr, sizeof(*list->places)))
		return -ENOMEM;
	list->places[list->nr++] = place;
	return 0;
}

static int compare_at(const void *a, const void *b)
{
	const struct name_place *x = *(struct name_place *const *)a;
	const struct name_place *y = *(struct name_place *const *)b;

	return compare_u64(x->at, y->at);
}

/* The worker wants them in order, each once. */
int place_list_ask(struct place_list *list, uint64_t add, struct elf_question *question,
		   struct child *ret)
{
	uint64_t *numbers __cleanup(freep) = calloc(list->nr + 1, sizeof(*numbers));
	struct elf_addresses addresses = { numbers, 0 };
	int err;

	if (!numbers)
		return -ENOMEM;
	if (list->nr)
		qsort(list->places, list->nr, sizeof(*list->places), compare_at);
	for (size_t i = 0; i < list->nr && addresses.nr < MAX_ADDRESSES; i++) {
		uint64_t address = list->places[i]->at + add;

		if (!addresses.nr || address > numbers[addresses.nr - 1])
			numbers[addresses.nr++] = address;
	}
	question->addresses = &addresses;
	err = elf_worker_start(question, ret);
	question->addresses = NULL;
	return err;
}

/* --- life ------------------------------------------------------------------------------------- */

int name_places_new(struct stack_table *table, struct name_places **ret)
{
	struct name_places *places __cleanup(freep) = calloc(1, sizeof(*places));

	if (places)
		places->buckets = calloc(NR_BUCKETS, sizeof(*places->buckets));
	if (!places || !places->buckets)
		return -ENOMEM;
	places->table = table;
	TAILQ_INIT(&places->idle);
	places->version = 1;
	*ret = steal_ptr(&places);
	return 0;
}

static void place_free(struct name_place *place)
{
	free(place->inlined);
	free(place);
}

void name_places_free(struct name_places *places)
{
	struct name_place *place, *next;

	if (!places)
		return;
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		for (place = LIST_FIRST(&places->buckets[i]); place; place = next) {
			next = LIST_NEXT(place, same_hash);
			place_free(place);
		}
	}
	tdestroy(places->users, free);
	free(places->buckets);
	free(places);
}

struct name_user *name_places_user(struct name_places *places, uint32_t uid)
{
	const struct name_user fresh = { .uid = uid };
	struct name_user *const *found = tfind(&uid, &places->users, compare_first_u32), *user;

	if (found)
		return *found;
	user = tree_add(&places->users, &fresh, sizeof(fresh), compare_first_u32);
	if (user)
		TAILQ_INIT(&user->idle);
	return user;
}

/* --- idle ones -------------------------------------------------------------------------------- */

static void idle_remove(struct name_places *places, struct name_place *place)
{
	TAILQ_REMOVE(&places->idle, place, queue);
	TAILQ_REMOVE(&place->user->idle, place, of_user);
}

static bool place_is_idle(const struct name_place *place)
{
	return !place->nr_holders && place->settled;
}

static struct place_bucket *bucket_of(const struct name_places *places, uint32_t file, uint64_t at)
{
	uint64_t hash = (at ^ (uint64_t)file << 44) * 0x9e3779b97f4a7c15;

	return &places->buckets[hash >> 50];
}

static void place_remove(struct name_places *places, struct name_place *place)
{
	LIST_REMOVE(place, same_hash);
	places->counts.places--;
	places->counts.failed += place->failed;
	place->user->nr_places--;
	places->inlined_bytes -= place->nr_inlined * sizeof(*place->inlined);
	place_free(place);
}

/* A user with half of all places, or who meets a full table, gives up their own first. */
static bool room_make(struct name_places *places, struct name_user *user)
{
	struct name_place *place = NULL;
	bool is_full = places->counts.places >= MAX_PLACES;

	if (user->nr_places < MAX_PLACES / 2 && !is_full)
		return true;
	place = TAILQ_FIRST(&user->idle);
	if (!place && user->nr_places < MAX_PLACES / 2)
		place = TAILQ_FIRST(&places->idle);
	if (!place) {
		places->counts.refused++;
		return false;
	}
	idle_remove(places, place);
	place_remove(places, place);
	return true;
}

/* --- places ----------------------------------------------------------------------------------- */

struct name_place *name_places_hold(struct name_places *places, uint32_t file, uint64_t at,
				    struct name_user *user)
{
	struct place_bucket *bucket = bucket_of(places, file, at);
	/* Places of no file are not shared: thousands may be in one bucket, and none is looked for. */
	struct name_place *place = file == FILE_NONE ? NULL : LIST_FIRST(bucket);

	while (place && (place->file != file || place->at != at))
		place = LIST_NEXT(place, same_hash);
	if (place) {
		if (place_is_idle(place))
			idle_remove(places, place);
		place->nr_holders++;
		return place;
	}
	place = room_make(places, user) ? malloc(sizeof(*place)) : NULL;
	if (!place)
		return NULL;
	*place = (struct name_place){
		.file = file,
		.at = at,
		.offset = at,
		.user = user,
		.nr_holders = 1,
	};
	LIST_INSERT_HEAD(bucket, place, same_hash);
	user->nr_places++;
	places->counts.places++;
	return place;
}

/* A place of a process is nobody's then: the next stack has its own. */
static void place_rest(struct name_places *places, struct name_place *place)
{
	if (!place_is_idle(place))
		return;
	if (place->file == FILE_NONE) {
		place_remove(places, place);
		return;
	}
	TAILQ_INSERT_TAIL(&places->idle, place, queue);
	TAILQ_INSERT_TAIL(&place->user->idle, place, of_user);
}

void name_places_let_go(struct name_places *places, struct name_place *place)
{
	place->nr_holders--;
	place_rest(places, place);
}

/* --- what becomes of them --------------------------------------------------------------------- */

uint64_t name_places_version(const struct name_places *places)
{
	return places->version;
}

static void place_change(struct name_places *places, struct name_place *place)
{
	place->version = ++places->version;
}

void name_places_fail(const struct place_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		list->places[i]->failed = true;
}

void name_places_settle_one(struct name_places *places, struct name_place *place, bool failed)
{
	if (place->settled)
		return;
	place_change(places, place);
	place->failed = failed;
	place->settled = true;
	place_rest(places, place);
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
			     const struct elf_functions *functions, uint64_t address)
{
	const struct elf_function *found = elf_functions_find(functions, address);
	const char **inlined;
	size_t bytes = found ? found->nr * sizeof(*inlined) : 0;

	if (!found || place->inlined)
		return;
	if (places->name_bytes + places->inlined_bytes + bytes > MAX_PLACE_NAME_BYTES) {
		places->counts.refused++;
		return;
	}
	inlined = calloc(found->nr, sizeof(*inlined));
	for (uint32_t i = 0; inlined && i < found->nr; i++) {
		inlined[i] =
			symbol_intern(places, place->user, elf_function_name(functions, found, i));
		if (!inlined[i]) {
			free(inlined);
			return;
		}
	}
	if (!inlined)
		return;
	place->inlined = inlined;
	place->nr_inlined = (uint16_t)found->nr;
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
	const struct name_place *place;

	*ret = places->counts;
	ret->bytes = places->counts.places * (sizeof(struct name_place) + PIECE_BYTES) +
		     places->name_bytes + places->inlined_bytes + places->module_bytes;
	for (size_t i = 0; i < NR_BUCKETS; i++) {
		LIST_FOREACH(place, &places->buckets[i], same_hash)
		{
			ret->failed += place->failed;
			ret->waiting += place->settled || place->failed ? 0 : place->nr_holders;
		}
	}
}
