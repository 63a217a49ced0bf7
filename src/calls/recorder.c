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

static void mark_add(struct recorder *recorder, uint64_t horizon_ns)
{
	const struct mark mark = { .size = sizeof(mark), .horizon_ns = horizon_ns };

	memcpy(entry_new(recorder, mark.size), &mark, sizeof(mark));
}

void recorder_mark(struct recorder *recorder, uint64_t horizon_ns)
{
	if (recorder->seen == recorder->counts.recorded)
		return;
	recorder->seen = recorder->counts.recorded;
	mark_add(recorder, horizon_ns);
}

void recorder_break(struct recorder *recorder)
{
	mark_add(recorder, RECORDER_BREAK);
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

uint64_t recorder_start(const struct recorder *recorder)
{
	struct recorder_entry entry;
	uint64_t position = 0;

	while (recorder_next(recorder, &position, &entry)) {
		if (entry.record)
			return entry.record->end_ns;
	}
	return 0;
}

void recorder_note_gone(struct recorder *recorder, uint64_t count, uint64_t gone_ns)
{
	recorder->counts.recorded += count;
	recorder->counts.overwritten += count;
	recorder->counts.gone_ns = max_u64(recorder->counts.gone_ns, gone_ns);
}

/* --- copies --------------------------------------------------------------------------------------- */

uint64_t recorder_end(const struct recorder *recorder)
{
	return recorder->head;
}

size_t recorder_copy(const struct recorder *recorder, uint64_t *position, void *bytes, size_t size)
{
	uint64_t at = max_u64(*position, recorder->tail) & ~(ENTRY_ALIGN - 1);
	size_t used = 0;

	*position = at;
	while (at < recorder->head) {
		const struct call_record *record = entry_at(recorder, at);
		size_t room = entry_room(record->size), rest = rest_at(recorder, at);

		if (!record->size) {
			at += rest;
			continue;
		}
		/* Nobody has given out this position: it leads nowhere. */
		if (record->size < sizeof(struct mark) || room > rest || at + room > recorder->head)
			*position = recorder->head;
		if (*position == recorder->head || used + room > size)
			break;
		memcpy((char *)bytes + used, record, record->size);
		memset((char *)bytes + used + record->size, 0, room - record->size);
		used += room;
		at += room;
		*position = at;
	}
	return used;
}

/* More threads are never counted: indexes beyond are made up. */
#define RECORDS_MAX (1U << 21)

int recorder_add_copy(struct recorder *recorder, const void *bytes, size_t size)
{
	size_t at = 0;

	while (at + sizeof(struct mark) <= size) {
		const void *entry = (const char *)bytes + at;
		const struct mark *mark = entry;
		const struct call_record *record = entry;

		if (mark->size == sizeof(*mark))
			mark_add(recorder, mark->horizon_ns);
		else if (record->size < sizeof(*record) || record->size > size - at ||
			 record->record >= RECORDS_MAX || !record->number ||
			 recorder_add(recorder, record))
			return -EINVAL;
		at += entry_room(mark->size);
	}
	return at == size ? 0 : -EINVAL;
}
