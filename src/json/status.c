/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a daemon's status, its baselines and doctor's findings, as JSON and as text. The text is made
 * of JSON that came over a socket: a key that is absent or of another type reads as nothing, 0 or "".
 */
#include "json/status.h"

#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "json/json.h"

static void put_counting(struct json_writer *to, const struct daemon_status *s)
{
	json_put_object(to, "counting");
	json_put_text(to, "targets", s->targets ?: "");
	json_put_number(to, "processes", s->processes);
	json_put_number(to, "threads", s->threads);
	json_put_number(to, "rows", s->rows);
	json_put_object(to, "tables");
	for (size_t i = 0; i < s->nr_tables; i++) {
		const struct status_table *table = &s->tables[i];

		json_put_object(to, table->name);
		json_put_number(to, "used", table->used);
		json_put_number(to, "capacity", table->capacity);
		json_put_number_if(to, "peak", table->peak > 0, table->peak);
		json_put_end(to);
	}
	json_put_end(to);
	json_put_number_if(to, "kernel_bytes", s->kernel_bytes > 0, s->kernel_bytes);
	json_put_number_if(to, "max_table_bytes", s->max_table_bytes > 0, s->max_table_bytes);
	json_put_end(to);
}

static void put_cost(struct json_writer *to, const struct daemon_status *s)
{
	static const char *const steps[] = { "normal", "no_calls", "no_stacks", "no_errnos" };

	json_put_object(to, "cost");
	json_put_number_if(to, "call_ns", s->has_call_ns, s->call_ns);
	json_put_number(to, "samples", s->samples);
	json_put_number(to, "own_cpu_ns", s->own_cpu_ns);
	json_put_number(to, "resident_bytes", s->resident_bytes);
	json_put_real(to, "own_percent", s->has_percent ? s->own_percent : NAN);
	json_put_real(to, "answers_percent", s->has_percent ? s->answers_percent : NAN);
	json_put_real(to, "used_percent", s->has_percent ? s->used_percent : NAN);
	json_put_real(to, "budget_percent", s->budget_percent > 0 ? s->budget_percent : NAN);
	json_put_word(to, "step", steps[s->budget_step]);
	json_put_end(to);
}

static void put_history(struct json_writer *to, const struct daemon_status *s)
{
	if (!s->has_history && !*s->history_trouble) {
		json_put_null(to, "history");
		return;
	}
	json_put_object(to, "history");
	json_put_text(to, "trouble", *s->history_trouble ? s->history_trouble : NULL);
	json_put_number(to, "bytes", s->history_bytes);
	json_put_number(to, "intervals", s->history_intervals);
	json_put_number(to, "failed", s->history_failed);
	if (s->history_first_ns)
		json_put_time(to, "first", s->history_first_ns);
	else
		json_put_null(to, "first");
	json_put_number(to, "interval_ns", s->interval_ns);
	json_put_end(to);
}

static void put_recorder(struct json_writer *to, const struct recorder_status *recorder)
{
	if (!recorder->is_on) {
		json_put_null(to, "recorder");
		return;
	}
	json_put_object(to, "recorder");
	json_put_bool(to, "paused", recorder->is_paused);
	json_put_number(to, "bytes", recorder->bytes);
	json_put_number(to, "reach_ns", recorder->reach_ns);
	json_put_number(to, "recorded", recorder->recorded);
	json_put_number(to, "overwritten", recorder->overwritten);
	json_put_number(to, "left_out", recorder->left_out);
	json_put_number(to, "lost", recorder->lost);
	json_put_number(to, "saved", recorder->saved);
	json_put_number(to, "save_failed", recorder->save_failed);
	json_put_number(to, "save_removed", recorder->save_removed);
	json_put_end(to);
}

static void put_otlp(struct json_writer *to, const struct otlp_status *otlp)
{
	if (!otlp->endpoint) {
		json_put_null(to, "otlp");
		return;
	}
	json_put_object(to, "otlp");
	json_put_text(to, "endpoint", otlp->endpoint);
	json_put_text(to, "trouble", *otlp->trouble ? otlp->trouble : NULL);
	json_put_number(to, "sent", otlp->sent);
	json_put_number(to, "failed", otlp->failed);
	json_put_number(to, "refused", otlp->refused);
	json_put_number(to, "rejected", otlp->rejected);
	json_put_number(to, "dropped", otlp->dropped);
	json_put_number(to, "queued", otlp->queued);
	json_put_number(to, "queued_bytes", otlp->queued_bytes);
	json_put_number(to, "max_bytes", otlp->max_bytes);
	if (otlp->sent_ns)
		json_put_time(to, "last", otlp->sent_ns);
	else
		json_put_null(to, "last");
	json_put_end(to);
}

