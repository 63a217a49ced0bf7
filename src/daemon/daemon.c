/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the daemon: its start in order, its loop, reloads, and its end. */
#include <grp.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "daemon/log.h"
#include "daemon/push.h"
#include "daemon/service.h"

/* How often the daemon looks at its own cost, unless the watchdog wants to hear more often. */
#define PULSE_NS (10 * NS_PER_SEC)

enum server {
	SERVER_LOCAL, /* on the unix socket */
	SERVER_TCP,
	NR_SERVER,
};

/* The loop waits for these. Clients come last: nothing has to wait for them. */
enum source {
	SOURCE_SIGNAL,
	SOURCE_TICK,
	SOURCE_PULSE,
	SOURCE_EVENTS, /* of the collector */
	SOURCE_PUSH,   /* the child that sends */
	SOURCE_CLIENTS,
	NR_SOURCE = SOURCE_CLIENTS + NR_SERVER,
};

struct daemon {
	const struct daemon_config *first;  /* obeyed at the start */
	const struct daemon_config *config; /* the latest */
	const struct daemon_reload *reload;
	struct counts counts;
	struct budget budget;
	struct call_log calls;
	struct push push;
	struct service service;
	struct ipc_server *servers[NR_SERVER]; /* NULL: none */
	struct guard *guard;                   /* of the one over TCP; NULL: none */
	struct stat bound;                     /* the name of our socket; all zero: systemd's */
	char asked_at[SOCKET_NAME_SIZE];
	struct pollfd sources[NR_SOURCE]; /* those up to the pulse are ours; -1: not open */
	bool cannot_grow;                 /* there was no memory for other tables */
	uint32_t threads;                 /* that larger tables were made for; 0: not grown */
	uint64_t worn_ns; /* when counting began anew for what is never given back; 0: never */
	bool over;
	int err;       /* of what a source had to do, for which it ends */
	struct diag d; /* why */
};

static void daemon_done(struct daemon *daemon)
{
	notify_send("STOPPING=1\nSTATUS=stopping");
	socket_unlink(daemon->first->socket, &daemon->bound);
	for (int i = 0; i < NR_SERVER; i++)
		ipc_server_free(daemon->servers[i]);
	guard_free(daemon->guard);
	service_done(&daemon->service);
	call_log_done(&daemon->calls);
	push_done(&daemon->push);
	counts_done(&daemon->counts);
	metrics_free(daemon->counts.metrics);
	for (int i = SOURCE_SIGNAL; i <= SOURCE_PULSE; i++)
		closep(&daemon->sources[i].fd);
}

/* --- timers and signals ------------------------------------------------------------------------ */

static void pulse_arm(const struct daemon *daemon)
{
	const uint64_t watchdog_ns = notify_watchdog_ns() / 2;

	clock_set_timer(daemon->sources[SOURCE_PULSE].fd,
			watchdog_ns && watchdog_ns < PULSE_NS ? watchdog_ns : PULSE_NS, 0);
}

/* An interval belongs to the step of an answer in which it ends: that must not be the next one. */
#define TICK_EARLY_NS (20 * NS_PER_MS)

/* Intervals end at whole multiples of their length, so that minutes are those of the clock. */
static void tick_arm(struct daemon *daemon)
{
	uint64_t interval = daemon->config->interval_ns;
	uint64_t left = interval - (uint64_t)clock_real_ns() % interval;

	/* Intervals are a second at least. */
	clock_set_timer(daemon->sources[SOURCE_TICK].fd,
			(left < interval / 4 ? left + interval : left) - TICK_EARLY_NS, 0);
}

static void on_tick(struct daemon *daemon)
{
	struct diag d;

	if (counts_tick(&daemon->counts, &d))
		log_line(LOG_ERR, "an interval will be longer: %s", d.text);
	tick_arm(daemon);
}

static void collector_follow(struct daemon *daemon)
{
	daemon->sources[SOURCE_EVENTS].fd = collector_fd(daemon->counts.collector);
	budget_set(&daemon->budget, daemon->config->budget_percent,
		   daemon->first->collector.view != NULL, daemon->first->collector.stacks,
		   daemon->counts.collector);
	daemon->budget.events = push_events(&daemon->push);
}

