/* SPDX-License-Identifier: BSD-2-Clause */
/* Says in a text report how far it can be trusted. */
#include <errno.h>
#include <inttypes.h>

#include "base/mem.h"
#include "model/group.h"
#include "model/group.h"
#include "report/label.h"
#include "report/report.h"

void print_exactness(const struct snapshot *snapshot, FILE *out)
{
	char text[LOSSES_TEXT_MAX];

	losses_text(&snapshot->losses, text, sizeof(text));
	if (losses_none(&snapshot->losses) && !snapshot_is_exact(snapshot))
		snprintf(text, sizeof(text),
			 "not exact: %" PRIu64 " errors counted without their errno",
			 snapshot_errors_unnamed(snapshot));
	fprintf(out, "%s\n", text);
}

/* More of them are not named. */
#define CHANGES_NAMED 5

static void print_change(const struct snapshot *snapshot, enum process_change change,
			 const char *what, FILE *out)
{
	char name[PROCESS_LABEL_MAX];
	size_t count = 0;

	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];

		if (!process->changes[change] || ++count > CHANGES_NAMED)
			continue;
		process_label(process, name);
		fprintf(out, "%s%s", count == 1 ? "" : ", ", name);
		if (process->pid)
			fprintf(out, " %u", process->pid);
	}
	if (count > CHANGES_NAMED)
		fprintf(out, " and %zu more", count - CHANGES_NAMED);
	if (count)
		fprintf(out, ": changed %s while counted; all calls stand under the last one\n",
			what);
}

void print_process_changes(const struct snapshot *snapshot, unsigned int keys, FILE *out)
{
	static const struct {
		enum group_key key;
		enum process_change change;
		const char *what;
	} changes[] = {
		{ GROUP_USER, CHANGED_USER, "user" },
		{ GROUP_UNIT, CHANGED_CGROUP, "cgroup" },
		{ GROUP_COMM, CHANGED_COMM, "name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		if (keys & changes[i].key)
			print_change(snapshot, changes[i].change, changes[i].what, out);
	}
}

int report_trust(const struct snapshot *snapshot, FILE *out)
{
	struct group_list list __cleanup(group_list_done) = { 0 };
	const char *separator = "in flight: ";
	char label[ROW_LABEL_MAX], age[AGE_MAX];

	if (snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list))
		return -ENOMEM;
	print_exactness(snapshot, out);
	for (size_t i = 0; i < list.nr_groups; i++) {
		const struct row *row = &list.groups[i].sum;

		if (!row->in_flight)
			continue;
		row_label(row, label, sizeof(label));
		format_age(snapshot_oldest_ns(snapshot, row), age, sizeof(age));
		/* A call begun before counting is at least that old. */
		fprintf(out, "%s%s %" PRIu64 " (%s%s%s)", separator, label, row->in_flight,
			row->in_flight > 1 ? "oldest " : "", row->in_flight_early ? ">= " : "",
			age);
		separator = ", ";
	}
	if (*separator == ',')
		fputc('\n', out);
	if (snapshot->slower_than_ns) {
		format_age(snapshot->slower_than_ns, age, sizeof(age));
		fprintf(out, "only calls that took at least %s\n", age);
	}
	if (snapshot->caller_pidns)
		fputs("pids are those of this pid namespace\n", out);
	if (snapshot->threads_unknown)
		fprintf(out,
			"not known: whether %" PRIu64 " thread%s that ran all the time %s in a "
			"call; its CPU time is not counted\n",
			snapshot->threads_unknown, plural(snapshot->threads_unknown),
			snapshot->threads_unknown == 1 ? "is" : "are");
	return ferror(out) ? -EIO : 0;
}
