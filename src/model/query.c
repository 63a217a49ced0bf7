/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers questions to a snapshot, which it never changes. Selectors mean what they do when counting,
 * but names are those of the snapshot, which may be of another machine.
 */
#include "model/query.h"

#include "base/text.h"
#include "model/builder.h"
#include "model/container.h"
#include "model/match.h"

int snapshot_select(const struct snapshot *snapshot, const struct syscall_set *set,
		    struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;

	if (snapshot_new_part(snapshot, &out))
		return -ENOMEM;
	out->selected |= set != NULL;
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct row *row = snapshot->rows[i];

		if (!set ||
		    (row->nr != ROW_NR_OTHER && syscall_set_has(set, row->abi, (int)row->nr)))
			out->rows[out->nr_rows++] = row_ref(row);
	}
	for (size_t i = 0; i < snapshot->nr_processes; i++)
		out->processes[out->nr_processes++] = snapshot->processes[i];
	*ret = steal_ptr(&out);
	return 0;
}

static int add_unsplit(struct builder *builder, struct row *row)
{
	struct row *whole;

	if (row->split == SPLIT_NONE)
		return builder_share_row(builder, row);
	whole = row_new_like(row);
	if (!whole)
		return -ENOMEM;
	row_forget_split(whole);
	if (!builder_adopt_row(builder, whole))
		return 0;
	row_unref(whole);
	return -ENOMEM;
}

int snapshot_unsplit(const struct snapshot *snapshot, struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	struct builder *builder __cleanup(builder_freep) = NULL;
	int err = 0;

	if (snapshot_new_part(snapshot, &out) || builder_new(&builder))
		return -ENOMEM;
	for (size_t i = 0; i < snapshot->nr_rows && !err; i++)
		err = add_unsplit(builder, snapshot->rows[i]);
	for (size_t i = 0; i < snapshot->nr_processes && !err; i++)
		err = builder_add_process(builder, &snapshot->processes[i], true);
	free(steal_ptr(&out->rows));
	free(steal_ptr(&out->processes));
	if (err || builder_finish(builder, out))
		return -ENOMEM;
	argument_texts_free(steal_ptr(&out->arguments));
	losses_forget_splits(&out->losses);
	*ret = steal_ptr(&out);
	return 0;
}

/* Compiling a glob takes longer than looking at a process, of which there may be many thousands. */
struct filter_globs {
	const struct process_filter *filter;
	struct selector globs[]; /* by selector; one that cannot be compiled matches nothing */
};

int filter_globs_new(const struct process_filter *filter, struct filter_globs **ret)
{
	*ret = calloc(1, sizeof(**ret) + filter->nr_selectors * sizeof((*ret)->globs[0]));
	if (!*ret)
		return -ENOMEM;
	(*ret)->filter = filter;
	for (size_t i = 0; i < filter->nr_selectors; i++) {
		if (filter->selectors[i].kind == SELECT_COMM)
			glob_compile(filter->selectors[i].text, &(*ret)->globs[i], NULL);
	}
	return 0;
}

/* A path on the file system is meant, too, where that is always mounted. */
static bool has_cgroup(const char *text, const struct snapshot *snapshot,
		       const struct process *process)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	const char *cgroup = snapshot_cgroup(snapshot, process->cgroup_id);

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		size_t length = strlen(mounts[i]);

		if (!strncmp(text, mounts[i], length) && strchr("/", text[length])) {
			text += length;
			break;
		}
	}
	return cgroup && cgroup_is_in(cgroup, text);
}

static bool has_unit(const char *text, const struct snapshot *snapshot,
		     const struct process *process)
{
	const char *cgroup = snapshot_cgroup(snapshot, process->cgroup_id);
	char unit[SELECTOR_NAME_SIZE];

	return cgroup && !unit_complete_name(text, unit, sizeof(unit)) &&
	       (cgroup_is_in_unit(cgroup, unit) || container_is_meant(cgroup, text, false, NULL));
}

static bool has_container(const char *text, const struct snapshot *snapshot,
			  const struct process *process)
{
	const char *cgroup = snapshot_cgroup(snapshot, process->cgroup_id);

	return cgroup && container_is_meant(cgroup, text, true, NULL);
}

/* A name goes before a number, as there are users whose name is one. */
static bool has_user(const char *text, const struct snapshot *snapshot,
		     const struct process *process)
{
	const char *user = snapshot_user(snapshot, process);
	uint64_t uid;

	if (user && !strcmp(user, text))
		return true;
	if (!number_read(text, UID_NONE - 1, &uid) || process->uid != uid)
		return false;
	for (size_t i = 0; i < snapshot->nr_users; i++) {
		if (!strcmp(snapshot->users[i].name, text))
			return false;
	}
	return true;
}

static bool filter_has_all(const struct process_filter *filter)
{
	bool all = !filter->nr_pids && !filter->nr_selectors;

	for (size_t i = 0; i < filter->nr_selectors; i++)
		all |= filter->selectors[i].kind == SELECT_ALL;
	return all;
}

static bool filter_has_pid(const struct process_filter *filter, uint32_t pid)
{
	for (size_t i = 0; i < filter->nr_pids; i++) {
		if (pid && (uint32_t)filter->pids[i] == pid)
			return true;
	}
	return false;
}

bool filter_has(const struct filter_globs *globs, const struct snapshot *snapshot,
		const struct process *process)
{
	static bool (*const has[])(const char *text, const struct snapshot *snapshot,
				   const struct process *process) = {
		[SELECT_CGROUP] = has_cgroup,
		[SELECT_UNIT] = has_unit,
		[SELECT_USER] = has_user,
		[SELECT_CONTAINER] = has_container,
	};
	const struct process_filter *filter = globs->filter;

	if (filter_has_all(filter) || filter_has_pid(filter, process->pid))
		return true;
	for (size_t i = 0; i < filter->nr_selectors; i++) {
		const struct target_selector *selector = &filter->selectors[i];

		if (selector->kind == SELECT_COMM
			    ? glob_matches(&globs->globs[i], process->comm, sizeof(process->comm))
			    : has[selector->kind](selector->text, snapshot, process))
			return true;
	}
	return false;
}

int snapshot_filter(const struct snapshot *snapshot, const struct process_filter *filter,
		    struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	struct filter_globs *globs __cleanup(freep) = NULL;

	if (filter_globs_new(filter, &globs) || snapshot_new_part(snapshot, &out))
		return -ENOMEM;
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		if (filter_has(globs, snapshot, &snapshot->processes[i]))
			out->processes[out->nr_processes++] = snapshot->processes[i];
	}
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct row *row = snapshot->rows[i];

		if (filter_has_all(filter) || filter_has_pid(filter, row->pid) ||
		    snapshot_process_of(out, row))
			out->rows[out->nr_rows++] = row_ref(row);
	}
	*ret = steal_ptr(&out);
	return 0;
}
