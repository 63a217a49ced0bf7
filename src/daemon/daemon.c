/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the life of the daemon: its start in order, its loop, reloads, and its end. */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/notify.h"
#include "daemon/service.h"
#include "ipc/socket.h"
#include "store/history.h"

/* How often the daemon looks at its own cost, unless the watchdog wants to hear more often. */
#define PULSE_NS (10 * NS_PER_SEC)

struct daemon {
	const struct daemon_config *first;  /* obeyed at the start */
	const struct daemon_config *config; /* the latest */
	const struct daemon_reload *reload;
	struct metrics *metrics;
	struct counts counts;
	struct budget budget;
	struct service service;
	struct ipc_server *local, *remote; /* unix socket, TCP or NULL */
	int listener;                      /* ours to know which socket to remove; -1: systemd's */
	char asked_at[SOCKET_NAME_SIZE];
	struct loop loop;
	int signals, tick, pulse; /* descriptors; -1: not open */
	bool cannot_grow;         /* there was no memory for other tables */
	uint32_t
		threads; /* that tables were made for when they grew last; 0: for those that there were */
	uint64_t
		worn_ns; /* when counting began anew last as numbers of files were given; 0: never */
	uint64_t served_ns; /* CPU time for clients in this turn of the loop */
	bool has_counted;   /* it was not for them alone */
	bool over;
	int err;       /* of what a source had to do, for which it ends */
	struct diag d; /* why */
};

static void daemon_done(struct daemon *daemon)
{
	notify_send("STOPPING=1\nSTATUS=stopping");
	if (daemon->listener >= 0)
		socket_unlink(daemon->first->socket, daemon->listener);
	ipc_server_free(daemon->local);
	ipc_server_free(daemon->remote);
	service_done(&daemon->service);
	counts_done(&daemon->counts);
	metrics_free(daemon->metrics);
	loop_done(&daemon->loop);
	closep(&daemon->signals);
	closep(&daemon->tick);
	closep(&daemon->pulse);
	closep(&daemon->listener);
}

/* --- timers and signals ------------------------------------------------------------------------ */

static void timer_arm(int fd, uint64_t first_ns, uint64_t repeat_ns)
{
	struct itimerspec when = {
		.it_value = { (time_t)(first_ns / NS_PER_SEC), (long)(first_ns % NS_PER_SEC) },
		.it_interval = { (time_t)(repeat_ns / NS_PER_SEC), (long)(repeat_ns % NS_PER_SEC) },
	};

	timerfd_settime(fd, 0, &when, NULL);
}

static void timer_drain(int fd)
{
	uint64_t times;

	if (read(fd, &times, sizeof(times)) < 0)
		return;
}

/* An interval belongs to the step of an answer in which it ends: that must not be the next one. */
#define TICK_EARLY_NS (20 * NS_PER_MS)

/* Intervals end at whole multiples of their length, so that minutes are those of the clock. */
static void tick_arm(struct daemon *daemon)
{
	uint64_t interval = daemon->config->interval_ns;
	uint64_t left = interval - (uint64_t)clock_real_ns() % interval;

	/* Intervals are a second at least. */
	timer_arm(daemon->tick, (left < interval / 4 ? left + interval : left) - TICK_EARLY_NS, 0);
}

static void on_tick(void *closure)
{
	struct daemon *daemon = closure;
	struct diag d;

	daemon->has_counted = true;
	timer_drain(daemon->tick);
	counts_retry_history(&daemon->counts, daemon->config);
	if (counts_tick(&daemon->counts, &d))
		log_line(LOG_ERR, "an interval will be longer: %s", d.text);
	tick_arm(daemon);
}

static int follow_collector(struct daemon *daemon, int old_fd, const char *why)
{
	const struct daemon_config *config = daemon->config;
	int fd = collector_fd(daemon->counts.collector);
	int err = loop_replace(&daemon->loop, old_fd, fd);

	budget_set(&daemon->budget, config->budget_percent, daemon->first->collector.stacks,
		   daemon->counts.collector);
	log_line(LOG_NOTICE, "%s: counting began anew; what was counted before is in the history",
		 why);
	return err ? diag_set(&daemon->d, DIAG_FAILED, -err, "cannot wait for processes: %s",
			      strerror(-err))
		   : 0;
}

/* A user can make so many files: not more often than this does it begin anew for that. */
#define WORN_PAUSE_NS (24 * 3600 * NS_PER_SEC)

static bool is_worn(struct daemon *daemon)
{
	uint64_t now_ns = clock_mono_ns();

	if (!collector_is_worn(daemon->counts.collector) ||
	    (daemon->worn_ns && now_ns - daemon->worn_ns < WORN_PAUSE_NS))
		return false;
	daemon->worn_ns = now_ns;
	return true;
}

