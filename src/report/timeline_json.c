/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the JSON object of a timeline: bpftruss(8), History. It is written step by step, so that
 * memory does not grow with their number.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/json_values.h"
#include "report/report.h"
#include "report/timeline.h"

/* The object of a report without the end of its line. */
static int print_snapshot(const struct snapshot *snapshot, FILE *out)
{
	char *text __cleanup(freep) = NULL;
	FILE *memory;
	size_t size;
	int err;

	if (!snapshot) {
		fputs("null", out);
		return 0;
	}
	memory = open_memstream(&text, &size);
	if (!memory)
		return -ENOMEM;
	err = report_json(snapshot, memory);
	if (fclose(memory) && !err)
		err = -ENOMEM;
	if (!err)
		fwrite(text, 1, size - 1, out);
	return err;
}

static void print_span(int64_t start_ns, int64_t end_ns, FILE *out)
{
	char start[CLOCK_RFC3339_SIZE], end[CLOCK_RFC3339_SIZE];

	clock_rfc3339(start_ns, start, sizeof(start));
	clock_rfc3339(end_ns, end, sizeof(end));
	fprintf(out, "{\"start\":\"%s\",\"end\":\"%s\",", start, end);
}

static int print_step(const struct timeline_step *step, FILE *out)
{
	int err;

	print_span(step->start_ns, step->end_ns, out);
	fprintf(out, "\"covered_ns\":%" PRIu64 ",\"snapshot\":", step->covered_ns);
	err = print_snapshot(step->sum, out);
	fputc('}', out);
	return err ?: ferror(out) ? -EIO : 0;
}

int report_timeline_json(const struct timeline *timeline, FILE *out)
{
	int err = 0;

	fprintf(out, "{\"schema\":%d,\"version\":\"%s\",\"steps\":[", JSON_SCHEMA,
		BPFTRUSS_VERSION);
	for (size_t i = 0; i < timeline->nr_steps && !err; i++) {
		if (i)
			fputc(',', out);
		err = print_step(&timeline->steps[i], out);
	}
	fputs("],\"gaps\":[", out);
	for (size_t i = 0; i < timeline->nr_gaps && !err; i++) {
		const struct timeline_gap *gap = &timeline->gaps[i];

		if (i)
			fputc(',', out);
		print_span(gap->start_ns, gap->end_ns, out);
		fprintf(out, "\"reason\":\"%s\"}", gap_reason_names[gap->reason]);
	}
	fputs("]}\n", out);
	return err ?: ferror(out) ? -EIO : 0;
}
