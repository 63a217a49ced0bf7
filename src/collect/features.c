/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks kernel and privileges. A check fills in one struct finding and nothing else. */
#include "collect/features.h"
#include "collect/capabilities.h"
#include "collect/tables.h"
#include "collect/tracers.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <sys/utsname.h>

#include "probe.skel.h"
#include "storage.skel.h"

#define VMLINUX_BTF "/sys/kernel/btf/vmlinux"
#define LOCKDOWN    "/sys/kernel/security/lockdown"
#define SCHEDSTAT   "/proc/self/schedstat"

__attribute__((format(printf, 3, 4))) static void
feature_set(struct finding *f, enum finding_state state, const char *format, ...)
{
	va_list args;

	f->state = state;
	va_start(args, format);
	vsnprintf(f->detail, sizeof(f->detail), format, args);
	va_end(args);
}

static void feature_remedy(struct finding *f, const char *remedy)
{
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

static void check_kernel(struct finding *f)
{
	struct utsname names;

	uname(&names);
	feature_set(f, FINDING_OK, "%s %s", names.release, names.machine);
}

static void check_capabilities(struct finding *f)
{
	const bool all = capability_is_ours(CAP_SYS_ADMIN);
	const bool bpf = capability_is_ours(CAP_BPF), perfmon = capability_is_ours(CAP_PERFMON);

	if (all || (bpf && perfmon)) {
		feature_set(f, FINDING_OK, "%s", all ? "root" : "CAP_BPF and CAP_PERFMON");
		return;
	}
	feature_set(f, FINDING_PROBLEM, "%s",
		    bpf       ? "CAP_PERFMON is missing"
		    : perfmon ? "CAP_BPF is missing"
			      : "neither root nor CAP_BPF and CAP_PERFMON");
	feature_remedy(f, "run it as root (sudo bpftruss ...) or with CAP_BPF and CAP_PERFMON");
}

static void check_lockdown(struct finding *f)
{
	FILE *file __cleanup(fclosep) = fopen(LOCKDOWN, "re");
	char line[128] = "";
	char *open, *close;

	if (!file || !fgets(line, sizeof(line), file)) {
		feature_set(f, FINDING_OK, "not in this kernel, or not visible");
		return;
	}
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = 0;
	feature_set(f, FINDING_OK, "%s", close ? open + 1 : line);
	if (strcmp(f->detail, "confidentiality"))
		return;
	f->state = FINDING_PROBLEM;
	feature_remedy(f, "lockdown=confidentiality forbids reading kernel memory; "
			  "boot with lockdown=integrity");
}

static void check_btf(struct finding *f)
{
	if (access(VMLINUX_BTF, R_OK) == 0) {
		feature_set(f, FINDING_OK, VMLINUX_BTF);
		return;
	}
	feature_set(f, FINDING_PROBLEM, VMLINUX_BTF ": %s", strerror(errno));
	feature_remedy(f, errno == ENOENT
				  ? "the kernel has no type information: use one built with "
				    "CONFIG_DEBUG_INFO_BTF=y; in a container, mount the host's /sys"
				  : "make it readable, or run as root");
}

/* Bytes from the start of a structure to a member, or -1 if there is no such member. */
static int member_offset(const struct btf *btf, const char *type, const char *wanted)
{
	int id = btf ? btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT) : 0;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (unsigned int)id) : NULL;

	for (unsigned int i = 0; t && i < btf_vlen(t); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(t)[i].name_off);

		if (name && !strcmp(name, wanted))
			return (int)(btf_member_bit_offset(t, i) / 8);
	}
	return -1;
}

/* Whether a structure of the kernel has a member. Reads all types, which takes 16 ms. */
static bool kernel_has_member(const char *type, const char *wanted)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = member_offset(btf, type, wanted) >= 0;

	btf__free(btf);
	return found;
}

/* Not by CO-RE: see kernel_types.h. */
void features_of_btrfs(int *inode_to_root, int *root_to_id)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct btf *module = kernel ? btf__load_module_btf("btrfs", kernel) : NULL;
	const struct btf *btf = module ?: kernel;
	const int inode = member_offset(btf, "btrfs_inode", "vfs_inode");
	const int root = member_offset(btf, "btrfs_inode", "root");
	const int key = member_offset(btf, "btrfs_root", "root_key");
	const int id = member_offset(btf, "btrfs_key", "objectid");
	const bool is_known = inode >= 0 && root >= 0 && key >= 0 && id >= 0;

	*inode_to_root = is_known ? root - inode : 0;
	*root_to_id = is_known ? key + id : 0;
	btf__free(module);
	btf__free(kernel);
}

