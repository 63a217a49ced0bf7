/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The syntax of /metrics: Prometheus text 0.0.4 and OpenMetrics 1.0.0, which differ in the names of
 * families, in metadata and in the end. All samples of a family follow its head.
 */
#ifndef BPFTRUSS_EXPOSITION_H
#define BPFTRUSS_EXPOSITION_H

#include <stdint.h>
#include <stdio.h>

enum metrics_format {
	METRICS_PROMETHEUS_TEXT, /* 0.0.4 */
	METRICS_OPENMETRICS,     /* 1.0.0 */
	NR_METRICS_FORMAT,
};

/* The format that an Accept header names first; Prometheus text if neither. */
enum metrics_format metrics_negotiate(const char *accept);

/* The Content-Type of a format: a constant. */
const char *metrics_content_type(enum metrics_format format);

enum family_type {
	FAMILY_COUNTER,
	FAMILY_GAUGE,
	FAMILY_HISTOGRAM,
	FAMILY_INFO, /* a gauge that is always 1 */
	NR_FAMILY_TYPE,
};

/* All text is constant. */
struct family {
	enum family_type type;
	const char *
		name; /* without _total and _info; ends in the unit, if there is one: seconds, bytes */
	const char *help; /* one sentence without a full stop, backslash or line end */
};

#define EXPOSITION_MAX_LABELS 4

struct label {
	const char *name;
	const char *value; /* valid UTF-8; escaped here */
};

/* The labels of one sample, up to the first without a name. */
struct label_set {
	struct label labels[EXPOSITION_MAX_LABELS];
};

struct exposition {
	FILE *out;
	enum metrics_format format;
};

/* HELP, TYPE and UNIT. */
void exposition_family(const struct exposition *e, const struct family *family);

/* One line, of the family's usual sample. Seconds come in ns, of which every digit is written. */
void exposition_sample(const struct exposition *e, const struct family *family,
		       const struct label_set *labels, uint64_t value);

/* Upper bounds of the buckets that are written: 2^shift ns. */
#define NR_EXPOSITION_BOUND 13

extern const struct exposition_bound {
	unsigned int shift;
	const char *seconds; /* the label le */
} exposition_bounds[NR_EXPOSITION_BOUND];

/* A histogram: its buckets, the last of them without a bound, are not cumulative yet. */
void exposition_histogram(const struct exposition *e, const struct family *family,
			  const struct label_set *labels,
			  const uint64_t buckets[NR_EXPOSITION_BOUND + 1], uint64_t sum_ns);

/* What ends the whole. */
void exposition_end(const struct exposition *e);

#endif
