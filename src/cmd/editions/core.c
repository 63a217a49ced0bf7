/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The edition that needs nothing but libbpf, libelf and zlib: counts and prints calls. It has no other verb, no JSON
 * and no call stacks.
 */
#include "cmd/edition.h"

static const struct verb *const verbs[] = { &calls_verb };

static const char *const missing[] = { "top",    "doctor",  "daemon",   "snapshot",
				       "status", "history", "baseline", "compare",
				       "report", "merge",   "recorder", NULL };

static const char *const missing_options[] = {
	"json",   "exemplars", "in-flight", "stacks",      "kernel-stacks", "inline", "debuginfod",
	"folded", "pprof",     "flame",     "stack-trace", "html",          NULL
};

/* Nothing leads to it: top is missing. */
const struct verb top_report_verb = { .name = "top", .bit = VERB_TOP_REPORT };

const struct edition edition = {
	.verbs = verbs,
	.nr_verbs = ARRAY_SIZE(verbs),
	.remark = "core, without verbs, JSON and call stacks",
	.missing = missing,
	.missing_options = missing_options,
};
