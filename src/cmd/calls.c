/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs `bpftruss` without -c: prints each call that ends, as truss does, without stopping anybody. What it
 * does not show it says: where calls of a thread are missing, and at the end how many in all.
 */
#include "base/clock.h"
#include "calls/order.h"
#include "cmd/reporting.h"
#include "cmd/session.h"
#include "syscalls/names.h"

/* From one look at the rings to the next. */
#define LOOK_NS (10 * NS_PER_MS)

struct view {
	struct session session;
	struct output output;
	struct order *order;
	uint64_t shown;   /* calls */
	uint64_t passed;  /* by: their path did not match */
	uint64_t lost;    /* that gaps tell of */
	uint64_t last_sleepers_ns;
};

static void view_done(struct view *view)
{
	session_done(&view->session);
	output_done(&view->output);
	order_free(view->order);
}

static void show(void *context, const struct call_record *record, const struct order_gap *gap)
{
	struct view *view = context;
	char name[SYSCALL_NAME_MAX];
	FILE *out = view->output.stream;

	if (gap->missing)
		fprintf(out, "... %lu missing\n", gap->missing);
	syscall_name(record->abi, record->nr, name, sizeof(name));
	fprintf(out, "%u/%u #%lu %s(%#llx, %#llx, %#llx) = %lld f%x wall %llu\n", record->pid, record->tid, (long)record->number, name,
		record->arguments[0], record->arguments[1], record->arguments[2], record->result, record->flags, record->wall_ns);
	const char *at = (const char *)(record + 1), *end = (const char *)record + record->size;
	while (at < end) {
		const struct call_piece *piece = (const void *)at;
		fprintf(out, "   arg %u part %u flags %x size %u \"%.*s\"\n", piece->argument, piece->part, piece->flags, piece->size,
			(int)piece->size, (const char *)(piece + 1));
		at += sizeof(*piece) + ((piece->size + 7) & ~7);
	}
	view->shown++;
}

static int take(void *context, const struct call_record *record)
{
	struct view *view = context;
	int err = order_add(view->order, record);

	return err == -ENOMEM ? 0 : err;
}

static int look(struct view *view, struct diag *d)
{
	uint64_t horizon_ns = clock_mono_ns();
	int err = collector_take_calls(view->session.collector, horizon_ns, take, view);

	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot take calls: %s", strerror(-err));
	order_release(view->order, horizon_ns);
	return 0;
}

static int view_run(struct view *view, struct diag *d)
{
	enum session_event event;
	int err;

	do {
		session_beat(&view->session, LOOK_NS);
		err = session_wait(&view->session, &event, d);
		if (!err && event == SESSION_OVER)
			collector_stop(view->session.collector);
		if (!err)
			err = look(view, d);
	} while (!err && event != SESSION_OVER);
	return err;
}

static int calls_run(const struct options *o, struct diag *d)
{
	struct view view __cleanup(view_done) = { 0 };
	struct call_totals totals;
	int err;

	session_init(&view.session, o);
	err = output_open(&view.output, o, d);
	if (!err && order_new(ORDER_DEFAULT, show, &view, &view.order))
		err = diag_oom(d);
	if (!err)
		err = session_open(&view.session, d);
	if (!err)
		err = session_begin(&view.session, d);
	if (err)
		return err;
	session_start(&view.session, o->duration_ns, 0);
	err = view_run(&view, d);
	if (err)
		return err;
	collector_call_totals(view.session.collector, &totals);
	fprintf(stderr, "shown %lu sent %llu left_out %llu lost %llu\n", view.shown, totals.sent, totals.left_out, totals.lost);
	if (!view.session.command.pid)
		return STATUS_OK;
	collector_free(steal_ptr(&view.session.collector));
	return session_wait_command(&view.session);
}

const struct verb calls_verb = {
	"",
	VERB_CALLS,
	calls_run,
	"print the system calls of processes or of a command",
	"usage: bpftruss [options] -p PID[,PID...]\n"
	"       bpftruss [options] COMMAND [ARG...]\n"
	"       bpftruss VERB [options]",
	"",
	"",
};
