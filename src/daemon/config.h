/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon, and what it is told to do: one process, one thread, one loop. It counts, keeps the
 * history and answers over its socket until SIGTERM or SIGINT; SIGHUP reloads. Nothing of it stays
 * in the kernel.
 */
#pragma once

#include "base/diag.h"
#include "calls/triggers.h"
#include "collect/collector.h"
#include "ipc/guard.h"
#include "ipc/post.h"
#include "metrics/metrics.h"
#include "metrics/otlp.h"
#include "store/history.h"

#define DEFAULT_SOCKET    "/run/bpftruss/bpftruss.sock"
#define DEFAULT_STATE_DIR "/var/lib/bpftruss"
#define DEFAULT_GROUP     "bpftruss"

/* Says what the flight recorder does. */
struct recorder_config {
	/* These are obeyed only at the start. */
	bool is_on;
	uint64_t bytes;            /* of memory */
	struct syscall_set *calls; /* that are recorded; NULL: all. Owned by the options */

	/* These at a reload too. */
	struct save_triggers save_on;
	uint64_t save_last_ns; /* before an event */
	uint64_t save_bytes;   /* of all files */
};

/* Says what is pushed to a collector; obeyed only at the start. */
struct otlp_config {
	struct post_options post; /* without an endpoint, nothing is */
	uint64_t interval_ns;
	enum otlp_temporality temporality;
	uint64_t queue_bytes;              /* for requests that wait to be sent */
	struct otlp_attributes attributes; /* of all resources */
};

/* The arguments by which the daemon tells calls apart. */
enum daemon_arguments {
	DAEMON_KEEPS_NONE,
	DAEMON_KEEPS_PATHS,
	DAEMON_KEEPS_FILES,
	NR_DAEMON_ARGUMENTS,
};

/* Its texts live as long as whoever read them from file and flags. */
struct daemon_config {
	/* These are obeyed only at the start. */
	const char *socket;
	const char *state_dir;
	const char *group;  /* whose members may ask; NULL: the default, if there is such a group */
	const char *listen; /* ADDRESS:PORT of /metrics; NULL: none */
	struct guard_files guard;
	bool listen_insecure; /* other hosts may connect without TLS, or without saying who they are */
	bool listen_profiles; /* clients that may read /metrics there may read profiles, too */
	enum daemon_arguments arguments;
	struct collector_options collector;
	bool follow;
	struct metrics_options metrics;
	struct otlp_config otlp;

	/* These at a reload too. */
	bool listen_reports;  /* who has shown who it is may ask for reports over TCP */
	uint64_t interval_ns; /* of the history */
	size_t recent_bytes;  /* for differences between readings */
	bool no_history;
	struct history_options keep;
	double budget_percent; /* of one CPU; 0: none */

	struct recorder_config recorder;
};

/*
 * Reads the configuration anew. Returns 0 with a configuration that lives until the next call that
 * does, or -errno with d filled: the old one is kept then.
 */
struct daemon_reload {
	int (*read)(void *closure, const struct daemon_config **ret, struct diag *d);
	void *closure;
};

/* Reads what guards `listen`, and checks that it is enough. 0 or -errno with d filled; *ret may be NULL. */
int daemon_read_guard(const struct daemon_config *config, struct guard **ret, struct diag *d);

/* Runs until told to stop. Returns 0, or -errno with d filled when it could not go on. */
int daemon_run(const struct daemon_config *config, const struct daemon_reload *reload,
	       struct diag *d);
