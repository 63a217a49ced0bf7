/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the life of a collector: loading, mapping, attaching, starting, stopping. Invariant: the
 * programs are attached before any task is marked, so they never see a task half way.
 */
#include "collect/collector.h"

#include <bpf/bpf.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/collector_private.h"

/* Says what could not be done, if anything. */
static int outcome(int err, const char *what, struct diag *d)
{
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot %s: %s", what, strerror(-err)) : 0;
}

/* Records and counters tell what is to be done about tasks; the event wakes us and tells where. */
static int collector_take_event(void *closure, void *data, size_t size)
{
	struct collector *c = closure;
	const struct cgroup_event *cgroup = data;
	const struct task_event *task = data;

	if (size > offsetof(struct cgroup_event, path) && cgroup->kind == EVENT_CGROUP_MADE &&
	    c->cgroups_are_absolute)
		cgroup_names_made(&c->cgroups, cgroup->id, cgroup->path);
	if (size == sizeof(*task) && task->kind == EVENT_TASK_ENDED && task->signal)
		c->nr_signalled++;
	if (size == sizeof(*task) && task->kind == EVENT_TASK_ENDED && task->record &&
	    c->nr_ended_records < MAX_ENDED_RECORDS)
		c->ended_records[c->nr_ended_records++] = task->record;
	return 0;
}

/* The initial namespaces have fixed inode numbers. */
#define INITIAL_PIDNS    4026531836u
#define INITIAL_CGROUPNS 4026531835u

/* In a cgroup namespace of our own the tree begins elsewhere than in the kernel's words. */
static bool cgroups_are_absolute(void)
{
	struct stat st;

	return !stat("/proc/self/ns/cgroup", &st) && st.st_ino == INITIAL_CGROUPNS;
}

int object_mark(struct collector *c, int pidfd, const struct task_ref *ref, uint64_t flags)
{
	int err = bpf_map__update_elem(c->skel->maps.tasks, &pidfd, sizeof(pidfd), ref,
				       sizeof(*ref), flags);

	/* So says the kernel of a process that has been waited for. */
	return err == -ENOENT ? -ESRCH : err;
}

static int collector_set_selectors(struct collector *c, const struct collector_options *options,
				   struct diag *d)
{
	struct task_ref ref = { .nr = -1, .flags = TASK_IGNORED };
	int pidfd __cleanup(closep) = -1, err;
	struct selector selector;

	for (uint32_t i = 0; i < options->nr_selectors; i++) {
		const struct target_selector *chosen = &options->selectors[i];

		err = selector_resolve(chosen, options->wait, &selector, d);
		if (err)
			return err;
		err = bpf_map__update_elem(c->skel->maps.selectors, &i, sizeof(i), &selector,
					   sizeof(selector), BPF_ANY);
		if (err)
			return outcome(err, "set a selector", d);
	}
	/*
	 * bpftruss itself is never chosen: its own reading would count. Its context switches tell the
	 * programs how clocks differ.
	 */
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	err = pidfd < 0 ? -errno : object_mark(c, pidfd, &ref, BPF_ANY);
	return outcome(err, "mark bpftruss itself", d);
}

