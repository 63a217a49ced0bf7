/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers questions. All who may ask see everything that is counted: root, the daemon's own user
 * and the group of its socket. Only the first two may change baselines, or see single calls: their
 * arguments have what is in files and on the network. Over TCP there is nothing
 * but /metrics, and profiles if the configuration says so, unless listen-reports lets those ask who have
 * shown who they are.
 */
#include "daemon/service.h"

#include "daemon/question.h"

/* A text of /metrics is given again until it is this old. */
#define SCRAPE_MAX_AGE_NS NS_PER_SEC

/* Limits of a report: the one thread that makes it also counts. */
#define MAX_REPORT_LINES 20000
#define MAX_REPORT_BYTES (4u << 20)

/* A question, and where its answer goes. */
struct asked {
	struct service *service;
	const struct ipc_request *request;
	struct question question;
	struct asked_targets targets;
	enum recent_mark leaves; /* a report does not tell its mark */
	struct ipc_answer *answer;
	FILE *body;
	const char *content_type;
	struct diag d;
};

static int written(struct asked *asked, int err)
{
	return err ? diag_oom(&asked->d) : 0;
}

/* --- what was counted ------------------------------------------------------------------------- */

/* Reads the span that the parameters ask for, and takes a reading if it ends now. */
static int read_span(struct asked *asked, struct history_question *ret)
{
	struct counts *counts = asked->service->counts;
	int err;

	*ret = (struct history_question){ .filter = asked->targets.filter };
	err = question_span(&asked->question, ret);
	if (err || (ret->to_ns && ret->to_ns <= counts->last->end_ns))
		return err;
	return counts_refresh(counts, MARK_PASSING, &asked->d);
}

static int answer_history(struct asked *asked)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };
	struct history_question question;

	return read_span(asked, &question)
		       ?: counts_ask_history(asked->service->counts, &question, &timeline,
					     &asked->d)
		       ?: written(asked, report_timeline_json(&timeline, asked->body));
}

/* A span in the past, of which only the history knows. */
static int ask_past(struct asked *asked, struct counts_answer *ret)
{
	struct history_question question;

	if (ipc_parameter(asked->request, "since") || ipc_parameter(asked->request, "mark"))
		return diag_set(&asked->d, DIAG_USAGE, EINVAL,
				"a span ends at to: since and mark go on until now");
	return read_span(asked, &question)
		       ?: counts_ask_span(asked->service->counts, &question, ret, &asked->d);
}

/* The processes that were asked for, in the time that was asked for. */
static int ask_processes(struct asked *asked, struct counts_answer *ret)
{
	struct counts_question question = { .since = SINCE_START,
					    .leaves = asked->leaves,
					    .filter = asked->targets.filter };

	if (ipc_parameter(asked->request, "from") || ipc_parameter(asked->request, "to"))
		return ask_past(asked, ret);
	return question_since(&asked->question, &question)
		       ?: counts_ask(asked->service->counts, &question, ret, &asked->d);
}

/* Whether rows can be split as they are asked for. */
static int check_split(struct asked *asked, enum call_split split)
{
	const char *name = split == SPLIT_NONE ? NULL : row_split_names[split];

	if (!name || asked->service->first->collector.split_by == split)
		return 0;
	return diag_set(&asked->d, DIAG_FAILED, ENODATA,
			"the daemon keeps no %ss of calls: set 'arguments = %s' in [tables] of its "
			"configuration, and restart it",
			name, name);
}

/* Rows are split only for who asks for it. */
static int answer_unsplit(struct counts_answer *counted)
{
	struct snapshot *whole;

	if (!counted->snapshot->arguments)
		return 0;
	if (snapshot_unsplit(counted->snapshot, &whole))
		return -ENOMEM;
	counts_answer_done(counted);
	counted->snapshot = counted->owned = whole;
	return 0;
}

/* Selects the calls that were asked for; the caller owns *ret. */
static int ask_calls(struct asked *asked, struct snapshot **ret)
{
	struct counts_answer counted __cleanup(counts_answer_done) = { 0 };
	struct syscall_set *calls __cleanup(syscall_set_freep) = NULL;
	enum call_split split;
	int err = question_set(&asked->question, "trace", &calls)
			  ?: question_split(&asked->question, &split)
			  ?: check_split(asked, split)
			  ?: ask_processes(asked, &counted);

	if (err)
		return err;
	if (split != SPLIT_NONE && !counted.snapshot->arguments)
		return diag_set(
			&asked->d, DIAG_FAILED, ENODATA,
			"only the history goes back so far, and it keeps no paths or files: "
			"ask for a shorter span, as in --since 10m");
	if (split == SPLIT_NONE && answer_unsplit(&counted))
		return diag_oom(&asked->d);
	return snapshot_select(counted.snapshot, calls, ret) ? diag_oom(&asked->d) : 0;
}

