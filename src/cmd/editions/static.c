/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The edition that is one static file: without the daemon and the file of its history. It asks a daemon
 * that runs already.
 */
#include <nss.h>

#include "cmd/edition.h"

static const struct verb *const verbs[] = {
	&calls_verb,  &top_verb,      &doctor_verb,  &snapshot_verb,
	&status_verb, &baseline_verb, &compare_verb, &report_verb,
};

static const char *const missing[] = { "daemon", "history", NULL };

/*
 * For names of users, a C library may load modules of the host, which are made for another C library than
 * the one in this file. So it reads only /etc/passwd and /etc/group.
 */
static void prepare(void)
{
	static const char *const databases[] = { "passwd", "group", "initgroups" };

	for (size_t i = 0; i < ARRAY_SIZE(databases); i++)
		__nss_configure_lookup(databases[i], "files");
}

const struct edition edition = {
	verbs, ARRAY_SIZE(verbs), "static, without daemon and history", missing, prepare,
};
