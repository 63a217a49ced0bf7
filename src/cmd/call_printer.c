/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns records of calls into lines, and counts the calls that get none. */
#include "cmd/call_printer.h"

#include <fcntl.h>

#include "base/clock.h"
#include "calls/descriptors.h"
#include "calls/filter.h"
#include "calls/order.h"
#include "calls/replaced.h"
#include "calls/rests.h"
#include "calls/strace.h"
#include "calls/truss.h"
#include "collect/descriptor_links.h"
#include "json/call.h"
#include "report/report.h"

/* Remembers what was shown of a thread. */
struct thread_shown {
	uint64_t last_ns;  /* CLOCK_MONOTONIC end of its last call */
	uint64_t sleeping; /* number of the call that was shown as sleeping; 0: none */
	uint32_t tid;
};

/* The amount of text that is collected before it is written. */
#define FLUSH_BYTES ((size_t)64 << 10)

struct call_printer {
	const struct options *options;
	struct collector *collector;
	struct output *output;
	struct order *order; /* owned, as what follows */
	struct rests *rests; /* of buffers; NULL: none are sent */
	struct descriptor_source source;
	struct descriptors *descriptors;
	struct call_decoder *decoder;
	struct syscall_set *raw, *verbose;
	struct line line;
	struct call_filter filter;
	const char *names[MAX_SELECTORS]; /* that the filter wants */
	struct decode_options decode;
	struct truss_options truss;
	int64_t mono_to_real_ns;
	struct thread_shown *threads; /* by the index of their records */
	size_t nr_threads;
	bool is_partial; /* calls that were not asked for are not even counted */
	uint64_t shown;
	uint64_t passed; /* over: their path does not match, or their number was not asked for */
	uint64_t unread; /* behind --max-events */
	/* Only for recorded calls. */
	const struct recorder *recorder; /* borrowed; NULL: calls are shown as they come */
	struct replaced *replaced;       /* owned: by them */
	uint64_t now_ns;                 /* when the one ended that is shown */
	uint64_t from_ns;                /* those that ended before are too old */
	uint64_t unwanted;               /* so are so many of those to come */
	uint64_t too_old;
	uint64_t asking_ns;        /* it took so long to ask for descriptors */
	int64_t sockets_ns;        /* that may go into looking up sockets now; negative: a debt */
	uint64_t sockets_asked_ns; /* CLOCK_MONOTONIC when that was found out */
	uint32_t unexamined;       /* threads that sleep */
	int err;                   /* of writing */
	char fd_name[PATH_MAX + 1];
};

/* --- names ---------------------------------------------------------------------------------------- */

static struct fd_text fd_name(void *context, const struct call_record *record, int fd, bool is_made)
{
	struct call_printer *p = context;
	struct descriptor_name name;

	/* AT_FDCWD needs no name, but strace gives it one. */
	if (fd == AT_FDCWD && p->options->calls.format == CALL_FORMAT_TRUSS)
		return (struct fd_text){ .text = NULL };
	if (!descriptors_name(p->descriptors, record->pid, fd,
			      is_made ? DESCRIPTOR_MADE : DESCRIPTOR_USED, &name) ||
	    name.length >= sizeof(p->fd_name))
		return (struct fd_text){ .text = NULL };
	memcpy(p->fd_name, name.text, name.length);
	p->fd_name[name.length] = 0;
	return (struct fd_text){ p->fd_name, name.flags & DESCRIPTOR_LATE };
}

/* Nothing is recorded while a recording is printed, so lookups end after this time. */
#define ASKING_NS NS_PER_SEC

static bool may_ask(const struct call_printer *p, uint32_t pid, int fd)
{
	if (!p->recorder)
		return true;
	/* The number may belong to another file or another process by now. */
	return p->asking_ns < ASKING_NS && !replaced_has(p->replaced, pid, fd) &&
	       process_is_so_old(pid, p->now_ns);
}