static void collector_configure_stacks(struct collector *c, const struct collector_options *options)
{
	uint32_t count = (options->max_stacks ?: DEFAULT_MAX_STACKS) + 1;
	struct truss_bpf *skel = c->skel;
	struct bpf_map *const maps[] = {
		skel->maps.unwind_slabs, skel->maps.unwind_pages,  skel->maps.unwind_rules,
		skel->maps.unwind_files, skel->maps.unwind_inodes, skel->maps.unwind_cache,
		skel->maps.walks,        skel->maps.stack_events,  skel->maps.stacks_sent,
		skel->maps.stack_index,  skel->maps.stack_entries, skel->maps.returned_stacks,
	};
	bool tables = options->stacks && !options->frame_pointers && c->kernel.has_unwinding;

	bpf_program__set_autoload(skel->progs.list_code, tables);
	bpf_program__set_autoload(skel->progs.identify_code, tables);
	for (size_t i = 0; i < ARRAY_SIZE(maps) && !options->stacks; i++)
		bpf_map__set_autocreate(maps[i], false);
	if (!options->stacks)
		return;
	if (tables)
		features_of_btrfs(&skel->rodata->btrfs_inode_to_root,
				  &skel->rodata->btrfs_root_to_id);
	skel->rodata->stacks = true;
	skel->rodata->frame_pointers = options->frame_pointers;
	skel->rodata->kernel_stacks = options->kernel_stacks;
	skel->data_pools->pools[POOL_STACKS].limit = count;
	skel->data_pools->pools[POOL_FILES].limit = MAX_UNWIND_FILES;
	skel->data_pools->pools[POOL_SENT].limit = count;
	bpf_map__set_max_entries(skel->maps.stacks_sent, count);
	bpf_map__set_max_entries(skel->maps.stack_index, count);
	bpf_map__set_max_entries(skel->maps.stack_entries, count);
	bpf_map__set_max_entries(skel->maps.returned_stacks, count);
}

/* Loads the shorter programs of a system call where they do all that is wanted. */
static void collector_choose_programs(struct truss_bpf *skel,
				      const struct collector_options *options)
{
	const bool plain = !options->nr_selectors && !options->stacks && !options->view &&
			   !options->calls && !options->split_by && !options->slower_than_ns;

	bpf_program__set_autoload(skel->progs.on_enter_plain, plain);
	bpf_program__set_autoload(skel->progs.on_exit_plain, plain);
	bpf_program__set_autoload(skel->progs.on_sys_enter, !plain);
	bpf_program__set_autoload(skel->progs.on_sys_exit, !plain);
}

static void collector_configure(struct collector *c, const struct collector_options *options)
{
	struct truss_bpf *skel = c->skel;
	struct stat st;
	uint64_t seed;

	skel->rodata->no_task_pt_regs = features_hide_task_regs();
	skel->rodata->lookups_can_fail = c->kernel.lookups_can_fail;
	tables_size(&c->tables, skel, options);
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PIDNS)
		skel->rodata->pidns_inum = (uint32_t)st.st_ino;
	if (!options->calls && !(options->view && options->view->calls))
		bpf_map__set_max_entries(skel->maps.chosen_calls, 1);
	skel->rodata->some_calls = options->calls != NULL;
	skel->rodata->shows_some = options->view && options->view->calls;
	if (!options->nr_selectors)
		bpf_map__set_max_entries(skel->maps.selectors, 1);
	skel->rodata->nr_selectors = (uint32_t)options->nr_selectors;
	skel->rodata->split_by = options->split_by;
	/* Early in a boot there may be nothing random yet, and waiting for it could take minutes. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = clock_mono_ns() * 0x9e3779b97f4a7c15;
	skel->rodata->hash_seed = seed;
	for (size_t i = 0; i < options->nr_selectors; i++) {
		if (options->selectors[i].kind == SELECT_USER)
			skel->rodata->selects_user = true;
	}
	skel->rodata->slower_than_ns = options->slower_than_ns;
	collector_choose_programs(skel, options);
	bpf_program__set_autoload(skel->progs.fault_in, options->view &&
								!options->view->only_slowest &&
								features_let_calls_sleep());
	bpf_program__set_flags(skel->progs.fault_in, BPF_F_SLEEPABLE);
	bpf_program__set_autoload(skel->progs.list_calls, options->lists_calls);
	call_rings_configure(skel, options);
	arguments_configure(skel, options);
	collector_configure_stacks(c, options);
}

/* Tells the programs which calls are counted, and which of them are sent; NULL: all. */
static int mark_calls(struct bpf_map *map, const struct syscall_set *counted,
		      const struct syscall_set *sent)
{
	uint8_t marks;
	uint32_t key;
	int err = 0;

	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = 0; nr < CALLS_INDEXED && !err; nr++) {
			if (!syscall_set_has(counted, abi, nr))
				continue;
			marks = CALL_MARK_CHOSEN;
			if (syscall_set_has(sent, abi, nr))
				marks |= CALL_MARK_SHOWN;
			key = (uint32_t)(abi * CALLS_INDEXED + nr);
			err = bpf_map__update_elem(map, &key, sizeof(key), &marks, sizeof(marks),
						   BPF_ANY);
		}
	}
	return err;
}

