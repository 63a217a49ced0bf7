/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the choice between the formats of /metrics, by an Accept header (RFC 9110, 12.5.1): for each
 * format the most specific range that matches it gives its quality. The header is untrusted.
 */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "report/metrics.h"

static const struct {
	const char *type, *all, *version, *content_type;
} formats[NR_METRICS_FORMAT] = {
	[METRICS_PROMETHEUS_TEXT] = { "text/plain", "text/*", "0.0.4",
				      "text/plain; version=0.0.4; charset=utf-8" },
	[METRICS_OPENMETRICS] = { "application/openmetrics-text", "application/*", "1.0.0",
				  "application/openmetrics-text; version=1.0.0; charset=utf-8" },
};

/* A part of the header. */
struct span {
	const char *text;
	size_t length;
};

/* One element of the header: text/plain;version=0.0.4;q=0.5. */
struct media_range {
	struct span type, version; /* an empty version is any */
	unsigned int quality;      /* in thousandths */
};

const char *metrics_content_type(enum metrics_format format)
{
	return formats[format].content_type;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Takes what is before a separator off the front, without blanks around it. */
static struct span span_split(struct span *from, char separator)
{
	const char *end = memchr(from->text, separator, from->length);
	size_t length = end ? (size_t)(end - from->text) : from->length;
	struct span part = { from->text, length };

	from->text += length + (end != NULL);
	from->length -= length + (end != NULL);
	while (part.length && is_blank(part.text[0])) {
		part.text++;
		part.length--;
	}
	while (part.length && is_blank(part.text[part.length - 1]))
		part.length--;
	return part;
}

static bool span_is(struct span span, const char *word)
{
	return span.length == strlen(word) && !strncasecmp(span.text, word, span.length);
}

/* A quality has at most three decimals; anything else does not count: 0. */
static unsigned int quality_read(struct span text)
{
	unsigned int quality = 0, scale = 1000;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.text[i];

		if (i == 1 && c == '.')
			continue;
		if (c < '0' || c > '9' || !scale || i == 1)
			return 0;
		quality += (unsigned int)(c - '0') * scale;
		scale /= 10;
	}
	return quality <= 1000 ? quality : 0;
}

static struct media_range media_range_read(struct span text)
{
	struct media_range range = { .type = span_split(&text, ';'), .quality = 1000 };

	while (text.length) {
		struct span value = span_split(&text, ';');
		struct span name = span_split(&value, '=');

		if (span_is(name, "q"))
			range.quality = quality_read(value);
		else if (span_is(name, "version"))
			range.version = value;
	}
	return range;
}

/* How closely a range names a format, from 1 up; 0: it does not. */
static unsigned int media_range_fits(const struct media_range *range, enum metrics_format format)
{
	if (span_is(range->type, "*/*"))
		return 1;
	if (span_is(range->type, formats[format].all))
		return 2;
	if (!span_is(range->type, formats[format].type))
		return 0;
	if (!range->version.length)
		return 3;
	return span_is(range->version, formats[format].version) ? 4 : 0;
}

enum metrics_format metrics_negotiate(const char *accept)
{
	struct span header = { accept ? accept : "", accept ? strlen(accept) : 0 };
	unsigned int quality[NR_METRICS_FORMAT] = { 0 }, closest[NR_METRICS_FORMAT] = { 0 };

	while (header.length) {
		struct media_range range = media_range_read(span_split(&header, ','));

		for (enum metrics_format i = 0; i < NR_METRICS_FORMAT; i++) {
			unsigned int fits = media_range_fits(&range, i);

			if (!fits || fits < closest[i] ||
			    (fits == closest[i] && range.quality < quality[i]))
				continue;
			closest[i] = fits;
			quality[i] = range.quality;
		}
	}
	return quality[METRICS_OPENMETRICS] > quality[METRICS_PROMETHEUS_TEXT]
		       ? METRICS_OPENMETRICS
		       : METRICS_PROMETHEUS_TEXT;
}