static ssize_t read_link(void *context, uint32_t pid, int fd, char *buf, size_t size)
{
	struct call_printer *p = context;
	uint64_t start_ns = clock_mono_ns();
	ssize_t length = -EBUSY;

	if (may_ask(p, pid, fd))
		length = descriptor_link_read(NULL, pid, fd, buf, size);
	p->asking_ns += clock_mono_ns() - start_ns;
	return length;
}

/*
 * A look-up reads a line for each socket of the host: it gets at most a fifth of the time, or a
 * host with very many sockets would hold up the rings. A socket that is not looked up is
 * "socket:[77]".
 */
#define SOCKETS_SHARE   5
#define SOCKETS_MOST_NS (int64_t)(NS_PER_SEC / 10)

static bool may_ask_for_socket(struct call_printer *p, uint64_t now_ns)
{
	p->sockets_ns += (int64_t)((now_ns - p->sockets_asked_ns) / SOCKETS_SHARE);
	if (p->sockets_ns > SOCKETS_MOST_NS)
		p->sockets_ns = SOCKETS_MOST_NS;
	p->sockets_asked_ns = now_ns;
	return p->sockets_ns > 0;
}

static ssize_t read_socket(void *context, uint32_t pid, int fd, uint64_t inode, char *buf,
			   size_t size)
{
	struct call_printer *p = context;
	uint64_t start_ns = clock_mono_ns(), took_ns;
	ssize_t length = -EBUSY;

	if (may_ask(p, pid, fd) && may_ask_for_socket(p, start_ns))
		length = socket_describe(NULL, pid, fd, inode, buf, size);
	took_ns = clock_mono_ns() - start_ns;
	p->asking_ns += took_ns;
	p->sockets_ns -= (int64_t)took_ns;
	return length;
}

static struct thread_shown *thread_of(struct call_printer *p, const struct call_record *record)
{
	struct thread_shown *thread;
	size_t size = (size_t)record->record + 1;

	if (size > p->nr_threads) {
		struct thread_shown *more = reallocarray(p->threads, size * 2, sizeof(*more));

		if (!more)
			return NULL;
		memset(more + p->nr_threads, 0, (size * 2 - p->nr_threads) * sizeof(*more));
		p->threads = more;
		p->nr_threads = size * 2;
	}
	thread = &p->threads[record->record];
	/* A thread whose first call sleeps is seen at each look with number 1. */
	if (thread->tid != record->tid || (record->number == 1 && thread->last_ns))
		*thread = (struct thread_shown){ .tid = record->tid };
	return thread;
}

/* --- what is shown -------------------------------------------------------------------------------- */

static void print_gap(struct call_printer *p, const struct call_record *record,
		      const struct order_gap *gap)
{
	struct line *line = &p->line;

	if (p->options->calls.format == CALL_FORMAT_JSON) {
		fprintf(p->output->stream, "{\"pid\":%u,\"tid\":%u,\"not_shown\":%" PRIu64 "}\n",
			record->pid, record->tid, gap->missing);
		return;
	}
	/* Parsers of strace output know no other kind of line for this. */
	line_put_word(line, p->options->calls.format == CALL_FORMAT_STRACE ? "strace: " : "… ");
	line_put_natural(line, gap->missing);
	line_put_word(line, gap->missing == 1 ? " call" : " calls");
	line_put_word(line, " of thread ");
	line_put_natural(line, record->tid);
	line_put_word(line, " not shown\n");
}

/* Whether --dump names a descriptor of the call. */
static bool uses_dumped(const struct call_record *record, uint64_t dumped)
{
	const struct call_arguments *arguments = call_arguments(record->abi, record->nr);

	for (size_t i = 0; dumped && i < arguments->count; i++) {
		uint64_t fd = record->arguments[i];

		if (arguments->arguments[i].kind == ARG_FD && fd < 64 && dumped >> fd & 1)
			return true;
	}
	return false;
}

static void print_json(struct call_printer *p, const struct call_record *record,
		       const struct stack *stack)
{
	int64_t real_ns = (int64_t)record->end_ns + p->mono_to_real_ns;

	if (!p->err)
		p->err = report_call_json(p->decoder, record, real_ns, stack, p->output->stream);
}