/* A user can make so many files and paths: not more often than this does it begin anew for that. */
#define WORN_PAUSE_NS (24 * 3600 * NS_PER_SEC)

/*
 * Makes larger tables before calls lose their process, if there is time, or new ones before files with
 * code find no number, or paths no room. Not for pids: who was a child of theirs nobody would know.
 */
static int renew_tables(struct daemon *daemon)
{
	struct collector *old __cleanup(collector_freep) = NULL;
	struct collector_options larger = daemon->first->collector;
	const char *why = "the tables in the kernel were nearly full";
	const uint64_t now_ns = clock_mono_ns();
	bool replaced;
	int err;

	/* Ended threads only wait to be taken in. If that fails, the loop reports it. */
	if (larger.nr_pids || daemon->cannot_grow || collector_reclaim(daemon->counts.collector))
		return 0;
	larger.threads = collector_wants_threads(daemon->counts.collector, &larger);
	if (larger.threads) {
		daemon->threads = larger.threads;
	} else {
		why = collector_worn_by(daemon->counts.collector);
		if (!why || (daemon->worn_ns && now_ns - daemon->worn_ns < WORN_PAUSE_NS))
			return 0;
		daemon->worn_ns = now_ns;
	}
	larger.threads = daemon->threads;
	larger.hurried = true;
	err = counts_replace(&daemon->counts, &larger, &replaced, &old, &daemon->d);
	if (old)
		call_log_change_collector(&daemon->calls, daemon->counts.collector);
	if (!err) {
		collector_follow(daemon);
		events_tell(
			push_events(&daemon->push),
			&(struct otlp_event){ .priority = LOG_NOTICE, .name = "bpftruss.restart" },
			"%s: counting was restarted; what was counted before is in the history",
			why);
	}
	if (!err || replaced)
		return err;
	log_line(LOG_WARNING, "%s, and tables cannot be enlarged: %s", why, daemon->d.text);
	daemon->cannot_grow = true;
	return 0;
}

static void on_pulse(struct daemon *daemon)
{
	pulse_arm(daemon);
	malloc_trim(0);
	budget_check(&daemon->budget, daemon->counts.collector);
	daemon->err = renew_tables(daemon);
	service_watch_tables(&daemon->service);
	call_log_tell(&daemon->calls);
	notify_send(
		"WATCHDOG=1\nSTATUS=%zu processes, %zu rows; %.2f%% of a CPU, programs included",
		daemon->counts.last->nr_processes, daemon->counts.last->nr_rows,
		daemon->budget.used_percent);
}

/* Names the targets: all processes, or what was chosen, as far as it fits. */
static void describe_targets(const struct daemon_config *config, char *buf, size_t size)
{
	static const char *const kinds[] = {
		[SELECT_ALL] = "all processes", [SELECT_COMM] = "name ",
		[SELECT_CGROUP] = "cgroup ",    [SELECT_UNIT] = "unit ",
		[SELECT_USER] = "user ",        [SELECT_CONTAINER] = "container "
	};
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < config->collector.nr_pids && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%spid %d", i ? ", " : "",
					 config->collector.pids[i]);
	for (size_t i = 0; i < config->collector.nr_selectors && used < size; i++) {
		const struct target_selector *selector = &config->collector.selectors[i];

		used += (size_t)snprintf(buf + used, size - used, "%s%s%s", used ? ", " : "",
					 kinds[selector->kind], selector->text ?: "");
	}
}

/* --- servers ------------------------------------------------------------------------------------ */

/* Nobody who scrapes takes longer; who reads slowly on purpose holds room for so long. */
#define STRANGER_LIFETIME_S 15

