/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the rows of a report as a JSON object, where a table was asked for and not all that was counted. */
#include "json/exemplars.h"
#include "json/json.h"
#include "report/rows.h"

static void put_hist(struct json_writer *to, const char *name, const struct hist *hist)
{
	unsigned int first, end;

	json_put_list(to, name);
	hist_range(hist, &first, &end);
	for (unsigned int i = first; i < end; i++) {
		if (!hist_count(hist, i))
			continue;
		json_put_object(to, NULL);
		json_put_number(to, "from_ns", hist_bucket_low(i));
		json_put_number_if(to, "to_ns", i + 1 < HIST_BUCKETS, hist_bucket_low(i + 1));
		json_put_number(to, "calls", hist_count(hist, i));
		json_put_end(to);
	}
	json_put_end(to);
}

struct rows_writer {
	struct json_writer to;
	const struct snapshot *snapshot;
};

static void put_field(struct rows_writer *writer, const struct field *field)
{
	struct json_writer *to = &writer->to;

	if (field->kind == FIELD_TEXT)
		json_put_text(to, field->name, field->text);
	else if (field->kind == FIELD_PERCENT)
		json_put_real(to, field->name, (double)field->number / 100);
	else if (field->kind == FIELD_HIST)
		put_hist(to, field->name, field->hist);
	else if (field->kind == FIELD_EXEMPLARS)
		json_put_exemplars(to, writer->snapshot, field->group->slowest, GROUP_SLOWEST);
	else
		json_put_number_if(to, field->name, field->kind == FIELD_NUMBER, field->number);
}

static int take_row(void *closure, const struct row_fields *row)
{
	struct rows_writer *writer = closure;

	json_put_object(&writer->to, NULL);
	for (size_t i = 0; i < row->count; i++)
		put_field(writer, &row->fields[i]);
	json_put_end(&writer->to);
	return 0;
}

int report_rows_json(const struct snapshot *snapshot, const struct report_options *options,
		     FILE *out)
{
	struct rows_writer writer = { .snapshot = snapshot };
	struct json_writer *to = &writer.to;
	int err;

	json_begin(to, out);
	json_put_document(to, NULL);
	json_put_origin(to, snapshot);
	json_put_bool(to, "exact", snapshot_is_exact(snapshot));
	json_put_losses(to, &snapshot->losses);
	if (options->exemplars)
		json_put_exemplar_counts(to, snapshot);
	json_put_list(to, "table");
	err = rows_give(snapshot, options, take_row, &writer);
	json_put_end(to);
	return json_end(to) ?: err;
}

int report_text_json(const struct snapshot *snapshot, const char *text, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_origin(&to, snapshot);
	json_put_text(&to, "report", text);
	return json_end(&to);
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
	char *at;

	if (document.err)
		return document.err;
	at = report.text = malloc(TEXT_ESCAPED_MAX(strlen(text)));
	if (!at)
		return diag_oom(d);
	/* All but line ends as it can be shown, which changes nothing of a report of ours. */
	for (size_t length;; text += length + 1) {
		length = strcspn(text, "\n");
		text_escape_visible(text, length, at);
		at += strlen(at);
		if (!text[length])
			break;
		*at++ = '\n';
	}
	*ret = report;
	return 0;
}
