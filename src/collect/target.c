/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses who is counted: resolves selectors, and marks target processes. A process is named by a pidfd,
 * so neither pid reuse nor a pid namespace can pick another one.
 */
#include <ctype.h>
#include <dirent.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/collector.h"
#include "collect/collector_private.h"
#include "collect/descriptor_links.h"
#include "collect/user_names.h"
#include "model/container.h"
#include "model/match.h"

/* --- selectors ---------------------------------------------------------------------------------- */

static int resolve_cgroup(const char *text, struct selector *s, struct diag *d)
{
	uint64_t id;
	int err = cgroup_find_path(text, &id);

	if (err == -ENOTSUP)
		return diag_set(d, DIAG_FAILED, ENOTSUP,
				"-g: no cgroup version 2 file system is mounted here");
	if (err == -EXDEV)
		return diag_set(d, DIAG_FAILED, EXDEV,
				"-g: %.200s is not in the cgroup version 2 file system", text);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "-g: no cgroup %.200s: %s", text,
				strerror(-err));
	s->cgroup_id = id;
	return 0;
}

/* Selects by the cgroup's name, so that a container that is restarted is found again. */
static int resolve_container(const char *option, const char *text, bool by_name, struct selector *s,
			     struct diag *d)
{
	char name[SELECTOR_NAME_SIZE];
	uint64_t id;
	int err = cgroup_find_container(text, by_name, name, &id);

	if (err == -ENOENT)
		return err;
	if (err == -ENOTUNIQ)
		return diag_set(d, DIAG_FAILED, ENOTUNIQ,
				"%s: \"%.100s\" means several containers: give more of the id",
				option, text);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "%s: cannot look for containers: %s", option,
				strerror(-err));
	s->kind = *name ? SELECT_UNIT : SELECT_CGROUP;
	s->cgroup_id = id;
	memcpy(s->name, name, sizeof(name));
	return 0;
}

static int resolve_named_container(const char *text, struct selector *s, struct diag *d)
{
	int err = resolve_container("--container", text, true, s, d);

	if (err != -ENOENT)
		return err;
	return diag_set(d, DIAG_FAILED, ENOENT,
			"--container: no container has the name \"%.100s\" or an id that begins so "
			"(%d digits at least); bpftruss top --by container lists those that run",
			text, CONTAINER_PREFIX_MIN);
}

static int resolve_unit(const char *text, bool wait, struct selector *s, struct diag *d)
{
	char name[SELECTOR_NAME_SIZE] = "", near[NEAREST_WORD_MAX];
	int err;

	if (unit_complete_name(text, name, sizeof(name)))
		return diag_set(d, DIAG_USAGE, EINVAL, "-u: \"%.100s\" is not the name of a unit",
				text);
	memcpy(s->name, name, sizeof(name));
	if (wait || cgroup_name_exists(name, near))
		return 0;
	err = resolve_container("-u", text, false, s, d);
	if (err != -ENOENT)
		return err;
	return diag_set(d, DIAG_FAILED, ENOENT,
			*near ? "-u: no unit %s is running; did you mean \"%s\"?"
			: user_name_exists(text)
				? "-u: no unit %s is running; -U chooses by user"
				: "-u: no unit %s is running (systemctl lists those that are)",
			name, near);
}

static int resolve_user(const char *text, struct selector *s, struct diag *d)
{
	struct passwd *entry = getpwnam(text);
	uint64_t uid;

	if (entry) {
		s->uid = entry->pw_uid;
		return 0;
	}
	if (!number_read(text, UINT32_MAX - 1, &uid))
		return diag_set(d, DIAG_FAILED, ENOENT, "-U: no user is called \"%.100s\"", text);
	s->uid = (uint32_t)uid;
	return 0;
}

int selector_resolve(const struct target_selector *chosen, bool wait, struct selector *ret,
		     struct diag *d)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = chosen->kind;
	if (chosen->kind == SELECT_COMM)
		return glob_compile(chosen->text, ret, d);
	if (chosen->kind == SELECT_CGROUP)
		return resolve_cgroup(chosen->text, ret, d);
	if (chosen->kind == SELECT_UNIT)
		return resolve_unit(chosen->text, wait, ret, d);
	if (chosen->kind == SELECT_CONTAINER)
		return resolve_named_container(chosen->text, ret, d);
	return chosen->kind == SELECT_USER ? resolve_user(chosen->text, ret, d) : 0;
}

/* --- processes by pid ---------------------------------------------------------------------------- */

/* /proc/PID/stat has it in its flags. */
#define PF_KTHREAD 0x00200000

/* The process of a thread, from the line Tgid of its status; 0 when it has ended. */
static pid_t process_of_thread(pid_t tid)
{
	char path[64], line[128];
	FILE *file __cleanup(fclosep) = NULL;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && !pid && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %d", &pid) != 1)
			pid = 0;
	}
	return pid;
}

