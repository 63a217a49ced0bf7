/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds other tracers of system calls: BPF programs by their links, and whoever holds them by what
 * /proc tells; tracers without BPF by the path that the kernel takes. Measures what that path takes.
 */
#include "collect/tracers.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/text.h"
#include "probe.skel.h"

#define MAX_LINKS   64
#define MAX_HOLDERS 64
#define MAX_NAMED   3 /* the others are counted */

/* Holders of a kind, in words. */
struct holders {
	char names[96];
	pid_t pids[MAX_HOLDERS]; /* more are not looked for */
	size_t count;
};

struct tracers {
	uint32_t links[MAX_LINKS]; /* ids of those on system calls; 0 once a process is known */
	size_t nr_links;
	bool blind; /* we may not ask for links */
	struct holders watching, perf, stopping;
};

/* --- links ------------------------------------------------------------------------------------- */

/* Whether a tracepoint is one of system calls: sys_enter, sys_exit_read, btf_trace_sys_enter. */
static bool is_of_calls(const char *name)
{
	const char *rest = !strncmp(name, "btf_trace_", 10) ? name + 10 : name;

	return !strncmp(rest, "sys_enter", 9) || !strncmp(rest, "sys_exit", 8);
}

/* A program of BTF names the type of what it is attached to. */
static bool program_is_of_calls(uint32_t id, const struct btf *vmlinux)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd __cleanup(closep) = bpf_prog_get_fd_by_id(id);
	const struct btf_type *type;

	if (fd < 0 || !vmlinux || bpf_obj_get_info_by_fd(fd, &info, &size))
		return false;
	type = btf__type_by_id(vmlinux, info.attach_btf_id);
	return type && is_of_calls(btf__name_by_offset(vmlinux, type->name_off) ?: "");
}

static bool link_is_of_calls(uint32_t id, const struct btf *vmlinux)
{
	char name[64] = "";
	struct bpf_link_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd __cleanup(closep) = bpf_link_get_fd_by_id(id);

	info.raw_tracepoint.tp_name = (uintptr_t)name;
	info.raw_tracepoint.tp_name_len = sizeof(name);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return false;
	if (info.type == BPF_LINK_TYPE_RAW_TRACEPOINT)
		return is_of_calls(name);
	return info.type == BPF_LINK_TYPE_TRACING && program_is_of_calls(info.prog_id, vmlinux);
}

static void links_find(struct tracers *tracers)
{
	struct btf *vmlinux = btf__load_vmlinux_btf();
	uint32_t id = 0;

	errno = 0;
	while (tracers->nr_links < MAX_LINKS && !bpf_link_get_next_id(id, &id)) {
		if (link_is_of_calls(id, vmlinux))
			tracers->links[tracers->nr_links++] = id;
	}
	tracers->blind = errno == EPERM;
	btf__free(vmlinux);
}

/* --- processes --------------------------------------------------------------------------------- */

/* A process is named once. */
static void holders_add(struct holders *holders, pid_t pid)
{
	char path[32], comm[32] = "?", visible[TEXT_ESCAPED_MAX(sizeof(comm))];
	FILE *file __cleanup(fclosep) = NULL;
	size_t used = strlen(holders->names);

	for (size_t i = 0; i < holders->count; i++) {
		if (holders->pids[i] == pid)
			return;
	}
	if (holders->count == MAX_HOLDERS)
		return;
	holders->pids[holders->count++] = pid;
	if (holders->count > MAX_NAMED)
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file && fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	text_escape_visible(comm, sizeof(comm), visible);
	snprintf(holders->names + used, sizeof(holders->names) - used, "%s%.16s (%d)",
		 used ? ", " : "", visible, pid);
}

/* "a (1), b (2) and 3 more" */
static void holders_write(const struct holders *holders, char *buf, size_t size)
{
	snprintf(buf, size, "%s", holders->names);
	if (holders->count > MAX_NAMED)
		snprintf(buf + strlen(buf), size - strlen(buf), " and %zu more",
			 holders->count - MAX_NAMED);
}

