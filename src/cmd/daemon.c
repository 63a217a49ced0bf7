/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `bpftruss daemon`: with what its files and flags say, and say at a reload. Flags win. */
#include "base/clock.h"
#include "cmd/options.h"
#include "daemon/log.h"

/* The default budget is this share of one CPU for each CPU of the host. */
#define BUDGET_PERCENT_A_CPU 10.0

/* A daemon runs for months: what has ended takes so much memory for each process that keeps rows. */
#define KEEP_BYTES_EACH ((size_t)8192)

/* The first stays: what cannot be reloaded borrows from it. Each is owned, or NULL. */
struct configuration {
	const struct options *flags;
	struct options *first, *latest;
};

static void options_freep(struct options **options)
{
	if (*options)
		options_done(*options);
	free(*options);
}

static void configuration_done(struct configuration *configuration)
{
	options_freep(&configuration->latest);
	options_freep(&configuration->first);
}

/* Whether keys of the recorder are set, but not whether there is one. */
static bool recorder_is_forgotten(const struct options *o)
{
	bool is_set = false;

	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];

		if (!o->given[i] || !def->section || strcmp(def->section, "recorder") != 0)
			continue;
		if (def->offset == offsetof(struct options, daemon.recorder.is_on))
			return false;
		is_set = true;
	}
	return is_set;
}

/* Whoever asks for what was recorded may want to see all of it. */
static void recorder_complete(struct options *o)
{
	o->recorder_view = (struct call_view){
		.plan = { .path_bytes = DEFAULT_PATHS,
			  .data_bytes = DEFAULT_DATA,
			  .structs = true },
		.calls = o->daemon.recorder.calls,
	};
	o->daemon.collector.view = &o->recorder_view;
}

/* Nobody was named: everybody is meant. A unit or user may come to be later. */
static int config_complete(struct options *o, struct diag *d)
{
	static const enum call_split splits[NR_DAEMON_ARGUMENTS] = {
		[DAEMON_KEEPS_NONE] = SPLIT_NONE,
		[DAEMON_KEEPS_PATHS] = SPLIT_PATH,
		[DAEMON_KEEPS_FILES] = SPLIT_FILE,
	};
	struct daemon_config *config = &o->daemon;
	struct guard *guard __cleanup(guard_freep) = NULL;
	int err;

	if (recorder_is_forgotten(o))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"nothing is recorded that could be saved: set record = yes, too");
	if (!targets_given(&o->targets))
		o->targets.all = true;
	o->collector.wait = true;
	err = options_complete(o, d);
	if (err)
		return err;
	config->collector = o->collector;
	config->collector.split_by = splits[config->arguments];
	config->collector.lasting = true;
	config->collector.keep_bytes =
		(o->collector.keep_exited ?: DEFAULT_KEEP_EXITED) * KEEP_BYTES_EACH;
	if (config->recorder.is_on)
		recorder_complete(o);
	config->follow = o->follow;
	err = daemon_read_guard(config, &guard, d) ?: post_check(&config->otlp.post, d);
	if (err)
		return err;
	if (o->follow && !o->targets.nr_pids)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--follow needs --pid: other targets select each process on its "
				"own");
	return 0;
}

/* Reads the files, and then the flags; targets of flags replace those of the files. */
static int configure(const struct options *flags, struct options **ret, struct diag *d)
{
	struct options *o __cleanup(options_freep) = malloc(sizeof(*o));
	int err;

	if (!o)
		return diag_oom(d);
	options_init(o, flags->verb);
	o->daemon = (struct daemon_config){
		.socket = DEFAULT_SOCKET,
		.state_dir = DEFAULT_STATE_DIR,
		.interval_ns = 60 * NS_PER_SEC,
		.recent_bytes = 8 << 20,
		.recorder = { .bytes = 64 << 20,
			      .save_last_ns = 10 * NS_PER_SEC,
			      .save_bytes = 256 << 20 },
		.otlp = { .interval_ns = 60 * NS_PER_SEC, .queue_bytes = 32 << 20 },
		.budget_percent = BUDGET_PERCENT_A_CPU * (double)sysconf(_SC_NPROCESSORS_ONLN),
	};
	o->check_config = flags->check_config;
	err = config_read(o, flags->config_file, d);
	if (err)
		return err;
	if (targets_given(&flags->targets)) {
		free(o->targets.pids);
		o->targets = (struct targets){ 0 };
	}
	err = options_read(o, flags->argc, flags->argv, d);
	if (!err)
		err = config_complete(o, d);
	if (err)
		return err;
	*ret = steal_ptr(&o);
	return 0;
}

static int reload(void *closure, const struct daemon_config **ret, struct diag *d)
{
	struct configuration *configuration = closure;
	struct options *next;
	int err = configure(configuration->flags, &next, d);

	if (err)
		return err;
	if (next->fixed != configuration->first->fixed)
		log_line(LOG_WARNING,
			 "reload: socket, state-dir, group, verbose, record, record-size, "
			 "record-calls and what is in [targets], [tables], [metrics] and [otlp] "
			 "change only when the daemon is restarted");
	options_freep(&configuration->latest);
	configuration->latest = next;
	*ret = &next->daemon;
	return 0;
}

static int daemon_verb_run(const struct options *flags, struct diag *d)
{
	struct configuration configuration __cleanup(configuration_done) = { .flags = flags };
	const struct daemon_reload how = { reload, &configuration };
	int err = configure(flags, &configuration.first, d);

	if (err)
		return err;
	if (!flags->check_config)
		return daemon_run(&configuration.first->daemon, &how, d);
	puts("the configuration is in order");
	return STATUS_OK;
}

const struct verb daemon_verb = {
	"daemon",
	VERB_DAEMON,
	daemon_verb_run,
	"count all the time, keep a history, and answer the verbs below",
	"usage: bpftruss daemon [options]",
	"Counts the system calls of all processes, or of the given targets, and answers 'bpftruss\n"
	"snapshot', 'history' and so on. All options except the last three are also keys of the\n"
	"configuration, without the dashes: see bpftruss.conf(5).",
	"  systemctl enable --now bpftruss        as a service\n"
	"  bpftruss daemon --check-config         check the configuration\n"
	"  bpftruss daemon --socket /run/my.sock --state-dir /root/counts -u nginx.service\n"
	"                                         a private daemon beside that of the system",
};
