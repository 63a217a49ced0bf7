/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Positions only grow; modulo the size of the buffer they are offsets in it. Each entry begins with
 * its size: that of a record, or of a mark, or 0 if the rest of the buffer was too short for a
 * record.
 */
#include "calls/recorder.h"

#include "base/text.h"

#define ENTRY_ALIGN 8UL

struct mark {
	uint32_t size;
	uint32_t pad;
	uint64_t horizon_ns;
};

_Static_assert(sizeof(struct mark) < sizeof(struct call_record), "their sizes tell them apart");
_Static_assert(offsetof(struct call_record, size) == 0, "an entry begins with its size");

struct recorder {
	unsigned char *bytes; /* owned */
	size_t size;
	uint64_t head, tail; /* positions: of the next entry, and of the oldest */
	uint64_t seen;       /* of records at the last mark */
	struct recorder_counts counts;
};

int recorder_new(size_t bytes, struct recorder **ret)
{
	struct recorder *recorder __cleanup(recorder_freep) = calloc(1, sizeof(*recorder));

	if (!recorder)
		return -ENOMEM;
	recorder->size = max_u64(bytes, RECORDER_BYTES_MIN) & ~(ENTRY_ALIGN - 1);
	recorder->bytes = malloc(recorder->size);
	if (!recorder->bytes)
		return -ENOMEM;
	*ret = steal_ptr(&recorder);
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	free(recorder->bytes);
	free(recorder);
}

const struct recorder_counts *recorder_counts(const struct recorder *recorder)
{
	return &recorder->counts;
}

static void *entry_at(const struct recorder *recorder, uint64_t position)
{
	return recorder->bytes + position % recorder->size;
}

/* Bytes from a position to the end of the memory. */
static size_t rest_at(const struct recorder *recorder, uint64_t position)
{
	return recorder->size - position % recorder->size;
}

static size_t entry_room(uint32_t size)
{
	return (size + ENTRY_ALIGN - 1) & ~(ENTRY_ALIGN - 1);
}

static void oldest_drop(struct recorder *recorder)
{
	const struct call_record *record = entry_at(recorder, recorder->tail);

	if (!record->size) {
		recorder->tail += rest_at(recorder, recorder->tail);
		return;
	}
	if (record->size >= sizeof(*record)) {
		recorder->counts.overwritten++;
		recorder->counts.gone_ns = max_u64(recorder->counts.gone_ns, record->end_ns);
	}
	recorder->tail += entry_room(record->size);
}

/* Makes room for an entry by dropping the oldest ones. */
static void *entry_new(struct recorder *recorder, uint32_t size)
{
	size_t room = entry_room(size), rest = rest_at(recorder, recorder->head);
	size_t skipped = room > rest ? rest : 0;
	void *entry;

	while (recorder->tail != recorder->head &&
	       recorder->head + skipped + room - recorder->tail > recorder->size)
		oldest_drop(recorder);
	if (skipped) {
		*(uint32_t *)entry_at(recorder, recorder->head) = 0;
		recorder->head += skipped;
		/* Without others it need not be passed over. */
		if (recorder->tail + skipped == recorder->head)
			recorder->tail = recorder->head;
	}
	entry = entry_at(recorder, recorder->head);
	recorder->head += room;
	return entry;
}

int recorder_add(struct recorder *recorder, const struct call_record *record)
{
	if (record->size < sizeof(*record) || record->size > RECORDER_RECORD_MAX)
		return -EINVAL;
	memcpy(entry_new(recorder, record->size), record, record->size);
	recorder->counts.recorded++;
	return 0;
}

void recorder_mark(struct recorder *recorder, uint64_t horizon_ns)
{
	const struct mark mark = { .size = sizeof(mark), .horizon_ns = horizon_ns };

	if (recorder->seen == recorder->counts.recorded)
		return;
	recorder->seen = recorder->counts.recorded;
	memcpy(entry_new(recorder, mark.size), &mark, sizeof(mark));
}

bool recorder_next(const struct recorder *recorder, uint64_t *position, struct recorder_entry *ret)
{
	uint64_t at = max_u64(*position, recorder->tail);
	const struct call_record *record;
	const struct mark *mark;

	if (at == recorder->head)
		return false;
	record = entry_at(recorder, at);
	if (!record->size) {
		at += rest_at(recorder, at);
		record = entry_at(recorder, at);
	}
	*position = at + entry_room(record->size);
	mark = entry_at(recorder, at);
	if (record->size < sizeof(*record))
		*ret = (struct recorder_entry){ .horizon_ns = mark->horizon_ns };
	else
		*ret = (struct recorder_entry){ .record = record };
	return true;
}