/* Whether a descriptor of a process is one of the links; a link stays known by its first process. */
static bool holds_link(struct tracers *tracers, int process, const char *fd)
{
	char name[64], line[128];
	FILE *file __cleanup(fclosep) = NULL;
	bool found = false;
	uint32_t id;

	snprintf(name, sizeof(name), "fdinfo/%.32s", fd);
	file = process_file(process, name);
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "link_id: %" SCNu32, &id) != 1)
			continue;
		for (size_t i = 0; i < tracers->nr_links; i++) {
			if (tracers->links[i] != id)
				continue;
			tracers->links[i] = 0;
			found = true;
		}
	}
	return found;
}

static bool holds_perf_program(pid_t pid, const char *fd)
{
	char name[128] = "";
	uint32_t size = sizeof(name), program, type;
	unsigned long long offset, address;

	return !bpf_task_fd_query(pid, (int)strtol(fd, NULL, 10), 0, name, &size, &program, &type,
				  &offset, &address) &&
	       type == BPF_FD_TYPE_TRACEPOINT && is_of_calls(name);
}

static void descriptor_look(struct tracers *tracers, int process, pid_t pid, const char *fd)
{
	char path[64], target[64] = "";

	snprintf(path, sizeof(path), "fd/%.32s", fd);
	if (readlinkat(process, path, target, sizeof(target) - 1) < 0)
		return;
	if (strstr(target, "bpf") && holds_link(tracers, process, fd))
		holders_add(&tracers->watching, pid);
	if (!strstr(target, "[perf_event]"))
		return;
	holders_add(holds_perf_program(pid, fd) ? &tracers->watching : &tracers->perf, pid);
}

/* Returns the pid of the process that has attached by ptrace; 0: nobody. */
static pid_t process_tracer(int process)
{
	FILE *status __cleanup(fclosep) = process_file(process, "status");
	char line[256];
	pid_t tracer = 0;

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	}
	return tracer;
}

static void process_look(struct tracers *tracers, pid_t pid)
{
	int process __cleanup(closep) = process_open((uint32_t)pid);
	int folder = process < 0 ? -1 : openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *fds = folder < 0 ? NULL : fdopendir(folder);
	pid_t tracer = process < 0 ? 0 : process_tracer(process);

	if (tracer)
		holders_add(&tracers->stopping, tracer);
	if (!fds && folder >= 0)
		close(folder);
	for (struct dirent *entry; fds && pid != getpid() && (entry = readdir(fds));)
		descriptor_look(tracers, process, pid, entry->d_name);
	if (fds)
		closedir(fds);
}

static void processes_look(struct tracers *tracers)
{
	DIR *proc = opendir("/proc");

	for (struct dirent *entry; proc && (entry = readdir(proc));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			process_look(tracers, pid);
	}
	if (proc)
		closedir(proc);
}

/* --- the slow path of calls -------------------------------------------------------------------- */

/* Whether this thread's calls take it now, whoever wants it. */
static bool slow_path_taken(const struct probe_bpf *probe)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int err = bpf_prog_test_run_opts(bpf_program__fd(probe->progs.calls_are_traced), &run);

	return !err && run.retval == 1;
}

static bool is_traced(void)
{
	struct probe_bpf *probe = probe_bpf__open_and_load();
	bool taken = probe && slow_path_taken(probe);

	probe_bpf__destroy(probe);
	return taken;
}

/* ftrace says itself what it records. */
static bool ftrace_records_calls(void)
{
	static const char *const groups[] = { "raw_syscalls", "syscalls" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		char path[96];
		FILE *file __cleanup(fclosep) = NULL;
		int state;

		snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/enable", groups[i]);
		file = fopen(path, "re");
		state = file ? fgetc(file) : EOF;
		/* X: some of the group. */
		found |= state == '1' || state == 'X';
	}
	return found;
}