static int target_open(pid_t pid, int *ret_pidfd, struct diag *d)
{
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*ret_pidfd >= 0)
		return 0;
	if (errno == ESRCH)
		return diag_set(d, DIAG_FAILED, ESRCH, "no process has the pid %d", pid);
	return diag_set(d, DIAG_FAILED, errno, "cannot open process %d: %s", pid, strerror(errno));
}

static bool target_has_threads(const struct collector *c, pid_t pid)
{
	for (size_t i = 0; i < c->nr_threads; i++) {
		if (c->threads[i].pid == (uint32_t)pid)
			return true;
	}
	return false;
}

/* Makes a thread, or with tid 0 all of its process, what is wanted of a process. */
static int target_want(struct collector *c, pid_t pid, pid_t tid, bool is_target)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->nr_threads; i++) {
		if (tid || c->threads[i].pid != (uint32_t)pid)
			c->threads[kept++] = c->threads[i];
	}
	/* All of it is wanted already. */
	c->nr_threads = kept;
	if (!tid || (is_target && !target_has_threads(c, pid)))
		return 0;
	if (!array_grow(&c->threads, c->nr_threads, sizeof(*c->threads)))
		return -ENOMEM;
	c->threads[c->nr_threads++] = (struct target_thread){ (uint32_t)pid, (uint32_t)tid };
	return 0;
}

/* The name in a file such as /proc/PID/comm; "" if there is none. */
static void comm_read(const char *path, char comm[PROCESS_COMM_SIZE + 1])
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	size_t got = file ? fread(comm, 1, PROCESS_COMM_SIZE, file) : 0;

	/* The kernel ends it with a newline; one inside the name is the name's own. */
	comm[got ? got - 1 : 0] = 0;
}

static int target_remember(struct collector *c, pid_t pid, struct diag *d)
{
	struct process *grown = reallocarray(c->targets, c->nr_targets + 1, sizeof(*c->targets));
	char path[64], name[PROCESS_COMM_SIZE + 1];

	if (!grown)
		return diag_oom(d);
	c->targets = grown;
	grown[c->nr_targets] = (struct process){ .pid = (uint32_t)pid };
	c->marked_ns = clock_mono_ns();
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	comm_read(path, name);
	memcpy(grown[c->nr_targets].comm, name, strlen(name));
	c->nr_targets++;
	return 0;
}

/* Field 9 of /proc/PID/stat, counted from behind the name, which may hold anything. */
static bool target_is_kernel_thread(pid_t pid)
{
	char path[64], line[512] = "", *after;
	FILE *file __cleanup(fclosep) = NULL;
	unsigned int flags = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fread(line, 1, sizeof(line) - 1, file))
		return false;
	after = strrchr(line, ')');
	return after && sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & PF_KTHREAD;
}

int collector_add_target(struct collector *c, pid_t pid, const struct target_options *options,
			 struct diag *d)
{
	struct task_ref ref = { .nr = -1, .flags = TASK_TARGET };
	pid_t process = process_of_thread(pid), tid = process && process != pid ? pid : 0;
	int pidfd __cleanup(closep) = -1;
	bool is_target = false;
	int err;

	pid = tid ? process : pid;
	for (size_t i = 0; i < c->nr_targets; i++)
		is_target |= c->targets[i].pid == (uint32_t)pid;
	if (target_want(c, pid, tid, is_target))
		return diag_oom(d);
	if (is_target)
		return 0;
	err = target_open(pid, &pidfd, d);
	if (err)
		return err;
	if (target_is_kernel_thread(pid))
		return diag_set(d, DIAG_FAILED, EINVAL,
				"%d is a kernel thread: it makes no system calls", pid);
	if (options->follow)
		ref.flags |= TASK_FOLLOW;
	if (options->await_exec)
		ref.flags |= TASK_AWAIT_EXEC;
	c->has_command |= options->await_exec;
	c->skel->data_control->control.follows |= options->follow;
	err = object_mark(c, pidfd, &ref, BPF_ANY);
	if (err == -ESRCH)
		return diag_set(d, DIAG_FAILED, ESRCH, "process %d has ended", pid);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot mark process %d: %s", pid,
				strerror(-err));
	return target_remember(c, pid, d);
}

/* Whether nothing at all is kept with the first thread of a process. */
static bool target_is_unmarked(const struct collector *c, int pidfd)
{
	struct task_ref ref;

	return bpf_map__lookup_elem(c->skel->maps.tasks, &pidfd, sizeof(pidfd), &ref, sizeof(ref),
				    0) == -ENOENT;
}

/* Leaves alone what another program has made of it meanwhile. False: it has ended, or so. */
static bool target_mark_anew(struct collector *c, int pidfd, const struct task_ref *ref)
{
	int err = object_mark(c, pidfd, ref, BPF_NOEXIST);

	if (err && err != -ESRCH && err != -EEXIST)
		c->left_out = (uint32_t)max_u64(c->left_out, 1);
	return !err;
}