static int answer_snapshot(struct asked *asked)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;

	asked->leaves = MARK_GIVEN;
	return ask_calls(asked, &snapshot) ?: written(asked, report_json(snapshot, asked->body));
}

/*
 * Writes the text of a report as a JSON object, with what of the snapshot is not in the text.
 * Writing beyond the end of the memory is an error, and ends the report.
 */
static int write_report(struct asked *asked, const struct snapshot *snapshot,
			const struct report_options *options)
{
	char *text __cleanup(freep) = calloc(1, MAX_REPORT_BYTES + 1);
	FILE *memory __cleanup(fclosep) = text ? fmemopen(text, MAX_REPORT_BYTES, "w") : NULL;
	int err = memory ? report_write(snapshot, options, memory) : -ENOMEM;

	if (err == -ENOMEM)
		return diag_oom(&asked->d);
	if (err || fflush(memory))
		return report_too_long(&asked->d);
	return written(asked, report_text_json(snapshot, text, asked->body));
}

static int check_stacks(struct asked *asked, const struct snapshot *snapshot)
{
	if (snapshot->stacks)
		return 0;
	return diag_set(&asked->d, DIAG_FAILED, ENODATA,
			"the daemon takes no call stacks: set 'stacks = yes' in [tables] of its "
			"configuration");
}

static int answer_report(struct asked *asked)
{
	struct asked_report report __cleanup(asked_report_done) = { .options.format = FORMAT_WIDE };
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	int err = question_report(&asked->question, &report)
			  ?: ask_calls(asked, &snapshot)
			  ?: report_check_lines(snapshot, &report.options, MAX_REPORT_LINES,
						&asked->d);

	if (!err && report.options.show_stacks)
		err = check_stacks(asked, snapshot);
	if (err)
		return err;
	return write_report(asked, snapshot, &report.options);
}

/* --- profiles ---------------------------------------------------------------------------------- */

#define PROFILE_FOLDER      "/debug/pprof/"
#define PROFILE_MAX_SECONDS 300

/* Takes the reading with which a profile begins; the answer comes when its time is over. */
static int profile_begin(struct asked *asked, uint64_t seconds)
{
	struct counts *counts = asked->service->counts;
	int err;

	if (!asked->request->may_wait)
		return diag_set(&asked->d, DIAG_FAILED, EBUSY,
				"the daemon is making as many profiles as it can: try again in a "
				"second");
	err = counts_refresh(counts, MARK_GIVEN, &asked->d);
	if (err)
		return err;
	asked->answer->note = counts->last->end_mono_ns;
	asked->answer->wait_until_ns = clock_mono_ns() + seconds * NS_PER_SEC;
	return 0;
}

/* Asks for what came since the start of the daemon, or since the profile began. */
static int profile_counts(struct asked *asked, struct counts_answer *ret)
{
	struct counts *counts = asked->service->counts;
	/* The last reading is gone once there is another one. */
	char *boot_id __cleanup(freep) = strdup(counts->last->boot_id);
	const struct counts_question question = {
		.since = asked->request->note ? SINCE_MARK : SINCE_START,
		.ns = asked->request->note,
		.boot_id = boot_id,
		.filter = asked->targets.filter,
	};
	int err = boot_id ? counts_ask(counts, &question, ret, &asked->d) : diag_oom(&asked->d);

	if (err != -ENODATA)
		return err;
	return diag_set(&asked->d, DIAG_FAILED, EBUSY,
			"the beginning of the profile was forgotten: ask again, for fewer seconds, "
			"or raise 'recent' in [daemon] of the configuration");
}