/* Names the programs that look at all system calls, in words; "" for nobody. */
static void watching_write(const struct tracers *tracers, char *buf, size_t size)
{
	size_t pinned = 0;

	for (size_t i = 0; i < tracers->nr_links; i++)
		pinned += tracers->links[i] != 0;
	if (tracers->watching.count)
		holders_write(&tracers->watching, buf, size);
	else if (pinned)
		snprintf(buf, size, "a BPF program that no process holds");
	else if (ftrace_records_calls())
		snprintf(buf, size, "ftrace");
	else if (!is_traced())
		buf[0] = '\0';
	else if (tracers->perf.count)
		holders_write(&tracers->perf, buf, size);
	else
		snprintf(buf, size, "%s",
			 tracers->blind ? "somebody; as root, doctor sees who"
					: "something that is not BPF");
}

void tracers_check(struct finding *f)
{
	struct tracers tracers = { .nr_links = 0 };
	char watching[128], stopping[128];
	bool both;

	links_find(&tracers);
	processes_look(&tracers);
	watching_write(&tracers, watching, sizeof(watching));
	holders_write(&tracers.stopping, stopping, sizeof(stopping));
	both = *watching && *stopping;
	f->state = *watching || *stopping ? FINDING_NOTE : FINDING_OK;
	snprintf(f->detail, sizeof(f->detail), "%s%s%s%s%s", *watching ? "all calls: " : "",
		 watching, both ? "; " : "", *stopping ? "by ptrace: " : "", stopping);
	if (f->state == FINDING_OK)
		snprintf(f->detail, sizeof(f->detail), "none");
	else
		snprintf(f->remedy, sizeof(f->remedy), "%s%s%s",
			 *watching ? "every process pays for it now" : "", both ? "; " : "",
			 *stopping ? "calls that ptrace stops take far longer, also in reports"
				   : "");
}

/*
 * Any tool on raw_syscalls costs this: while a program is attached, every call of every process takes
 * the kernel's slow entry path.
 */
#define ROUNDS      5
#define BATCHES     12
#define BATCH_CALLS 2000

/* The fastest of many short batches: what disturbs a batch only makes it slower. */
static double getppid_ns(double best)
{
	for (int i = 0; i < BATCHES; i++) {
		uint64_t start = clock_mono_ns(), took;

		for (int j = 0; j < BATCH_CALLS; j++)
			syscall(SYS_getppid);
		took = clock_mono_ns() - start;
		best = (double)took < best * BATCH_CALLS ? (double)took / BATCH_CALLS : best;
	}
	return best;
}

int tracers_measure_slow_path(struct slow_path_cost *ret, struct diag *d)
{
	struct probe_bpf *probe = probe_bpf__open_and_load();
	struct slow_path_cost cost = { 1e9, 1e9, probe && slow_path_taken(probe) };
	int self __cleanup(closep) = process_open((uint32_t)getpid());
	bool changed = false;
	int err = probe ? 0 : -errno;

	if (self >= 0 && process_tracer(self)) {
		probe_bpf__destroy(probe);
		return diag_set(d, DIAG_FAILED, EBUSY, "doctor's own calls are traced by ptrace");
	}

	/* The two take turns, so that both see what else happens here, and who comes and goes. */
	for (int i = 0; i < ROUNDS && !err && !changed; i++) {
		cost.bare_ns = getppid_ns(cost.bare_ns);
		changed = slow_path_taken(probe) != cost.traced;
		err = probe_bpf__attach(probe);
		if (!err)
			cost.attached_ns = getppid_ns(cost.attached_ns);
		probe_bpf__detach(probe);
	}
	probe_bpf__destroy(probe);
	if (err)
		return diag_set(d, DIAG_UNSUPPORTED, -err, "cannot attach empty programs: %s",
				strerror(-err));
	if (changed)
		return diag_set(d, DIAG_FAILED, EAGAIN,
				"another tracer began or ended meanwhile; try again");
	*ret = cost;
	return 0;
}
