/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the syntax of metrics. Invariant: whatever is in a label, a sample is one line. Numbers are
 * written from integers, so that they do not depend on the locale and lose no digit.
 */
#include "metrics/exposition.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"

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

/*
 * Steps of four from about 1 us to about 17 s. Powers of two in ns are bounds of hist_bucket.h, so
 * no call has to be placed by guess; but there a call of exactly that time is in the bucket above.
 */
const struct exposition_bound exposition_bounds[NR_EXPOSITION_BOUND] = {
	{ 10, "1.024e-06" },    { 12, "4.096e-06" },   { 14, "1.6384e-05" },  { 16, "6.5536e-05" },
	{ 18, "0.000262144" },  { 20, "0.001048576" }, { 22, "0.004194304" }, { 24, "0.016777216" },
	{ 26, "0.067108864" },  { 28, "0.268435456" }, { 30, "1.073741824" }, { 32, "4.294967296" },
	{ 34, "17.179869184" },
};

/* Where a type stands in a list; NULL: nowhere, or with q=0, which means never. */
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

static bool name_ends_in(const char *name, const char *suffix)
{
	const size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

void exposition_family(const struct exposition *e, const struct family *family)
{
	bool open = e->format == METRICS_OPENMETRICS;
	const char *suffix = open ? "" : types[family->type].suffix;

	fprintf(e->out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(e->out, "# TYPE %s%s %s\n", family->name, suffix,
		open ? types[family->type].name : types[family->type].before);
	if (open &&
	    (name_ends_in(family->name, "_seconds") || name_ends_in(family->name, "_bytes")))
		fprintf(e->out, "# UNIT %s %s\n", family->name, strrchr(family->name, '_') + 1);
}

static void write_value(const char *value, FILE *out)
{
	for (; *value; value++) {
		if (*value == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
}

/* Name and labels; le is NULL but for buckets. */
static void write_series(const struct exposition *e, const char *name, const char *suffix,
			 const struct label_set *labels, const char *le)
{
	char before = '{';

	fprintf(e->out, "%s%s", name, suffix);
	for (size_t i = 0; labels && i < EXPOSITION_MAX_LABELS && labels->labels[i].name; i++) {
		fprintf(e->out, "%c%s=\"", before, labels->labels[i].name);
		write_value(labels->labels[i].value, e->out);
		fputc('"', e->out);
		before = ',';
	}
	if (le) {
		fprintf(e->out, "%cle=\"%s\"", before, le);
		before = ',';
	}
	if (before == ',')
		fputc('}', e->out);
	fputc(' ', e->out);
}

static void write_seconds(uint64_t ns, FILE *out)
{
	unsigned int digits = 9, rest = (unsigned int)(ns % NS_PER_SEC);

	fprintf(out, "%" PRIu64, (uint64_t)(ns / NS_PER_SEC));
	while (rest && rest % 10 == 0) {
		rest /= 10;
		digits--;
	}
	if (rest)
		fprintf(out, ".%0*u", (int)digits, rest);
	fputc('\n', out);
}

void exposition_sample(const struct exposition *e, const struct family *family,
		       const struct label_set *labels, uint64_t value)
{
	write_series(e, family->name, types[family->type].suffix, labels, NULL);
	if (name_ends_in(family->name, "_seconds"))
		write_seconds(value, e->out);
	else
		fprintf(e->out, "%" PRIu64 "\n", value);
}

void exposition_histogram(const struct exposition *e, const struct family *family,
			  const struct label_set *labels,
			  const uint64_t buckets[NR_EXPOSITION_BOUND + 1], uint64_t sum_ns)
{
	uint64_t below = 0;

	for (size_t i = 0; i <= NR_EXPOSITION_BOUND; i++) {
		below += buckets[i];
		write_series(e, family->name, "_bucket", labels,
			     i < NR_EXPOSITION_BOUND ? exposition_bounds[i].seconds : "+Inf");
		fprintf(e->out, "%" PRIu64 "\n", below);
	}
	write_series(e, family->name, "_sum", labels, NULL);
	write_seconds(sum_ns, e->out);
	write_series(e, family->name, "_count", labels, NULL);
	fprintf(e->out, "%" PRIu64 "\n", below);
}

void exposition_end(const struct exposition *e)
{
	if (e->format == METRICS_OPENMETRICS)
		fputs("# EOF\n", e->out);
}