static int answer_profile(struct asked *asked)
{
	struct counts_answer counted __cleanup(counts_answer_done) = { 0 };
	struct syscall_set *calls __cleanup(syscall_set_freep) = NULL;
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	uint64_t seconds;
	int err = check_stacks(asked, asked->service->counts->last)
			  ?: question_seconds(&asked->question, PROFILE_MAX_SECONDS, &seconds)
			  ?: question_set(&asked->question, "trace", &calls);

	if (err)
		return err;
	if (seconds && !asked->request->note)
		return profile_begin(asked, seconds);
	err = profile_counts(asked, &counted);
	if (err)
		return err;
	if (answer_unsplit(&counted) || snapshot_select(counted.snapshot, calls, &snapshot))
		return diag_oom(&asked->d);
	asked->content_type = "application/octet-stream";
	return written(asked, report_pprof(snapshot, asked->body));
}

/* --- the daemon itself ------------------------------------------------------------------------- */

/* Answers as of the last reading in a crowd of clients. */
static int answer_status(struct asked *asked)
{
	struct daemon_status status;
	const bool is_crowded = asked->request->is_crowded;
	int err = is_crowded ? 0 : counts_refresh(asked->service->counts, MARK_PASSING, &asked->d);

	if (err)
		return err;
	service_status(asked->service, &status);
	return written(asked, report_status_json(&status, asked->body));
}

static int scrape_make(struct service *s, enum metrics_format format, struct diag *d)
{
	const uint64_t start_ns = clock_mono_ns();
	struct scrape *scrape = &s->texts[format];
	struct daemon_status status;
	FILE *out;
	int err = counts_refresh(s->counts, MARK_PASSING, d);

	if (err)
		return err;
	service_status(s, &status);
	free(steal_ptr(&scrape->text));
	out = open_memstream(&scrape->text, &scrape->size);
	err = out ? metrics_write(s->counts->metrics, &status, format, out) : -ENOMEM;
	if ((out && fclose(out)) || err) {
		free(steal_ptr(&scrape->text));
		return diag_oom(d);
	}
	scrape->made_ns = clock_mono_ns();
	s->scrape_ns = scrape->made_ns - start_ns;
	return 0;
}

static int answer_metrics(struct asked *asked)
{
	const enum metrics_format format = metrics_negotiate(asked->request->accept);
	const struct scrape *scrape = &asked->service->texts[format];
	int err = 0;

	if (!scrape->text || clock_mono_ns() - scrape->made_ns >= SCRAPE_MAX_AGE_NS)
		err = scrape_make(asked->service, format, &asked->d);
	asked->service->scrapes++;
	if (err)
		return err;
	asked->content_type = metrics_content_type(format);
	return written(asked, fwrite(scrape->text, 1, scrape->size, asked->body) != scrape->size);
}

/* --- baselines --------------------------------------------------------------------------------- */

static const char *baseline_of(const struct asked *asked)
{
	return strrchr(asked->request->path, '/') + 1;
}

static const char *state_dir_of(const struct asked *asked)
{
	return asked->service->counts->state_dir;
}

static int answer_baselines(struct asked *asked)
{
	struct baseline *list __cleanup(freep) = NULL;
	size_t count = 0;

	return baselines_list(state_dir_of(asked), &list, &count, &asked->d)
		       ?: written(asked, report_baselines_json(list, count, asked->body));
}

static int answer_baseline(struct asked *asked)
{
	const struct process_filter *filter = &asked->targets.filter;
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	char *text __cleanup(freep) = NULL;
	const char *dir = state_dir_of(asked), *name = baseline_of(asked);
	size_t size;
	int err;

	if (filter->nr_selectors)
		err = baselines_load(dir, name, &snapshot, &asked->d);
	else
		err = baselines_read(dir, name, &text, &size, &asked->d);
	if (err)
		return err;
	/* A file is an answer as it is. */
	if (text)
		return written(asked, fwrite(text, 1, size, asked->body) != size);
	if (snapshot_filter(snapshot, filter, &chosen))
		return diag_oom(&asked->d);
	return written(asked, report_json(chosen, asked->body));
}

static int answer_done(struct asked *asked, int err)
{
	return err ?: written(asked, fputs("{\"schema\":1}\n", asked->body) < 0);
}

static int answer_save(struct asked *asked)
{
	struct counts_answer counted __cleanup(counts_answer_done) = { 0 };
	const char *name = baseline_of(asked);
	int err = baseline_check_name(name, &asked->d) ?: ask_past(asked, &counted);

	if (err)
		return err;
	err = baselines_save(state_dir_of(asked), name, counted.snapshot,
			     ipc_parameter(asked->request, "replace") != NULL, &asked->d);
	return answer_done(asked, err);
}