static int load_failed(int err, struct diag *d)
{
	if (err == -ENOMEM)
		return diag_set(d, DIAG_FAILED, ENOMEM,
				"no memory for the kernel's tables: lower --max-rows, --max-tasks, "
				"--max-errnos");
	return diag_set(d, DIAG_UNSUPPORTED, -err,
			"the kernel refuses the BPF programs: %s; 'bpftruss doctor' tells what is "
			"missing, -v shows the kernel's message",
			strerror(-err));
}

static int collector_load(struct collector *c, const struct collector_options *options,
			  struct diag *d)
{
	int err;

	c->skel = truss_bpf__open();
	if (!c->skel)
		return outcome(-errno, "open the BPF object", d);
	collector_configure(c, options);
	err = truss_bpf__load(c->skel);
	if (!err && (c->skel->rodata->some_calls || c->skel->rodata->shows_some))
		err = mark_calls(c->skel->maps.chosen_calls, options->calls,
				 options->view ? options->view->calls : NULL);
	if (!err && options->split_by >= SPLIT_PATH)
		err = arguments_new(c->skel, &c->arguments);
	if (!err && options->view)
		err = call_rings_new(c->skel, options->view, &c->rings);
	err = err ?: truss_bpf__attach(c->skel);
	if (err)
		return load_failed(err, d);
	err = collector_set_selectors(c, options, d)
		      ?: outcome(tables_map(&c->tables, c->skel), "map the kernel's tables", d);
	if (err)
		return err;
	c->events =
		ring_buffer__new(bpf_map__fd(c->skel->maps.events), collector_take_event, c, NULL);
	if (!c->events)
		return outcome(-errno, "open the ring buffer", d);
	/* Attached before: none is made unseen. */
	if (cgroup_names_learn(&c->cgroups))
		return diag_oom(d);
	return options->stacks ? outcome(call_stacks_new(c->skel, options, c->events, &c->stacks),
					 "make the unwind tables", d)
			       : 0;
}

static int require_debuginfod(struct diag *d)
{
	int err = names_require_debuginfod();

	if (err == -ENOENT)
		return diag_set(
			d, DIAG_FAILED, ENOENT,
			"--debuginfod needs debuginfod-find, which is not installed: it is in "
			"the package debuginfod, on Fedora elfutils-debuginfod-client");
	return err ? diag_oom(d) : 0;
}

int collector_open(const struct collector_options *options, struct collector **ret, struct diag *d)
{
	struct collector *c __cleanup(collector_freep) = NULL;
	int err;

	features_silence_libbpf(!options->verbose);
	err = features_require(d);
	if (!err && options->debuginfod)
		err = require_debuginfod(d);
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c)
		return diag_oom(d);
	c->ended_threads = calloc(1, sizeof(*c->ended_threads));
	if (!c->ended_threads || builder_new(&c->ended))
		return diag_oom(d);
	c->odd = calloc(1, sizeof(*c->odd));
	if (!c->odd)
		return diag_oom(d);
	c->cgroups_are_absolute = cgroups_are_absolute();
	features_of_kernel(&c->kernel);
	err = collector_load(c, options, d);
	if (err)
		return err;
	if (options->verbose)
		fprintf(stderr, "bpftruss: tables take %.1f MiB in the kernel; at most %.1f MiB\n",
			(double)c->tables.sizes.bytes / 0x1p20,
			(double)tables_most_bytes(&c->tables) / 0x1p20);
	c->hurried = options->hurried;
	c->lasting = options->lasting;
	c->by_thread = options->by_thread;
	c->keeps_threads = options->keeps_threads;
	c->keep_exited = options->keep_exited ?: DEFAULT_KEEP_EXITED;
	c->keep_bytes = options->keep_bytes ?: DEFAULT_KEEP_BYTES;
	c->fold_serial = FOLDED_FIRST;
	c->max_stay_bytes = c->tables.sizes.elements[TABLE_SLOTS] * STAY_BYTES_A_SLOT;
	if (c->arguments)
		c->max_stay_bytes +=
			bpf_map__max_entries(c->skel->maps.arguments) * STAY_BYTES_A_PATH;
	if (idle_new(&c->idle, map_array_size(c->tables.arrays[TABLE_TASKS]),
		     c->tables.sizes.elements[TABLE_SLOTS] * IDLE_BYTES_A_SLOT))
		return diag_oom(d);
	*ret = steal_ptr(&c);
	return 0;
}

