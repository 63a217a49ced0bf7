/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes OTLP. Invariants: a resource or a metric is begun when its first point comes, so none is empty; and
 * with deltas, points that were kept add up to the counters.
 */
#include "metrics/otlp.h"

#include <syslog.h>

#include "base/clock.h"
#include "json/json.h"
#include "metrics/series.h"

/* Buckets, and the sum. */
#define MAX_VALUES (NR_METRICS_BOUND + 2)

/* Remembers a counter as it was when it was written; begins with its name, by which these are sorted. */
struct told {
	char *name; /* owned */
	uint64_t values[MAX_VALUES];
};

struct otlp {
	struct otlp_options options;
	void *kept, *next; /* trees of struct told: what was kept, and what was written since */
	int64_t kept_ns;   /* CLOCK_REALTIME of the former; 0: nothing was */
	int64_t next_ns;
};

/* Carries one request through its writing. */
struct request {
	struct json_writer json;
	struct otlp *otlp;
	const struct metrics *metrics;
	const struct daemon_status *self;
	const struct metrics_owner *owner; /* NULL: the daemon */
	const struct family *family;       /* of the points that come */
	int64_t now_ns;
	bool in_resource, in_metric;
	int err; /* 0 or -ENOMEM */
};

/* --- what was told ------------------------------------------------------------------------------ */

static int told_compare(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->name, ((const struct told *)b)->name);
}

static void told_free(void *told)
{
	free(((struct told *)told)->name);
	free(told);
}

int otlp_new(const struct otlp_options *options, struct otlp **ret)
{
	struct otlp *otlp = calloc(1, sizeof(*otlp));

	if (!otlp)
		return -ENOMEM;
	otlp->options = *options;
	*ret = otlp;
	return 0;
}

void otlp_free(struct otlp *otlp)
{
	if (!otlp)
		return;
	tdestroy(otlp->kept, told_free);
	tdestroy(otlp->next, told_free);
	free(otlp);
}

void otlp_keep(struct otlp *otlp)
{
	tdestroy(otlp->kept, told_free);
	otlp->kept = steal_ptr(&otlp->next);
	otlp->kept_ns = otlp->next_ns;
}

/* Owner, family and labels; an owner that has come again is another one. NULL: no memory. */
static char *told_name(const struct request *to, const struct label *labels)
{
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	if (!out)
		return NULL;
	fprintf(out, "%" PRId64 "\n%s", to->owner ? to->owner->start_ns : 0, to->family->name);
	for (; labels && labels->name; labels++)
		fprintf(out, "\n%s", labels->value);
	if (!fclose(out))
		return name;
	free(name);
	return NULL;
}

/* With deltas, leaves of the values what came since those that were kept. Returns whether there is a point to write. */
static bool values_settle(struct request *to, const struct label *labels, uint64_t *values,
			  size_t count)
{
	struct told told = { 0 }, *const * before;
	bool any = false;

	if (to->otlp->options.temporality != OTLP_DELTA)
		return true;
	told.name = told_name(to, labels);
	memcpy(told.values, values, count * sizeof(*values));
	if (!told.name || !tree_add(&to->otlp->next, &told, sizeof(told), told_compare)) {
		free(told.name);
		to->err = -ENOMEM;
		return false;
	}
	before = tfind(&told, &to->otlp->kept, told_compare);
	for (size_t i = 0; i < count; i++) {
		/* What has begun anew since then, as with larger tables, is less. */
		if (before && (*before)->values[i] <= values[i])
			values[i] -= (*before)->values[i];
		any |= values[i] > 0;
	}
	return any;
}

/* --- attributes --------------------------------------------------------------------------------- */

static void put_ends(struct json_writer *json, size_t count)
{
	while (count--)
		json_put_end(json);
}

static void attribute_begin(struct json_writer *json, const char *key)
{
	json_put_object(json, NULL);
	json_put_word(json, "key", key);
	json_put_object(json, "value");
}

static void put_attribute(struct json_writer *json, const char *key, const char *value)
{
	attribute_begin(json, key);
	json_put_text(json, "stringValue", value);
	put_ends(json, 2);
}

/* OTLP has numbers of 64 bits as text. */
static void put_number(struct json_writer *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_put_word(json, key, text);
}

static void put_number_attribute(struct json_writer *json, const char *key, uint64_t value)
{
	attribute_begin(json, key);
	put_number(json, "intValue", value);
	put_ends(json, 2);
}

/* Attributes of a resource, each key once: the first value wins. */
struct resource {
	struct attribute {
		const char *key, *value;
	} all[OTLP_MAX_ATTRIBUTES + 16];
	size_t count;
};