static int answer_remove(struct asked *asked)
{
	int err = baselines_remove(state_dir_of(asked), baseline_of(asked), &asked->d);
	return answer_done(asked, err);
}

/* --- the recorder ------------------------------------------------------------------------------ */

static int answer_recorder(struct asked *asked)
{
	const struct service *service = asked->service;
	uint64_t position;
	int err = question_number(&asked->question, "from", &position);

	asked->content_type = "application/octet-stream";
	return err
		       ?: call_log_write(service->calls, position,
					 service->budget->step >= STEP_NO_CALLS, asked->body,
					 &asked->d);
}

/* --- routes ------------------------------------------------------------------------------------ */

enum route_right {
	RIGHT_ANYBODY,  /* who reached us: also over TCP */
	RIGHT_PROFILES, /* over TCP, too, if the configuration says so */
	RIGHT_READ,
	RIGHT_CHANGE,
	RIGHT_CALLS, /* to see single calls */
};

#define KINDS    "name unit cgroup user container"
#define TARGETS  "pid " KINDS
#define SNAPSHOT TARGETS " since mark boot_id from to trace sum"

static const struct route {
	const char *method;
	const char *path; /* behind a slash at its end one more component follows */
	bool is_dear;     /* not answered while there is a crowd */
	bool is_past;     /* there must be a history */
	enum route_right right;
	const char *parameters; /* all others are refused: a misspelt one would be missed */
	/* Writes the body. Returns 0 or -errno with d filled. */
	int (*answer)(struct asked *asked);
} routes[] = {
	{ "GET", "/metrics", true, false, RIGHT_ANYBODY, "", answer_metrics },
	{ "GET", "/debug/pprof/syscalls", true, false, RIGHT_PROFILES, TARGETS " seconds trace",
	  answer_profile },
	{ "GET", "/v1/snapshot", true, false, RIGHT_READ, SNAPSHOT " by", answer_snapshot },
	{ "GET", "/v1/report", true, false, RIGHT_READ,
	  SNAPSHOT " by format sort columns top min_calls errors errors_only "
		   "successes_only hist width waiting stacks top_stacks",
	  answer_report },
	{ "GET", "/v1/status", false, false, RIGHT_READ, "", answer_status },
	{ "GET", "/v1/recorder", true, false, RIGHT_CALLS, "from", answer_recorder },
	{ "GET", "/v1/history", true, true, RIGHT_READ, TARGETS " from to step sum",
	  answer_history },
	{ "GET", "/v1/baselines", true, true, RIGHT_READ, "", answer_baselines },
	{ "GET", "/v1/baselines/", true, true, RIGHT_READ, KINDS, answer_baseline },
	{ "PUT", "/v1/baselines/", true, false, RIGHT_CHANGE, KINDS " from to replace",
	  answer_save },
	{ "DELETE", "/v1/baselines/", false, true, RIGHT_CHANGE, "", answer_remove },
};

static bool route_matches(const struct route *route, const char *path)
{
	const size_t length = strlen(route->path);

	if (route->path[length - 1] != '/')
		return !strcmp(path, route->path);
	return !strncmp(path, route->path, length) && path[length] && !strchr(path + length, '/');
}

static bool peer_may(const struct service *service, const struct ipc_peer *peer,
		     enum route_right right)
{
	const bool owns = peer->known && (peer->uid == 0 || peer->uid == geteuid());

	if (right >= RIGHT_CHANGE)
		return owns;
	if (owns || peer->known)
		return owns || peer->in_group;
	/* A reload does not change how peers of TCP are checked, so nor does it change what they may. */
	return right == RIGHT_ANYBODY || (peer->is_proven && service->first->listen_reports) ||
	       (right == RIGHT_PROFILES && service->first->listen_profiles);
}

/* Whether a word is one of a list with blanks between. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word), part;

	for (; *list; list += part + (list[part] == ' ')) {
		part = strcspn(list, " ");
		if (part == length && !strncmp(list, word, length))
			return true;
	}
	return false;
}

/* Refuses a second value of a parameter, unless it is a target: one of the two would be missed. */
static int check_parameters(const struct route *route, struct asked *asked)
{
	const struct ipc_request *request = asked->request;

	for (size_t i = 0; i < request->nr_parameters; i++) {
		const char *name = request->parameters[i].name;

		if (!list_has(route->parameters, name))
			return diag_set(&asked->d, DIAG_USAGE, EINVAL,
					"this path has no parameter \"%.64s\"%s%s", name,
					*route->parameters ? ", only " : "", route->parameters);
		if (!list_has(TARGETS, name) &&
		    ipc_parameter(request, name) != request->parameters[i].value)
			return diag_set(&asked->d, DIAG_USAGE, EINVAL, "give \"%.64s\" once", name);
	}
	return 0;
}

