// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The programs that bpftruss attaches, each a few lines that find the task and hand on:
 *
 *   sys_enter, sys_exit       -> account.bpf.h: counts, errors, times, histogram of one call
 *   sched_switch              -> the task's time off the CPU; the end of one that exits
 *   fork, exec, exit          -> membership.bpf.h: who is counted, and what a task leaves open
 *   rename, cgroup move       -> the same, and what a process is grouped by
 *   cgroup mkdir              -> events.bpf.h: its name, which units are known by
 *   iter/task                 -> adopts the threads of processes that exist already; reads what
 *                                the kernel has booked for each, and what call it is in
 *
 *   losses.bpf.h   every way to give up        slots.bpf.h     (task, system call) -> counters
 *   pool.bpf.h     array indices               overflow.bpf.h  tasks without a record
 *   records.bpf.h  one record a task           selector.bpf.h  does a process match?
 *   tasks.bpf.h    what is kept of any task    task_fields.bpf.h  how a task is read
 *   arch.bpf.h     ABIs, special numbers       kernel_types.h  the kernel fields we read
 *   control.bpf.h  what user space switches    cost.bpf.h      what the programs cost
 *   fetch.bpf.h    what arguments point at
 *   calls.bpf.h    single calls, sent    arguments.bpf.h  which path or file a call is about
 *
 * User space maps the arrays and reads; counters only grow. Only calls.bpf.h sends something for each
 * call, and only if single calls are to be shown.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "account.bpf.h"
#include "control.bpf.h"
#include "cost.bpf.h"
#include "membership.bpf.h"
#include "overflow.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * There are two programs for each end of a system call. The plain ones leave out what options need (extras), since
 * even to load a setting that is off takes time at each call.
 */
