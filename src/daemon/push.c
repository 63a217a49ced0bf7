/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes requests and has them sent. Invariant: a request is removed when the collector has taken it, when it
 * says that it never will, or when there is no room; each is counted.
 */
#include "daemon/push.h"

#include <poll.h>
#include <sys/random.h>

#include "base/text.h"
#include "daemon/log.h"

/* Pauses after failures: the first, and the longest, unless the collector asks for another one. */
#define PAUSE_NS          NS_PER_SEC
#define MAX_PAUSE_NS      (60 * NS_PER_SEC)
#define MAX_RETRY_AFTER_S 3600u

/* How long the end of the daemon waits for what is on its way. */
#define END_WAIT_MS 2000

#define MACHINE_ID "/etc/machine-id"

/* --- opening ------------------------------------------------------------------------------------ */

static void host_id_read(char *buf, size_t size)
{
	FILE *file __cleanup(fclosep) = fopen(MACHINE_ID, "re");

	if (!file || !fgets(buf, (int)size, file))
		*buf = 0;
	buf[strspn(buf, "0123456789abcdef")] = 0;
}

void push_init(struct push *push)
{
	*push = (struct push){ .child = NO_CHILD };
	spool_init(&push->spool);
}

/* No collector gets what was counted for another one. */
static void removed_tell(size_t count, const char *endpoint)
{
	if (count)
		log_line(
			LOG_WARNING,
			"%zu request%s of an earlier daemon %s removed unsent: otlp-endpoint is %s",
			count, plural(count), count == 1 ? "was" : "were",
			endpoint ? "another one" : "not set");
}

int push_open(struct push *push, const struct daemon_config *config, struct diag *d)
{
	struct otlp_options options = { .temporality = config->otlp.temporality };
	const char *endpoint = config->otlp.post.endpoint;
	int err;

	if (!endpoint) {
		/* Without a history the state directory may be that of another daemon. */
		removed_tell(config->no_history ? 0 : spool_clear(config->state_dir), NULL);
		return 0;
	}
	host_id_read(push->host_id, sizeof(push->host_id));
	options.host_id = *push->host_id ? push->host_id : NULL;
	options.attributes = &config->otlp.attributes;
	if (otlp_new(&options, &push->otlp))
		return diag_oom(d);
	push->config = &config->otlp;
	push->next_ns = clock_mono_ns();
	err = spool_open(&push->spool, config->state_dir, endpoint, d);
	removed_tell(push->spool.nr_removed, endpoint);
	return err;
}

void push_done(struct push *push)
{
	child_done(&push->child);
	spool_done(&push->spool);
	events_clear(&push->events);
	otlp_free(push->otlp);
}

struct events *push_events(struct push *push)
{
	return push->config ? &push->events : NULL;
}

/* --- requests ----------------------------------------------------------------------------------- */

/*
 * Logged when it begins: texts have times in them; or when there is something else to do about it. Advice is a constant
 * or NULL.
 */
static void troubled(struct push *push, const char *text, const char *advice)
{
	if (!*push->trouble || (advice && advice != push->advice))
		log_line(LOG_WARNING, "cannot push to %s: %s", push->config->post.endpoint, text);
	push->advice = advice ?: push->advice;
	snprintf(push->trouble, sizeof(push->trouble), "%s", text);
}

/*
 * Returns how many requests were dropped. Those that a child is sending meanwhile may be taken all the same: they count
 * once that is known.
 */
static uint64_t dropped_count(const struct push *push)
{
	uint64_t count = push->spool.dropped;

	for (size_t i = 0; push->child.pid && i < push->nr_sending; i++)
		count -= !spool_has(&push->spool, push->sending[i]);
	return count;
}

