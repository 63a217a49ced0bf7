/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows a daemon's status and its baselines to people. What they are made of came over a socket: a
 * key that is absent or of another type reads as nothing, 0 or "".
 */
#include "report/status.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/json_read.h"
#include "base/text.h"

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

static const char *text_of(const json_t *from, const char *key)
{
	return json_string_value(json_object_get(from, key)) ?: "";
}

static void print_text(const json_t *from, const char *key, FILE *out)
{
	char *visible __cleanup(freep) = text_visible(text_of(from, key));

	fputs(visible ?: "", out);
}

static void print_number(const json_t *from, const char *key, FILE *out)
{
	fprintf(out, "%" PRIu64, number(from, key));
}

static void print_percent(const json_t *from, const char *key, FILE *out)
{
	fprintf(out, "%.2f%%", real(from, key));
}

/* From RFC 3339 in UTC to the local time zone, up to a second. */
static void print_time(const json_t *from, const char *key, FILE *out)
{
	char local[CLOCK_LOCAL_SIZE] = "-";
	struct tm utc = { 0 };

	if (strptime(text_of(from, key), "%Y-%m-%dT%H:%M:%S", &utc))
		clock_local((int64_t)timegm(&utc) * (int64_t)NS_PER_SEC, local, sizeof(local));
	fputs(local, out);
}

static void print_bytes(const json_t *from, const char *key, FILE *out)
{
	uint64_t bytes = number(from, key);

	if (bytes < 10 << 20)
		fprintf(out, "%.1f KiB", (double)bytes / 0x1p10);
	else
		fprintf(out, "%.1f MiB", (double)bytes / 0x1p20);
}

static void print_span(const json_t *from, const char *key, FILE *out)
{
	uint64_t seconds = number(from, key) / NS_PER_SEC;

	if (seconds >= 86400)
		fprintf(out, "%" PRIu64 " d ", seconds / 86400);
	if (seconds >= 3600)
		fprintf(out, "%" PRIu64 " h ", seconds / 3600 % 24);
	if (seconds >= 60)
		fprintf(out, "%" PRIu64 " min ", seconds / 60 % 60);
	fprintf(out, "%" PRIu64 " s", seconds % 60);
}

/* Prints a text in which {n:key} stands for a value: the letter says in which form. */
static void print(const json_t *from, const char *text, FILE *out)
{
	static void (*const forms[])(const json_t *from, const char *key, FILE *out) = {
		['b'] = print_bytes, ['n'] = print_number, ['p'] = print_percent,
		['s'] = print_span,  ['t'] = print_text,   ['w'] = print_time,
	};
	char key[32];

	for (; *text; text++) {
		if (*text != '{') {
			fputc(*text, out);
			continue;
		}
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, "}") - 3, text + 3);
		forms[(unsigned char)text[1]](from, key, out);
		text = strchr(text, '}');
	}
}

/* A remark: its text is for a value that is known, and large enough. */
struct remark {
	const char *key, *text;
	double least;
	const char *joint; /* in front of it, if another one stands there; NULL: as for all */
};

/* Prints those that hold, with something before the first and between them; whether any does. */
static bool print_remarks(const json_t *from, const struct remark *remarks, size_t count,
			  const char *before, const char *between, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct remark *remark = &remarks[i];

		if (!known(from, remark->key) || real(from, remark->key) < remark->least)
			continue;
		fputs(any ? remark->joint ?: between : before, out);
		print(from, remark->text, out);
		any = true;
	}
	return any;
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