/* Returns the HTTP status of a negative errno. */
static unsigned int status_of(int err)
{
	switch (err) {
	case -EINVAL:
		return 400;
	case -ENOENT:
		return 404;
	case -EEXIST:
		return 409;
	case -ENODATA:
		return 410;
	case -E2BIG: /* the answer would be */
		return 413;
	case -EBUSY:
		return 503;
	default:
		return 500;
	}
}

static void route_answer(const struct route *route, struct service *service,
			 const struct ipc_request *request, struct ipc_answer *answer)
{
	struct asked asked = { .service = service,
			       .request = request,
			       .answer = answer,
			       .content_type = "application/json" };
	int err = check_parameters(route, &asked);

	asked.question = (struct question){ request, &asked.d };
	if (!err && route->is_past)
		err = counts_need_history(service->counts, &asked.d);
	if (!err)
		err = question_targets(&asked.question, &asked.targets);
	if (!err) {
		asked.body = ipc_answer_open(answer);
		err = asked.body ? route->answer(&asked) : diag_oom(&asked.d);
	}
	if (asked.body && fclose(asked.body) && !err)
		err = diag_oom(&asked.d);
	if (err) {
		free(answer->body);
		ipc_answer_error(answer, status_of(err), asked.d.text);
		return;
	}
	if (answer->wait_until_ns)
		return;
	answer->status = 200;
	answer->content_type = asked.content_type;
}

static void answer_forbidden(struct ipc_answer *answer, const struct service *service,
			     const struct ipc_peer *peer, enum route_right right)
{
	static const char *const sentences[] = {
		[RIGHT_PROFILES] = "profiles are not served over TCP: set 'listen-profiles = yes' "
				   "in [metrics] of the configuration",
		[RIGHT_READ] = "permission denied: be root, or in the socket's group for reading; "
			       "over TCP, listen-reports lets clients read",
		[RIGHT_CALLS] = "permission denied: recorded calls have what programs read, write "
				"and send, so only root and the daemon's user may see them",
	};

	/* Nor do they learn which paths there are. */
	if (!peer_may(service, peer, RIGHT_READ) && (peer->known || right != RIGHT_PROFILES))
		right = RIGHT_READ;
	ipc_answer_error(answer, 403, sentences[right] ?: sentences[RIGHT_READ]);
}

/* go tool pprof shows an error only so. */
static void answer_mark_profile(const struct ipc_request *request, struct ipc_answer *answer)
{
	if (strncmp(request->path, PROFILE_FOLDER, strlen(PROFILE_FOLDER)) ||
	    answer->status == 200 || answer->wait_until_ns)
		return;
	answer->content_type = "text/plain; charset=utf-8";
	answer->header = "X-Go-Pprof";
}

void service_answer(void *closure, const struct ipc_request *request, struct ipc_answer *answer)
{
	const struct route *route = routes, *end = routes + ARRAY_SIZE(routes);
	struct service *service = closure;
	bool is_known = false;

	if (!peer_may(service, &request->peer, RIGHT_ANYBODY)) {
		answer_forbidden(answer, service, &request->peer, RIGHT_ANYBODY);
		return;
	}
	for (; route < end; route++) {
		if (!route_matches(route, request->path))
			continue;
		is_known = true;
		if (!strcmp(route->method, request->method))
			break;
	}
	if (route == end)
		ipc_answer_error(answer, is_known ? 405 : 404,
				 is_known ? "this path does not support the method"
					  : "no such path; docs/PROTOCOL.md lists all paths");
	else if (!peer_may(service, &request->peer, route->right))
		answer_forbidden(answer, service, &request->peer, route->right);
	else if (route->is_dear && request->is_crowded)
		ipc_answer_error(answer, 503,
				 "the daemon is busy with other answers: try again in a second");
	else
		route_answer(route, service, request, answer);
	answer_mark_profile(request, answer);
}

void service_done(struct service *s)
{
	for (int i = 0; i < NR_METRICS_FORMAT; i++)
		free(s->texts[i].text);
}