static void print_call(struct call_printer *p, const struct call_record *record,
		       const struct thread_shown *thread)
{
	const struct stack_table *table = p->collector ? collector_stacks(p->collector) : NULL;
	const struct stack *stack =
		table && record->stack_id ? stack_table_find(table, record->stack_id) : NULL;

	switch (p->options->calls.format) {
	case CALL_FORMAT_JSON:
		print_json(p, record, stack);
		return;
	case CALL_FORMAT_STRACE:
		strace_put_call(p->decoder, record, p->mono_to_real_ns, &p->line);
		break;
	default:
		truss_put_call(p->decoder, record, &p->truss, thread ? thread->last_ns : 0,
			       &p->line);
		if (uses_dumped(record, p->options->calls.dumped))
			truss_put_buffers(p->decoder, record, p->rests, &p->line);
	}
	if (stack)
		report_put_stack(&p->line, stack, "        ");
}

/* Writes the text that was collected so far. */
static void printer_write(struct call_printer *p)
{
	if (p->line.failed && !p->err)
		p->err = -ENOMEM;
	if (!p->err && fwrite(p->line.bytes, 1, p->line.used, p->output->stream) != p->line.used)
		p->err = -(errno ?: EIO);
	line_clear(&p->line);
}

/* Whether a call is recent enough for --last. */
static bool record_is_recent(struct call_printer *p, const struct call_record *record)
{
	bool is_recent = record->end_ns >= p->from_ns && !p->unwanted;

	if (p->unwanted && call_filter_passes(&p->filter, record))
		p->unwanted--;
	return is_recent;
}

/* In a recording, nobody knows what came before the first record of a thread. */
static void show_gap(struct call_printer *p, const struct call_record *record,
		     const struct order_gap *gap, const struct thread_shown *thread)
{
	struct order_gap whole = *gap;

	/* In a daemon's recording, no condition has left any out. */
	if (!p->collector)
		whole.missing += gap->left_out;
	if (whole.missing && call_filter_has_thread(&p->filter, record) &&
	    !(p->recorder && !(thread && thread->last_ns)))
		print_gap(p, record, &whole);
}

static void show_record(struct call_printer *p, const struct call_record *record,
			const struct order_gap *gap)
{
	struct thread_shown *thread;

	if (record->flags & CALL_NONE) {
		if (gap->missing && !call_printer_is_full(p))
			print_gap(p, record, gap);
		/* Most often its process has ended, too; of one that has not /proc knows the same. */
		if (record->tid == record->pid)
			descriptors_forget(p->descriptors, record->pid);
		return;
	}
	thread = thread_of(p, record);
	p->now_ns = record->end_ns;
	descriptors_follow(p->descriptors, record,
			   p->is_partial || gap->missing || gap->left_out || gap->is_unknown);
	if (call_printer_is_full(p)) {
		p->unread++;
		return;
	}
	if (!record_is_recent(p, record)) {
		p->too_old++;
	} else {
		show_gap(p, record, gap, thread);
		if (call_filter_passes(&p->filter, record)) {
			print_call(p, record, thread);
			p->shown++;
		} else {
			p->passed++;
		}
	}
	if (thread)
		thread->last_ns = record->end_ns;
	if (p->line.used > FLUSH_BYTES)
		printer_write(p);
}

static void show(void *context, const struct call_record *record, const struct order_gap *gap)
{
	struct call_printer *p = context;

	show_record(p, record, gap);
	/* The time of a CALL_NONE is not that of a call. */
	if (p->rests && !(record->flags & CALL_NONE))
		rests_forget(p->rests, record);
}

/* --- the parts of a run --------------------------------------------------------------------------- */

/* -x and -v apply to all calls. */
static int all_calls(bool wanted, struct syscall_set **ret, struct diag *d)
{
	return wanted ? syscall_set_parse("all", ret, d) : 0;
}