int collector_tell_threads(struct collector *c, bool apart)
{
	if (c->by_thread == apart)
		return 0;
	/* Its sums come from readings with other settings. */
	idle_free(c->idle);
	c->idle = NULL;
	c->by_thread = apart;
	return idle_new(&c->idle, map_array_size(c->tables.arrays[TABLE_TASKS]),
			c->tables.sizes.elements[TABLE_SLOTS] * IDLE_BYTES_A_SLOT);
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	ring_buffer__free(c->events);
	tables_unmap(&c->tables);
	truss_bpf__destroy(c->skel);
	builder_free(c->ended);
	snapshot_free(c->ended_threads);
	idle_free(c->idle);
	free(c->odd);
	free(c->base);
	free(c->targets);
	free(c->threads);
	cgroup_names_done(&c->cgroups);
	user_names_done(&c->users);
	call_stacks_free(c->stacks);
	call_rings_free(c->rings);
	arguments_free(c->arguments);
	free(c);
}

/* Far more than any number of threads that are being made calls for, or that execute programs meanwhile. */
#define MAX_PASSES    1000
#define MAX_EXECS     10
#define PASS_PAUSE_NS (1000 * 1000)
#define JOIN_PAUSE_MS 10

int object_pass(const struct bpf_link *link)
{
	int fd __cleanup(closep) = bpf_iter_create(bpf_link__fd(link));
	char buf[64];
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		got = read(fd, buf, sizeof(buf));
	} while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
	return got < 0 ? -errno : 0;
}

/*
 * Makes one pass, and tells how many threads it had no room for. Returns 1 if there is to be
 * another: it adopted some, or the kernel had no task storage for some just then. 0 or -errno
 * otherwise.
 */
static int collector_adopt(struct collector *c, uint32_t *ret_left_out)
{
	struct truss_bpf__data_membership *data = c->skel->data_membership;
	uint32_t before = __atomic_load_n(&data->membership.adopted, __ATOMIC_ACQUIRE);
	int err;

	__atomic_store_n(&data->membership.left_out, 0, __ATOMIC_RELEASE);
	err = object_pass(c->skel->links.adopt_targets);
	*ret_left_out = __atomic_load_n(&data->membership.left_out, __ATOMIC_ACQUIRE);
	if (err)
		return err;
	return __atomic_load_n(&data->membership.adopted, __ATOMIC_ACQUIRE) != before ||
	       *ret_left_out;
}

/*
 * Passes until one adopts none. A thread that was made meanwhile without its fork handing on the
 * counting was found by the next pass, or finds out itself at its next call. At real-time priority, if we
 * may: whoever runs instead of a pass that is inside task storage cannot get any on that CPU. It takes a
 * fraction of a millisecond a thousand tasks.
 */
static int collector_adopt_all(struct collector *c)
{
	struct sched_param before = { 0 }, high = { .sched_priority = 1 };
	int policy = sched_getscheduler(0), more = 1;
	uint32_t left_out = 0;
	bool raised;

	sched_getparam(0, &before);
	raised = policy >= 0 && !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &high);
	for (int i = 0; i < MAX_PASSES && more > 0; i++) {
		more = collector_adopt(c, &left_out);
		/* Whoever was preempted there goes on. */
		if (left_out)
			clock_sleep_until(clock_mono_ns() + PASS_PAUSE_NS);
	}
	c->left_out = (uint32_t)max_u64(c->left_out, left_out);
	/* Without CAP_SYS_NICE the flag cannot be taken back, and need not be. */
	if (raised && sched_setscheduler(0, policy, &before))
		sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &before);
	return more < 0 ? more : 0;
}

