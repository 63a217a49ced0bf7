/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits, while calls are counted, for what ends that or asks for a report. */
#include "cmd/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/process.h"

/* Adds the signal unless it was ignored when we started, as by nohup or a shell's background. */
static void add_unless_ignored(sigset_t *set, int number)
{
	struct sigaction action;

	if (sigaction(number, NULL, &action) || action.sa_handler != SIG_IGN)
		sigaddset(set, number);
}

void session_init(struct session *session, const struct options *options)
{
	*session = (struct session){ .options = options,
				     .command = { .link = -1 },
				     .signals = -1,
				     .duration = -1,
				     .interval = -1,
				     .beat = -1,
				     .keys = -1 };
}

int session_open(struct session *session, struct diag *d)
{
	struct collector_options options = session->options->collector;
	sigset_t set;

	/* Counting may raise it. */
	getrlimit(RLIMIT_NOFILE, &session->command.files);
	sigemptyset(&set);
	/* A script's background jobs ignore it, but it is blocked: the kernel queues it nevertheless. */
	sigaddset(&set, SIGINT);
	add_unless_ignored(&set, SIGTERM);
	add_unless_ignored(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &session->before);
	session->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	session->duration = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	session->interval = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	session->beat = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (errands_new(&session->errands) || session->signals < 0 || session->duration < 0 ||
	    session->interval < 0 || session->beat < 0)
		return diag_set(d, DIAG_FAILED, errno, "cannot wait for signals: %s",
				strerror(errno));
	options.errands = session->errands;
	return collector_open(&options, &session->collector, d);
}

void session_done(struct session *session)
{
	command_done(&session->command);
	closep(&session->signals);
	closep(&session->duration);
	closep(&session->interval);
	closep(&session->beat);
	snapshot_free(session->last);
	collector_free(session->collector);
	errands_free(session->errands);
}

void session_start(struct session *session, uint64_t duration_ns, uint64_t interval_ns)
{
	clock_set_timer(session->duration, duration_ns, 0);
	clock_set_timer(session->interval, interval_ns, interval_ns);
}

void session_beat(struct session *session, uint64_t ns)
{
	clock_set_timer(session->beat, ns, 0);
}

int session_attach(const struct session *session, struct diag *d)
{
	const struct options *o = session->options;
	const struct target_options how = { .follow = o->follow };
	int err = 0;

	for (size_t i = 0; i < o->targets.nr_pids && !err; i++)
		err = collector_add_target(session->collector, o->targets.pids[i], &how, d);
	/* Beside others it is for processes alone: these may choose all threads of one. */
	if (!err && o->targets.nr_selectors == 1 && o->targets.selectors[0].kind == SELECT_COMM)
		err = collector_add_threads(session->collector, o->targets.selectors[0].text, &how,
					    d);
	if (!err)
		err = collector_start(session->collector, d);
	if (err || o->collector.wait || collector_live(session->collector))
		return err;
	return diag_set(d, DIAG_FAILED, ESRCH, "%s",
			o->targets.nr_selectors
				? "no process or thread matches; --wait waits for a process"
				: "no thread of these processes can be counted: they have ended, "
				  "or the kernel hides them");
}

/* Says how many are counted, now that they are. */
static void tell_targets(const struct collector *collector, const struct options *o)
{
	const char *ends = o->verb->bit == VERB_CALLS ? "ends it" : "prints the report";
	size_t processes = collector_processes(collector);
	uint32_t threads = collector_live(collector);

	if (!threads) {
		fprintf(stderr, "bpftruss: counting nobody yet: no process matches; Ctrl-C %s\n",
			ends);
		return;
	}
	fprintf(stderr, "bpftruss: counting %zu process%s, ", processes,
		processes == 1 ? "" : "es");
	if (collector_threads(collector))
		fprintf(stderr, "%zu of %s ", collector_threads(collector),
			processes == 1 ? "its" : "their");
	fprintf(stderr, "%u thread%s now; Ctrl-C %s\n", threads, plural(threads), ends);
}

int session_begin(struct session *session, struct diag *d)
{
	const struct options *o = session->options;
	struct collector *collector = session->collector;
	const struct target_options how = { .follow = o->follow, .await_exec = true };
	struct command *command = &session->command;
	int err = o->as_user ? command_set_user(command, o->as_user, d) : 0;
	size_t files, bytes;

	if (!err)
		err = o->command ? command_prepare(command, o->command, &session->before,
						   o->collector.stacks, d)
				 : session_attach(session, d);
	/* The command begins when everything is there that counts it. */
	if (!err && o->command)
		err = collector_add_target(collector, command->pid, &how, d);
	if (!err && o->command)
		err = collector_start(collector, d);
	if (err)
		return err;
	collector_tables(collector, &files, &bytes);
	if (o->collector.verbose && files)
		fprintf(stderr, "bpftruss: unwind tables of %zu files, %zu KiB\n", files,
			bytes / 1024);
	if (collector_lacks_unwinding(collector))
		fputs("bpftruss: stacks by frame pointers only, so most will be short; see "
		      "'bpftruss doctor'\n",
		      stderr);
	if (o->command) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "bpftruss: counting %s, process %d%s\n", o->command[0],
				command->pid, o->follow ? " and its children" : "");
		return 0;
	}
	tell_targets(collector, o);
	return 0;
}

int session_release(struct session *session, struct diag *d)
{
	const struct options *o = session->options;

	return o->command ? command_release(&session->command, o->command[0], d) : 0;
}

int session_read(struct session *session, struct snapshot **ret, struct diag *d)
{
	struct snapshot *reading __cleanup(snapshot_freep) = NULL;
	int err = collector_read(session->collector, &reading, d);

	if (err)
		return err;
	/* Before anything is reclaimed: an ended process goes where the next interval looks for it. */
	if (collector_set_base(session->collector, reading))
		return diag_oom(d);
	*ret = steal_ptr(&reading);
	return 0;
}

