/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps of each interval the lines with calls, sorted, and their numbers in one block. A line is known by a hash of its
 * identity: two of 2^32 lines may be taken for one, of what is drawn.
 */
#include "tui/heat.h"

#include <math.h>

struct heat_line {
	uint64_t who;
	uint32_t at;           /* of the numbers of the frame */
	uint8_t first, length; /* of the latencies that have calls */
};

struct heat_frame {
	enum rate_by by;
	size_t nr_lines, bytes;
	uint64_t elapsed_ns;
	struct heat_line *lines; /* behind it; by who; those of all together first */
	uint32_t *numbers;       /* behind them */
};

#define WHO_ALL 0

void heat_done(struct heat *heat)
{
	for (size_t i = 0; i < heat->count; i++)
		free(heat->frames[i]);
	*heat = (struct heat){ .count = 0 };
}

/* FNV-1a; never WHO_ALL. */
static uint64_t who_hash(const struct rate_identity *who)
{
	const unsigned char *bytes = (const unsigned char *)who;
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < sizeof(*who); i++)
		hash = (hash ^ bytes[i]) * 1099511628211u;
	return hash ?: 1;
}

/* Returns how many latencies lie from the first that has calls to the last. */
static size_t latency_range(const struct rate *line, size_t *first)
{
	size_t end = RATE_LATENCIES;

	*first = 0;
	while (*first < end && !line->latencies[*first])
		++*first;
	while (end > *first && !line->latencies[end - 1])
		end--;
	return end - *first;
}

static void frame_take(struct heat_frame *frame, size_t *used, const struct rate *line,
		       uint64_t who)
{
	size_t first, length = latency_range(line, &first);

	if (!length)
		return;
	frame->lines[frame->nr_lines++] = (struct heat_line){
		.who = who,
		.at = (uint32_t)*used,
		.first = (uint8_t)first,
		.length = (uint8_t)length,
	};
	memcpy(&frame->numbers[*used], &line->latencies[first], length * sizeof(*frame->numbers));
	*used += length;
}

static struct heat_frame *frame_new(const struct rates *rates)
{
	size_t nr_lines = 1, nr_numbers = RATE_LATENCIES, first, used = 0, bytes;
	struct heat_frame *frame;
	struct rate_identity who;

	for (size_t i = 0; i < rates->nr_lines; i++) {
		const size_t length = latency_range(&rates->lines[i], &first);

		nr_lines += length > 0;
		nr_numbers += length;
	}
	bytes = sizeof(*frame) + nr_lines * sizeof(*frame->lines) +
		nr_numbers * sizeof(*frame->numbers);
	frame = calloc(1, bytes);
	if (!frame)
		return NULL;
	frame->by = rates->by;
	frame->bytes = bytes;
	frame->elapsed_ns = rates->diff->elapsed_ns;
	frame->lines = (struct heat_line *)(frame + 1);
	frame->numbers = (uint32_t *)(frame->lines + nr_lines);
	frame_take(frame, &used, &rates->total, WHO_ALL);
	for (size_t i = 0; i < rates->nr_lines; i++) {
		rate_identify(rates, &rates->lines[i], &who);
		frame_take(frame, &used, &rates->lines[i], who_hash(&who));
	}
	qsort(frame->lines, frame->nr_lines, sizeof(*frame->lines), compare_first_u64);
	return frame;
}

static void heat_drop_oldest(struct heat *heat)
{
	heat->bytes -= heat->frames[0]->bytes;
	free(heat->frames[0]);
	heat->count--;
	memmove(heat->frames, heat->frames + 1, heat->count * sizeof(heat->frames[0]));
}

int heat_add(struct heat *heat, const struct rates *rates)
{
	struct heat_frame *frame = frame_new(rates);

	if (!frame)
		return -ENOMEM;
	while (heat->count &&
	       (heat->count == HEAT_INTERVALS || heat->bytes + frame->bytes > HEAT_BYTES))
		heat_drop_oldest(heat);
	heat->frames[heat->count++] = frame;
	heat->bytes += frame->bytes;
	return 0;
}

bool heat_read(const struct heat *heat, const struct rate_identity *who, size_t ago,
	       uint64_t ret[RATE_LATENCIES])
{
	const struct heat_frame *frame;
	const struct heat_line *line;
	uint64_t hash = who ? who_hash(who) : WHO_ALL;

	memset(ret, 0, RATE_LATENCIES * sizeof(*ret));
	if (ago >= heat->count)
		return false;
	frame = heat->frames[heat->count - 1 - ago];
	if (who && frame->by != who->by)
		return false;
	line = frame->nr_lines ? bsearch(&hash, frame->lines, frame->nr_lines, sizeof(*line),
					 compare_first_u64)
			       : NULL;
	for (size_t i = 0; line && i < line->length; i++)
		ret[line->first + i] = frame->numbers[line->at + i];
	return true;
}

uint64_t heat_ago_ns(const struct heat *heat, size_t count, uint64_t delay_ns)
{
	uint64_t ago_ns = above(count, heat->count) * delay_ns;

	for (size_t ago = 0; ago < count && ago < heat->count; ago++)
		ago_ns += heat->frames[heat->count - 1 - ago]->elapsed_ns;
	return ago_ns;
}

unsigned int heat_level(uint64_t count, uint64_t most)
{
	const double part = most > 1 ? log((double)count) / log((double)most) : 1;

	if (!count)
		return 0;
	return 1 + (unsigned int)fmin(part * HEAT_LEVELS, HEAT_LEVELS - 1);
}
