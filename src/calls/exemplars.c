/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps exemplars in a hash of processes and kinds. When it is full, the faster half is forgotten. */
#include "calls/exemplars.h"

#include "base/text.h"

#define LINK_MAX   4096
#define FIRST_SIZE 256 /* of the hash, a power of 2 */

struct kind {
	struct exemplar_kind of;
	size_t count;                         /* 0: nobody is here */
	struct exemplar *list[EXEMPLARS_MAX]; /* owned, the slowest first */
};

struct exemplars {
	struct exemplars_options options;
	struct kind *kinds; /* owned; a power of 2 of them */
	size_t size, used;
	size_t bytes;                   /* of what is kept, without the hash */
	struct call_decoder *decoder;   /* owned */
	const struct exemplar *decoded; /* borrowed */
	uint64_t until_ns;              /* later ones are not found yet */
	struct exemplar_counts counts;
};

/* --- names ---------------------------------------------------------------------------------------- */

/* The index of the first argument that is an open descriptor; -1: there is none. */
static int fd_argument(const struct call_record *record)
{
	const struct call_arguments *arguments = call_arguments(record->abi, record->nr);

	for (size_t i = 0; i < arguments->count; i++) {
		const enum argument_kind kind = arguments->arguments[i].kind;

		if ((kind == ARG_FD || kind == ARG_DIRFD) && (int)record->arguments[i] >= 0)
			return (int)i;
	}
	return -1;
}

/* Answers the decoder. */
static struct fd_text name_of(void *context, const struct call_record *record, int fd, bool is_made)
{
	const struct exemplars *e = context;
	int i = is_made ? -1 : fd_argument(record);

	if (i < 0 || (int)record->arguments[i] != fd)
		return (struct fd_text){ .text = NULL };
	return (struct fd_text){ .text = e->decoded->name };
}

/*
 * Asks what the descriptor is that a call used. NULL: nobody knows, or it is another file's by now. To be freed.
 */
static char *name_ask(const struct exemplars *e, const struct call_record *record)
{
	const struct descriptor_source *source = e->options.source;
	int i = record->inode ? fd_argument(record) : -1,
	    fd = i < 0 ? -1 : (int)record->arguments[i];
	char link[LINK_MAX], text[LINK_MAX];
	uint64_t inode, number;
	ssize_t got;

	if (fd < 0 || !source)
		return NULL;
	got = source->read_link(source->context, record->pid, fd, link, sizeof(link) - 1);
	if (got <= 0 || e->options.read_inode(source->context, record->pid, fd, &inode) ||
	    inode != record->inode)
		return NULL;
	link[got] = 0;
	if (source->read_socket && sscanf(link, "socket:[%" SCNu64 "]", &number) == 1) {
		got = source->read_socket(source->context, record->pid, fd, number, text,
					  sizeof(text));
		if (got > 0)
			return strndup(text, (size_t)got);
	}
	return strdup(link);
}

/* --- exemplars ------------------------------------------------------------------------------------ */

static size_t exemplar_bytes(const struct exemplar *exemplar)
{
	return sizeof(*exemplar) + exemplar->record->size +
	       (exemplar->name ? strlen(exemplar->name) + 1 : 0);
}

static void exemplar_free(struct exemplar *exemplar)
{
	if (!exemplar)
		return;
	free(exemplar->name);
	free(exemplar->record);
	free(exemplar);
}
CLEANUP_OF(exemplar, exemplar_free)

static struct exemplar *exemplar_new(const struct exemplars *e, const struct call_record *record)
{
	struct exemplar *exemplar __cleanup(exemplar_freep) = calloc(1, sizeof(*exemplar));

	if (!exemplar)
		return NULL;
	exemplar->record = malloc(record->size);
	if (!exemplar->record)
		return NULL;
	memcpy(exemplar->record, record, record->size);
	exemplar->name = name_ask(e, record);
	return steal_ptr(&exemplar);
}

static void exemplar_drop(struct exemplars *e, struct exemplar *exemplar)
{
	e->bytes -= exemplar_bytes(exemplar);
	exemplar_free(exemplar);
}

/* --- the hash ------------------------------------------------------------------------------------- */

/* Finds a kind, or its place. There is room. */
static struct kind *kind_place(struct kind *kinds, size_t size, const struct exemplar_kind *of)
{
	uint64_t hash = ((uint64_t)of->pid << 32 | (uint64_t)of->abi << 28 | (uint32_t)of->nr) *
			0x9e3779b97f4a7c15;

