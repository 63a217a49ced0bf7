/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The metrics, and what the daemon has to say, in the JSON of OTLP 1: bodies of requests to /v1/metrics and
 * /v1/logs of a collector. Names and values are those of /metrics; each owner of series is a resource.
 */
#pragma once

#include "base/text.h"
#include "metrics/metrics.h"

#define OTLP_MAX_ATTRIBUTES 32
#define OTLP_KEY_BYTES      64

/* Attributes of resources; values are borrowed. */
struct otlp_attributes {
	struct {
		char key[OTLP_KEY_BYTES];
		const char *value;
	} all[OTLP_MAX_ATTRIBUTES];
	size_t count;
};

/* Adds one that is written as KEY=VALUE, which has to live as long. False: it is none, or one too many. */
static inline bool otlp_attributes_add(struct otlp_attributes *attributes, const char *text)
{
	const size_t length = strcspn(text, "="), at = attributes->count;

	if (!length || length >= OTLP_KEY_BYTES || !text[length] || at == OTLP_MAX_ATTRIBUTES ||
	    text_plain_length(text, length) != length)
		return false;
	memcpy(attributes->all[at].key, text, length);
	attributes->all[at].key[length] = 0;
	attributes->all[attributes->count++].value = text + length + 1;
	return true;
}

/* Says since when counters count. */
enum otlp_temporality {
	OTLP_CUMULATIVE, /* their start */
	OTLP_DELTA,      /* the last push */
	NR_OTLP_TEMPORALITY,
};

struct otlp_options {
	enum otlp_temporality temporality;
	const char *host_id; /* borrowed; NULL: not known */
	/* Attributes of each resource, in front of those that are found out; borrowed; NULL: none. */
	const struct otlp_attributes *attributes;
};

struct otlp;

/* The options are copied. Returns 0 or -ENOMEM. */
int otlp_new(const struct otlp_options *options, struct otlp **ret);
void otlp_free(struct otlp *otlp);
CLEANUP_OF(otlp, otlp_free)

/*
 * Writes an ExportMetricsServiceRequest: all series as of the last interval, which ended at now_ns
 * (CLOCK_REALTIME). Returns 0, -EIO when the stream failed, or -ENOMEM.
 */
int otlp_write_metrics(struct otlp *otlp, const struct metrics *metrics,
		       const struct daemon_status *self, int64_t now_ns, FILE *out);

/* The next deltas begin where those that were written last end: whoever writes them keeps them. */
void otlp_keep(struct otlp *otlp);

/* Something that happened. Texts are owned by the caller. */
struct otlp_event {
	int64_t time_ns;    /* CLOCK_REALTIME */
	int priority;       /* of syslog(3) */
	const char *name;   /* as bpftruss.loss */
	const char *text;   /* a sentence, of any bytes */
	const char *reason; /* NULL: none */
	uint64_t count;     /* 0: none */
	int64_t since_ns;   /* CLOCK_REALTIME at which a gap begins; 0: it is none */
};

/* Writes an ExportLogsServiceRequest. Returns 0 or -EIO. */
int otlp_write_logs(const struct otlp *otlp, const struct daemon_status *self,
		    const struct otlp_event *events, size_t count, FILE *out);

/*
 * Reads what a collector answered with status 200: how much it did not take, and why, as text that is cut to
 * fit; "" if it does not say. An answer that is no such JSON rejects nothing.
 */
uint64_t otlp_rejected(const char *answer, char *why, size_t size);
