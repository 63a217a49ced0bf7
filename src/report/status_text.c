/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns how people read a daemon's status and its baselines. What they are made of came over a
 * socket: a key that is absent or of another type reads as nothing, 0 or "".
 */
#include "report/status.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/json_read.h"
#include "report/label.h"

static uint64_t number(const json_t *from, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(from, key));

	return value > 0 ? (uint64_t)value : 0;
}

static bool known(const json_t *from, const char *key)
{
	return json_is_number(json_object_get(from, key));
}

static double real(const json_t *from, const char *key)
{
	return json_number_value(json_object_get(from, key));
}

/* From RFC 3339 in UTC to the local time zone, up to a second. */
static void print_time(const json_t *from, const char *key, FILE *out)
{
	const char *text = json_string_value(json_object_get(from, key)) ?: "";
	char local[CLOCK_LOCAL_SIZE];
	struct tm utc = { 0 };

	if (!strptime(text, "%Y-%m-%dT%H:%M:%S", &utc)) {
		fputc('-', out);
		return;
	}
	clock_local((int64_t)timegm(&utc) * (int64_t)NS_PER_SEC, local, sizeof(local));
	fputs(local, out);
}

/* With blanks up to a width. */
static void print_padded(const json_t *from, const char *key, size_t width, FILE *out)
{
	const char *text = json_string_value(json_object_get(from, key)) ?: "";
	char *visible __cleanup(freep) = malloc(TEXT_ESCAPED_MAX(strlen(text)));
	size_t used = 0;

	if (visible) {
		text_escape_visible(text, strlen(text), visible);
		fputs(visible, out);
		used = text_width(visible);
	}
	fprintf(out, "%*s", used < width ? (int)(width - used) : 0, "");
}

static void print_text(const json_t *from, const char *key, FILE *out)
{
	print_padded(from, key, 0, out);
}

static void print_bytes(uint64_t bytes, FILE *out)
{
	if (bytes < 10 << 20)
		fprintf(out, "%.1f KiB", (double)bytes / 0x1p10);
	else
		fprintf(out, "%.1f MiB", (double)bytes / 0x1p20);
}

static void print_span(uint64_t ns, FILE *out)
{
	uint64_t seconds = ns / 1000000000;

	if (seconds >= 86400)
		fprintf(out, "%" PRIu64 " d ", seconds / 86400);
	if (seconds >= 3600)
		fprintf(out, "%" PRIu64 " h ", seconds / 3600 % 24);
	if (seconds >= 60)
		fprintf(out, "%" PRIu64 " min ", seconds / 60 % 60);
	fprintf(out, "%" PRIu64 " s", seconds % 60);
}

static void print_counting(const json_t *status, FILE *out)
{
	json_t *counting = json_object_get(status, "counting");

	fputs("counting  ", out);
	print_text(counting, "targets", out);
	fprintf(out, ": %" PRIu64 " processes, %" PRIu64 " threads now; %" PRIu64 " rows\n",
		number(counting, "processes"), number(counting, "threads"),
		number(counting, "rows"));
}

static void print_losses(const json_t *status, FILE *out)
{
	json_t *losses = json_object_get(status, "losses");
	const char *before = "exact     no: ";

	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		uint64_t count = number(losses, loss_texts[i].name);

		if (!count)
			continue;
		fprintf(out, "%s%" PRIu64 " %s (%s)\n", before, count, loss_texts[i].what,
			loss_texts[i].why);
		before = "              ";
	}
	if (json_is_true(json_object_get(status, "exact")))
		fputs("exact     yes, nothing was missed\n", out);
}

static void print_tables(const json_t *status, FILE *out)
{
	json_t *counting = json_object_get(status, "counting"), *table;
	const char *name, *before = "tables    ";

	json_object_foreach(json_object_get(counting, "tables"), name, table)
	{
		uint64_t used = number(table, "used"), capacity = number(table, "capacity");
		char visible[64];

		snprintf(visible, sizeof(visible), "%.*s",
			 (int)strspn(name, "abcdefghijklmnopqrstuvwxyz_"), name);
		fprintf(out, "%s%s %" PRIu64 " of %" PRIu64 " (%" PRIu64 "%%", before, visible,
			used, capacity, capacity ? used * 100 / capacity : 0);
		if (number(table, "peak") > used)
			fprintf(out, ", peak %" PRIu64, number(table, "peak"));
		fputc(')', out);
		before = ", ";
	}
	if (known(counting, "kernel_bytes")) {
		fprintf(out, "%s", *before == ',' ? "; " : before);
		print_bytes(number(counting, "kernel_bytes"), out);
		fputs(" in the kernel", out);
		before = ", ";
	}
	if (number(counting, "max_table_bytes")) {
		fputs("; at most ", out);
		print_bytes(number(counting, "max_table_bytes"), out);
		fputs(" for tables", out);
	}
	fputs(*before == ',' ? "\n" : "", out);
}