void session_keep(struct session *session, struct snapshot *reading)
{
	snapshot_free(session->last);
	session->last = reading;
}

static int session_reclaim(const struct session *session, struct diag *d)
{
	int err = collector_reclaim(session->collector);

	return err ? diag_set(d, DIAG_FAILED, -err, "cannot follow the processes: %s",
			      strerror(-err))
		   : 0;
}

static bool timer_is_over(int fd)
{
	uint64_t times;

	return read(fd, &times, sizeof(times)) == sizeof(times);
}

/* A command gets the signal unless the terminal gave it to the whole foreground group already. */
static void pass_on(const struct signalfd_siginfo *info, const struct command *command)
{
	if (info->ssi_code != SI_KERNEL && info->ssi_signo != SIGUSR1)
		kill(command->pid, (int)info->ssi_signo);
}

/* Whether a signal that has come is an event. A command that is running is given time first. */
static bool session_signal(struct session *session, enum session_event *ret)
{
	struct command *command = &session->command;
	struct signalfd_siginfo info;

	if (read(session->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	*ret = info.ssi_signo == SIGUSR1 ? SESSION_ASKED : SESSION_OVER;
	if (*ret == SESSION_ASKED || !command->pid || command_has_ended(command))
		return true;
	if (session->patience++) {
		session->impatient = (int)info.ssi_signo;
		return true;
	}
	pass_on(&info, command);
	fprintf(stderr, "bpftruss: waiting for process %d to end; a second signal reports now\n",
		command->pid);
	return false;
}

int session_wait_command(struct session *session)
{
	struct command *command = &session->command;
	int ended __cleanup(closep) = (int)syscall(SYS_pidfd_open, command->pid, 0);
	struct pollfd fds[] = {
		{ .fd = session->signals, .events = POLLIN },
		{ .fd = ended, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	while (ended >= 0 && !fds[1].revents) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents && read(session->signals, &info, sizeof(info)) == sizeof(info))
			pass_on(&info, command);
	}
	command_wait(command);
	return WIFSIGNALED(command->status) ? 128 + WTERMSIG(command->status)
					    : WEXITSTATUS(command->status);
}

/* It is seldom long: who waits a moment is not told of it. */
#define NAMES_QUIET_NS (NS_PER_SEC / 2)
#define NAMES_SHOW_MS  250

int session_wait_names(const struct session *session, uint64_t limit_ns,
		       const struct live_line *line, struct diag *d)
{
	struct collector *collector = session->collector;
	struct pollfd fds[] = {
		{ .fd = session->signals, .events = POLLIN },
		{ .fd = collector_fd(collector), .events = POLLIN },
	};
	uint64_t start_ns = clock_mono_ns(), end_ns = start_ns + limit_ns, now_ns;
	struct name_counts counts;
	int wait_ms;
	/* Stacks that the last reading has may have come since it looked for them. */
	int err = session_reclaim(session, d);

	collector_name_stacks(collector);
	for (; !err; err = session_reclaim(session, d)) {
		now_ns = clock_mono_ns();
		if (fds[0].revents || collector_stacks_are_named(collector) || now_ns >= end_ns)
			break;
		wait_ms = (int)((end_ns - now_ns) / NS_PER_MS) + 1;
		if (line->is_on)
			wait_ms = sooner_ms(wait_ms, NAMES_SHOW_MS);
		if (now_ns - start_ns > NAMES_QUIET_NS) {
			collector_count_names(collector, &counts);
			live_line_show_names(line, counts.waiting);
		}
		if (poll(fds, ARRAY_SIZE(fds),
			 sooner_ms(collector_patience_ms(collector), wait_ms)) < 0 &&
		    errno != EINTR)
			return diag_set(d, DIAG_FAILED, errno, "poll: %s", strerror(errno));
	}
	live_line_erase(line);
	return err;
}

int session_wait(struct session *session, enum session_event *ret, struct diag *d)
{
	const struct options *o = session->options;
	const bool ends = o->verb->bit & VERBS_WITH_COMMAND && !o->targets.nr_selectors;
	struct pollfd fds[] = {
		{ .fd = session->signals, .events = POLLIN },
		{ .fd = session->keys, .events = POLLIN },
		{ .fd = session->duration, .events = POLLIN },
		{ .fd = session->interval, .events = POLLIN },
		{ .fd = session->beat, .events = POLLIN },
		{ .fd = collector_fd(session->collector), .events = POLLIN },
	};
	int err, patience, ready;

	for (;;) {
		err = session_reclaim(session, d);
		if (err)
			return err;
		/* In this order: the last task may end meanwhile, and nothing wakes us then. */
		patience = collector_patience_ms(session->collector);
		*ret = SESSION_OVER;
		if (ends && collector_live(session->collector) == 0)
			return 0;
		ready = poll(fds, ARRAY_SIZE(fds), patience);
		if (ready < 0 && errno != EINTR)
			return diag_set(d, DIAG_FAILED, errno, "poll: %s", strerror(errno));
		if (fds[0].revents && session_signal(session, ret))
			return 0;
		*ret = SESSION_OVER;
		if (timer_is_over(session->duration) || fds[1].revents & (POLLHUP | POLLERR))
			return 0;
		*ret = SESSION_INTERVAL;
		if (timer_is_over(session->interval))
			return 0;
		*ret = SESSION_BEAT;
		if (timer_is_over(session->beat))
			return 0;
		/* A new size of the window comes as a signal, and from ncurses as a key. */
		*ret = SESSION_KEYS;
		if (session->keys >= 0 && (ready < 0 || fds[1].revents))
			return 0;
	}
}