	for (size_t i = hash >> 32;; i++) {
		struct kind *kind = &kinds[i & (size - 1)];

		if (!kind->count ||
		    (kind->of.pid == of->pid && kind->of.abi == of->abi && kind->of.nr == of->nr))
			return kind;
	}
}

/* Moves all kinds into a hash of another size. */
static int hash_rebuild(struct exemplars *e, size_t size)
{
	struct kind *kinds = calloc(size, sizeof(*kinds));

	if (!kinds)
		return -ENOMEM;
	for (size_t i = 0; i < e->size; i++) {
		if (e->kinds[i].count)
			*kind_place(kinds, size, &e->kinds[i].of) = e->kinds[i];
	}
	free(e->kinds);
	e->kinds = kinds;
	e->size = size;
	return 0;
}

/* Orders by call, and within one call by duration, the slowest first. */
static int compare_kinds(const void *x, const void *y)
{
	const struct kind *const *a = x, *const *b = y;

	return compare_u64((*a)->of.abi, (*b)->of.abi) ?:
	       compare_u64((uint32_t)(*a)->of.nr, (uint32_t)(*b)->of.nr) ?:
	       compare_u64((*b)->list[0]->record->wall_ns, (*a)->list[0]->record->wall_ns);
}

/* Forgets all but the first of a kind. Returns how many. */
static size_t kind_cut(struct exemplars *e, struct kind *kind, size_t left)
{
	size_t gone = kind->count > left ? kind->count - left : 0;

	for (size_t i = kind->count - gone; i < kind->count; i++)
		exemplar_drop(e, kind->list[i]);
	kind->count -= gone;
	e->counts.forgotten += gone;
	return gone;
}

static void kind_forget(struct exemplars *e, struct kind *kind)
{
	kind_cut(e, kind, 0);
	e->used--;
}

/* Forgets what is not the slowest of its kind. Returns how many there were. */
static size_t hash_cut(struct exemplars *e)
{
	size_t gone = 0;

	for (size_t i = 0; i < e->size; i++)
		gone += kind_cut(e, &e->kinds[i], 1);
	return gone;
}

/* How many kinds from the first on are of the same call. */
static size_t same_call(struct kind *const *order, size_t count)
{
	size_t i = 1;

	while (i < count && order[i]->of.abi == order[0]->of.abi &&
	       order[i]->of.nr == order[0]->of.nr)
		i++;
	return i;
}

/*
 * Forgets half of the processes of each call, but not that with the slowest; without any that could be
 * forgotten half of the calls.
 */
static int hash_halve(struct exemplars *e)
{
	struct kind **order __cleanup(freep) = calloc(e->used + 1, sizeof(struct kind *));
	size_t count = 0, same;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < e->size; i++) {
		if (e->kinds[i].count)
			order[count++] = &e->kinds[i];
	}
	qsort(order, count, sizeof(struct kind *), compare_kinds);
	for (size_t i = 0; i < count; i += same) {
		same = same_call(order + i, count - i);
		for (size_t j = (same + 1) / 2; j < same; j++)
			kind_forget(e, order[i + j]);
	}
	for (size_t i = 0, each = e->used == count; i < count && each; i += 2)
		kind_forget(e, order[i]);
	/* The entries that are left must move to a new hash to be found. */
	return hash_rebuild(e, e->size);
}

/* Makes room for one more kind, and for so many bytes. */
static int make_room(struct exemplars *e, size_t bytes)
{
	while (e->used && exemplars_bytes(e) + bytes > e->options.max_bytes) {
		if (!hash_cut(e) && hash_halve(e))
			return -ENOMEM;
	}
	if (e->used < e->size / 2)
		return 0;
	/* While it moves, both hashes exist. */
	if (exemplars_bytes(e) + bytes + 2 * e->size * sizeof(*e->kinds) > e->options.max_bytes)
		return hash_halve(e);
	return hash_rebuild(e, e->size * 2);
}

/* --- all ------------------------------------------------------------------------------------------ */

int exemplars_new(const struct exemplars_options *options, struct exemplars **ret)
{
	struct exemplars *e __cleanup(exemplars_freep) = calloc(1, sizeof(*e));
	const struct decode_options decode = { .fd_name = name_of, .context = e };

	if (!e || call_decoder_new(&decode, &e->decoder) || hash_rebuild(e, FIRST_SIZE))
		return -ENOMEM;
	e->options = *options;
	e->until_ns = UINT64_MAX;
	if (e->options.most > EXEMPLARS_MAX)
		e->options.most = EXEMPLARS_MAX;
	*ret = steal_ptr(&e);
	return 0;
}

