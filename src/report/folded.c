/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the folded format. Invariant: a line has exactly one blank, before its number, and a
 * semicolon only between names, whatever the names are.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

struct folded_line {
	char *path; /* owned */
	uint64_t weight;
};

struct folded {
	struct sample_list list;
	struct folded_line *lines; /* owned */
	size_t count;
};

static void folded_done(struct folded *folded)
{
	for (size_t i = 0; i < folded->count; i++)
		free(folded->lines[i].path);
	free(folded->lines);
	samples_done(&folded->list);
}

static void write_name(const char *before, const char *name, FILE *out)
{
	size_t length;

	fputs(before, out);
	for (; *name; name += length) {
		unsigned int code = text_code(name, strnlen(name, 4), &length);
		/* Blanks, at which some reader splits a line. Control characters are escaped already. */
		bool is_blank = code == ' ' || code == 0xa0 || code == 0x1680 ||
				(code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
				code == 0x205f || code == 0x3000;

		length = length ?: 1;
		if (code == ';' || is_blank)
			fputc(code == ';' ? ':' : '_', out);
		else
			fwrite(name, 1, length, out);
	}
}

static int write_path(const struct snapshot *snapshot, const struct stack_sample *sample, FILE *out)
{
	const struct stack_view *view = &sample->view;
	char comm[PROCESS_LABEL_MAX], call[ROW_LABEL_MAX];

	row_comm(snapshot, sample->row, comm);
	write_name("", comm, out);
	if (view_end_name(view->end))
		write_name(";", view_end_name(view->end), out);
	for (size_t i = view->nr_frames; i-- > 0;) {
		const struct stack_frame *frame = &view->frames[i];
		char *label __cleanup(freep) = frame_label(frame, FRAME_FUNCTION);

		if (!label)
			return -ENOMEM;
		write_name(";", label, out);
		/* Marks that flame graph tools know. */
		fputs(frame->inlined ? "_[i]" : frame->kernel ? "_[k]" : "", out);
	}
	row_label(sample->row, call, sizeof(call));
	write_name(";", call, out);
	return 0;
}

static int folded_add(struct folded *folded, const struct snapshot *snapshot,
		      const struct stack_sample *sample)
{
	struct folded_line *line = &folded->lines[folded->count];
	size_t size;
	FILE *out = open_memstream(&line->path, &size);
	int err;

	if (!out)
		return -ENOMEM;
	folded->count++;
	line->weight = sample->weight;
	err = write_path(snapshot, sample, out);
	return fclose(out) ? -ENOMEM : err;
}

static int compare_lines(const void *x, const void *y)
{
	const struct folded_line *a = x, *b = y;

	return strcmp(a->path, b->path);
}

int report_folded(const struct snapshot *snapshot, enum stack_weight weight, FILE *out)
{
	struct folded folded __cleanup(folded_done) = { .lines = NULL };
	struct sample_list *list = &folded.list;
	uint64_t sum = 0;

	if (samples_list(snapshot, snapshot->rows, snapshot->nr_rows, weight, list))
		return -ENOMEM;
	folded.lines = calloc(list->count + 1, sizeof(*folded.lines));
	if (!folded.lines)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		if (list->samples[i].weight && folded_add(&folded, snapshot, &list->samples[i]))
			return -ENOMEM;
	}
	qsort(folded.lines, folded.count, sizeof(*folded.lines), compare_lines);
	for (size_t i = 0; i < folded.count; i++) {
		sum += folded.lines[i].weight;
		if (i + 1 < folded.count && !compare_lines(&folded.lines[i], &folded.lines[i + 1]))
			continue;
		fprintf(out, "%s %" PRIu64 "\n", folded.lines[i].path, sum);
		sum = 0;
	}
	return ferror(out) ? -EIO : 0;
}