int report_status_json(const struct daemon_status *s, FILE *out)
{
	const struct name_counts *names = &s->names;
	struct losses of_calls = *s->losses;
	struct json_writer to;

	losses_forget_splits(&of_calls);
	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_text(&to, "host", s->host ?: "");
	json_put_text(&to, "kernel", s->kernel ?: "");
	json_put_time(&to, "start", s->start_ns);
	json_put_time(&to, "now", s->now_ns);
	json_put_number(&to, "uptime_ns", s->uptime_ns);
	json_put_bool(&to, "exact", losses_none(&of_calls));
	json_put_losses(&to, s->losses);
	put_counting(&to, s);
	if (s->has_names) {
		json_put_object(&to, "names");
		json_put_number(&to, "places", names->places);
		json_put_number(&to, "bytes", names->bytes);
		json_put_number(&to, "waiting", names->waiting);
		json_put_number(&to, "failed", names->failed);
		json_put_number(&to, "refused", names->refused);
		json_put_end(&to);
	} else {
		json_put_null(&to, "names");
	}
	put_cost(&to, s);
	put_history(&to, s);
	json_put_object(&to, "recent");
	json_put_time(&to, "first", s->recent_start_ns);
	json_put_number(&to, "bytes", s->recent_bytes);
	json_put_end(&to);
	put_recorder(&to, &s->recorder);
	put_otlp(&to, &s->otlp);
	json_put_object(&to, "clients");
	json_put_number(&to, "connected", s->clients);
	json_put_number(&to, "requests", s->requests);
	json_put_number(&to, "refused", s->refused);
	json_put_number(&to, "malformed", s->malformed);
	return json_end(&to);
}

int report_baselines_json(const struct baseline *list, size_t count, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_object(&to, NULL);
	json_put_number(&to, "schema", JSON_SCHEMA);
	json_put_list(&to, "baselines");
	for (size_t i = 0; i < count; i++) {
		json_put_object(&to, NULL);
		json_put_word(&to, "name", list[i].name);
		json_put_time(&to, "saved", list[i].saved_ns);
		json_put_time(&to, "start", list[i].start_ns);
		json_put_time(&to, "end", list[i].end_ns);
		json_put_number(&to, "covered_ns", list[i].covered_ns);
		json_put_bool(&to, "damaged", list[i].is_damaged);
		json_put_end(&to);
	}
	return json_end(&to);
}

/* --- text --------------------------------------------------------------------------------------- */

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

/* A span of time, without the units that it does not reach. */
static void print_span(uint64_t seconds, FILE *out)
{
	if (seconds >= 86400)
		fprintf(out, "%" PRIu64 " d ", seconds / 86400);
	if (seconds >= 3600)
		fprintf(out, "%" PRIu64 " h ", seconds / 3600 % 24);
	if (seconds >= 60)
		fprintf(out, "%" PRIu64 " min ", seconds / 60 % 60);
	fprintf(out, "%" PRIu64 " s", seconds % 60);
}

/* Prints a value as a number, as bytes, in percent, as a span, as an age, as a text, or as when something was. */
static void print_value(const json_t *from, char form, const char *key, FILE *out)
{
	char *text __cleanup(freep) = text_visible(text_of(from, key));
	const uint64_t value = number(from, key);
	char local[CLOCK_LOCAL_SIZE] = "-", age[AGE_MAX];
	struct tm utc = { 0 };

	format_long_age(value, age, sizeof(age));
	/* Turns RFC 3339 in UTC into the local time zone, up to a second. */
	if (form == 'w' && text && strptime(text, "%Y-%m-%dT%H:%M:%S", &utc))
		clock_local((int64_t)timegm(&utc) * (int64_t)NS_PER_SEC, local, sizeof(local));
	if (form == 'n')
		fprintf(out, "%" PRIu64, value);
	else if (form == 'b' && value < 10 << 20)
		fprintf(out, "%.1f KiB", (double)value / 0x1p10);
	else if (form == 'b')
		fprintf(out, "%.1f MiB", (double)value / 0x1p20);
	else if (form == 'p')
		fprintf(out, "%.2f%%", real(from, key));
	else if (form == 'a')
		fputs(age, out);
	else if (form == 's')
		print_span(value / NS_PER_SEC, out);
	else
		fputs(form == 'w' ? local : text ?: "", out);
}

