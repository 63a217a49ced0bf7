/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a snapshot in the form that was asked for. */
#include "report/report.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/label.h"
#include "report/snapshot_json.h"

const char *const report_format_names[NR_REPORT_FORMAT] = {
	[FORMAT_TRUSS] = "truss", [FORMAT_WIDE] = "wide",     [FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",     [FORMAT_STRACE] = "strace", [FORMAT_ERRORS] = "errors",
};

int report_format_parse(const char *word, enum report_format *ret, struct diag *d)
{
	for (int i = 0; i < NR_REPORT_FORMAT; i++) {
		if (!strcmp(word, report_format_names[i])) {
			*ret = (enum report_format)i;
			return 0;
		}
	}
	return diag_set(
		d, DIAG_USAGE, EINVAL,
		"--format: no format \"%s\"; there are truss, wide, json, csv, strace, errors",
		word);
}

static int report_table(const struct snapshot *snapshot, const struct report_options *options,
			FILE *out)
{
	switch (options->format) {
	case FORMAT_WIDE:
		return report_wide(snapshot, &options->table, out);
	case FORMAT_JSON:
		return report_json(snapshot, out);
	case FORMAT_CSV:
		return report_csv(snapshot, &options->table, !options->no_header, out);
	case FORMAT_STRACE:
		return report_strace(snapshot, out);
	case FORMAT_ERRORS:
		return report_errors(snapshot, &options->table, out);
	default:
		return report_truss(snapshot, out);
	}
}

int report_write(const struct snapshot *snapshot, const struct report_options *options, FILE *out)
{
	int err = report_table(snapshot, options, out);

	/* JSON has them in its rows. */
	if (err || !options->show_stacks || options->format == FORMAT_JSON)
		return err;
	return report_stacks(snapshot, &options->table, &options->stacks, out);
}

int report_text_json(const struct snapshot *snapshot, const char *text, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_object(&to, NULL);
	json_put_version(&to);
	json_put_origin(&to, snapshot);
	json_put_text(&to, "report", text);
	json_put_end(&to);
	return json_end(&to);
}

/* All but line ends as it can be shown, which changes nothing of a report of ours. */
static char *lines_escape(const char *text)
{
	char *lines = malloc(TEXT_ESCAPED_MAX(strlen(text))), *at = lines;

	while (lines) {
		size_t length = strcspn(text, "\n");

		text_escape_visible(text, length, at);
		at += strlen(at);
		if (!text[length])
			break;
		*at++ = '\n';
		*at = '\0';
		text += length + 1;
	}
	return lines;
}

int report_text_json_read(const char *json, size_t size, struct report_text *ret, struct diag *d)
{
	struct json_document document __cleanup(json_close);
	const struct json_place whole = json_open(&document, json, size, d);
	const char *text = json_get_word(&whole, "report", 0);
	struct report_text report = {
		.start_ns = json_get_time(&whole, "start"),
		.end_ns = json_get_time(&whole, "end"),
		.elapsed_ns = json_get_number(&whole, "elapsed_ns", 0, 0),
	};

	if (document.err)
		return document.err;
	report.text = lines_escape(text);
	if (!report.text)
		return diag_oom(d);
	*ret = report;
	return 0;
}