/* Tells when requests begin to be dropped, and how many those were once all others are sent. */
static void dropped_tell(struct push *push)
{
	const uint64_t dropped = dropped_count(push) - push->told_dropped;
	const struct otlp_event event = { .priority = push->is_dropping ? LOG_NOTICE : LOG_WARNING,
					  .name = "bpftruss.push.dropped",
					  .count = push->is_dropping ? dropped : 0 };

	if (!dropped || (push->is_dropping && push->spool.nr_files))
		return;
	if (push->is_dropping)
		events_tell(&push->events, &event,
			    "%" PRIu64 " request%s could not be pushed in time and %s dropped%s",
			    dropped, plural(dropped), dropped == 1 ? "was" : "were",
			    push->config->temporality == OTLP_DELTA
				    ? ": what they counted is missing"
				    : "");
	else
		events_tell(&push->events, &event,
			    "what is to be pushed takes more than otlp-queue: the oldest requests "
			    "are dropped");
	if (push->is_dropping)
		push->told_dropped = dropped_count(push);
	push->is_dropping = !push->is_dropping;
}

/* A request while it is written. */
struct draft {
	FILE *out; /* NULL: no memory */
	char *text;
	size_t size;
};

static void draft_begin(struct draft *draft)
{
	draft->text = NULL;
	draft->out = open_memstream(&draft->text, &draft->size);
}

/* Makes a file of it, unless writing it failed. 0 or -errno with d filled. */
static int draft_end(struct draft *draft, struct push *push, bool is_logs, int err, struct diag *d)
{
	if ((draft->out && fclose(draft->out)) || err)
		err = diag_oom(d);
	else
		err = spool_put(&push->spool, is_logs, draft->text, draft->size,
				push->config->queue_bytes, d);
	free(draft->text);
	return err;
}

/* Adds an event that counts those for which there was no room. */
static void events_add_dropped(struct events *events)
{
	char *text = NULL;

	if (!events->dropped || events->count == ARRAY_SIZE(events->all))
		return;
	if (asprintf(&text, "%" PRIu64 " further events found no room", events->dropped) < 0)
		return;
	events->all[events->count++] = (struct otlp_event){ .time_ns = clock_real_ns(),
							    .priority = LOG_WARNING,
							    .name = "bpftruss.push.dropped",
							    .text = text };
	events->dropped = 0;
}

static int make_metrics(struct push *push, struct service *service,
			const struct daemon_status *status, struct diag *d)
{
	const struct counts *counts = service->counts;
	struct draft draft;
	int err;

	draft_begin(&draft);
	err = draft.out ? otlp_write_metrics(push->otlp, counts->metrics, status,
					     counts->last->end_ns, draft.out)
			: -ENOMEM;
	err = draft_end(&draft, push, false, err, d);
	if (!err)
		otlp_keep(push->otlp);
	return err;
}

static int make_logs(struct push *push, const struct daemon_status *status, struct diag *d)
{
	struct draft draft;
	int err;

	if (!push->events.count)
		return 0;
	events_add_dropped(&push->events);
	draft_begin(&draft);
	err = draft.out ? otlp_write_logs(push->otlp, status, push->events.all, push->events.count,
					  draft.out)
			: -ENOMEM;
	err = draft_end(&draft, push, true, err, d);
	if (!err)
		events_clear(&push->events);
	return err;
}

/* Makes requests of the metrics and events that there are. On failure, events wait for the next. */
static void push_make(struct push *push, struct service *service)
{
	struct daemon_status status;
	struct diag d;
	int err = counts_refresh(service->counts, MARK_PASSING, &d);

	if (!err) {
		service_status(service, &status);
		err = make_metrics(push, service, &status, &d) ?: make_logs(push, &status, &d);
	}
	if (err)
		troubled(push, d.text, NULL);
	dropped_tell(push);
}

/* --- sending ------------------------------------------------------------------------------------ */

/* Waits longer after each failure; not all daemons come at the same time when a collector is back. */
static void pause_begin(struct push *push, uint32_t retry_after_s)
{
	uint64_t pause_ns = MAX_PAUSE_NS;
	uint32_t random = 0;

	if (push->failures < 6)
		pause_ns = min_u64(PAUSE_NS << push->failures, MAX_PAUSE_NS);
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint32_t)clock_mono_ns();
	pause_ns = pause_ns / 2 + pause_ns / 2 * (random % 1024) / 1024;
	if (retry_after_s)
		pause_ns = min_u64(retry_after_s, MAX_RETRY_AFTER_S) * NS_PER_SEC;
	push->failures++;
	push->again_ns = clock_mono_ns() + pause_ns;
}