bool collector_mark_again(struct collector *c)
{
	bool any = false;

	for (size_t i = 0; i < c->nr_targets; i++) {
		struct task_ref ref = { .nr = -1, .flags = TASK_TARGET };
		const uint32_t pid = c->targets[i].pid;
		int pidfd __cleanup(closep) = (int)syscall(SYS_pidfd_open, pid, 0);

		if (c->skel->data_control->control.follows)
			ref.flags |= TASK_FOLLOW;
		if (pidfd >= 0 && target_is_unmarked(c, pidfd) &&
		    process_is_so_old(pid, c->marked_ns))
			any |= target_mark_anew(c, pidfd, &ref);
	}
	return any;
}

/* --- threads by name --- */

/* Adds the threads of a process that are called so. Returns 0 or -errno with d filled. */
static int add_threads_of(struct collector *c, const char *process, const struct selector *name,
			  const struct target_options *options, struct diag *d)
{
	char path[64], comm[PROCESS_COMM_SIZE + 1];
	const struct dirent *task;
	DIR *tasks;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%.16s/task", process);
	tasks = opendir(path);
	while (tasks && !err && (task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/%.16s/task/%.16s/comm", process, task->d_name);
		comm_read(path, comm);
		if (isdigit(*task->d_name) && glob_matches(name, comm, sizeof(comm)))
			err = collector_add_target(c, atoi(task->d_name), options, d);
		/* It has ended meanwhile, or is the kernel's. */
		if (err == -ESRCH || err == -EINVAL)
			err = 0;
	}
	if (tasks)
		closedir(tasks);
	return err;
}

/* Fills in the selectors if all of them ask for names. */
static bool selectors_are_names(const struct collector *c, struct selector *list, size_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (bpf_map__lookup_elem(c->skel->maps.selectors, &i, sizeof(i), &list[i],
					 sizeof(list[i]), 0) ||
		    list[i].kind != SELECT_COMM)
			return false;
	}
	return true;
}

static bool name_is_selected(const struct selector *list, size_t count, const char *pid)
{
	char path[64], comm[PROCESS_COMM_SIZE + 1];

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	comm_read(path, comm);
	for (size_t i = 0; i < count && isdigit(*pid); i++) {
		if (glob_matches(&list[i], comm, sizeof(comm)))
			return true;
	}
	return false;
}

/* Adds the processes that have one of these names now. 0 or -ENOMEM. */
static int add_named(const struct selector *names, size_t nr_names, struct process **list,
		     size_t *count)
{
	DIR *processes = opendir("/proc");
	const struct dirent *process;
	int err = 0;

	while (processes && !err && (process = readdir(processes))) {
		if (!name_is_selected(names, nr_names, process->d_name))
			continue;
		if (!array_grow(list, *count, sizeof(**list)))
			err = -ENOMEM;
		else
			(*list)[(*count)++] =
				(struct process){ .pid = (uint32_t)atoi(process->d_name) };
	}
	if (processes)
		closedir(processes);
	return err;
}

int collector_list_chosen(const struct collector *c, struct process **ret, size_t *ret_count)
{
	const size_t nr_selectors = c->skel->rodata->nr_selectors;
	struct selector *names __cleanup(freep) = calloc(nr_selectors + 1, sizeof(*names));
	struct process *list __cleanup(freep) = NULL;
	size_t count = 0;

	if (!names)
		return -ENOMEM;
	if (!selectors_are_names(c, names, nr_selectors))
		return -ENOENT;
	for (; count <= c->nr_targets; count++) {
		if (!array_grow(&list, count, sizeof(*list)))
			return -ENOMEM;
		if (count < c->nr_targets)
			list[count] = c->targets[count];
	}
	count = c->nr_targets;
	if (nr_selectors && add_named(names, nr_selectors, &list, &count))
		return -ENOMEM;
	*ret = steal_ptr(&list);
	*ret_count = count;
	return 0;
}

/* Whether any process is called so now. */
static bool process_is_called(DIR *processes, const struct selector *name)
{
	char path[64], comm[PROCESS_COMM_SIZE + 1];
	const struct dirent *process;

	while ((process = readdir(processes))) {
		snprintf(path, sizeof(path), "/proc/%.16s/comm", process->d_name);
		comm_read(path, comm);
		if (isdigit(*process->d_name) && glob_matches(name, comm, sizeof(comm)))
			return true;
	}
	rewinddir(processes);
	return false;
}

int collector_add_threads(struct collector *c, const char *pattern,
			  const struct target_options *options, struct diag *d)
{
	struct selector name = { 0 };
	const struct dirent *process;
	int err = glob_compile(pattern, &name, d);
	DIR *processes = err ? NULL : opendir("/proc");

	if (processes && !process_is_called(processes, &name)) {
		while (!err && (process = readdir(processes))) {
			if (isdigit(*process->d_name) && atoi(process->d_name) != getpid())
				err = add_threads_of(c, process->d_name, &name, options, d);
		}
	}
	if (processes)
		closedir(processes);
	return err;
}
