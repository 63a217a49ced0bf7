/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the reading of target options. */
#include "cmd/targets.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int add_pid(struct targets *targets, pid_t pid, struct diag *d)
{
	pid_t *grown = reallocarray(targets->pids, targets->nr_pids + 1, sizeof(*grown));

	if (!grown)
		return diag_oom(d);
	targets->pids = grown;
	targets->pids[targets->nr_pids++] = pid;
	return 0;
}

int targets_add_pids(struct targets *targets, const char *arg, struct diag *d)
{
	const char *at = arg + strspn(arg, ", ");
	char *end;
	long pid;
	int err;

	if (!*at)
		return diag_set(d, DIAG_USAGE, EINVAL, "-p: give at least one pid");
	while (*at) {
		errno = 0;
		pid = strtol(at, &end, 10);
		if (!isdigit((unsigned char)*at) || errno || pid < 1 || pid > INT_MAX ||
		    (*end && !strchr(", ", *end)))
			return diag_set(d, DIAG_USAGE, EINVAL,
					"-p: \"%s\" is not a pid or a list such as 17,18", arg);
		err = add_pid(targets, (pid_t)pid, d);
		if (err)
			return err;
		at = end + strspn(end, ", ");
	}
	return 0;
}

int targets_add_selector(struct targets *targets, enum selector_kind kind, const char *text,
			 struct diag *d)
{
	if (targets->nr_selectors == MAX_SELECTORS)
		return diag_set(d, DIAG_USAGE, EINVAL, "at most %d of -n, -u, -g, -U can be given",
				MAX_SELECTORS);
	targets->selectors[targets->nr_selectors++] = (struct target_selector){ kind, text };
	return 0;
}

void targets_remove_selectors(struct targets *targets, enum selector_kind kind)
{
	size_t kept = 0;

	for (size_t i = 0; i < targets->nr_selectors; i++) {
		if (targets->selectors[i].kind != kind)
			targets->selectors[kept++] = targets->selectors[i];
	}
	targets->nr_selectors = kept;
}

void targets_done(struct targets *targets)
{
	free(targets->pids);
}
