/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The syntax of /metrics: Prometheus text 0.0.4 and OpenMetrics 1.0.0, which differ in the names of
 * families, in metadata and in the end. All samples of a family follow its head.
 */
#ifndef BPFTRUSS_EXPOSITION_H
#define BPFTRUSS_EXPOSITION_H

#include "report/metrics.h"

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
	const char *name; /* without _total and _info; ends in the unit, if there is one */
	const char *unit; /* seconds, bytes; NULL: a number of things */
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

/* One line, of the family's usual sample. */
void exposition_count(const struct exposition *e, const struct family *family,
		      const struct label_set *labels, uint64_t value);

/* As exposition_count(), of a time, in seconds: every digit of the nanoseconds. */
void exposition_seconds(const struct exposition *e, const struct family *family,
			const struct label_set *labels, uint64_t ns);

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