/* Checks the conditions that the programs have not decided. */
static void printer_set_filter(struct call_printer *p)
{
	const struct options *o = p->options;
	struct call_filter *filter = &p->filter;

	*filter = (struct call_filter){ .calls = o->output.only, .path = o->calls.path };
	if (p->collector)
		return;
	filter->conditions = &o->calls.view.conditions;
	filter->slower_ns = o->collector.slower_than_ns;
	filter->pids = o->targets.pids;
	filter->nr_pids = o->targets.nr_pids;
	filter->names = p->names;
	filter->nr_names = o->targets.nr_selectors;
	for (size_t i = 0; i < o->targets.nr_selectors; i++)
		p->names[i] = o->targets.selectors[i].text;
}

static void printer_configure(struct call_printer *p)
{
	const struct call_options *calls = &p->options->calls;

	printer_set_filter(p);
	p->decode = (struct decode_options){ fd_name, p, p->raw, p->verbose, 0 };
	/* What is dumped is read beyond what a line has. */
	if (calls->dumped)
		p->decode.data_bytes = calls->limits_strings ? calls->string_bytes : DEFAULT_DATA;
	p->truss = (struct truss_options){ .shows_thread = calls->threads,
					   .shows_time = calls->elapsed,
					   .shows_delta = calls->delta,
					   .shows_cpu = calls->system_time,
					   .is_coloured = output_has_color(p->output->stream) };
	p->is_partial =
		p->collector && (p->options->output.only || p->options->collector.slower_than_ns);
	p->mono_to_real_ns = clock_real_ns() - (int64_t)clock_mono_ns();
}

int call_printer_new(const struct options *o, struct collector *collector, struct output *output,
		     struct call_printer **ret, struct diag *d)
{
	struct call_printer *p __cleanup(call_printer_freep) = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return diag_oom(d);
	p->source = (struct descriptor_source){
		.context = p,
		.read_link = read_link,
		.read_socket = read_socket,
		.sees_our_pids = process_sees_our_pids,
	};
	p->options = o;
	p->collector = collector;
	p->output = output;
	err = all_calls(o->calls.raw, &p->raw, d) ?: all_calls(o->calls.structs, &p->verbose, d);
	if (err)
		return err;
	printer_configure(p);
	if (order_new(ORDER_DEFAULT, show, p, &p->order) ||
	    (o->calls.view.whole_fds && rests_new(&p->rests)) ||
	    descriptors_new(&p->source, &p->descriptors) ||
	    call_decoder_new(&p->decode, &p->decoder))
		return diag_oom(d);
	*ret = steal_ptr(&p);
	return 0;
}

void call_printer_free(struct call_printer *p)
{
	if (!p)
		return;
	order_free(p->order);
	rests_free(p->rests);
	descriptors_free(p->descriptors);
	replaced_free(p->replaced);
	call_decoder_free(p->decoder);
	syscall_set_free(p->raw);
	syscall_set_free(p->verbose);
	line_done(&p->line);
	free(p->threads);
	free(p);
}