static void resource_add(struct resource *resource, const char *key, const char *value)
{
	for (size_t i = 0; i < resource->count; i++) {
		if (!strcmp(resource->all[i].key, key))
			return;
	}
	if (key && value && resource->count < ARRAY_SIZE(resource->all))
		resource->all[resource->count++] = (struct attribute){ key, value };
}

/* Attributes that are not written as they are. */
#define SERVICE_NAME "service.name"
#define PROCESS_PID  "process.pid"

/* By the semantic conventions, as far as there is one. */
static const char *const attribute_names[] = {
	[VALUE_UNIT] = "systemd.unit",
	[VALUE_CGROUP] = "process.linux.cgroup",
	[VALUE_UNIT_CGROUP] = "process.linux.cgroup",
	[VALUE_COMM] = "process.executable.name",
	[VALUE_PID] = PROCESS_PID,
	[VALUE_CONTAINER] = NULL, /* which is in short */
	[VALUE_CONTAINER_ID] = "container.id",
	[VALUE_RUNTIME] = "container.runtime.name",
	[VALUE_POD] = "k8s.pod.uid",
	[VALUE_QOS] = "k8s.pod.qos_class",
};

/* Owners that are no group of processes have no more than their name. */
static void resource_add_owner(struct resource *resource, const struct metrics *metrics,
			       const struct metrics_owner *owner)
{
	const struct metrics_grouping *group = &metrics_groupings[metrics->options.group];
	const char *name = attribute_names[group->owner.what];

	resource_add(resource, SERVICE_NAME, owner->label);
	if (owner == metrics->other || owner == metrics->unattributed || !strcmp(owner->label, "-"))
		return;
	if (name)
		resource_add(resource, name, owner->label);
	for (size_t i = 0; i < METRICS_MAX_INFOS && group->infos[i].label; i++) {
		name = attribute_names[group->infos[i].what];
		if (name && owner->infos[i])
			resource_add(resource, name, owner->infos[i]);
	}
}

static void put_resource(struct json_writer *json, const struct otlp_options *options,
			 const struct metrics *metrics, const struct metrics_owner *owner,
			 const char *host)
{
	const struct otlp_attributes *given = options->attributes;
	struct resource resource = { .count = 0 };

	if (owner)
		resource_add_owner(&resource, metrics, owner);
	else
		resource_add(&resource, SERVICE_NAME, "bpftruss");
	for (size_t i = 0; given && i < given->count; i++)
		resource_add(&resource, given->all[i].key, given->all[i].value);
	if (!owner)
		resource_add(&resource, "service.version", BPFTRUSS_VERSION);
	resource_add(&resource, "service.instance.id", options->host_id ?: host);
	resource_add(&resource, "host.name", host);
	if (options->host_id)
		resource_add(&resource, "host.id", options->host_id);
	resource_add(&resource, "os.type", "linux");
	json_put_object(json, "resource");
	json_put_list(json, "attributes");
	for (size_t i = 0; i < resource.count; i++) {
		const struct attribute *attribute = &resource.all[i];

		if (!strcmp(attribute->key, PROCESS_PID))
			put_number_attribute(json, attribute->key,
					     strtoull(attribute->value, NULL, 10));
		else
			put_attribute(json, attribute->key, attribute->value);
	}
	put_ends(json, 2);
}

static void put_scope(struct json_writer *json)
{
	json_put_object(json, "scope");
	json_put_word(json, "name", "bpftruss");
	json_put_word(json, "version", BPFTRUSS_VERSION);
	json_put_end(json);
}

/* --- metrics ------------------------------------------------------------------------------------ */

/* The numbers of AggregationTemporality. */
static const unsigned int temporalities[NR_OTLP_TEMPORALITY] = {
	[OTLP_CUMULATIVE] = 2, [OTLP_DELTA] = 1
};

/* Closes the metric, and the resource, if they are begun. */
static void metric_end(struct request *to)
{
	/* The points, what they are, and the metric. */
	put_ends(&to->json, to->in_metric ? 3 : 0);
	to->in_metric = false;
}

static void resource_end(struct request *to)
{
	metric_end(to);
	/* The metrics, those of the scope, the scopes, and the resource. */
	put_ends(&to->json, to->in_resource ? 4 : 0);
	to->in_resource = false;
}

static void resource_begin(struct request *to)
{
	struct json_writer *json = &to->json;

	json_put_object(json, NULL);
	put_resource(json, &to->otlp->options, to->metrics, to->owner, to->self->host ?: "");
	json_put_list(json, "scopeMetrics");
	json_put_object(json, NULL);
	put_scope(json);
	json_put_list(json, "metrics");
	to->in_resource = true;
}