int daemon_read_guard(const struct daemon_config *config, struct guard **ret, struct diag *d)
{
	const struct guard_files *files = &config->guard;
	const char *unused = files->certificate ? "listen-cert"
			     : files->key       ? "listen-key"
			     : files->client_ca ? "listen-client-ca"
			     : files->secrets   ? "listen-auth"
						: NULL;
	const char *missing = NULL;

	*ret = NULL;
	if (config->listen_reports && !files->client_ca && !files->secrets)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--listen-reports needs --listen-auth or --listen-client-ca: reports "
			"show the processes of all users");
	if (!config->listen && (unused || config->listen_profiles))
		return diag_set(d, DIAG_USAGE, EINVAL, "--%s needs --listen",
				unused ?: "listen-profiles");
	if (config->listen_profiles && !files->secrets && !files->client_ca &&
	    !config->listen_insecure)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--listen-profiles: anybody who can connect to %s would see the "
				"processes of all users: give listen-auth or listen-client-ca, or "
				"say listen-insecure, too",
				config->listen);
	if (!config->listen || (!unused && socket_tcp_is_loopback(config->listen)))
		return 0;
	if (!files->certificate && !files->key)
		missing = "listen-cert and listen-key";
	else if (!files->client_ca && !files->secrets)
		missing = "listen-auth or listen-client-ca";
	if (missing && !config->listen_insecure && !socket_tcp_is_loopback(config->listen))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--listen: other hosts can connect to %s: give %s, or say "
				"listen-insecure, too",
				config->listen, missing);
	return guard_new(files, ret, d);
}

static int serve(struct daemon *daemon, int listener, gid_t group, enum server which,
		 struct diag *d)
{
	const struct ipc_server_options options = {
		.handler = service_answer,
		.closure = &daemon->service,
		.group = group,
		.lifetime_s =
			which == SERVER_TCP && !guard_asks(daemon->guard) ? STRANGER_LIFETIME_S : 0,
		.guard = which == SERVER_TCP ? daemon->guard : NULL,
		.has_any_host =
			which == SERVER_TCP && !socket_tcp_is_loopback(daemon->first->listen),
	};
	struct ipc_server **server = &daemon->servers[which];
	int err = listener < 0 ? listener : ipc_server_new(listener, &options, server, d);

	if (!err)
		daemon->sources[SOURCE_CLIENTS + which].fd = ipc_server_fd(*server);
	return err;
}

static int serve_tcp(struct daemon *daemon, struct diag *d)
{
	/* Whoever comes that way is in no group. */
	return serve(daemon, socket_listen_tcp(daemon->first->listen, d), getegid(), SERVER_TCP, d);
}

/* A certificate is renewed long before a daemon is restarted. */
static int renew_guard(struct daemon *daemon, struct diag *d)
{
	struct guard *guard;
	int err = daemon->guard ? daemon_read_guard(daemon->first, &guard, d) : 0;

	if (err || !daemon->guard)
		return err;
	ipc_server_free(steal_ptr(&daemon->servers[SERVER_TCP]));
	daemon->sources[SOURCE_CLIENTS + SERVER_TCP].fd = -1;
	guard_free(daemon->guard);
	daemon->guard = guard;
	return serve_tcp(daemon, d);
}

/* The counts up to here go into the history by the old rules. */
static void daemon_reload_config(struct daemon *daemon)
{
	const struct daemon_config *config;
	struct diag d;

	notify_send("RELOADING=1\nMONOTONIC_USEC=%llu",
		    (unsigned long long)(clock_mono_ns() / 1000));
	if (counts_tick(&daemon->counts, &d) ||
	    daemon->reload->read(daemon->reload->closure, &config, &d)) {
		log_line(LOG_ERR, "the configuration is unchanged: %s", d.text);
	} else {
		daemon->config = config;
		daemon->service.config = config;
		daemon->calls.config = config;
		daemon->counts.recent.max_bytes = config->recent_bytes;
		counts_open_history(&daemon->counts, config);
		collector_follow(daemon);
		tick_arm(daemon);
		log_line(LOG_NOTICE, "the configuration was reloaded");
		if (renew_guard(daemon, &d))
			log_line(LOG_ERR, "/metrics over TCP: %s", d.text);
	}
	notify_send("READY=1");
}

