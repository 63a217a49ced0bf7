/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes what /metrics says. Invariant: a sample is one line, whatever is in a label. Numbers are written
 * from integers, so that they do not depend on the locale and lose no digit.
 */
#include <strings.h>

#include "base/clock.h"
#include "metrics/series.h"

/* --- syntax ------------------------------------------------------------------------------------- */

static const struct {
	const char *name;   /* in OpenMetrics */
	const char *before; /* in Prometheus text, which has no info */
	const char *suffix; /* of the sample */
} types[NR_FAMILY_TYPE] = {
	[FAMILY_COUNTER] = { "counter", "counter", "_total" },
	[FAMILY_GAUGE] = { "gauge", "gauge", "" },
	[FAMILY_HISTOGRAM] = { "histogram", "histogram", "" },
	[FAMILY_INFO] = { "info", "gauge", "_info" },
};

/* Describes one scrape. */
struct scrape {
	FILE *out;
	enum metrics_format format;
};

/* Finds a type in a list; NULL: it is not there, or has q=0, which means never. */
static const char *accept_find(const char *accept, const char *type)
{
	const char *found = strcasestr(accept, type), *at = found;

	while (at && *(at += strcspn(at, ";,")) == ';') {
		at += 1 + strspn(at + 1, " \t");
		if (strncasecmp(at, "q=", 2) != 0)
			continue;
		if (strchr(";, \t", at[2 + strspn(at + 2, "0.")]))
			return NULL;
	}
	return found;
}

enum metrics_format metrics_negotiate(const char *accept)
{
	const char *open = accept_find(accept, "application/openmetrics-text");
	const char *text = accept_find(accept, "text/plain");

	return open && (!text || open < text) ? METRICS_OPENMETRICS : METRICS_PROMETHEUS_TEXT;
}

const char *metrics_content_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* The unit as it stands at the end of names; NULL: none. */
static const char *unit_name(const struct family *family)
{
	return family_is_time(family) ? "seconds" : !strcmp(family->unit, "By") ? "bytes" : NULL;
}

/* The name of a family here: its parts and its unit, joined by underscores. */
static void put_name(const struct scrape *to, const struct family *family)
{
	for (const char *at = family->name; *at; at++)
		fputc(*at == '.' ? '_' : *at, to->out);
	if (unit_name(family))
		fprintf(to->out, "_%s", unit_name(family));
}

/* HELP, TYPE and UNIT. */
static void put_family(const struct series *s, const struct family *family)
{
	const struct scrape *to = s->closure;
	const bool open = to->format == METRICS_OPENMETRICS;
	const char *suffix = open ? "" : types[family->type].suffix;

	fputs("# HELP ", to->out);
	put_name(to, family);
	fprintf(to->out, "%s %s\n# TYPE ", suffix, family->help);
	put_name(to, family);
	fprintf(to->out, "%s %s\n", suffix,
		open ? types[family->type].name : types[family->type].before);
	if (!open || !unit_name(family))
		return;
	fputs("# UNIT ", to->out);
	put_name(to, family);
	fprintf(to->out, " %s\n", unit_name(family));
}

/* Name and labels; le is NULL but for buckets. */
static void put_series(const struct scrape *to, const struct family *family, const char *suffix,
		       const struct label *labels, const char *le)
{
	char before = '{';

	put_name(to, family);
	fputs(suffix, to->out);
	for (; labels && labels->name; labels++, before = ',') {
		fprintf(to->out, "%c%s=\"", before, labels->name);
		for (const char *at = labels->value; *at; at++) {
			if (strchr("\n\"\\", *at))
				fputc('\\', to->out);
			fputc(*at == '\n' ? 'n' : *at, to->out);
		}
		fputc('"', to->out);
	}
	if (le)
		fprintf(to->out, "%cle=\"%s\"", before, le);
	fputs(le || before == ',' ? "} " : " ", to->out);
}

/* Writes every digit of seconds, which come in ns. */
static void put_value(const struct scrape *to, bool is_time, uint64_t value)
{
	unsigned int digits = 9, rest = (unsigned int)(value % NS_PER_SEC);

	fprintf(to->out, "%" PRIu64, is_time ? (uint64_t)(value / NS_PER_SEC) : value);
	while (rest && rest % 10 == 0) {
		rest /= 10;
		digits--;
	}
	if (is_time && rest)
		fprintf(to->out, ".%0*u", (int)digits, rest);
	fputc('\n', to->out);
}

/* Writes one line, of the family's usual sample. */
static void put_sample(const struct series *s, const struct family *family,
		       const struct label *labels, uint64_t value)
{
	const struct scrape *to = s->closure;

	put_series(to, family, types[family->type].suffix, labels, NULL);
	put_value(to, family_is_time(family), value);
}

/* Its buckets, the last of them without a bound, are cumulative. */
static void put_durations(const struct series *s, const struct family *family,
			  const struct label *labels, const struct metrics_call *call)
{
	const struct scrape *to = s->closure;
	uint64_t below = 0;

	for (size_t i = 0; i <= NR_METRICS_BOUND; i++) {
		below += call->buckets[i];
		put_series(to, family, "_bucket", labels,
			   i < NR_METRICS_BOUND ? metrics_bounds[i].seconds : "+Inf");
		put_value(to, false, below);
	}
	put_series(to, family, "_sum", labels, NULL);
	put_value(to, true, call->sum.wall_ns);
	put_series(to, family, "_count", labels, NULL);
	put_value(to, false, below);
}

static const struct series_syntax text_syntax = { put_family, put_sample, put_durations };

int metrics_write(const struct metrics *metrics, const struct daemon_status *self,
		  enum metrics_format format, FILE *out)
{
	struct scrape scrape = { out, format };
	const struct series series = {
		.metrics = metrics,
		.self = self,
		.key = metrics_groupings[metrics->options.group].owner.label,
		.end = metrics->owners.count,
		.to = &text_syntax,
		.closure = &scrape,
	};

	series_tell_owners(&series);
	series_tell_infos(&series);
	series_tell_daemon(&series);
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", out);
	return ferror(out) ? -EIO : 0;
}