static void print_tables(const json_t *counting, FILE *out)
{
	const char *name, *before = "tables    ";
	json_t *table;

	json_object_foreach(json_object_get(counting, "tables"), name, table)
	{
		uint64_t used = number(table, "used"), capacity = number(table, "capacity");

		fprintf(out, "%s%.*s ", before, (int)strspn(name, "abcdefghijklmnopqrstuvwxyz_"),
			name);
		print(table, "{n:used} of {n:capacity}", out);
		fprintf(out, " (%" PRIu64 "%%", capacity ? used * 100 / capacity : 0);
		print(table, number(table, "peak") > used ? ", peak {n:peak})" : ")", out);
		before = ", ";
	}
	if (known(counting, "kernel_bytes")) {
		fputs(*before == ',' ? "; " : before, out);
		print(counting, "{b:kernel_bytes} in the kernel", out);
		before = ", ";
	}
	if (number(counting, "max_table_bytes"))
		print(counting, "; at most {b:max_table_bytes} for tables", out);
	fputs(*before == ',' ? "\n" : "", out);
}

/* Places in code that are on stacks. */
static void print_names(const json_t *names, FILE *out)
{
	static const struct remark parts[] = {
		{ "waiting", "{n:waiting} wait to be named", 1, NULL },
		{ "failed", "{n:failed} could not be named", 1, NULL },
		{ "refused", "{n:refused} found no room", 1, NULL },
	};

	if (!json_is_object(names))
		return;
	print(names, "names     {n:places} places in code, {b:bytes}", out);
	print_remarks(names, parts, ARRAY_SIZE(parts), "; ", ", ", out);
	fputc('\n', out);
}

static void print_cost(const json_t *cost, FILE *out)
{
	static const struct remark parts[] = {
		{ "call_ns", "{n:call_ns} ns in our programs for each traced call", 0, NULL },
		{ "used_percent", "{p:used_percent} of a CPU with them, {p:own_percent} without", 0,
		  NULL },
		{ "answers_percent", "{p:answers_percent} for answers", 0.005, ", " },
		{ "budget_percent", "budget {p:budget_percent}", 0, NULL },
	};
	const char *step = text_of(cost, "step");

	if (print_remarks(cost, parts, ARRAY_SIZE(parts), "cost      ", "; ", out))
		fputc('\n', out);
	if (!strcmp(step, "no_stacks"))
		fputs("          over its budget: call stacks are not taken now\n", out);
	if (!strcmp(step, "no_errnos"))
		fputs("          over its budget: neither call stacks nor errnos are kept now\n",
		      out);
	print(cost, "memory    {b:resident_bytes} resident\n", out);
}

static void print_history(const json_t *history, FILE *out)
{
	if (!json_is_object(history)) {
		fputs("history   none is kept\n", out);
		return;
	}
	print(history, "history   {n:intervals} intervals", out);
	if (*text_of(history, "first"))
		print(history, " since {w:first}", out);
	print(history, ", {b:bytes}\n", out);
	if (*text_of(history, "trouble"))
		print(history, "          the last interval is not in it: {t:trouble}\n", out);
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
	const json_t *status, *counting;

	if (parse(text, size, &document, d))
		return -EINVAL;
	status = document.root;
	counting = json_object_get(status, "counting");
	print(status, "bpftruss  {t:version} on {t:host}, since {w:start} ({s:uptime_ns})\n", out);
	print(counting,
	      "counting  {t:targets}: {n:processes} processes, {n:threads} threads now; {n:rows} "
	      "rows\n",
	      out);
	print_losses(status, out);
	print_tables(counting, out);
	print_names(json_object_get(status, "names"), out);
	print_cost(json_object_get(status, "cost"), out);
	print_history(json_object_get(status, "history"), out);
	print(json_object_get(status, "recent"),
	      "recent    each process back to {w:first}, {b:bytes}\n", out);
	print(json_object_get(status, "clients"),
	      "clients   {n:connected} connected; {n:requests} requests, {n:refused} refused, "
	      "{n:malformed} malformed\n",
	      out);
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
		char *name __cleanup(freep) = text_visible(text_of(baseline, "name"));

		fprintf(out, "%s%*s", name ?: "", (int)above(24, text_width(name ?: "")), "");
		print(baseline, "  {w:start}  {w:end}", out);
		fprintf(out, "  %10.0f s\n", (double)number(baseline, "covered_ns") / 1e9);
	}
	return 0;
}