static void on_signal(struct daemon *daemon)
{
	struct signalfd_siginfo info;

	if (read(daemon->sources[SOURCE_SIGNAL].fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		daemon_reload_config(daemon);
	else
		daemon->over = true;
}

/* --- start ------------------------------------------------------------------------------------- */

static int open_sources(struct daemon *daemon, struct diag *d)
{
	struct pollfd *sources = daemon->sources;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	sources[SOURCE_SIGNAL].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	sources[SOURCE_TICK].fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	sources[SOURCE_PULSE].fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (sources[SOURCE_SIGNAL].fd >= 0 && sources[SOURCE_TICK].fd >= 0 &&
	    sources[SOURCE_PULSE].fd >= 0)
		return 0;
	return diag_set(d, DIAG_FAILED, errno, "cannot wait for signals and time: %s",
			strerror(errno));
}

static int open_servers(struct daemon *daemon, struct diag *d)
{
	/* The default need not exist: then it is root's. */
	const struct group *found = getgrnam(daemon->config->group ?: DEFAULT_GROUP);
	const gid_t group = found ? found->gr_gid : getegid();
	int fd, err;

	daemon->service = (struct service){
		.config = daemon->config,
		.first = daemon->first,
		.counts = &daemon->counts,
		.budget = &daemon->budget,
		.calls = &daemon->calls,
		.push = &daemon->push,
	};
	describe_targets(daemon->config, daemon->service.targets, sizeof(daemon->service.targets));
	fd = socket_inherited(d);
	if (fd == -ENOENT) {
		fd = socket_listen_unix(daemon->config->socket, group, d);
		if (fd >= 0)
			lstat(daemon->config->socket, &daemon->bound);
	}
	if (fd >= 0)
		socket_name(fd, daemon->asked_at, sizeof(daemon->asked_at));
	err = serve(daemon, fd, group, SERVER_LOCAL, d);
	if (err)
		return err;
	daemon->service.local = daemon->servers[SERVER_LOCAL];
	if (!daemon->config->listen)
		return 0;
	err = daemon_read_guard(daemon->config, &daemon->guard, d);
	if (err)
		return err;
	return serve_tcp(daemon, d);
}

static int start_counting(struct daemon *daemon, struct diag *d)
{
	struct metrics_options metrics = daemon->config->metrics;
	int err;

	/* What is pushed has the last calls of those that are gone, too. */
	if (daemon->config->otlp.post.endpoint)
		metrics.keep_gone_ns = 2 * daemon->config->otlp.interval_ns;
	if (metrics_new(&metrics, &daemon->counts.metrics))
		return diag_oom(d);
	err = counts_open(&daemon->counts, daemon->config, d);
	if (err)
		return err;
	counts_open_history(&daemon->counts, daemon->config);
	collector_follow(daemon);
	return call_log_open(&daemon->calls, daemon->config, daemon->counts.collector,
			     daemon->asked_at, d);
}

/* --- the loop ---------------------------------------------------------------------------------- */

static int servers_patience_ms(const struct daemon *daemon)
{
	int patience = -1;

	for (int i = 0; i < NR_SERVER; i++)
		if (daemon->servers[i])
			patience = sooner_ms(patience, ipc_server_patience_ms(daemon->servers[i]));
	return patience;
}

/* CPU time of the servers, if they have something to do. */
static uint64_t servers_run(struct daemon *daemon)
{
	const struct pollfd *clients = &daemon->sources[SOURCE_CLIENTS];
	uint64_t start_ns = clock_cpu_ns();

	/* Servers also cut off clients whose time is up, of which no descriptor tells. */
	if (!clients[SERVER_LOCAL].revents && !clients[SERVER_TCP].revents &&
	    servers_patience_ms(daemon))
		return 0;
	for (int i = 0; i < NR_SERVER; i++)
		if (daemon->servers[i])
			ipc_server_run(daemon->servers[i]);
	return clock_cpu_ns() - start_ns;
}

/* Takes one turn: waits once, and does what is to be done. */
static int run_once(struct daemon *daemon, struct diag *d)
{
	static void (*const ready[SOURCE_EVENTS])(struct daemon *daemon) = {
		[SOURCE_SIGNAL] = on_signal,
		[SOURCE_TICK] = on_tick,
		[SOURCE_PULSE] = on_pulse,
	};
	const struct pollfd *sources = daemon->sources;
	int patience_ms = sooner_ms(collector_patience_ms(daemon->counts.collector),
				    servers_patience_ms(daemon));
	uint64_t start_ns = clock_cpu_ns(), served_ns, recorded_ns;
	int err;

	patience_ms = sooner_ms(patience_ms, call_log_patience_ms(&daemon->calls));
	patience_ms = sooner_ms(patience_ms, push_patience_ms(&daemon->push));
	daemon->sources[SOURCE_PUSH].fd = push_fd(&daemon->push);
	if (poll(daemon->sources, NR_SOURCE, patience_ms) < 0)
		return errno == EINTR ? 0
				      : diag_set(d, DIAG_FAILED, errno, "cannot wait: %s",
						 strerror(errno));
	for (int i = 0; i < SOURCE_EVENTS; i++)
		if (sources[i].revents)
			ready[i](daemon);
	if (daemon->err) {
		*d = daemon->d;
		return daemon->err;
	}
	push_run(&daemon->push, &daemon->service);
	recorded_ns = clock_cpu_ns();
	err = call_log_look(&daemon->calls, d);
	if (err)
		return err;
	recorded_ns = clock_cpu_ns() - recorded_ns;
	served_ns = servers_run(daemon);
	/* Once nobody waits. Where it fails, the next reading tries again, and says so. */
	if (!ipc_server_counts(daemon->servers[SERVER_LOCAL])->pending_bytes)
		counts_settle(&daemon->counts);
	err = collector_reclaim(daemon->counts.collector);
	/* Counting does not pay for clients: a turn that only serves them is charged to them. */
	if (served_ns && !sources[SOURCE_TICK].revents && !sources[SOURCE_EVENTS].revents)
		served_ns = clock_cpu_ns() - start_ns - recorded_ns;
	daemon->budget.answers_ns += served_ns;
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot follow the processes: %s",
			      strerror(-err))
		   : 0;
}

/* The next daemon pushes what is left. */
static void run_end(struct daemon *daemon)
{
	struct events *events = push_events(&daemon->push);

	if (events)
		events_tell(events,
			    &(struct otlp_event){ .priority = LOG_NOTICE, .name = "bpftruss.stop" },
			    "stopped; what was counted up to now is pushed after the next start");
	push_end(&daemon->push, &daemon->service);
}

static int run(struct daemon *daemon, struct diag *d)
{
	const struct daemon_config *config = daemon->config;
	const struct recorder_config *recorder = &config->recorder;
	const bool saves = recorder->is_on && save_triggers_given(&recorder->save_on);
	const bool keeps_state = !config->no_history || config->otlp.post.endpoint || saves;
	const char *state_dir = keeps_state ? config->state_dir : NULL;
	int err = open_sources(daemon, d);

	if (err)
		return err;
	/* What it makes has the mode that is asked for, and is nobody else's. */
	umask(077);
	/* First of all: whoever cannot answer, or remember, need not attach. */
	err = state_dir ? history_make_place(state_dir, d) : 0;
	if (err)
		return err;
	err = open_servers(daemon, d);
	if (err)
		return err;
	/* The socket, which may be in the same directory, says more of a daemon that runs. */
	err = state_dir ? history_check_unused(state_dir, d) : 0;
	if (err)
		return err;
	err = push_open(&daemon->push, config, d);
	if (err)
		return err;
	daemon->counts.events = push_events(&daemon->push);
	err = start_counting(daemon, d);
	if (err)
		return err;
	pulse_arm(daemon);
	tick_arm(daemon);
	events_tell(push_events(&daemon->push),
		    &(struct otlp_event){ .priority = LOG_NOTICE, .name = "bpftruss.start" },
		    "version " BPFTRUSS_VERSION ", %u threads; clients ask at %s",
		    collector_live(daemon->counts.collector), daemon->asked_at);
	notify_send("READY=1\nSTATUS=counting");
	while (!err && !daemon->over)
		err = run_once(daemon, d);
	if (err)
		return err;
	err = counts_tick(&daemon->counts, d);
	if (!err)
		run_end(daemon);
	return err;
}

int daemon_run(const struct daemon_config *config, const struct daemon_reload *reload,
	       struct diag *d)
{
	struct daemon daemon __cleanup(daemon_done) = {
		.first = config,
		.config = config,
		.reload = reload,
	};

	push_init(&daemon.push);
	for (int i = 0; i < NR_SOURCE; i++)
		daemon.sources[i] = (struct pollfd){ .fd = -1, .events = POLLIN };

	/* Else the first large answer that is freed would make the heap keep all later ones. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	/* Its descriptors of BPF maps are not to be taken by whoever may trace it. */
	prctl(PR_SET_DUMPABLE, 0);
	return run(&daemon, d);
}