/* The semantic conventions have names for what Prometheus calls otherwise. */
static const char *metric_name(const struct family *family)
{
	if (!strcmp(family->name, "process.cpu"))
		return "process.cpu.time";
	return strcmp(family->name, "process.resident_memory") ? family->name
							       : "process.memory.usage";
}

static void metric_begin(struct request *to)
{
	static const char *const kinds[NR_FAMILY_TYPE] = {
		[FAMILY_COUNTER] = "sum",
		[FAMILY_GAUGE] = "gauge",
		[FAMILY_HISTOGRAM] = "histogram",
	};
	const struct family *family = to->family;
	struct json_writer *json = &to->json;

	if (!to->in_resource)
		resource_begin(to);
	if (to->in_metric)
		return;
	json_put_object(json, NULL);
	json_put_word(json, "name", metric_name(family));
	json_put_text(json, "description", family->help);
	json_put_text(json, "unit", family->unit);
	json_put_object(json, kinds[family->type]);
	if (family->type != FAMILY_GAUGE)
		json_put_number(json, "aggregationTemporality",
				temporalities[to->otlp->options.temporality]);
	if (family->type == FAMILY_COUNTER)
		json_put_bool(json, "isMonotonic", true);
	json_put_list(json, "dataPoints");
	to->in_metric = true;
}

/* When the counters of this request began; never behind its end, though clocks are set. */
static int64_t point_start_ns(const struct request *to)
{
	const struct otlp *otlp = to->otlp;
	int64_t start_ns = to->owner ? to->owner->start_ns : to->metrics->start_ns;

	if (otlp->options.temporality == OTLP_DELTA && otlp->kept_ns > start_ns)
		start_ns = otlp->kept_ns;
	return start_ns < to->now_ns ? start_ns : to->now_ns;
}

static const char *point_attribute(const char *label)
{
	static const struct {
		const char *label, *attribute;
	} names[] = { { "syscall", "syscall.name" }, { "errno", "error.type" },
		      { "state", "thread.state" },   { "reason", "loss.reason" },
		      { "program", "program.name" }, { "table", "table.name" } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i].label, label))
			return names[i].attribute;
	}
	return label;
}

/* Begins a point: its attributes, of which the owner is none, and its times. */
static void point_begin(struct request *to, const struct label *labels)
{
	struct json_writer *json = &to->json;

	metric_begin(to);
	json_put_object(json, NULL);
	json_put_list(json, "attributes");
	for (; labels && labels->name; labels++)
		put_attribute(json, point_attribute(labels->name), labels->value);
	json_put_end(json);
	if (to->family->type != FAMILY_GAUGE)
		put_number(json, "startTimeUnixNano", (uint64_t)point_start_ns(to));
	put_number(json, "timeUnixNano", (uint64_t)to->now_ns);
}

static void put_metric_family(const struct series *s, const struct family *family)
{
	struct request *to = s->closure;

	metric_end(to);
	to->family = family;
}

/* Points say when they begin. */
static bool family_is_told(const struct family *family)
{
	return family->type != FAMILY_INFO && strcmp(family->name, "process.start_time") != 0;
}

/* The resource is the owner, whose label comes first. */
static const struct label *labels_of_point(const struct request *to, const struct label *labels)
{
	return to->owner ? labels + 1 : labels;
}

static void put_point(const struct series *s, const struct family *family,
		      const struct label *labels, uint64_t value)
{
	struct request *to = s->closure;

	if (!family_is_told(family))
		return;
	if (family->type == FAMILY_COUNTER && !values_settle(to, labels, &value, 1))
		return;
	point_begin(to, labels_of_point(to, labels));
	if (family_is_time(family))
		json_put_real(&to->json, "asDouble", (double)value / NS_PER_SEC);
	else
		put_number(&to->json, "asInt", value);
	json_put_end(&to->json);
}

static void put_buckets(struct json_writer *json, const uint64_t *buckets)
{
	json_put_list(json, "bucketCounts");
	for (size_t i = 0; i <= NR_METRICS_BOUND; i++)
		put_number(json, NULL, buckets[i]);
	json_put_end(json);
	json_put_list(json, "explicitBounds");
	for (size_t i = 0; i < NR_METRICS_BOUND; i++)
		json_put_real(json, NULL,
			      (double)((1ULL << metrics_bounds[i].shift) - 1) / NS_PER_SEC);
	json_put_end(json);
}