/*
 * Makes larger tables before calls lose their process, if there is time, or new ones before files with
 * code find no number. Not for pids: who was a child of theirs nobody would know.
 */
static int renew_tables(struct daemon *daemon)
{
	struct collector_options larger = daemon->first->collector;
	int old_fd = collector_fd(daemon->counts.collector), err;
	const char *why = "the tables in the kernel were nearly full";
	bool replaced;

	/* Ended threads only wait to be taken in. If that fails, the loop reports it. */
	if (larger.nr_pids || daemon->cannot_grow || collector_reclaim(daemon->counts.collector))
		return 0;
	larger.threads = collector_wants_threads(daemon->counts.collector, &larger);
	if (!larger.threads && !is_worn(daemon))
		return 0;
	if (!larger.threads)
		why = "the numbers for files with code were nearly all given";
	else
		daemon->threads = larger.threads;
	larger.threads = daemon->threads;
	larger.hurried = true;
	err = counts_replace(&daemon->counts, &larger, &replaced, &daemon->d);
	if (!err)
		return follow_collector(daemon, old_fd, why);
	if (replaced)
		return err;
	log_line(LOG_WARNING, "%s, and tables cannot be made anew: %s", why, daemon->d.text);
	daemon->cannot_grow = true;
	return 0;
}

static void on_pulse(void *closure)
{
	struct daemon *daemon = closure;

	timer_drain(daemon->pulse);
	malloc_trim(0);
	budget_check(&daemon->budget, daemon->counts.collector);
	daemon->err = renew_tables(daemon);
	service_watch_tables(&daemon->service);
	notify_send(
		"WATCHDOG=1\nSTATUS=%zu processes, %zu rows; %.2f%% of a CPU, programs included",
		daemon->counts.last->nr_processes, daemon->counts.last->nr_rows,
		daemon->budget.used_percent);
}

/* In words: all processes, or what was chosen, as far as it fits. */
static void describe_targets(const struct daemon_config *config, char *buf, size_t size)
{
	static const char *const kinds[] = { [SELECT_ALL] = "all processes",
					     [SELECT_COMM] = "name ",
					     [SELECT_CGROUP] = "cgroup ",
					     [SELECT_UNIT] = "unit ",
					     [SELECT_USER] = "user " };
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < config->nr_pids && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%spid %d", i ? ", " : "",
					 config->pids[i]);
	for (size_t i = 0; i < config->collector.nr_selectors && used < size; i++) {
		const struct target_selector *selector = &config->collector.selectors[i];

		used += (size_t)snprintf(buf + used, size - used, "%s%s%s", used ? ", " : "",
					 kinds[selector->kind], selector->text ?: "");
	}
}

static bool texts_differ(const char *a, const char *b)
{
	return strcmp(a ?: "", b ?: "") != 0;
}

static bool collectors_differ(const struct collector_options *a, const struct collector_options *b)
{
	return a->max_tasks != b->max_tasks || a->max_rows != b->max_rows ||
	       a->max_errnos != b->max_errnos || a->max_stacks != b->max_stacks ||
	       a->keep_exited != b->keep_exited || a->stacks != b->stacks ||
	       a->kernel_stacks != b->kernel_stacks || a->inlines != b->inlines ||
	       a->debuginfod != b->debuginfod || a->verbose != b->verbose;
}

static bool metrics_differ(const struct metrics_options *a, const struct metrics_options *b)
{
	return a->group != b->group || a->top != b->top || a->max_series != b->max_series ||
	       a->histograms != b->histograms;
}

/* What a reload cannot change, compared with what was obeyed at the start. */
static void log_fixed(const struct daemon *daemon, const struct daemon_config *new)
{
	const struct daemon_config *first = daemon->first;
	char targets[sizeof(daemon->service.targets)];

	describe_targets(new, targets, sizeof(targets));
	if (texts_differ(first->socket, new->socket) ||
	    texts_differ(first->state_dir, new->state_dir) ||
	    texts_differ(first->group, new->group) || texts_differ(first->listen, new->listen) ||
	    texts_differ(daemon->service.targets, targets) || first->follow != new->follow ||
	    collectors_differ(&first->collector, &new->collector) ||
	    metrics_differ(&first->metrics, &new->metrics))
		log_line(LOG_WARNING,
			 "reload: socket, state-dir, group, verbose and what is in [targets], "
			 "[tables] and [metrics] change only when the daemon is started "
			 "anew");
}

static void daemon_apply(struct daemon *daemon, const struct daemon_config *config)
{
	daemon->config = config;
	daemon->service.config = config;
	daemon->counts.recent.max_bytes = config->recent_bytes;
	counts_open_history(&daemon->counts, config);
	budget_set(&daemon->budget, config->budget_percent, daemon->first->collector.stacks,
		   daemon->counts.collector);
	tick_arm(daemon);
}