static void check_task_storage(struct finding *f)
{
	struct storage_bpf *storage = storage_bpf__open();
	int err = storage ? storage_bpf__load(storage) : -errno;

	storage_bpf__destroy(storage);
	if (!err) {
		feature_set(f, FINDING_OK, "present");
		return;
	}
	/* Otherwise a type of map is unknown, or such programs may not call the helper. */
	if (err != -EINVAL && err != -EACCES) {
		feature_set(f, FINDING_PROBLEM, "cannot be probed: %s", strerror(-err));
		feature_remedy(f, "-v shows the kernel's message; a security module or a limit may "
				  "forbid bpf(2)");
		return;
	}
	feature_set(f, FINDING_PROBLEM, "absent");
	feature_remedy(f, "the kernel is too old: use Linux 5.13 or newer, or that of RHEL 9");
}

static void check_attach(struct finding *f)
{
	struct probe_bpf *probe = probe_bpf__open_and_load();
	int err = probe ? probe_bpf__attach(probe) : -errno;

	probe_bpf__destroy(probe);
	if (!err) {
		feature_set(f, FINDING_OK, "raw_syscalls can be attached to");
		return;
	}
	feature_set(f, FINDING_PROBLEM, "refused: %s", strerror(-err));
	feature_remedy(f, "-v shows the kernel's message; a security module may forbid bpf(2)");
}

static bool kernel_is_at_least(unsigned int major, unsigned int minor)
{
	unsigned int found_major = 0, found_minor = 0;
	struct utsname names;

	if (uname(&names) || sscanf(names.release, "%u.%u", &found_major, &found_minor) != 2)
		return false;
	return found_major > major || (found_major == major && found_minor >= minor);
}

/* Up to 5.15 the kernel did not check whether such a program may sleep there; it must not. */
bool features_let_calls_sleep(void)
{
	struct probe_bpf *probe;
	int err;

	if (!kernel_is_at_least(7, 2))
		return false;
	probe = probe_bpf__open();
	if (!probe)
		return false;
	bpf_program__set_flags(probe->progs.empty_enter, BPF_F_SLEEPABLE);
	bpf_program__set_autoload(probe->progs.empty_exit, false);
	bpf_program__set_autoload(probe->progs.calls_are_traced, false);
	err = probe_bpf__load(probe) ?: probe_bpf__attach(probe);
	probe_bpf__destroy(probe);
	return !err;
}

/* Our tables only know how code of x86-64 saves its registers. */
#if defined(__x86_64__)
#define MACHINE_HAS_TABLES true
#else
#define MACHINE_HAS_TABLES false
#endif

/* Verifiers refuse the arguments of a helper that they know with EACCES, any other helper with EINVAL. */
static bool kernel_has_helper(enum bpf_func_id helper)
{
	const struct bpf_insn program[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = (int)helper },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd __cleanup(closep) = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL, "GPL", program,
						 ARRAY_SIZE(program), NULL);

	return fd >= 0 || fd == -EACCES;
}

void features_of_kernel(struct kernel_features *ret)
{
	*ret = (struct kernel_features){
		.has_runq = !getenv("BPFTRUSS_NO_RUN_DELAY") && !access(SCHEDSTAT, R_OK),
		.has_unwinding = MACHINE_HAS_TABLES && kernel_has_helper(BPF_FUNC_find_vma) &&
				 kernel_has_helper(BPF_FUNC_loop),
		.lookups_can_fail = !kernel_is_at_least(6, 2),
	};
}

/* Fills in what is optional. */
static void feature_tell(struct finding *f, bool is_there, const char *there, const char *absent,
			 const char *remedy)
{
	feature_set(f, is_there ? FINDING_OK : FINDING_NOTE, "%s", is_there ? there : absent);
	if (!is_there)
		feature_remedy(f, remedy);
}

