/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists what the metrics have, once for all syntaxes: families, their samples and labels. A syntax says how
 * each is written.
 */
#pragma once

#include "metrics/state.h"

enum family_type {
	FAMILY_COUNTER,
	FAMILY_GAUGE,
	FAMILY_HISTOGRAM,
	FAMILY_INFO, /* a gauge that is always 1 */
	NR_FAMILY_TYPE,
};

/*
 * The name has dots between its parts, and neither the unit nor a suffix at its end. The unit is in UCUM:
 * values of "s" come in ns, "By" is bytes, what is in braces is counted; "": none. The help is one sentence
 * without a full stop, backslash or line end.
 */
struct family {
	enum family_type type;
	const char *name, *unit, *help;
};

/* Several of them end with one without a name. */
struct label {
	const char *name;
	const char *value; /* valid UTF-8 */
};

#define LABELS(...) ((const struct label[]){ __VA_ARGS__, { NULL, NULL } })

struct series;

/* Functions that write what is told. Labels are NULL if there are none. */
struct series_syntax {
	void (*family)(const struct series *s, const struct family *family);
	void (*sample)(const struct series *s, const struct family *family,
		       const struct label *labels, uint64_t value);
	/* The latencies of a call, of which there are buckets and a sum. */
	void (*durations)(const struct series *s, const struct family *family,
			  const struct label *labels, const struct metrics_call *call);
};

/* Describes what is told, and to whom. */
struct series {
	const struct metrics *metrics;
	const struct daemon_status *self;
	const char *key;   /* name of the label of an owner, which comes first */
	size_t first, end; /* the owners that are told of */
	const struct series_syntax *to;
	void *closure; /* of the syntax */
};

/* Whether values are times, in ns. */
static inline bool family_is_time(const struct family *family)
{
	return !strcmp(family->unit, "s");
}

/* Tell what owners did, what else is known of them, and what the daemon says of itself. */
void series_tell_owners(const struct series *s);
void series_tell_infos(const struct series *s);
void series_tell_daemon(const struct series *s);