/* A command may end before its first call is seen: we know what it inherits. */
static void learn_inherited(struct call_printer *p, uint32_t pid)
{
	static const int fds[] = { DESCRIPTOR_CWD, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		descriptors_inherit(p->descriptors, pid, fds[i]);
}

void call_printer_begin(struct call_printer *p, uint64_t start_ns, uint32_t command)
{
	const struct options *o = p->options;

	if (command)
		learn_inherited(p, command);

	p->err = output_begin(p->output, o);
	p->output->begun = true;
	p->truss.start_ns = start_ns;
	p->truss.shows_thread |= o->follow || o->targets.nr_pids > 1 || o->targets.nr_selectors ||
				 (p->collector && collector_live(p->collector) > 1);
}

int call_printer_add(struct call_printer *p, const struct call_record *record)
{
	int err = 0;

	if (record->flags & CALL_REST)
		rests_add(p->rests, record);
	else
		err = order_add(p->order, record);

	/* Without memory the record is missing, and is reported as such. */
	return err == -ENOMEM ? 0 : err;
}

void call_printer_show(struct call_printer *p, uint64_t horizon_ns)
{
	/* A record appears a little after its call has ended. */
	order_release(p->order, horizon_ns == UINT64_MAX ? horizon_ns : horizon_ns - NS_PER_MS);
}

static int show_sleeper(void *printer, const struct call_record *record)
{
	struct call_printer *p = printer;
	struct thread_shown *thread = thread_of(p, record);

	if (p->options->calls.format != CALL_FORMAT_TRUSS || call_printer_is_full(p) || !thread ||
	    thread->sleeping == record->number || !call_filter_passes(&p->filter, record) ||
	    !call_conditions_hold(&p->options->calls.view.conditions, record))
		return 0;
	thread->sleeping = record->number;
	descriptors_begin(p->descriptors, above(record->end_ns, record->wall_ns));
	p->truss.is_sleeping = true;
	truss_put_call(p->decoder, record, &p->truss, thread->last_ns, &p->line);
	p->truss.is_sleeping = false;
	return 0;
}

void call_printer_show_sleepers(struct call_printer *p, uint64_t started_ns, bool only_new)
{
	collector_take_sleepers(p->collector, started_ns, show_sleeper, p);
	collector_take_early_sleepers(p->collector, started_ns, p->filter.calls, only_new,
				      show_sleeper, p, &p->unexamined);
}

bool call_printer_is_full(const struct call_printer *p)
{
	return p->options->calls.max_events && p->shown >= p->options->calls.max_events;
}

/* --- what was recorded ---------------------------------------------------------------------------- */

/*
 * Looks at the whole recording before any of it is shown. Returns how many of the chosen calls
 * ended by a moment.
 */
static uint64_t recorder_look_through(struct call_printer *p, const struct recorder *recorder,
				      uint64_t moment_ns)
{
	uint64_t position = 0, chosen = 0;
	struct recorder_entry entry;
	uint32_t tid = 0;

	while (recorder_next(recorder, &position, &entry)) {
		if (!entry.record)
			continue;
		replaced_note(p->replaced, entry.record);
		chosen += entry.record->end_ns <= moment_ns &&
			  call_filter_passes(&p->filter, entry.record);
		if (!call_filter_has_thread(&p->filter, entry.record))
			continue;
		p->truss.shows_thread |= tid && tid != entry.record->tid;
		tid = entry.record->tid;
	}
	replaced_settle(p->replaced);
	return chosen;
}

/* Numbers of calls begin anew: nothing that was known of threads is of use, and some calls went unseen. */
static int printer_begin_anew(struct call_printer *p)
{
	bool is_text = p->options->calls.format == CALL_FORMAT_TRUSS;

	order_release(p->order, UINT64_MAX);
	order_free(steal_ptr(&p->order));
	descriptors_free(steal_ptr(&p->descriptors));
	memset(p->threads, 0, p->nr_threads * sizeof(*p->threads));
	if (is_text && p->shown)
		line_put_word(&p->line, "… calls of some milliseconds not shown\n");
	return order_new(ORDER_DEFAULT, show, p, &p->order)
		       ?: descriptors_new(&p->source, &p->descriptors);
}

int call_printer_replay(struct call_printer *p, const struct recorder *recorder,
			const struct recorded_part *part)
{
	struct recorder_entry entry;
	uint64_t position = 0;
	int err = replaced_new(&p->replaced);

	if (err)
		return err;
	p->recorder = recorder;
	p->from_ns = part->from_ns;
	p->is_partial |= part->is_partial;
	p->unwanted = above(recorder_look_through(p, recorder, part->moment_ns), part->count);
	/* Marks put calls of several CPUs in order as if they were shown when they were read. */
	while (recorder_next(recorder, &position, &entry) && !err && !p->err) {
		if (entry.record)
			err = call_printer_add(p, entry.record);
		else if (entry.horizon_ns == RECORDER_BREAK)
			err = printer_begin_anew(p);
		else
			order_release(p->order, entry.horizon_ns);
	}
	if (!err)
		call_printer_show(p, UINT64_MAX);
	return err;
}

/* --- the end -------------------------------------------------------------------------------------- */

uint64_t calls_counted(const struct snapshot *snapshot, const struct syscall_set *only)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		/* The programs send all calls whose numbers are beyond their table. */
		if (row->nr < 0 || row->nr >= CALLS_INDEXED ||
		    syscall_set_has(only, row->abi, row->nr))
			sum += row->calls;
	}
	return sum;
}