static void check_runq(struct finding *f)
{
	struct kernel_features kernel;

	features_of_kernel(&kernel);
	feature_tell(f, kernel.has_runq, "sched_info.run_delay", "no sched_info.run_delay",
		     "run-queue and sleep time are shown as unknown; they need a kernel with "
		     "CONFIG_SCHEDSTATS or CONFIG_TASK_DELAY_ACCT");
}

static void check_cheap_filter(struct finding *f)
{
	feature_tell(f, kernel_has_member("task_struct", "bpf_storage"), "task_struct.bpf_storage",
		     "no task_struct.bpf_storage",
		     "processes that are not traced pay a little more");
}

bool features_hide_task_regs(void)
{
	return getenv("BPFTRUSS_NO_TASK_REGS");
}

static void check_in_flight(struct finding *f)
{
	if (!features_hide_task_regs() && kernel_has_helper(BPF_FUNC_task_pt_regs)) {
		feature_set(f, FINDING_OK, "bpf_task_pt_regs");
		return;
	}
#ifdef __x86_64__
	feature_set(f, FINDING_OK, "registers on the kernel stack");
#else
	feature_tell(f, false, "", "no bpf_task_pt_regs",
		     "a call begun before attaching is shown only once it ends (5.15 or newer)");
#endif
}

static void check_unwinding(struct finding *f)
{
	struct kernel_features kernel;

	features_of_kernel(&kernel);
	feature_tell(
		f, kernel.has_unwinding, "bpf_find_vma, bpf_loop",
		MACHINE_HAS_TABLES ? "no bpf_find_vma or no bpf_loop" : "not by tables",
		MACHINE_HAS_TABLES
			? "--stacks can follow frame pointers only, so most stacks are short "
			  "(5.17 or newer)"
			: "--stacks can follow frame pointers only; tables are read on x86-64");
}

static void check_misses(struct finding *f)
{
	feature_tell(f, kernel_has_member("bpf_prog_stats", "misses"),
		     "bpf_prog_info.recursion_misses", "not counted by this kernel",
		     "calls that the kernel skips the programs for are lost unseen");
}

static void check_tables(struct finding *f)
{
	const struct target_selector all = { .kind = SELECT_ALL };
	const struct collector_options options = { .selectors = &all, .nr_selectors = 1 };
	struct tables tables = { 0 };

	tables_plan(&tables, &options);
	feature_set(f, FINDING_OK, "for the %u threads of this host %.0f MiB, of at most %.0f MiB",
		    tables.needs.threads, (double)tables.sizes.bytes / 0x1p20,
		    (double)tables_most_bytes(&tables) / 0x1p20);
}

/* Required ones first; a required one that fails makes those after it meaningless. */
static const struct check {
	const char *name;
	void (*run)(struct finding *f);
	bool doctors; /* not part of features_require() */
} checks[] = {
	{ "kernel", check_kernel, false },
	{ "capabilities", check_capabilities, false },
	{ "lockdown", check_lockdown, false },
	{ "kernel BTF", check_btf, false },
	{ "task storage", check_task_storage, false },
	{ "attaching", check_attach, true },
	{ "run-queue time", check_runq, true },
	{ "calls in flight at attach", check_in_flight, true },
	{ "cheap filter", check_cheap_filter, true },
	{ "call stacks", check_unwinding, true },
	{ "skipped programs", check_misses, true },
	{ "tables", check_tables, true },
	{ "other tracers", tracers_check, true },
};

_Static_assert(ARRAY_SIZE(checks) <= MAX_FEATURES, "MAX_FEATURES is too small");

static void check_run(const struct check *check, struct finding *f)
{
	memset(f, 0, sizeof(*f));
	f->name = check->name;
	check->run(f);
}

size_t features_probe(struct finding features[MAX_FEATURES])
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		check_run(&checks[i], &features[i]);
		if (features[i].state == FINDING_PROBLEM)
			return i + 1;
	}
	return i;
}

int features_require(struct diag *d)
{
	struct finding f;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (checks[i].doctors)
			continue;
		check_run(&checks[i], &f);
		if (f.state == FINDING_PROBLEM)
			return diag_set(d, DIAG_UNSUPPORTED, EOPNOTSUPP, "%s: %s; %s", f.name,
					f.detail, f.remedy);
	}
	return 0;
}

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_DEBUG ? 0 : vfprintf(stderr, format, args);
}

void features_silence_libbpf(bool silent)
{
	libbpf_set_print(silent ? NULL : print_libbpf);
}