/* Prints a text in which {n:key} stands for a value: the letter says in which form. {one|many} depends on it. */
static void print(const json_t *from, const char *text, FILE *out)
{
	char key[32], choice[32];
	uint64_t last = 0;

	for (; *text; text++) {
		if (*text != '{') {
			fputc(*text, out);
			continue;
		}
		if (text[2] != ':') {
			size_t size = strcspn(text, "}") + 1;

			snprintf(choice, sizeof(choice), "%.*s", (int)size, text);
			text_plural(choice, last, key, sizeof(key));
			fputs(key, out);
			text += size - 1;
			continue;
		}
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, "}") - 3, text + 3);
		print_value(from, text[1], key, out);
		last = number(from, key);
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

static void print_tables(const json_t *counting, FILE *out)
{
	const char *name, *before = "tables    ";
	json_t *table;

	json_object_foreach(json_object_get(counting, "tables"), name, table)
	{
		uint64_t used = number(table, "used"), capacity = number(table, "capacity");

		fprintf(out, "%s%.*s ", before, (int)strspn(name, "abcdefghijklmnopqrstuvwxyz_"),
			strcmp(name, "foreign") ? name : "unusual calls");
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
		{ "waiting", "{n:waiting} wait{s|} to be named", 1, NULL },
		{ "failed", "{n:failed} could not be named", 1, NULL },
		{ "refused", "{n:refused} found no room", 1, NULL },
	};

	if (!json_is_object(names))
		return;
	print(names, "names     {n:places} place{|s} in code, {b:bytes}", out);
	print_remarks(names, parts, ARRAY_SIZE(parts), "; ", ", ", out);
	fputc('\n', out);
}

static void print_cost(const json_t *cost, FILE *out)
{
	static const struct remark parts[] = {
		{ "call_ns", "{n:call_ns} ns in our programs for each traced call", 0, NULL },
		{ "used_percent",
		  "{p:used_percent} of a CPU in all, {p:own_percent} by the daemon itself", 0,
		  NULL },
		{ "answers_percent", "{p:answers_percent} for answers", 0.005, ", " },
		{ "budget_percent", "budget {p:budget_percent}", 0, NULL },
	};
	static const struct {
		const char *name, *what;
	} steps[] = {
		{ "no_calls", "single calls are not recorded" },
		{ "no_stacks", "call stacks are not taken" },
		{ "no_errnos", "neither call stacks nor errnos are kept" },
	};
	const char *step = text_of(cost, "step");

	if (print_remarks(cost, parts, ARRAY_SIZE(parts), "cost      ", "; ", out))
		fputc('\n', out);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (!strcmp(step, steps[i].name))
			fprintf(out, "          over its budget: %s now\n", steps[i].what);
	}
	print(cost, "memory    {b:resident_bytes} resident\n", out);
}

static void print_history(const json_t *history, FILE *out)
{
	if (!json_is_object(history)) {
		fputs("history   none is kept\n", out);
		return;
	}
	print(history, "history   {n:intervals} interval{|s}", out);
	if (*text_of(history, "first"))
		print(history, " since {w:first}", out);
	print(history, ", {b:bytes}\n", out);
	if (*text_of(history, "trouble"))
		print(history, "          the last interval is not in it: {t:trouble}\n", out);
}