static __always_inline int sys_enter(struct pt_regs *regs, s32 nr, const bool extras)
{
	struct task_struct *task = current_task();
	struct task_record *record;
	struct task_ref *ref = NULL;
	/* Without a record nobody needs it, but some compilers load it all the same. */
	u32 index = 0;
	u64 begin_ns;

	/* Most tasks of a host leave here, so it takes as few loads as it can. */
	if (!task_may_count(task) && !joins_pending())
		return 0;
	if (!counting())
		return 0;
	record = task_may_count(task) ? current_record(task, &index, &ref) : NULL;
	/* Two pointers one after the other: the compiler would "or" them, which no verifier takes. */
	if (!record && joins_pending() && !ref) {
		ref = task_join(task);
		index = ref ? ref->record : 0;
		record = index ? record_find(index) : NULL;
	}
	if (extras && nr_selectors && leave_pending(record, ref) && task_leave(task, record))
		return 0;
	if (!record && ref) {
		index = overflow_leave(task, ref);
		record = index ? record_find(index) : NULL;
	}
	if (record && !(extras && call_leave_out(task, record, nr))) {
		begin_ns = cost_begin(record->mark_cpu_ns);
		call_begin(task, record, index, regs, nr, extras);
		if (extras && (shows_calls || sends_slowest))
			call_note_shown(record, index, regs);
		if (extras && stacks)
			call_take_hidden_stack(record, regs);
		if (begin_ns) {
			cost_add(COST_ENTER, begin_ns);
			call_begin_later(record);
		}
	} else if (!record && ref) {
		overflow_begin(task, ref, nr);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long nr)
{
	return sys_enter(regs, nr, true);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter_plain, struct pt_regs *regs, long nr)
{
	return sys_enter(regs, nr, false);
}

/*
 * Runs after on_sys_enter where the kernel lets such a program sleep (since 7.2): reads what was not in
 * memory.
 */
SEC("tp_btf/sys_enter")
int BPF_PROG(fault_in, struct pt_regs *regs, long nr)
{
	struct task_struct *task = current_task();
	struct task_record *record;
	struct task_ref *ref = NULL;
	struct open_call *open;
	u32 index;

	if (!task_may_count(task) || !counting())
		return 0;
	record = current_record(task, &index, &ref);
	open = record && record->flags == RECORD_CALL_OPEN && call_is_shown(record->abi, record->nr)
		       ? open_call_at(index)
		       : NULL;
	if (!open || !open->failed || calls_are_off())
		return 0;
	call_fault_in(open, index);
	/* If it slept across the stop, its switches were not seen. */
	if (counting())
		call_begin_later(record);
	return 0;
}

static __always_inline int sys_exit(struct pt_regs *regs, s64 result, const bool extras)
{
	struct task_struct *task = current_task();
	struct task_record *record;
	struct task_ref *ref = NULL;
	u64 begin_ns;
	u32 index;

	if (extras && selects_user && result == 0 && counting())
		user_changed(task, regs_nr(regs));
	if (!task_may_count(task) || !counting())
		return 0;
	record = current_record(task, &index, &ref);
	if (record) {
		begin_ns = 0;
		if (!(extras && call_was_left_out(task, record, regs, result))) {
			begin_ns = cost_begin(record->mark_cpu_ns);
			call_end(task, record, index, regs, result, extras);
		}
		if (extras && stacks)
			layout_follow(task, regs, result);
		if (begin_ns)
			cost_add(COST_EXIT, begin_ns);
	} else if (ref) {
		overflow_end(task, ref, regs, result);
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	return sys_exit(regs, result, true);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_plain, struct pt_regs *regs, long result)
{
	return sys_exit(regs, result, false);
}

/* The sample begins when the clock was read, and what came before is done again. */
static __noinline int switch_cost_add(struct task_struct *first, u64 begin_ns)
{
	task_ref_find(first);
	bpf_ktime_get_ns();
	return cost_add(COST_SWITCH, begin_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct task_struct *first = prev;
	struct task_record *record;
	struct task_ref *ref;
	u64 now = 0;

	if (!counting())
		return 0;
	ref = task_ref_find(prev);
	/* A later switch makes good for any but the last. */
	if (lookups_can_fail && task_is_dead(prev) && ref_was_refused(ref, prev))
		loss_add(LOSS_LOOKUP_BUSY);
	record = ref_record(ref, prev);
	if (record) {
		now = bpf_ktime_get_ns();
		clock_stop(prev, record, now);
		record_settle_outside(prev, record);
		if (task_is_dead(prev))
			task_die(prev, ref);
		else if (stacks && kernel_stacks && !stacks_are_off() &&
			 record->flags == RECORD_CALL_OPEN &&
			 call_is_stacked(record->abi, record->nr) && task_goes_to_sleep(prev))
			record->kernel_stack_id = kernel_stack_take(ctx);
	} else if (task_is_ours(ref)) {
		ours_leaves(prev, ref);
	}
	ref = task_ref_find(next);
	record = ref_record(ref, next);
	if (record) {
		if (!now) {
			now = bpf_ktime_get_ns();
			first = next;
		}
		clock_go(record, now);
	} else if (task_is_ours(ref)) {
		ours_comes(next, ref);
	}
	if (now && cost_is_sampled(now))
		switch_cost_add(first, now);
	return 0;
}

/*
 * Notes who made a task, which is the current one. It is looked up again: verifiers would look at twice as much
 * in on_fork if that kept what it knows of it.
 */
LOOKED_AT_ONCE int fork_note(u32 index)
{
	struct task_record *parent = task_record_find(current_task());

	if (parent && index)
		calls_note_parent(index, parent->pid);
	return 0;
}

/* Nothing can be kept with a new task, or nobody knows whether it counts. */
static __always_inline int fork_unseen(bool is_thread)
{
	/* A thread finds out at its first call; nobody looks for a process. */
	if (is_thread)
		joins_announce();
	else if (nr_selectors || *(volatile u32 *)&control.follows)
		process_left_out();
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	bool same_process = child->tgid == parent->tgid, counted;
	struct task_ref *parent_ref, *ref;
	u32 inherited;

	if (!counting())
		return 0;
	parent_ref = task_ref_get(parent);
	if (ref_was_refused(parent_ref, parent))
		return fork_unseen(same_process);
	counted = parent_ref && parent_ref->flags & TASK_COUNTED;
	inherited = counted ? parent_ref->flags & (TASK_TARGET | TASK_FOLLOW) : 0;
	if (!same_process && !(inherited & TASK_FOLLOW)) {
		inherited = 0;
		counted = nr_selectors && process_selected(child);
	}
	if (!counted)
		return 0;
	ref = task_ref_create(child);
	if (!ref)
		return fork_unseen(same_process);
	if (!same_process && !inherited)
		ref_choose(ref);
	if (!task_claim(ref))
		return 0;
	if (stacks && !same_process)
		layout_inherit(parent, ref);
	record_start(child, ref, false, RECORD_NEW_CHILD, -1, NATIVE_ABI);
	if (shows_calls)
		fork_note(ref->record);
	ref_publish(ref, inherited);
	return 0;
}

/* The memory that an exec points at can be read now; when the exec ends, it is gone. */
static __always_inline void exec_note(struct task_struct *task, struct linux_binprm *bprm)
{
	struct task_ref *ref = task_ref_get(task);
	struct task_record *record = ref && ref->record ? record_find(ref->record) : NULL;
	struct open_call *open;
	u64 filename;

	if (!record || record->flags != RECORD_CALL_OPEN ||
	    !call_is_shown(record->abi, record->nr) || !call_is_exec(record->abi, record->nr))
		return;
	open = open_call_at(ref->record);
	if (!open || !open->failed)
		return;
	/* Verifiers let no function have these addresses, so they are passed as numbers. */
	filename = (u64)BPF_CORE_READ(bprm, filename);
	call_read_exec(ref->record, filename, filename != (u64)BPF_CORE_READ(bprm, interp));
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct task_record *record;
	struct task_ref *ref;

	if (!counting())
		return 0;
	if (shows_calls)
		exec_note(task, bprm);
	if (stacks)
		layout_forget(task);
	if (nr_selectors)
		exec_reconsider(task);
	ref = task_ref_look_up(task);
	if (!ref || !(ref->flags & TASK_COUNTED))
		return 0;
	record = ref->record ? record_find(ref->record) : NULL;
	/* Outside of any call: a program that the kernel starts, whose first return ends none. */
	if (!record) {
		if (!ref->state || ref->state & RECORD_NEW_CHILD)
			ref->state = RECORD_SKIP_EXIT;
		return 0;
	}
	if (record->kernel_pid != (u32)task->pid)
		return exec_split(task, ref);
	if (!record->flags || record->flags & RECORD_NEW_CHILD)
		record->flags = RECORD_SKIP_EXIT;
	record_follow(record, task);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct task_ref *ref = task_ref_get(task);

	if (ref && ref->flags & TASK_COUNTED && counting())
		task_exit(task, ref);
	return 0;
}

/*
 * Fired before the name changes: the new one is the argument. Threads' names choose nothing, and
 * those given by an exec are left to on_exec.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	struct comm_text comm = {};
	struct task_record *record;

	if (!counting() || task_in_exec(task))
		return 0;
	bpf_probe_read_kernel_str(comm.bytes, sizeof(comm.bytes), name);
	/* A process is called as its first thread is. */
	if (nr_selectors && task->pid == task->tgid)
		process_mark(task, task_selected(task, &comm), true);
	record = member_record(task);
	if (record)
		record_set_comm(record, &comm);
	return 0;
}

/* Fired after the move. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct task_record *record;

	if (!counting() || task->pid != task->tgid)
		return 0;
	if (nr_selectors)
		process_reconsider(task, true);
	record = member_record(task);
	if (record)
		record_set_cgroup(record, task_cgroup_id(task));
	return 0;
}

/* Runs outside of counting, too: it may be the first cgroup of a process to be counted. */
SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_cgroup_made, struct cgroup *cgroup, const char *path)
{
	event_send_cgroup(cgroup, path);
	return 0;
}

/*
 * Adopts every thread of the processes that are marked or chosen. Run until a pass adopts none: by
 * then each thread was adopted here or by on_fork.
 */
SEC("iter/task")
int adopt_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *leader;
	struct task_ref *leader_ref, *ref;

	if (!task || task->flags & PF_EXITING || task_makes_no_calls(task))
		return 0;
	leader = task->group_leader;
	/*
	 * Later on, this would see a name that on_rename knows to be about to change. A leader that has ended is not
	 * visited, but its threads live on under its name.
	 */
	if (nr_selectors && *(volatile u32 *)&control.starting &&
	    (task->pid == task->tgid || leader->flags & PF_EXITING))
		process_reconsider(leader, false);
	leader_ref = task_ref_find(leader);
	if (ref_was_refused(leader_ref, leader)) {
		__sync_fetch_and_add(&membership.left_out, 1);
		return 0;
	}
	/* Whoever was in the way may have gone on before that was asked. */
	if (lookups_can_fail && !leader_ref)
		leader_ref = task_ref_get(leader);
	if (!process_is_wanted(leader_ref))
		return 0;
	ref = task_ref_create(task);
	if (!ref) {
		__sync_fetch_and_add(&membership.left_out, 1);
		return 0;
	}
	if (!task_claim(ref))
		return 0;
	membership.adopted++;
	task_adopt(task, ref, leader_ref->flags);
	/* Its exec took over from the leader before it was counted: its next call asks whether it is chosen. */
	if (task->group_leader != leader)
		__sync_fetch_and_add(&membership.leaves, 1);
	return 0;
}