/* Places in code that are on stacks. */
static void print_names(const json_t *status, FILE *out)
{
	static const struct {
		const char *key, *what;
	} parts[] = {
		{ "waiting", "wait to be named" },
		{ "failed", "could not be named" },
		{ "refused", "found no room" },
	};
	json_t *names = json_object_get(status, "names");
	const char *before = "; ";

	if (!json_is_object(names))
		return;
	fprintf(out, "names     %" PRIu64 " places in code, ", number(names, "places"));
	print_bytes(number(names, "bytes"), out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!number(names, parts[i].key))
			continue;
		fprintf(out, "%s%" PRIu64 " %s", before, number(names, parts[i].key),
			parts[i].what);
		before = ", ";
	}
	fputc('\n', out);
}

static void print_step(const json_t *cost, FILE *out)
{
	const char *step = json_string_value(json_object_get(cost, "step")) ?: "";

	if (!strcmp(step, "no_stacks"))
		fputs("          over its budget: call stacks are not taken now\n", out);
	if (!strcmp(step, "no_errnos"))
		fputs("          over its budget: neither call stacks nor errnos are kept now\n",
		      out);
}

static void print_cost(const json_t *status, FILE *out)
{
	json_t *cost = json_object_get(status, "cost");
	const char *before = "cost      ";

	if (known(cost, "call_ns")) {
		fprintf(out, "%s%" PRIu64 " ns in our programs for each traced call", before,
			number(cost, "call_ns"));
		before = "; ";
	}
	if (known(cost, "used_percent")) {
		fprintf(out, "%s%.2f%% of a CPU with them, %.2f%% without", before,
			real(cost, "used_percent"), real(cost, "own_percent"));
		if (real(cost, "answers_percent") >= 0.005)
			fprintf(out, ", %.2f%% for answers", real(cost, "answers_percent"));
		before = "; ";
	}
	if (known(cost, "budget_percent")) {
		fprintf(out, "%sbudget %.2f%%", before, real(cost, "budget_percent"));
		before = "; ";
	}
	fputs(*before == ';' ? "\n" : "", out);
	print_step(cost, out);
	fputs("memory    ", out);
	print_bytes(number(cost, "resident_bytes"), out);
	fputs(" resident\n", out);
}

static void print_history(const json_t *status, FILE *out)
{
	json_t *history = json_object_get(status, "history");

	fputs("history   ", out);
	if (!json_is_object(history)) {
		fputs("none is kept\n", out);
		return;
	}
	fprintf(out, "%" PRIu64 " intervals", number(history, "intervals"));
	if (json_is_string(json_object_get(history, "first"))) {
		fputs(" since ", out);
		print_time(history, "first", out);
	}
	fputs(", ", out);
	print_bytes(number(history, "bytes"), out);
	fputc('\n', out);
	if (json_is_string(json_object_get(history, "trouble"))) {
		fputs("          the last interval is not in it: ", out);
		print_text(history, "trouble", out);
		fputc('\n', out);
	}
}

static void print_rest(const json_t *status, FILE *out)
{
	json_t *recent = json_object_get(status, "recent");
	json_t *clients = json_object_get(status, "clients");

	fputs("recent    each process back to ", out);
	print_time(recent, "first", out);
	fputs(", ", out);
	print_bytes(number(recent, "bytes"), out);
	fprintf(out,
		"\nclients   %" PRIu64 " connected; %" PRIu64 " requests, %" PRIu64
		" refused, %" PRIu64 " malformed\n",
		number(clients, "connected"), number(clients, "requests"),
		number(clients, "refused"), number(clients, "malformed"));
}

static int parse(const char *text, size_t size, struct json_document *document, struct diag *d)
{
	json_open(document, text, size, NULL);
	if (!document->err)
		return 0;
	return diag_set(d, DIAG_FAILED, EINVAL,
			"the daemon answers in another form than this program knows: both must be "
			"of one version");
}

int report_status_text(const char *text, size_t size, FILE *out, struct diag *d)
{
	struct json_document document __cleanup(json_close);
	const json_t *status;

	if (parse(text, size, &document, d))
		return -EINVAL;
	status = document.root;
	fputs("bpftruss  ", out);
	print_text(status, "version", out);
	fputs(" on ", out);
	print_text(status, "host", out);
	fputs(", since ", out);
	print_time(status, "start", out);
	fputs(" (", out);
	print_span(number(status, "uptime_ns"), out);
	fputs(")\n", out);
	print_counting(status, out);
	print_losses(status, out);
	print_tables(status, out);
	print_names(status, out);
	print_cost(status, out);
	print_history(status, out);
	print_rest(status, out);
	return 0;
}

int report_baselines_text(const char *text, size_t size, FILE *out, struct diag *d)
{
	struct json_document document __cleanup(json_close);
	json_t *list, *baseline;
	size_t i;

	if (parse(text, size, &document, d))
		return -EINVAL;
	list = json_object_get(document.root, "baselines");
	if (!json_array_size(list)) {
		fputs("no baselines; 'bpftruss baseline save NAME' makes one\n", out);
		return 0;
	}
	fprintf(out, "%-24s  %-19s  %-19s  %12s\n", "name", "from", "to", "counted");
	json_array_foreach(list, i, baseline)
	{
		print_padded(baseline, "name", 24, out);
		fputs("  ", out);
		print_time(baseline, "start", out);
		fputs("  ", out);
		print_time(baseline, "end", out);
		fprintf(out, "  %10.0f s\n", (double)number(baseline, "covered_ns") / 1e9);
	}
	return 0;
}