void exemplars_free(struct exemplars *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->size; i++) {
		for (size_t j = 0; j < e->kinds[i].count; j++)
			exemplar_free(e->kinds[i].list[j]);
	}
	free(e->kinds);
	call_decoder_free(e->decoder);
	free(e);
}

/* Whether a call that took so long is among the slowest of its kind. */
static bool kind_wants(const struct exemplars *e, const struct kind *kind, uint64_t wall_ns)
{
	return kind->count < e->options.most ||
	       kind->list[kind->count - 1]->record->wall_ns < wall_ns;
}

static void kind_insert(struct exemplars *e, struct kind *kind, struct exemplar *exemplar)
{
	size_t at;

	if (kind->count == e->options.most)
		exemplar_drop(e, kind->list[--kind->count]);
	for (at = kind->count; at; at--) {
		if (kind->list[at - 1]->record->wall_ns >= exemplar->record->wall_ns)
			break;
		kind->list[at] = kind->list[at - 1];
	}
	kind->list[at] = exemplar;
	kind->count++;
	e->bytes += exemplar_bytes(exemplar);
}

void exemplars_add(struct exemplars *e, const struct call_record *record)
{
	const struct exemplar_kind of = { record->pid, record->abi, record->nr };
	struct exemplar *exemplar;
	struct kind *kind;

	if (record->size < sizeof(*record) ||
	    !kind_wants(e, kind_place(e->kinds, e->size, &of), record->wall_ns))
		return;
	exemplar = exemplar_new(e, record);
	if (!exemplar || make_room(e, exemplar_bytes(exemplar))) {
		exemplar_free(exemplar);
		e->counts.forgotten++;
		return;
	}
	kind = kind_place(e->kinds, e->size, &of);
	kind->of = of;
	e->used += !kind->count;
	kind_insert(e, kind, exemplar);
}

static size_t find_of_any(const struct exemplars *e, const struct exemplar_kind *of,
			  uint64_t wall_ns, const struct exemplar *ret[EXEMPLARS_MAX])
{
	size_t found = 0;

	for (size_t i = 0; i < e->size; i++) {
		const struct kind *kind = &e->kinds[i];

		for (size_t j = 0; j < kind->count && found < e->options.most; j++) {
			if (kind->of.abi == of->abi && kind->of.nr == of->nr &&
			    kind->list[j]->record->end_ns <= e->until_ns &&
			    kind->list[j]->record->wall_ns == wall_ns)
				ret[found++] = kind->list[j];
		}
	}
	return found;
}

size_t exemplars_find(const struct exemplars *e, const struct exemplar_kind *of, uint64_t max_ns,
		      const struct exemplar *ret[EXEMPLARS_MAX])
{
	const struct kind *kind;
	size_t found = 0;

	if (!of->pid)
		return find_of_any(e, of, max_ns, ret);
	kind = kind_place(e->kinds, e->size, of);
	for (size_t i = 0; i < kind->count; i++) {
		if (kind->list[i]->record->wall_ns <= max_ns &&
		    kind->list[i]->record->end_ns <= e->until_ns)
			ret[found++] = kind->list[i];
	}
	return found;
}

void exemplars_set_until(struct exemplars *e, uint64_t until_ns)
{
	e->until_ns = until_ns;
}

/* Drops those of a kind that ended by then. */
static void kind_begin_anew(struct exemplars *e, struct kind *kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < kind->count; i++) {
		if (kind->list[i]->record->end_ns > e->until_ns)
			kind->list[kept++] = kind->list[i];
		else
			exemplar_drop(e, kind->list[i]);
	}
	e->used -= kind->count && !kept;
	kind->count = kept;
}

int exemplars_begin_anew(struct exemplars *e)
{
	for (size_t i = 0; i < e->size; i++)
		kind_begin_anew(e, &e->kinds[i]);
	e->until_ns = UINT64_MAX;
	/* The entries that are left must move to a new hash to be found. */
	return hash_rebuild(e, e->size);
}

size_t exemplars_most(const struct exemplars *e)
{
	return e->options.most;
}

int64_t exemplar_real_ns(const struct exemplars *e, const struct exemplar *exemplar)
{
	return (int64_t)exemplar->record->end_ns + e->options.mono_to_real_ns;
}

struct call_decoder *exemplars_decoder(struct exemplars *e, const struct exemplar *exemplar)
{
	e->decoded = exemplar;
	return e->decoder;
}

void exemplars_set_lost(struct exemplars *e, uint64_t lost)
{
	e->counts.lost = lost;
}

struct exemplar_counts exemplars_count(const struct exemplars *e)
{
	return e->counts;
}

size_t exemplars_bytes(const struct exemplars *e)
{
	return e->bytes + e->size * sizeof(*e->kinds);
}