/* Notes what the kernel has booked for each thread that is counted, and checks its clock. */
SEC("iter/task")
int read_usage(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_record *record;

	if (!task || !task_may_count(task))
		return 0;
	record = task_record_find(task);
	if (!record)
		return 0;
	clock_check(task, record);
	usage_copy(&record->usage, task);
	/* on_cgroup_attach hears of the first thread only, which stays where it was once it has ended. */
	if (task->group_leader->flags & PF_EXITING)
		record_set_cgroup(record, task_cgroup_id(task));
	return 0;
}

static __always_inline u64 task_switches(struct task_struct *task)
{
	return *(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw;
}

/* It may wake up at any moment: what was read is of one call if it did not run meanwhile. */
static __always_inline void listed_arguments(struct listed_thread *listed, struct task_struct *task)
{
	struct user_regs at;
	struct pt_regs *regs;

	if (no_task_pt_regs || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return;
	listed->switches = task_switches(task);
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	at = regs_to_walk(regs);
	regs_arguments(regs, listed->abi, listed->arguments);
	listed->ip = at.ip;
	listed->sp = at.sp;
	barrier();
	if (task->on_cpu || task_switches(task) != listed->switches)
		return;
	listed->bp = at.bp;
	listed->di = at.di;
	listed->is_still = 1;
}

/* Tells which call a thread is in; its registers hold still as long as it sleeps. */
static __always_inline void listed_fill(struct listed_thread *listed, struct task_struct *task,
					struct task_record *record)
{
	const volatile struct task_record *seen = record;
	const u64 enter_ns = seen->enter_ns, now = bpf_ktime_get_ns();
	const s32 nr = seen->nr;
	const u16 abi = seen->abi;

	/* In the order in which a call stores them: if another one has begun since, it was in none in between. */
	listed->is_exact = seen->flags & RECORD_CALL_OPEN && seen->enter_ns == enter_ns ? 1 : 0;
	if (!listed->is_exact && !RECORD_IN_EARLY_CALL(record)) {
		listed->state = LISTED_OUTSIDE;
		if (task_state(task) & TASK_STOPS)
			listed->state = LISTED_STOPPED;
		else if (record->flags & RECORD_OPEN_EARLY || task->on_cpu)
			listed->state = LISTED_AWAKE;
		return;
	}
	listed->nr = nr;
	listed->abi = abi;
	listed->age_ns = now - (listed->is_exact ? enter_ns : record->start_ns - record->slept_ns);
	if (!task->on_cpu)
		listed_arguments(listed, task);
	/* They are those of the call whose number was read. */
	stores_order();
	if (listed->is_exact && seen->enter_ns != enter_ns)
		listed->is_still = 0;
}

/* Lists what each counted thread is doing. */
SEC("iter/task")
int list_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct listed_thread listed = {};
	struct task_record *record;

	if (!task || !task_may_count(task))
		return 0;
	record = ref_record(task_ref_get(task), task);
	if (!record || record->flags & RECORD_EXITING)
		return 0;
	listed.pid = record->pid;
	listed.tid = record->tid;
	listed.ends_at = (u64)task->clear_child_tid;
	comm_copy((struct comm_text *)listed.comm, task);
	listed_fill(&listed, task, record);
	bpf_seq_write(ctx->meta->seq, &listed, sizeof(listed));
	return 0;
}

/* Every file whose code some process has mapped. */
SEC("iter/task_vma")
int list_code(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *task = ctx->task;
	struct pending_event event = {};
	struct inode_file *file;

	if (!task || !vma || !(vma->vm_flags & VM_EXEC) || !vma->vm_file)
		return 0;
	if (task->pid != task->tgid && task->group_leader->mm)
		return 0;
	event.pid = pid_with_memory(task);
	event.start = vma->vm_start;
	event.end = vma->vm_end;
	inode_key_of(vma, &event.key);
	file = event.pid ? file_find(&event.key, task) : NULL;
	if (!file || file_was_asked(file))
		return 0;
	event.file = file->number;
	if (!bpf_seq_write(ctx->meta->seq, &event, sizeof(event)))
		file->asked = FILE_ASKED;
	return 0;
}

/* Lists the elements that the next run of take_back takes back. */
struct given given SEC(".data.given");

LOOKED_AT_ONCE int given_take_back(u32 i)
{
	u32 index = given.elements[i & (MAX_GIVEN - 1)].index;
	u32 share = given.elements[i & (MAX_GIVEN - 1)].share;

	switch (given.elements[i & (MAX_GIVEN - 1)].kind) {
	case POOL_RECORDS:
		pool_return(&returned_records, POOL_RECORDS, share, index);
		break;
	case POOL_SLOTS:
		pool_return(&returned_slots, POOL_SLOTS, share, index);
		break;
	case POOL_LINES:
		pool_return(&returned_lines, POOL_LINES, share, index);
		break;
	case POOL_TALLIES:
		pool_return(&returned_tallies, POOL_TALLIES, share, index);
		break;
	case POOL_STACKS:
		if (stacks)
			pool_return(&returned_stacks, POOL_STACKS, share, index);
	}
	return 0;
}

/* User space runs it without attaching it, to give back many elements at once. */
SEC("raw_tp")
int take_back(struct bpf_raw_tracepoint_args *ctx)
{
	for (u32 i = 0; i < MAX_GIVEN && i < *(volatile u32 *)&given.count; i++)
		given_take_back(i);
	return 0;
}

/* Never attached: user space runs it, to learn by which key the programs know a file of its own. */
SEC("raw_tp")
int identify_code(struct bpf_raw_tracepoint_args *ctx)
{
	return file_identify(ctx->args[0], ctx->args[1]);
}
