/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss top`: reads once an interval, and shows, prints or writes what happened in it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/session.h"
#include "collect/collector.h"
#include "report/report.h"
#include "tui/screen.h"
#include "tui/term.h"
#include "tui/top.h"

/* Everything one run owns; each part may be absent. */
struct run {
	const struct options *options;
	struct collector *collector;
	struct session session;
	struct snapshot *earlier; /* the reading that the next interval begins with */
	struct top top;
	struct term *term; /* NULL: text or JSON */
};

static void run_done(struct run *run)
{
	term_close(run->term);
	top_done(&run->top);
	snapshot_free(run->earlier);
	session_done(&run->session);
	collector_free(run->collector);
}

static int start(struct run *run, struct diag *d)
{
	int err = collector_open(&run->options->collector, &run->collector, d);

	if (!err)
		err = session_attach(&run->session, run->collector, d);
	if (!err)
		err = collector_read(run->collector, &run->earlier, d);
	if (err)
		return err;
	return collector_set_base(run->collector, run->earlier) ? diag_oom(d) : 0;
}

/* One reading: from here on the next interval counts. */
static int take_interval(struct run *run, struct diag *d)
{
	struct snapshot *later __cleanup(snapshot_freep) = NULL;
	struct rates *rates;
	int err = collector_read(run->collector, &later, d);

	if (err)
		return err;
	err = rates_new(run->earlier, later, run->top.by, &rates);
	if (err == -EINVAL)
		return diag_set(d, DIAG_FAILED, EINVAL, "two readings do not fit together");
	if (err)
		return diag_oom(d);
	snapshot_free(run->earlier);
	run->earlier = steal_ptr(&later);
	if (collector_set_base(run->collector, run->earlier)) {
		rates_free(rates);
		return diag_oom(d);
	}
	return top_update(&run->top, rates) ? diag_oom(d) : 0;
}

/* --- what is shown ---------------------------------------------------------------------------- */

static int draw(const struct run *run)
{
	struct screen screen;
	int err = screen_draw(&run->top, &screen);

	if (err)
		return err;
	if (run->term)
		term_show(run->term, &screen);
	else
		err = screen_print(&screen, stdout);
	screen_done(&screen);
	return err;
}

static int write_interval(struct run *run, struct diag *d)
{
	int err;

	if (run->options->report.format == FORMAT_JSON)
		err = report_rates_json(run->top.rates, run->options->report.table.top, stdout);
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

	term_size(run->term, &width, &height);
	top_resize(&run->top, width, height);
}

/* All keys that were pressed. */
static int take_keys(struct run *run, bool *quit, struct diag *d)
{
	uint64_t delay_ns = run->top.delay_ns;
	int key;

	while (!*quit && (key = term_key(run->term)) != TOP_KEY_NONE) {
		if (top_press(&run->top, key, quit))
			return diag_oom(d);
		fit(run);
	}
	if (run->top.delay_ns != delay_ns)
		session_start(&run->session, 0, run->top.delay_ns);
	return *quit || !draw(run) ? 0 : diag_oom(d);
}

static int tick(struct run *run, bool *quit, struct diag *d)
{
	uint64_t missed;
	int err = 0;

	if (read(run->session.interval, &missed, sizeof(missed)) != sizeof(missed))
		return 0;
	if (!run->top.paused)
		err = take_interval(run, d);
	if (err)
		return err;
	if (run->term)
		return take_keys(run, quit, d);
	*quit = run->options->once;
	return write_interval(run, d);
}

static int loop(struct run *run, struct diag *d)
{
	struct pollfd fds[] = {
		{ .fd = run->session.signals, .events = POLLIN },
		{ .fd = run->session.interval, .events = POLLIN },
		{ .fd = collector_fd(run->collector), .events = POLLIN },
		{ .fd = run->term ? STDIN_FILENO : -1, .events = POLLIN },
	};
	bool quit = false;
	int err = run->term ? take_keys(run, &quit, d) : 0;

	while (!err && !quit) {
		/* A new size of the window comes as a signal, and from ncurses as a key. */
		if (poll(fds, ARRAY_SIZE(fds), collector_patience_ms(run->collector)) < 0) {
			if (errno != EINTR)
				return diag_set(d, DIAG_FAILED, errno, "poll: %s", strerror(errno));
			err = run->term ? take_keys(run, &quit, d) : 0;
			continue;
		}
		if (session_is_told_to_end(&run->session) || fds[3].revents & (POLLHUP | POLLERR))
			return 0;
		err = session_reclaim(run->collector, d);
		if (!err && fds[3].revents)
			err = take_keys(run, &quit, d);
		if (!err && !quit && fds[1].revents)
			err = tick(run, &quit, d);
	}
	return err;
}

static int run_top(struct run *run, struct diag *d)
{
	const struct options *o = run->options;
	bool interactive = !o->once && o->report.format != FORMAT_JSON;
	int err;

	top_init(&run->top, o->interval_ns ?: NS_PER_SEC);
	run->top.sort = o->rate_sort;
	run->top.by = o->rate_by;
	run->top.limit = interactive ? 0 : o->report.table.top;
	top_resize(&run->top, output_width(stdout), 0);
	/* A terminal that cannot be used is told before anything is attached. */
	if (interactive && !term_can_be_used(d))
		return -ENOTTY;
	err = session_open(&run->session, d);
	if (!err)
		err = start(run, d);
	if (!err && interactive)
		err = term_open(&run->term, d);
	if (err)
		return err;
	if (run->term)
		fit(run);
	session_start(&run->session, 0, run->top.delay_ns);
	return loop(run, d);
}

/* An error is told when this has returned: the terminal is the user's again. */
static int top_run(const struct options *o, struct diag *d)
{
	struct run run __cleanup(run_done) = { .options = o };

	session_init(&run.session, o);
	return run_top(&run, d);
}

const struct verb top_verb = {
	"top",
	VERB_TOP,
	false,
	top_run,
	"which processes make system calls now, and where their time goes",
	"usage: bpftruss top [options]",
	"Shows, interval by interval, which processes make system calls and where their time\n"
	"goes: user, system, waiting for a CPU, for a lock, or asleep. h shows the keys.",
	"  bpftruss top                        all processes of this host\n"
	"  bpftruss top -u nginx.service       those of a service, now and later\n"
	"  bpftruss top --by unit --sort sys   which service burns CPU in the kernel\n"
	"  bpftruss top --once --sort max      one frame: who had the longest call\n"
	"  bpftruss top --json -i 10 --top 20  for scripts, an object every ten seconds",
};
