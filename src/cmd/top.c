/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss top`: reads once an interval, and shows, prints or writes what happened in it. */
#include "base/clock.h"
#include "cmd/reporting.h"
#include "cmd/session.h"
#include "tui/screen.h"
#include "tui/top.h"

/* Of a frame that goes to a pipe or a file. */
#define PLAIN_WIDTH 80

struct run {
	struct session session;
	struct top top;
	bool on_terminal; /* else text or JSON */
	bool has_threads; /* readings tell them apart */
};

static void run_done(struct run *run)
{
	if (run->on_terminal)
		term_close();
	top_done(&run->top);
	session_done(&run->session);
}

/* Takes one reading: the next interval begins here. */
static int take_interval(struct run *run, struct diag *d)
{
	struct snapshot *later __cleanup(snapshot_freep) = NULL;
	struct rates *rates;
	int err = session_read(&run->session, &later, d);

	if (err)
		return err;
	if (run->on_terminal)
		host_update(&run->top.host);
	/* They come until the next frame, or one of those after it. */
	if (run->top.has_stacks)
		collector_name_stacks(run->session.collector);
	err = rates_new(run->session.last, later, run->top.by, &rates);
	if (err == -EINVAL)
		return diag_set(d, DIAG_FAILED, EINVAL, "two readings do not fit together");
	if (err)
		return diag_oom(d);
	if (top_update(&run->top, rates))
		return diag_oom(d);
	session_keep(&run->session, steal_ptr(&later));
	return 0;
}

/* --- what is shown ---------------------------------------------------------------------------- */

static int draw(const struct run *run)
{
	struct screen screen;
	int err = screen_draw(&run->top, &screen);

	if (err)
		return err;
	if (run->on_terminal)
		term_show(&screen);
	else
		err = screen_print(&screen, stdout);
	screen_done(&screen);
	return err;
}

static int write_interval(struct run *run, struct diag *d)
{
	int err;

	if (run->session.options->report.format == FORMAT_JSON)
		err = report_rates_json(run->top.rates, run->session.options->report.table.top,
					stdout);
	else
		err = draw(run);
	if (!err && fflush(stdout))
		err = -errno;
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot write: %s", strerror(-err)) : 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Fits the screen to the terminal; the prompt and the message take room from the table. */
static void fit(struct run *run)
{
	int width, height;

	term_size(&width, &height);
	top_resize(&run->top, width, height);
}

/* The first interval begins with a reading. */
static int read_first(struct run *run, struct diag *d)
{
	struct snapshot *first;
	int err = session_read(&run->session, &first, d);

	if (!err)
		session_keep(&run->session, first);
	return err;
}

/* Readings have what the lines need; those before and after that changes do not fit together. */
static int tell_threads(struct run *run, struct diag *d)
{
	const bool apart = run->top.by == RATE_BY_TID;

	if (apart == run->has_threads)
		return 0;
	run->has_threads = apart;
	if (collector_tell_threads(run->session.collector, apart))
		return diag_oom(d);
	return read_first(run, d);
}

/* All keys that were pressed. */
static int take_keys(struct run *run, bool *quit, struct diag *d)
{
	uint64_t delay_ns = run->top.delay_ns;
	int key, x, y;

	while (!*quit && (key = term_key(&x, &y)) != TOP_KEY_NONE) {
		if (key == TOP_KEY_CLICK ? top_click(&run->top, x, y)
					 : top_press(&run->top, key, quit))
			return diag_oom(d);
		fit(run);
	}
	if (tell_threads(run, d))
		return -EIO;
	if (run->top.delay_ns != delay_ns)
		session_start(&run->session, 0, run->top.delay_ns);
	return *quit || !draw(run) ? 0 : diag_oom(d);
}

static int tick(struct run *run, bool *quit, struct diag *d)
{
	int err = run->top.paused ? 0 : take_interval(run, d);

	if (err)
		return err;
	if (run->on_terminal)
		return take_keys(run, quit, d);
	*quit = run->session.options->once;
	return write_interval(run, d);
}

static int loop(struct run *run, struct diag *d)
{
	enum session_event event = SESSION_KEYS;
	bool quit = false;
	int err = run->on_terminal ? take_keys(run, &quit, d) : 0;

	while (!err && !quit) {
		err = session_wait(&run->session, &event, d);
		if (err || event == SESSION_OVER)
			return err;
		if (event == SESSION_KEYS)
			err = take_keys(run, &quit, d);
		else if (event == SESSION_INTERVAL)
			err = tick(run, &quit, d);
	}
	return err;
}

/* Counts from here on. */
static int start(struct run *run, struct diag *d)
{
	int err = session_open(&run->session, d);

	if (!err)
		err = session_attach(&run->session, d);
	return err ?: read_first(run, d);
}

/* An error is told when this has returned: the terminal is the user's again. */
static int top_run(const struct options *o, struct diag *d)
{
	struct run run __cleanup(run_done) = { 0 };
	bool interactive = !o->once && o->report.format != FORMAT_JSON;
	int err;

	session_init(&run.session, o);
	top_init(&run.top, o->interval_ns ?: NS_PER_SEC);
	run.top.places[0].sort = o->rate_sort;
	run.top.places[0].reversed = o->rate_reversed;
	run.top.by = o->rate_by;
	run.has_threads = o->collector.by_thread;
	run.top.has_stacks = o->collector.stacks;
	run.top.split = o->collector.split_by;
	run.top.limit = interactive ? 0 : o->report.table.top;
	top_resize(&run.top, output_width(o, stdout) ?: PLAIN_WIDTH, 0);
	/* A terminal that cannot be used is told before anything is attached. */
	if (interactive && !term_can_be_used(d))
		return -ENOTTY;
	err = start(&run, d);
	if (!err && interactive)
		err = term_open(d);
	if (err)
		return err;
	run.on_terminal = interactive;
	if (interactive) {
		run.session.keys = STDIN_FILENO;
		fit(&run);
		host_update(&run.top.host);
	}
	session_start(&run.session, 0, run.top.delay_ns);
	return loop(&run, d);
}

const struct verb top_report_verb = {
	.name = "top",
	.bit = VERB_TOP_REPORT,
	.usage = "usage: bpftruss top --once [options]",
	.about = "Counts for one interval and reports as -c does.",
	.examples = "",
};

const struct verb top_verb = {
	"top",
	VERB_TOP,
	top_run,
	"which processes make system calls now, and where their time goes",
	"usage: bpftruss top [options] [DELAY]",
	"Shows, interval by interval, which processes make system calls and where their time\n"
	"goes: user, system, waiting for a CPU, for a lock, or asleep. h shows the keys. With\n"
	"--once, all options of -c that shape a report work, too.",
	"  bpftruss top                        all processes of this host\n"
	"  bpftruss top -u nginx.service       those of a service, now and later\n"
	"  bpftruss top --by unit --sort sys   which service burns CPU in the kernel\n"
	"  bpftruss top --by path -S errors    which paths fail, and which are busy\n"
	"  bpftruss top --once --sort max      one frame: who had the longest call\n"
	"  bpftruss top --once -w --by comm    one report, as of -c -a -d 1\n"
	"  bpftruss top --json -i 10 --top 20  for scripts, an object every ten seconds",
};
