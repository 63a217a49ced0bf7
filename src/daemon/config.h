/* SPDX-License-Identifier: BSD-2-Clause */
/* What a daemon is told to do; its texts live as long as whoever read them from file and flags. */
#ifndef BPFTRUSS_CONFIG_H
#define BPFTRUSS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/collector.h"
#include "metrics/metrics.h"
#include "store/history.h"

#define DEFAULT_SOCKET    "/run/bpftruss/bpftruss.sock"
#define DEFAULT_STATE_DIR "/var/lib/bpftruss"
#define DEFAULT_GROUP     "bpftruss"

struct daemon_config {
	/* These are obeyed only at the start. */
	const char *socket;
	const char *state_dir;
	const char *group;  /* whose members may ask; NULL: the default, if there is such a group */
	const char *listen; /* ADDRESS:PORT of /metrics; NULL: none */
	struct collector_options collector;
	const pid_t *pids;
	size_t nr_pids;
	bool follow;
	struct metrics_options metrics;

	/* These at a reload too. */
	uint64_t interval_ns; /* of the history */
	size_t recent_bytes;  /* for differences between readings */
	bool history;
	struct history_options keep;
	double budget_percent; /* of one CPU; 0: none */
};

#endif