static void put_histogram(const struct series *s, const struct family *family,
			  const struct label *labels, const struct metrics_call *call)
{
	struct request *to = s->closure;
	uint64_t values[MAX_VALUES], count = 0;

	(void)family;
	memcpy(values, call->buckets, sizeof(call->buckets));
	values[MAX_VALUES - 1] = call->sum.wall_ns;
	if (!values_settle(to, labels, values, MAX_VALUES))
		return;
	for (size_t i = 0; i <= NR_METRICS_BOUND; i++)
		count += values[i];
	point_begin(to, labels_of_point(to, labels));
	put_number(&to->json, "count", count);
	json_put_real(&to->json, "sum", (double)values[MAX_VALUES - 1] / NS_PER_SEC);
	put_buckets(&to->json, values);
	json_put_end(&to->json);
}

static const struct series_syntax otlp_syntax = { put_metric_family, put_point, put_histogram };

int otlp_write_metrics(struct otlp *otlp, const struct metrics *metrics,
		       const struct daemon_status *self, int64_t now_ns, FILE *out)
{
	struct request to = { .otlp = otlp, .metrics = metrics, .self = self, .now_ns = now_ns };
	struct series series = { .metrics = metrics,
				 .self = self,
				 .key = metrics_groupings[metrics->options.group].owner.label,
				 .to = &otlp_syntax,
				 .closure = &to };
	int err;

	tdestroy(otlp->next, told_free);
	otlp->next = NULL;
	otlp->next_ns = now_ns;
	json_begin(&to.json, out);
	json_put_object(&to.json, NULL);
	json_put_list(&to.json, "resourceMetrics");
	for (size_t i = 0; i < metrics->owners.count; i++) {
		series.first = i;
		series.end = i + 1;
		to.owner = metrics->owners.all[i];
		series_tell_owners(&series);
		resource_end(&to);
	}
	to.owner = NULL;
	series_tell_daemon(&series);
	resource_end(&to);
	err = json_end(&to.json);
	return to.err ?: err;
}

/* --- logs --------------------------------------------------------------------------------------- */

/* OpenTelemetry has four numbers for each of these words. */
static const struct {
	unsigned int number;
	const char *word;
} severities[] = {
	[LOG_EMERG... LOG_ERR] = { 17, "ERROR" },
	[LOG_WARNING] = { 13, "WARN" },
	[LOG_NOTICE... LOG_INFO] = { 9, "INFO" },
	[LOG_DEBUG] = { 5, "DEBUG" },
};

static void put_event(struct json_writer *json, const struct otlp_event *event)
{
	json_put_object(json, NULL);
	put_number(json, "timeUnixNano", (uint64_t)event->time_ns);
	put_number(json, "observedTimeUnixNano", (uint64_t)event->time_ns);
	json_put_number(json, "severityNumber", severities[event->priority].number);
	json_put_word(json, "severityText", severities[event->priority].word);
	json_put_word(json, "eventName", event->name);
	json_put_object(json, "body");
	json_put_text(json, "stringValue", event->text);
	json_put_end(json);
	json_put_list(json, "attributes");
	if (event->reason)
		put_attribute(json, "loss.reason", event->reason);
	if (event->count)
		put_number_attribute(json, "loss.count", event->count);
	if (event->since_ns)
		put_number_attribute(json, "gap.start_unix_nano", (uint64_t)event->since_ns);
	put_ends(json, 2);
}

int otlp_write_logs(const struct otlp *otlp, const struct daemon_status *self,
		    const struct otlp_event *events, size_t count, FILE *out)
{
	struct json_writer json;

	json_begin(&json, out);
	json_put_object(&json, NULL);
	json_put_list(&json, "resourceLogs");
	json_put_object(&json, NULL);
	put_resource(&json, &otlp->options, NULL, NULL, self->host ?: "");
	json_put_list(&json, "scopeLogs");
	json_put_object(&json, NULL);
	put_scope(&json);
	json_put_list(&json, "logRecords");
	for (size_t i = 0; i < count; i++)
		put_event(&json, &events[i]);
	return json_end(&json);
}

/* --- answers ------------------------------------------------------------------------------------ */

/* A number of JSON, or in a text, as OTLP has those of 64 bits; 0 if it is none, or negative. */
static uint64_t number_of(const json_t *from)
{
	const json_int_t value = json_integer_value(from);
	uint64_t number = value > 0 ? (uint64_t)value : 0;

	if (json_is_string(from) && !number_read(json_string_value(from), INT64_MAX, &number))
		number = 0;
	return number;
}

uint64_t otlp_rejected(const char *answer, char *why, size_t size)
{
	json_t *whole = json_loads(answer, 0, NULL);
	const json_t *partial = json_object_get(whole, "partialSuccess");
	const uint64_t rejected = number_of(json_object_get(partial, "rejectedDataPoints")) +
				  number_of(json_object_get(partial, "rejectedLogRecords"));

	snprintf(why, size, "%s",
		 json_string_value(json_object_get(partial, "errorMessage")) ?: "");
	json_decref(whole);
	return rejected;
}
