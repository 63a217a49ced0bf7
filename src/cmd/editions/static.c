/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The edition that is one static file: without the daemon and the file of its history. It asks a daemon
 * that runs already.
 */
#include "cmd/edition.h"

static const struct verb *const verbs[] = {
	&calls_verb,    &top_verb,     &doctor_verb, &snapshot_verb, &status_verb,
	&baseline_verb, &compare_verb, &report_verb, &recorder_verb, &merge_verb,
};

static const char *const missing[] = { "daemon", "history", NULL };

const struct edition edition = {
	.verbs = verbs,
	.nr_verbs = ARRAY_SIZE(verbs),
	.remark = "static, without daemon and history",
	.missing = missing,
};
