/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the routes. Whoever may ask sees everything that is counted: root, the daemon's own user
 * and the group of its socket. Only the first two may change baselines. Over TCP there is nothing but
 * /metrics.
 */
#include "daemon/service_private.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum route_right {
	RIGHT_ANYBODY, /* who reached us: also over TCP */
	RIGHT_READ,
	RIGHT_CHANGE,
};

#define KINDS    "name unit cgroup user"
#define TARGETS  "pid " KINDS
#define SNAPSHOT TARGETS " since mark boot_id from to trace"

static const struct route {
	enum ipc_method method;
	const char *path;
	bool has_name; /* one more component follows */
	enum route_right right;
	const char *parameters; /* all others are refused: a misspelt one would be missed */
	void (*answer)(struct service *service, const struct ipc_request *request,
		       struct ipc_answer *answer);
} routes[] = {
	{ IPC_GET, "/metrics", false, RIGHT_ANYBODY, "", answer_metrics },
	{ IPC_GET, "/v1/snapshot", false, RIGHT_READ, SNAPSHOT, answer_snapshot },
	{ IPC_GET, "/v1/report", false, RIGHT_READ,
	  SNAPSHOT " format by sort columns top min_calls errors_only hist width waiting stacks "
		   "top_stacks",
	  answer_report },
	{ IPC_GET, "/v1/status", false, RIGHT_READ, "", answer_status },
	{ IPC_GET, "/v1/history", false, RIGHT_READ, TARGETS " from to step sum", answer_history },
	{ IPC_GET, "/v1/baselines", false, RIGHT_READ, "", answer_baselines },
	{ IPC_GET, "/v1/baselines/", true, RIGHT_READ, KINDS, answer_baseline },
	{ IPC_PUT, "/v1/baselines/", true, RIGHT_CHANGE, KINDS " from to replace", answer_save },
	{ IPC_DELETE, "/v1/baselines/", true, RIGHT_CHANGE, "", answer_remove },
};

void service_done(struct service *s)
{
	for (int i = 0; i < NR_METRICS_FORMAT; i++)
		scrape_done(&s->texts[i]);
}

static bool route_matches(const struct route *route, const char *path)
{
	size_t length = strlen(route->path);

	if (!route->has_name)
		return !strcmp(path, route->path);
	return !strncmp(path, route->path, length) && path[length] && !strchr(path + length, '/');
}

static bool peer_may(const struct ipc_peer *peer, enum route_right right)
{
	bool owner = peer->known && (peer->uid == 0 || peer->uid == geteuid());

	switch (right) {
	case RIGHT_CHANGE:
		return owner;
	case RIGHT_READ:
		return owner || (peer->known && peer->in_group);
	default:
		return !peer->known || owner || peer->in_group;
	}
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

/* The first parameter that the route does not know; NULL: it knows all. */
static const char *parameter_unknown(const struct route *route, const struct ipc_request *request)
{
	for (size_t i = 0; i < request->nr_parameters; i++) {
		if (!list_has(route->parameters, request->parameters[i].name))
			return request->parameters[i].name;
	}
	return NULL;
}

static void route_answer(const struct route *route, struct service *service,
			 const struct ipc_request *request, struct ipc_answer *answer)
{
	const char *unknown = parameter_unknown(route, request);
	char sentence[200];

	if (!unknown) {
		route->answer(service, request, answer);
		return;
	}
	snprintf(sentence, sizeof(sentence), "this path knows no parameter \"%.64s\"%s%s", unknown,
		 *route->parameters ? ", only " : "", route->parameters);
	ipc_answer_error(answer, 400, sentence);
}

static void answer_forbidden(struct ipc_answer *answer)
{
	ipc_answer_error(answer, 403,
			 "you may not: ask as root, or to read as a member of the socket's group");
}

void service_answer(void *closure, const struct ipc_request *request, struct ipc_answer *answer)
{
	struct service *service = closure;
	bool known = false;

	/* Nor do they learn which paths there are. */
	if (!peer_may(&request->peer, RIGHT_ANYBODY)) {
		answer_forbidden(answer);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!route_matches(&routes[i], request->path))
			continue;
		known = true;
		if (routes[i].method != request->method)
			continue;
		if (peer_may(&request->peer, routes[i].right))
			route_answer(&routes[i], service, request, answer);
		else
			answer_forbidden(answer);
		return;
	}
	if (known)
		ipc_answer_error(answer, 405, "this path knows no such method");
	else
		ipc_answer_error(answer, 404, "no such path; docs/PROTOCOL.md lists them");
}
