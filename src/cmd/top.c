/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss top`: reads once an interval, and shows, prints or writes what happened in it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/session.h"
#include "cmd/top_options.h"
#include "collect/collector.h"
#include "report/report.h"
#include "tui/screen.h"
#include "tui/term.h"
#include "tui/top.h"

#define TEXT_WIDTH 80

/* Everything one run owns; each part may be absent. */
struct run {
	const struct top_options *options;
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

static int add_targets(struct run *run, struct diag *d)
{
	const struct top_options *o = run->options;
	struct target_options how = { .follow = o->follow };
	int err = 0;

	for (size_t i = 0; i < o->targets.nr_pids && !err; i++)
		err = collector_add_target(run->collector, o->targets.pids[i], &how, d);
	return err;
}

static int start(struct run *run, struct diag *d)
{
	const struct top_options *o = run->options;
	int err = collector_open(&o->collector, &run->collector, d);

	if (!err)
		err = add_targets(run, d);
	if (!err)
		err = collector_start(run->collector, d);
	if (err)
		return err;
	if (!collector_live(run->collector) && !o->wait)
		return diag_set(d, DIAG_FAILED, ESRCH, "%s",
				o->collector.nr_selectors
					? "no process matches; --wait waits for one"
					: "every process that was named has ended already");
	err = collector_read(run->collector, &run->earlier, d);
	if (err)
		return err;
	return collector_set_base(run->collector, run->earlier) ? diag_oom(d) : 0;
}

/* Ticks come at a steady pace, however long drawing takes. */
static void set_timer(struct run *run)
{
	uint64_t ns = run->top.delay_ns;
	struct timespec span = { .tv_sec = (time_t)(ns / NS_PER_SEC),
				 .tv_nsec = (long)(ns % NS_PER_SEC) };
	struct itimerspec when = { .it_value = span, .it_interval = span };

	timerfd_settime(run->session.interval, 0, &when, NULL);
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

/* --- text and JSON ---------------------------------------------------------------------------- */

static int frame_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = 0;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		width = size.ws_col;
	else if (columns)
		width = atoi(columns);
	return width > 0 && width < 1000 ? width : TEXT_WIDTH;
}

static int write_text(const struct top *top)
{
	struct screen screen;
	int err = screen_draw(top, &screen);

	if (err)
		return err;
	err = screen_print(&screen, stdout);
	screen_done(&screen);
	return err;
}

static int write_interval(struct run *run, struct diag *d)
{
	int err;

	if (run->options->json)
		err = report_rates_json(run->top.rates, run->options->limit, stdout);
	else
		err = write_text(&run->top);
	if (!err && fflush(stdout))
		err = -errno;
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot write: %s", strerror(-err)) : 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static int show(struct run *run, struct diag *d)
{
	struct screen screen;

	if (screen_draw(&run->top, &screen))
		return diag_oom(d);
	term_show(run->term, &screen);
	screen_done(&screen);
	return 0;
}

/* All keys that were pressed. */
static int take_keys(struct run *run, bool *quit, struct diag *d)
{
	uint64_t delay_ns = run->top.delay_ns;
	int key, width, height;

	while (!*quit && (key = term_key(run->term)) != TOP_KEY_NONE) {
		if (top_press(&run->top, key, quit))
			return diag_oom(d);
		/* The prompt and the message take room from the table. */
		term_size(run->term, &width, &height);
		top_resize(&run->top, width, height);
	}
	if (run->top.delay_ns != delay_ns)
		set_timer(run);
	return *quit ? 0 : show(run, d);
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
		err = collector_reclaim(run->collector);
		if (err)
			return diag_set(d, DIAG_FAILED, -err, "cannot follow the processes: %s",
					strerror(-err));
		if (fds[3].revents)
			err = take_keys(run, &quit, d);
		if (!err && !quit && fds[1].revents)
			err = tick(run, &quit, d);
	}
	return err;
}

static int run_top(struct run *run, struct diag *d)
{
	const struct top_options *o = run->options;
	bool interactive = !o->once && !o->json;
	int err = 0, width, height;

	top_init(&run->top, o->delay_ns);
	run->top.sort = o->sort;
	run->top.by = o->by;
	run->top.limit = interactive ? 0 : o->limit;
	top_resize(&run->top, frame_width(), 0);
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
	if (run->term) {
		term_size(run->term, &width, &height);
		top_resize(&run->top, width, height);
	}
	set_timer(run);
	return loop(run, d);
}

int top_main(int argc, char **argv)
{
	struct top_options options __cleanup(top_options_done);
	struct diag d;
	int err;

	if (top_options_parse(argc, argv, &options, &d))
		return cmd_fail(&d);
	if (options.help) {
		top_options_print_help();
		return STATUS_OK;
	}
	{
		struct run run __cleanup(run_done) = { .options = &options };

		struct session_limits open_ended = { .open_ended = true };

		session_init(&run.session, &open_ended);
		err = run_top(&run, &d);
	}
	/* The terminal is the user's again. */
	return err ? cmd_fail(&d) : STATUS_OK;
}