/* Once a thread is adopted, it has a mark of its own that it takes through an exec. */
static int collector_adopt_targets(struct collector *c)
{
	int err = 0;

	collector_mark_again(c);
	for (int i = 0; i < MAX_EXECS && !err; i++) {
		err = collector_adopt_all(c);
		if (!collector_mark_again(c))
			return err;
	}
	/* It executes programs faster than they can be found. */
	c->left_out = (uint32_t)max_u64(c->left_out, 1);
	return err;
}

static bool collector_joins_pending(const struct collector *c)
{
	return !c->stop_ns &&
	       __atomic_load_n(&c->skel->data_membership->membership.joins, __ATOMIC_ACQUIRE);
}

/* Nothing wakes us at the last switch of a task that exits: most come soon, some take long. */
static int exit_patience_ms(const struct collector *c)
{
	uint64_t ms = above(clock_mono_ns(), c->exit_ns) / NS_PER_MS / EXIT_LOOKS;

	return (int)min_u64(max_u64(ms, EXIT_PAUSE_MS), LOOK_PAUSE_MS);
}

int collector_patience_ms(const struct collector *c)
{
	int patience = collector_live(c) ? LOOK_PAUSE_MS : -1;

	if (c->nr_ended_records)
		patience = sooner_ms(patience, exit_patience_ms(c));
	if (c->stacks)
		patience = sooner_ms(patience, call_stacks_patience_ms(c->stacks));
	return collector_joins_pending(c) ? sooner_ms(patience, JOIN_PAUSE_MS) : patience;
}

void collector_name_stacks(struct collector *c)
{
	if (c->stacks)
		names_begin(call_stacks_names(c->stacks));
}

bool collector_stacks_are_named(const struct collector *c)
{
	return !c->stacks || names_are_done(call_stacks_names(c->stacks));
}

void collector_count_names(const struct collector *c, struct name_counts *ret)
{
	*ret = (struct name_counts){ 0 };
	if (c->stacks)
		names_count(call_stacks_names(c->stacks), ret);
}

/*
 * At most one pass in JOIN_PAUSE_MS, at our own priority: whoever renames itself all day long must
 * not keep us busy. Threads that no pass has reached yet join at their next call.
 */
int collector_complete_joins(struct collector *c)
{
	uint32_t *joins = &c->skel->data_membership->membership.joins;
	uint32_t now = __atomic_load_n(joins, __ATOMIC_ACQUIRE);
	uint64_t now_ns = clock_mono_ns();
	uint32_t left_out;
	int more;

	if (!collector_joins_pending(c) || now_ns - c->last_join_ns < JOIN_PAUSE_MS * NS_PER_MS)
		return 0;
	c->last_join_ns = now_ns;
	more = collector_adopt(c, &left_out);
	if (!more) {
		/* Threads that no later pass will find room for are a loss. */
		c->left_out = (uint32_t)max_u64(c->left_out, left_out);
		__atomic_sub_fetch(joins, now, __ATOMIC_RELEASE);
	}
	return more < 0 ? more : 0;
}

static int collector_learn_running(struct collector *c)
{
	struct process *chosen __cleanup(freep) = NULL;
	struct running_code running = { .is_mapped_here = c->has_command, .hurried = c->hurried };
	int err = 0;

	/* What counts for long waits for all files: later their tables would be part of what counting costs. */
	if (!c->lasting)
		err = collector_list_chosen(c, &chosen, &running.nr_targets);
	if (err && err != -ENOENT)
		return err;
	running.targets = chosen;
	return call_stacks_learn_running(c->stacks, c->skel->links.list_code, &running);
}