static void print_recorder(const json_t *recorder, FILE *out)
{
	static const struct remark calls[] = {
		{ "recorded", "{n:recorded} call{|s}", 0, NULL },
		{ "overwritten", "{n:overwritten} overwritten", 1, NULL },
		{ "left_out", "{n:left_out} left out", 1, NULL },
		{ "lost", "{n:lost} lost", 1, NULL },
	};
	static const struct remark files[] = {
		{ "saved", "{n:saved} saved", 1, NULL },
		{ "save_failed", "{n:save_failed} not saved", 1, NULL },
		{ "save_removed", "{n:save_removed} removed", 1, NULL },
	};

	if (!json_is_object(recorder))
		return;
	print(recorder, "recorder  back {a:reach_ns}, {b:bytes}", out);
	if (json_is_true(json_object_get(recorder, "paused")))
		fputs("; over the budget: paused now", out);
	print_remarks(recorder, calls, ARRAY_SIZE(calls), "; ", ", ", out);
	print_remarks(recorder, files, ARRAY_SIZE(files), "; files: ", ", ", out);
	fputc('\n', out);
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

/* Prints those of calls, or those of what rows are split by. */
static void print_losses(const json_t *losses, bool of_splits, const char *before,
			 const char *between, FILE *out)
{
	char what[LOSS_WHAT_MAX];

	for (unsigned int i = 0; i < NR_MODEL_LOSS; i++) {
		uint64_t count = number(losses, loss_texts[i].name);

		if (!count || loss_is_of_splits(i) != of_splits)
			continue;
		text_plural(loss_texts[i].what, count, what, sizeof(what));
		fprintf(out, "%s%" PRIu64 " %s (%s)\n", before, count, what, loss_texts[i].why);
		before = between;
	}
}

static void print_otlp(const json_t *otlp, FILE *out)
{
	static const struct remark parts[] = {
		{ "refused", "{n:refused} refused", 1, NULL },
		{ "dropped", "{n:dropped} dropped", 1, NULL },
		{ "rejected", "{n:rejected} point{|s} rejected", 1, NULL },
		{ "queued", "{n:queued} wait{s|}, {b:queued_bytes} of {b:max_bytes}", 1, NULL },
	};

	if (!json_is_object(otlp))
		return;
	print(otlp, "otlp      {t:endpoint}: {n:sent} request{|s} sent", out);
	print_remarks(otlp, parts, ARRAY_SIZE(parts), "; ", ", ", out);
	fputc('\n', out);
	if (*text_of(otlp, "trouble"))
		print(otlp, "          cannot push now: {t:trouble}\n", out);
}

int report_status_text(const char *text, size_t size, FILE *out, struct diag *d)
{
	struct json_document document __cleanup(json_close);
	const json_t *status, *counting, *losses;

	if (parse(text, size, &document, d))
		return -EINVAL;
	status = document.root;
	counting = json_object_get(status, "counting");
	print(status, "bpftruss  {t:version} on {t:host}, since {w:start} ({s:uptime_ns})\n", out);
	print(counting,
	      "counting  {t:targets}: {n:processes} process{|es}, {n:threads} thread{|s} now; "
	      "{n:rows} row{|s}\n",
	      out);
	losses = json_object_get(status, "losses");
	print_losses(losses, false, "exact     no: ", "              ", out);
	if (json_is_true(json_object_get(status, "exact")))
		fputs("exact     yes, nothing was missed\n", out);
	print_tables(counting, out);
	print_losses(losses, true, "          ", "          ", out);
	print_names(json_object_get(status, "names"), out);
	print_cost(json_object_get(status, "cost"), out);
	print_history(json_object_get(status, "history"), out);
	print(json_object_get(status, "recent"),
	      "recent    each process back to {w:first}, {b:bytes}\n", out);
	print_recorder(json_object_get(status, "recorder"), out);
	print_otlp(json_object_get(status, "otlp"), out);
	print(json_object_get(status, "clients"),
	      "clients   {n:connected} connected; {n:requests} request{|s}, {n:refused} refused, "
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
		if (json_is_true(json_object_get(baseline, "damaged"))) {
			fputs("  cannot be read: save it again, or remove it\n", out);
			continue;
		}
		print(baseline, "  {w:start}  {w:end}", out);
		fprintf(out, "  %10.0f s\n", (double)number(baseline, "covered_ns") / 1e9);
	}
	return 0;
}

/* --- doctor ------------------------------------------------------------------------------------- */

static const struct {
	const char *word; /* on the screen */
	const char *key;  /* in JSON */
} states[] = {
	[FINDING_OK] = { "ok", "ok" },
	[FINDING_NOTE] = { "note", "absent" },
	[FINDING_PROBLEM] = { "MISSING", "missing" },
};

void report_findings(const struct finding *findings, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];

		fprintf(out, "%-8s %-26s %s\n", states[f->state].word, f->name, f->detail);
		if (*f->remedy)
			fprintf(out, "%-8s %-26s -> %s\n", "", "", f->remedy);
	}
}

int report_findings_json(const struct finding *findings, size_t count, FILE *out)
{
	struct json_writer to;
	bool works = true;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	for (size_t i = 0; i < count; i++)
		works = works && findings[i].state != FINDING_PROBLEM;
	json_put_bool(&to, "works", works);
	json_put_list(&to, "findings");
	for (size_t i = 0; i < count; i++) {
		json_put_object(&to, NULL);
		json_put_text(&to, "name", findings[i].name);
		json_put_word(&to, "state", states[findings[i].state].key);
		json_put_text(&to, "detail", findings[i].detail);
		json_put_text(&to, "remedy", findings[i].remedy);
		json_put_end(&to);
	}
	return json_end(&to);
}