/* Logs what a collector says of what it does not want, once as long as it says the same. */
static void remark(struct push *push, const char *text)
{
	if (strcmp(push->remark, text) != 0)
		log_line(LOG_ERR, "%s: %s", push->config->post.endpoint, text);
	snprintf(push->remark, sizeof(push->remark), "%s", text);
}

static void request_taken(struct push *push, const struct post_result *result)
{
	char why[256], text[400];
	const uint64_t rejected = otlp_rejected(result->text, why, sizeof(why));

	push->sent++;
	push->sent_ns = clock_real_ns();
	push->rejected += rejected;
	push->failures = 0;
	push->again_ns = 0;
	if (*push->trouble)
		log_line(LOG_NOTICE, "%s can be pushed to again", push->config->post.endpoint);
	*push->trouble = 0;
	push->advice = NULL;
	snprintf(text, sizeof(text), "%" PRIu64 " points or records were rejected: %s", rejected,
		 *why ? why : "it does not say why");
	if (rejected || *why)
		remark(push, text);
}

#define WAITS " (requests wait in otlp-queue until then)"
#define KEYS  "put headers that the collector accepts into otlp-headers" WAITS
#define MOVED                                                                                   \
	"set otlp-endpoint to where the collector is now; bpftruss-daemon(8) says how to keep " \
	"what waits"

/*
 * The statuses after which a request is made again: those for which OTLP says so, and those that come of what somebody
 * can set right, since the request itself may be as it has to be.
 */
static const struct temporary {
	uint32_t status;
	const char *advice; /* NULL: time helps */
} temporary[] = {
	{ 0, NULL },    { 429, NULL },  { 502, NULL },  { 503, NULL },  { 504, NULL },
	{ 408, NULL },  { 401, KEYS },  { 403, KEYS },  { 407, KEYS },  { 301, MOVED },
	{ 302, MOVED }, { 303, MOVED }, { 307, MOVED }, { 308, MOVED },
};

/* NULL: the status is final. */
static const struct temporary *temporary_find(uint32_t status)
{
	for (size_t i = 0; i < ARRAY_SIZE(temporary); i++) {
		if (temporary[i].status == status)
			return &temporary[i];
	}
	return NULL;
}

/* Drops a request that would keep all others from being sent. */
static void request_lost(struct push *push, int64_t time_ns, const struct post_result *result)
{
	const struct otlp_event event = { .priority = LOG_WARNING,
					  .name = "bpftruss.push.dropped",
					  .count = 1 };

	spool_remove(&push->spool, time_ns);
	push->spool.dropped++;
	push->told_dropped++;
	events_tell(&push->events, &event, "a request was dropped: %.300s", result->text);
}

/* Whether the request stays. */
static bool request_failed(struct push *push, const struct post_result *result)
{
	const struct temporary *again = temporary_find(result->status);
	const char *advice = again ? again->advice : NULL;
	char text[sizeof(push->trouble)];

	if (result->status)
		snprintf(text, sizeof(text), "status %" PRIu32 ": %s%s%.300s", result->status,
			 advice ?: "", advice && *result->text ? ": " : "", result->text);
	else
		snprintf(text, sizeof(text), "%.600s", result->text);
	pause_begin(push, result->retry_after_s);
	if (again) {
		push->failed++;
		troubled(push, text, advice);
		return true;
	}
	push->refused++;
	snprintf(push->trouble, sizeof(push->trouble), "a request was refused: %.600s", text);
	remark(push, push->trouble);
	return false;
}

