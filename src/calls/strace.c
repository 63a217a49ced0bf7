/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the parts of a line of strace together. */
#include "calls/strace.h"

#include "base/text.h"
#include "calls/result.h"
#include "calls/text_writer.h"
#include "syscalls/names.h"

/* The column of results, if the call fits in front of it. */
#define RESULT_COLUMN 40
#define RESULT_LEAST  1

/* Errnos that the kernel uses internally and no program ever sees. */
static const struct {
	int err;
	const char *meaning;
} restarts[] = {
	{ 512, "To be restarted if SA_RESTART is set" },
	{ 513, "To be restarted" },
	{ 514, "To be restarted if no handler" },
	{ 516, "Interrupted by signal" },
};

static void put_error(int err, struct line *out)
{
	const char *meaning = strerrordesc_np(err);
	char label[ERRNO_LABEL_MAX];
	bool is_restart = false;

	for (size_t i = 0; i < ARRAY_SIZE(restarts); i++) {
		if (restarts[i].err != err)
			continue;
		meaning = restarts[i].meaning;
		is_restart = true;
	}
	errno_label(err, label, sizeof(label));
	line_put_word(out, is_restart ? "? " : "-1 ");
	line_put_word(out, label);
	line_put_word(out, " (");
	line_put_word(out, meaning ?: "Unknown error");
	line_put_char(out, ')');
}

static void put_result(struct call_decoder *decoder, const struct call_record *record,
		       struct line *out)
{
	struct call_result result = call_result(decoder, record);

	line_put(out, "= ", 2);
	if (!result.has_returned)
		line_put_char(out, '?');
	else if (result.err)
		put_error(result.err, out);
	else
		result_put(decoder, record, &result, STYLE_STRACE, out);
	if (!result.has_returned || !(record->flags & CALL_TIMED))
		return;
	line_put(out, " <", 2);
	line_put_seconds(out, record->wall_ns);
	line_put_char(out, '>');
}

void strace_put_call(struct call_decoder *decoder, const struct call_record *record,
		     int64_t mono_to_real_ns, struct line *out)
{
	uint64_t began_ns = record->end_ns - (record->flags & CALL_TIMED ? record->wall_ns : 0);
	struct text_writer writer;
	size_t start = out->used, length;
	const char *name = call_name(decoder, record, &length);

	line_put_natural(out, record->tid);
	line_put_char(out, ' ');
	line_put_seconds(out, began_ns + (uint64_t)mono_to_real_ns);
	line_put_char(out, ' ');
	line_put(out, name, length);
	line_put_char(out, '(');
	text_writer_init(&writer, STYLE_STRACE, out);
	call_decode(decoder, record, &writer.base);
	line_put_char(out, ')');
	line_pad(out, start, RESULT_COLUMN, RESULT_LEAST);
	put_result(decoder, record, out);
	line_put_char(out, '\n');
}
