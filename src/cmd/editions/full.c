/* SPDX-License-Identifier: BSD-2-Clause */
/* The edition that has everything. */
#include "cmd/edition.h"
#include "ipc/post.h"

static const struct verb *const verbs[] = {
	&calls_verb,   &top_verb,      &doctor_verb,  &daemon_verb, &snapshot_verb, &status_verb,
	&history_verb, &baseline_verb, &compare_verb, &report_verb, &recorder_verb, &merge_verb,
};

static const char *const missing[] = { NULL };

const struct edition edition = {
	.verbs = verbs,
	.nr_verbs = ARRAY_SIZE(verbs),
	.missing = missing,
	.post = post_main,
};