/* What was counted up to here goes into the history by the old rules. */
static void daemon_reload_config(struct daemon *daemon)
{
	const struct daemon_config *config;
	struct diag d;

	notify_send("RELOADING=1\nMONOTONIC_USEC=%llu",
		    (unsigned long long)(clock_mono_ns() / 1000));
	if (counts_tick(&daemon->counts, &d) ||
	    daemon->reload->read(daemon->reload->closure, &config, &d)) {
		log_line(LOG_ERR, "the configuration stays as it was: %s", d.text);
	} else {
		log_fixed(daemon, config);
		daemon_apply(daemon, config);
		log_line(LOG_NOTICE, "the configuration was read anew");
	}
	notify_send("READY=1");
}

static void on_signal(void *closure)
{
	struct daemon *daemon = closure;
	struct signalfd_siginfo info;

	if (read(daemon->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		daemon_reload_config(daemon);
	else
		daemon->over = true;
}

static void on_events(void *closure)
{
	/* collector_reclaim() follows each wake-up. */
	((struct daemon *)closure)->has_counted = true;
}

static void server_run(struct daemon *daemon, struct ipc_server *server)
{
	uint64_t start_ns = clock_cpu_ns();

	ipc_server_run(server);
	daemon->served_ns += clock_cpu_ns() - start_ns;
}

static void on_local(void *closure)
{
	struct daemon *daemon = closure;

	server_run(daemon, daemon->local);
}

static void on_remote(void *closure)
{
	struct daemon *daemon = closure;

	server_run(daemon, daemon->remote);
}

/* --- start ------------------------------------------------------------------------------------- */

static int open_signals(struct daemon *daemon)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	daemon->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	daemon->tick = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	daemon->pulse = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return daemon->signals < 0 || daemon->tick < 0 || daemon->pulse < 0 ? -errno : 0;
}

static int open_loop(struct daemon *daemon, struct diag *d)
{
	int err = open_signals(daemon);

	if (!err)
		err = loop_open(&daemon->loop);
	if (!err)
		err = loop_add(&daemon->loop, daemon->signals, on_signal, daemon);
	if (!err)
		err = loop_add(&daemon->loop, daemon->tick, on_tick, daemon);
	if (!err)
		err = loop_add(&daemon->loop, daemon->pulse, on_pulse, daemon);
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot wait for signals and time: %s",
			      strerror(-err))
		   : 0;
}

/* The default group need not exist: then it is root's. */
static int find_group(const struct daemon_config *config, gid_t *ret, struct diag *d)
{
	const struct group *group = getgrnam(config->group ?: DEFAULT_GROUP);

	if (!group && config->group && strcmp(config->group, DEFAULT_GROUP) != 0)
		return diag_set(d, DIAG_USAGE, ENOENT, "--group: there is no group \"%.64s\"",
				config->group);
	*ret = group ? group->gr_gid : getegid();
	return 0;
}

static int open_listener(struct daemon *daemon, gid_t group, struct diag *d)
{
	int fd = socket_inherited(d);

	if (fd == -ENOENT) {
		fd = socket_listen_unix(daemon->config->socket, group, d);
		daemon->listener = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	}
	if (fd >= 0)
		socket_name(fd, daemon->asked_at, sizeof(daemon->asked_at));
	return fd;
}

static int serve(struct daemon *daemon, int listener, gid_t group, struct ipc_server **ret,
		 void (*ready)(void *closure), struct diag *d)
{
	const struct ipc_server_options options = {
		.handler = service_answer,
		.closure = &daemon->service,
		.group = group,
	};
	int err = listener < 0 ? listener : ipc_server_new(listener, &options, ret, d);

	if (err)
		return err;
	err = loop_add(&daemon->loop, ipc_server_fd(*ret), ready, daemon);
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot wait for clients: %s", strerror(-err))
		   : 0;
}

static int open_servers(struct daemon *daemon, struct diag *d)
{
	gid_t group = 0;
	int err = find_group(daemon->config, &group, d);

	daemon->service = (struct service){
		.config = daemon->config,
		.counts = &daemon->counts,
		.baselines = { .state_dir = daemon->config->state_dir },
		.budget = &daemon->budget,
	};
	describe_targets(daemon->config, daemon->service.targets, sizeof(daemon->service.targets));
	if (!err)
		err = serve(daemon, open_listener(daemon, group, d), group, &daemon->local,
			    on_local, d);
	daemon->service.local = daemon->local;
	if (!err && daemon->config->listen)
		err = serve(daemon, socket_listen_tcp(daemon->config->listen, d), group,
			    &daemon->remote, on_remote, d);
	return err;
}