int collector_start(struct collector *c, struct diag *d)
{
	int err = 0;

	/* After the targets were made, and before they are counted. */
	if (c->stacks && c->skel->links.list_code)
		err = collector_learn_running(c);
	if (err)
		return outcome(err, "make the unwind tables", d);
	if (c->nr_threads)
		qsort(c->threads, c->nr_threads, sizeof(*c->threads), target_thread_compare);
	misses_read(c, &c->misses_at_start);
	c->start_real_ns = clock_real_ns();
	c->start_ns = clock_mono_ns();
	__atomic_store_n(&c->skel->data_control->control.starting, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->skel->data_control->control.counting, 1, __ATOMIC_SEQ_CST);
	err = collector_adopt_targets(c);
	__atomic_store_n(&c->skel->data_control->control.starting, 0, __ATOMIC_SEQ_CST);
	return outcome(err, "list the tasks", d);
}

int collector_set_base(struct collector *c, const struct snapshot *snapshot)
{
	size_t bytes = snapshot->nr_processes * sizeof(*c->base);
	struct process *copy = malloc(bytes + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, snapshot->processes, bytes);
	free(c->base);
	c->base = copy;
	c->nr_base = snapshot->nr_processes;
	c->base_ns = snapshot->end_mono_ns;
	c->has_folded = false;
	return 0;
}

uint32_t collector_wants_threads(const struct collector *c, const struct collector_options *options)
{
	return tables_want_threads(&c->tables, c->skel, options);
}

const char *collector_worn_by(const struct collector *c)
{
	if (c->stacks && tables_are_nearly_full(c->skel, POOL_FILES))
		return "the numbers for files with code were nearly all given";
	if (c->stacks && tables_are_nearly_full(c->skel, POOL_SENT))
		return "nearly as many stacks were seen as can be kept";
	if (c->arguments && tables_are_nearly_full(c->skel, POOL_PATHS))
		return "the table of paths was nearly full";
	return NULL;
}

bool collector_lacks_unwinding(const struct collector *c)
{
	return c->stacks && (c->skel->rodata->frame_pointers || !c->kernel.has_unwinding);
}

void collector_tables(const struct collector *c, size_t *files, size_t *bytes)
{
	*files = *bytes = 0;
	if (c->stacks)
		call_stacks_tables(c->stacks, files, bytes);
}

size_t collector_processes(const struct collector *c)
{
	uint32_t *pids __cleanup(freep) = calloc(records_used(c), sizeof(*pids));
	size_t threads = 0, processes = 0;

	for (uint32_t i = 1; pids && i < records_used(c); i++) {
		const struct task_record *record = record_at(c, i);

		if (record && record_state(record) == RECORD_LIVE)
			pids[threads++] = record->pid;
	}
	if (threads)
		qsort(pids, threads, sizeof(*pids), compare_first_u32);
	for (size_t i = 0; i < threads; i++)
		processes += !i || pids[i] != pids[i - 1];
	return processes;
}

size_t collector_threads(const struct collector *c)
{
	return c->nr_threads;
}

int collector_fd(const struct collector *c)
{
	return ring_buffer__epoll_fd(c->events);
}

uint32_t collector_live(const struct collector *c)
{
	return __atomic_load_n(&c->skel->data_membership->membership.live, __ATOMIC_ACQUIRE);
}

void collector_step_down(struct collector *c, enum collector_step step)
{
	__atomic_store_n(&c->skel->data_control->control.calls_off, step >= STEP_NO_CALLS,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&c->skel->data_control->control.stacks_off, step >= STEP_NO_STACKS,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&c->skel->data_control->control.errnos_off, step >= STEP_NO_ERRNOS,
			 __ATOMIC_RELAXED);
}

void collector_stop(struct collector *c)
{
	if (c->stop_ns)
		return;
	/* While joins, ends and context switches are still seen. */
	c->stop_err = collector_reclaim(c) ?: object_pass(c->skel->links.read_usage);
	/* First the time: switches after it are seen. */
	c->stop_ns = clock_mono_ns();
	c->stop_real_ns = clock_real_ns();
	__atomic_store_n(&c->skel->data_control->control.counting, 0, __ATOMIC_SEQ_CST);
	/*
	 * A program that is running now may not have seen it: wait until all such are done. Where
	 * the kernel refuses, reading is as safe as while counting goes on.
	 */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	misses_read(c, &c->misses_at_stop);
}