/* Takes what the child has done. */
static void results_take(struct push *push)
{
	struct post_result results[POST_MAX_FILES];
	int count = post_finish(&push->child, results);

	if (count < 0) {
		results[0] = (struct post_result){ .text = "" };
		snprintf(results[0].text, sizeof(results[0].text),
			 "it took too long, or failed: %s", strerror(-count));
		count = 1;
	}
	for (int i = 0; i < count && (size_t)i < push->nr_sending; i++) {
		const int64_t time_ns = push->sending[i];
		const bool was_dropped = !spool_has(&push->spool, time_ns);

		if (results[i].is_lost) {
			if (!was_dropped)
				request_lost(push, time_ns, &results[i]);
			continue;
		}
		if (post_is_taken(&results[i]))
			request_taken(push, &results[i]);
		else if (request_failed(push, &results[i]))
			break;
		/* It counts once. */
		push->spool.dropped -= was_dropped;
		spool_remove(&push->spool, time_ns);
	}
	dropped_tell(push);
}

static void send_begin(struct push *push)
{
	char names[POST_MAX_FILES][SPOOL_NAME_BYTES];
	const char *pointers[POST_MAX_FILES];
	int err;

	push->nr_sending = min_u64(push->spool.nr_files, POST_MAX_FILES);
	for (size_t i = 0; i < push->nr_sending; i++) {
		spool_name(&push->spool.files[i], names[i]);
		pointers[i] = names[i];
		push->sending[i] = push->spool.files[i].time_ns;
	}
	err = post_start(&push->config->post, push->spool.folder, pointers, push->nr_sending,
			 &push->child);
	if (!err)
		return;
	push->failed++;
	troubled(push, strerror(-err), NULL);
	pause_begin(push, 0);
}

/* --- the loop ----------------------------------------------------------------------------------- */

int push_fd(const struct push *push)
{
	return push->child.pid ? push->child.pidfd : -1;
}

/* When something is due; CLOCK_MONOTONIC. */
static uint64_t push_due_ns(const struct push *push)
{
	uint64_t due_ns = push->next_ns;

	if (push->child.pid)
		due_ns = min_u64(due_ns, push->child.deadline_ns);
	else if (push->spool.nr_files)
		due_ns = min_u64(due_ns, push->again_ns);
	return due_ns;
}

int push_patience_ms(const struct push *push)
{
	return push->config ? clock_until_ms(push_due_ns(push)) : -1;
}

/* Whether the child has ended; one that takes too long is killed. */
static bool child_has_ended(struct push *push)
{
	struct pollfd end = { .fd = push->child.pidfd, .events = POLLIN };

	if (!child_timeout_ms(&push->child))
		child_stop(&push->child);
	return push->child.is_stopped || poll(&end, 1, 0) > 0;
}

void push_run(struct push *push, struct service *service)
{
	const uint64_t now_ns = clock_mono_ns();

	if (!push->config)
		return;
	if (push->child.pid && child_has_ended(push))
		results_take(push);
	if (now_ns >= push->next_ns) {
		push_make(push, service);
		/* One that comes late makes the next no sooner. */
		push->next_ns = now_ns + push->config->interval_ns;
	}
	if (!push->child.pid && push->spool.nr_files && now_ns >= push->again_ns)
		send_begin(push);
}

void push_end(struct push *push, struct service *service)
{
	struct pollfd end = { .fd = push->child.pidfd, .events = POLLIN };

	if (!push->config)
		return;
	/* A request that is on its way would be sent again otherwise. */
	if (push->child.pid && poll(&end, 1, END_WAIT_MS) > 0)
		results_take(push);
	push_make(push, service);
}

void push_status(const struct push *push, struct otlp_status *ret)
{
	if (!push->config)
		return;
	*ret = (struct otlp_status){
		.endpoint = push->config->post.endpoint,
		.trouble = push->trouble,
		.sent = push->sent,
		.failed = push->failed,
		.refused = push->refused,
		.rejected = push->rejected,
		.dropped = dropped_count(push),
		.queued = push->spool.nr_files,
		.queued_bytes = push->spool.bytes,
		.max_bytes = push->config->queue_bytes,
		.sent_ns = push->sent_ns,
	};
}