static int start_counting(struct daemon *daemon, struct diag *d)
{
	int err;

	if (metrics_new(&daemon->config->metrics, &daemon->metrics))
		return diag_oom(d);
	daemon->counts.metrics = daemon->metrics;
	err = counts_open(&daemon->counts, daemon->config, d);
	if (err)
		return err;
	counts_open_history(&daemon->counts, daemon->config);
	budget_set(&daemon->budget, daemon->config->budget_percent,
		   daemon->config->collector.stacks, daemon->counts.collector);
	err = loop_add(&daemon->loop, collector_fd(daemon->counts.collector), on_events, daemon);
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot wait for processes: %s", strerror(-err))
		   : 0;
}

static void start_timers(struct daemon *daemon)
{
	uint64_t watchdog = notify_watchdog_ns() / 2;
	uint64_t pulse = watchdog && watchdog < PULSE_NS ? watchdog : PULSE_NS;

	timer_arm(daemon->pulse, pulse, pulse);
	tick_arm(daemon);
}

/* --- the loop ---------------------------------------------------------------------------------- */

static int patience_ms(const struct daemon *daemon)
{
	int patience = sooner_ms(collector_patience_ms(daemon->counts.collector),
				 ipc_server_patience_ms(daemon->local));

	return daemon->remote ? sooner_ms(patience, ipc_server_patience_ms(daemon->remote))
			      : patience;
}

/* Once nobody waits for an answer. Where it fails, the next reading tries again, and says so. */
static void settle_when_idle(struct daemon *daemon)
{
	struct ipc_server_counts clients;

	ipc_server_counts(daemon->local, &clients);
	if (!clients.pending_bytes)
		counts_settle(&daemon->counts);
}

/* Counting does not pay for clients: a turn of the loop that only serves them is charged to them. */
static void turn_end(struct daemon *daemon, uint64_t start_ns)
{
	if (daemon->served_ns && !daemon->has_counted)
		daemon->served_ns = clock_cpu_ns() - start_ns;
	budget_answered(&daemon->budget, daemon->served_ns);
	daemon->served_ns = 0;
	daemon->has_counted = false;
}

/* Servers also have to cut off clients whose time is up, of which no descriptor tells. */
static int run_once(struct daemon *daemon, struct diag *d)
{
	uint64_t start_ns = clock_cpu_ns();
	int err = loop_wait(&daemon->loop, patience_ms(daemon));

	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot wait: %s", strerror(-err));
	if (daemon->err) {
		*d = daemon->d;
		return daemon->err;
	}
	if (!ipc_server_patience_ms(daemon->local))
		server_run(daemon, daemon->local);
	if (daemon->remote && !ipc_server_patience_ms(daemon->remote))
		server_run(daemon, daemon->remote);
	settle_when_idle(daemon);
	err = collector_reclaim(daemon->counts.collector);
	turn_end(daemon, start_ns);
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot follow the processes: %s",
			      strerror(-err))
		   : 0;
}

static int run(struct daemon *daemon, struct diag *d)
{
	const char *state_dir = daemon->config->history ? daemon->config->state_dir : NULL;
	int err = open_loop(daemon, d);

	/* First of all: whoever cannot answer, or remember, need not attach. */
	if (!err && state_dir)
		err = history_make_place(state_dir, d);
	if (!err)
		err = open_servers(daemon, d);
	/* The socket, which may be in the same directory, says more of a daemon that runs. */
	if (!err && state_dir)
		err = history_check_unused(state_dir, d);
	if (!err)
		err = start_counting(daemon, d);
	if (err)
		return err;
	start_timers(daemon);
	log_line(LOG_NOTICE, "version " BPFTRUSS_VERSION ", %u threads; clients ask at %s",
		 collector_live(daemon->counts.collector), daemon->asked_at);
	notify_send("READY=1\nSTATUS=counting");
	while (!err && !daemon->over)
		err = run_once(daemon, d);
	if (!err)
		err = counts_tick(&daemon->counts, d);
	return err;
}

int daemon_run(const struct daemon_config *config, const struct daemon_reload *reload,
	       struct diag *d)
{
	struct daemon daemon __cleanup(daemon_done) = {
		.first = config,
		.config = config,
		.reload = reload,
		.listener = -1,
		.loop = LOOP_CLOSED,
		.signals = -1,
		.tick = -1,
		.pulse = -1,
	};

	/* Else the first large answer that is freed would make the heap keep all later ones. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	/* Its descriptors of BPF maps are not to be taken by whoever may trace it. */
	prctl(PR_SET_DUMPABLE, 0);
	return run(&daemon, d);
}