/* Says how far the recording goes back. */
static void print_reach(const struct call_printer *p, const char *name)
{
	const struct recorder_counts *counts = recorder_counts(p->recorder);
	char age[AGE_MAX];

	fprintf(stderr, "bpftruss: %s%" PRIu64 " call%s recorded, ", name, counts->recorded,
		plural(counts->recorded));
	if (!counts->overwritten) {
		fputs("none overwritten\n", stderr);
		return;
	}
	format_age(above(clock_mono_ns(), counts->gone_ns), age, sizeof(age));
	fprintf(stderr, "the memory for them (--record-size) reaches back %s\n", age);
}

/* These are found in /proc again, if the process is still there, and may have a question mark then. */
static void print_forgotten(const struct call_printer *p)
{
	uint64_t count = descriptors_evicted(p->descriptors);

	if (count)
		fprintf(stderr,
			"bpftruss: %" PRIu64
			" name%s of descriptors forgotten for want of memory\n",
			count, plural(count));
}

/* Until the end of counting, the sum has all calls that were reported so far. */
static uint64_t calls_told(const struct call_printer *p, const struct call_totals *totals)
{
	return recorder_counts(p->recorder)->recorded + totals->left_out + totals->lost;
}

static void print_sum(const struct call_printer *p, const char *name, uint64_t left_out,
		      uint64_t counted, const char *how, FILE *out)
{
	uint64_t overwritten = p->recorder ? recorder_counts(p->recorder)->overwritten : 0;
	uint64_t told = p->shown + left_out + p->unread + p->too_old + overwritten;

	fprintf(out, "bpftruss: %s%" PRIu64 " call%s shown", name, p->shown, plural(p->shown));
	if (left_out)
		fprintf(out, " + %" PRIu64 " left out", left_out);
	if (p->unread)
		fprintf(out, " + %" PRIu64 " after --max-events", p->unread);
	if (p->recorder)
		fprintf(out, " + %" PRIu64 " too old + %" PRIu64 " overwritten", p->too_old,
			overwritten);
	fprintf(out, " + %" PRIu64 " lost = %" PRIu64 " %s\n", above(counted, told), counted, how);
}

/* The other formats do not have calls that sleep. */
static void print_unexamined(const struct call_printer *p)
{
	if (p->unexamined && p->options->calls.format == CALL_FORMAT_TRUSS)
		fprintf(stderr,
			"bpftruss: %u thread%s that slept from the start on %s not examined: their "
			"sleeping calls are not shown\n",
			p->unexamined, plural(p->unexamined), p->unexamined == 1 ? "was" : "were");
}

void call_printer_conclude(struct call_printer *p, const char *name,
			   const struct snapshot *snapshot, const struct call_totals *totals)
{
	char line[512] = "";
	FILE *whole;
	uint64_t counted;

	printer_write(p);
	/* Over the ^C that a terminal shows. */
	if (isatty(STDERR_FILENO))
		fputc('\r', stderr);
	counted =
		snapshot ? calls_counted(snapshot, p->options->output.only) : calls_told(p, totals);
	if (p->line.has_late)
		fprintf(stderr, "bpftruss: %s%s\n", name, LINE_LATE_LEGEND);
	print_forgotten(p);
	print_unexamined(p);
	if (p->recorder)
		print_reach(p, name);
	/* A command that still runs may write to stderr, too: one write keeps the line whole. */
	whole = fmemopen(line, sizeof(line), "w");
	print_sum(p, name, totals->left_out + p->passed, counted, snapshot ? "counted" : "so far",
		  whole ?: stderr);
	if (whole)
		fclose(whole);
	fputs(line, stderr);
}

int call_printer_flush(struct call_printer *p, struct diag *d)
{
	printer_write(p);
	if (!p->err && fflush(p->output->stream))
		p->err = -errno;
	return p->err ? output_failed(p->options, p->err, d) : 0;
}
