/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the keys and flags of the daemon, and the order in which files and flags are obeyed. */
#include "cmd/daemon_options.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/moment.h"
#include "cmd/arguments.h"
#include "cmd/config_file.h"
#include "cmd/options_parts.h"
#include "daemon/log.h"
#include "ipc/socket.h"

#define CONFIG_DIR "/etc/bpftruss/conf.d"

static int set_config(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)d;
	o->config_file = arg;
	return 0;
}

static int set_check_config(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)arg, (void)d;
	o->check_config = true;
	return 0;
}

static int set_help(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)arg, (void)d;
	o->help = true;
	return 0;
}

/* A path that does not depend on where the daemon was started. */
static int set_path(const char *option, const char *arg, const char **ret, struct diag *d)
{
	if (arg[0] != '/')
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: \"%.200s\" is no absolute path: it must begin with /", option,
				arg);
	*ret = arg;
	return 0;
}

static int set_socket(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return set_path("--socket", arg, &o->config.socket, d);
}

static int set_state_dir(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return set_path("--state-dir", arg, &o->config.state_dir, d);
}

static int set_group(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	o->config.group = arg;
	/* The default need not exist. */
	if (!strcmp(arg, DEFAULT_GROUP))
		return 0;
	return check_group("--group", arg, d);
}

static int set_interval(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return duration_parse("--interval", arg, &o->config.interval_ns, d);
}

static int set_recent(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;
	uint64_t bytes = 0;
	int err = parse_size("--recent", arg, 64 << 10, &bytes, d);

	o->config.recent_bytes = bytes;
	return err;
}

static int set_budget(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	double part = 0;
	int err = strcmp(arg, "none") ? parse_percent("--budget", arg, &part, d) : 0;

	o->config.budget_percent = part * 100;
	return err;
}

static int set_follow(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)d;
	o->config.follow = !arg;
	return 0;
}

static int set_stacks(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)d;
	o->count.collector.stacks = !arg;
	return 0;
}

static int set_verbose(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)d;
	o->count.collector.verbose = !arg;
	return 0;
}

static int set_no_history(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)d;
	o->config.history = arg != NULL;
	return 0;
}

static int set_keep(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return duration_parse("--keep", arg, &o->config.keep.keep_ns[0], d);
}

static int set_keep_10m(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return duration_parse("--keep-10m", arg, &o->config.keep.keep_ns[1], d);
}

static int set_keep_1h(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return duration_parse("--keep-1h", arg, &o->config.keep.keep_ns[2], d);
}

static int set_history_size(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return parse_size("--history-size", arg, 1 << 20, &o->config.keep.max_bytes, d);
}

static int set_listen(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	o->config.listen = arg;
	return socket_tcp_check(arg, d);
}

static int set_metrics_by(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	if (!metrics_group_find(arg, &o->config.metrics.group))
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"--metrics-by: \"%.64s\" is none of unit, cgroup, comm, pid", arg);
}

static int set_metrics_top(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return parse_limit("--metrics-top", arg, 10000, &o->config.metrics.top, d);
}

static int set_metrics_series(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	return parse_limit("--metrics-series", arg, 1000000, &o->config.metrics.max_series, d);
}

static int set_no_histograms(void *options, const char *arg, struct diag *d)
{
	struct daemon_options *o = options;

	(void)d;
	o->config.metrics.histograms = arg != NULL;
	return 0;
}

static const struct option_def flag_defs[] = {
	{ "config", "FILE", "read only this file (default " DEFAULT_CONFIG ",\nand conf.d/*.conf)",
	  set_config, 0 },
	{ "check-config", NULL, "only tell what is wrong in the files", set_check_config, 0 },
	{ "help", NULL, "print this text", set_help, 'h' },
};

static const struct option_def daemon_defs[] = {
	{ "socket", "PATH", "where clients ask (default " DEFAULT_SOCKET ")", set_socket, 0 },
	{ "state-dir", "DIR", "where the history is (default " DEFAULT_STATE_DIR ")", set_state_dir,
	  0 },
	{ "group", "GROUP", "whose members may ask (default " DEFAULT_GROUP ")", set_group, 0 },
	{ "recent", "SIZE", "memory for --since by process (default 8M)", set_recent, 0 },
	{ "budget", "PERCENT",
	  "of a CPU, or none; beyond it stacks, then errnos are given up; 10% a CPU unless given",
	  set_budget, 0 },
	{ "verbose", NULL, "show libbpf's and the kernel's own messages", set_verbose, 'v' },
};

static const struct option_def follow_defs[] = {
	{ "follow", NULL, "with -p: child processes too", set_follow, 'f' },
};

static const struct option_def stacks_defs[] = {
	{ "stacks", NULL, "also the user stacks that make the calls", set_stacks, 0 },
};

static const struct option_def history_defs[] = {
	{ "no-history", NULL, "keep none", set_no_history, 0 },
	{ "interval", "SPAN", "of the history (default 60s)", set_interval, 'i' },
	{ "keep", "SPAN", "intervals as they came (default 12h)", set_keep, 0 },
	{ "keep-10m", "SPAN", "added up to ten minutes (default 14d)", set_keep_10m, 0 },
	{ "keep-1h", "SPAN", "added up to hours (default 400d)", set_keep_1h, 0 },
	{ "history-size", "SIZE", "of the file; the oldest goes (default 512M)", set_history_size,
	  0 },
};

static const struct option_def metrics_defs[] = {
	{ "listen", "ADDRESS:PORT", "/metrics on a loopback address too (default none)", set_listen,
	  0 },
	{ "metrics-by", "KEY", "a target a unit (default), cgroup, comm or pid", set_metrics_by,
	  0 },
	{ "metrics-top", "N", "so many targets; the rest is other (default 20)", set_metrics_top,
	  0 },
	{ "metrics-series", "N", "never more series (default 10000)", set_metrics_series, 0 },
	{ "no-histograms", NULL, "no latencies in /metrics", set_no_histograms, 0 },
};

#define PART(defs) { defs, ARRAY_SIZE(defs) }

static const struct option_part flag_part = PART(flag_defs), daemon_part = PART(daemon_defs),
				follow_part = PART(follow_defs), stacks_part = PART(stacks_defs),
				history_part = PART(history_defs),
				metrics_part = PART(metrics_defs);

static const struct option_table option_table = {
	.parts = { &daemon_part, &target_options, &follow_part, &stacks_part, &collect_options,
		   &history_part, &metrics_part, &flag_part },
	.help_command = "bpftruss daemon --help",
};

/* Each part is in one section of the files, but for what only makes sense as a flag. */
static const struct config_section sections[] = {
	{ "daemon", &daemon_part },   { "targets", &target_options }, { "targets", &follow_part },
	{ "tables", &stacks_part },   { "tables", &collect_options }, { "history", &history_part },
	{ "metrics", &metrics_part },
};

static const char *keep_text(void *options, const char *value)
{
	struct daemon_options *o = options;
	char **grown = reallocarray(o->texts, o->nr_texts + 1, sizeof(*grown));
	char *copy = strdup(value);

	if (grown)
		o->texts = grown;
	if (!grown || !copy) {
		free(copy);
		return NULL;
	}
	return grown[o->nr_texts++] = copy;
}

static void complain(const char *file, int line, const char *sentence)
{
	log_line(LOG_ERR, "%s:%d: %s", file, line, sentence);
}

static int read_file(struct daemon_options *o, const char *path, int *errors, struct diag *d)
{
	const struct config_reader reader = { sections, ARRAY_SIZE(sections), o, keep_text,
					      complain };
	int result = config_file_read(&reader, path);

	if (result < 0)
		return diag_set(d, DIAG_USAGE, -result, "cannot read %s: %s", path,
				strerror(-result));
	*errors += result;
	return 0;
}

static int is_config(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > 5 &&
	       !strcmp(entry->d_name + length - 5, ".conf");
}

static int read_config_dir(struct daemon_options *o, int *errors, struct diag *d)
{
	struct dirent **entries = NULL;
	int count = scandir(CONFIG_DIR, &entries, is_config, alphasort), err = 0;
	char path[sizeof(CONFIG_DIR) + 1 + sizeof(entries[0]->d_name)];

	if (count < 0 && errno != ENOENT)
		return diag_set(d, DIAG_USAGE, errno, "cannot read %s: %s", CONFIG_DIR,
				strerror(errno));
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", CONFIG_DIR, entries[i]->d_name);
		if (!err)
			err = read_file(o, path, errors, d);
		free(entries[i]);
	}
	free(entries);
	return err;
}

static int read_files(struct daemon_options *o, struct diag *d)
{
	int errors = 0, err;

	if (o->config_file) {
		err = read_file(o, o->config_file, &errors, d);
	} else {
		err = access(DEFAULT_CONFIG, F_OK) && errno == ENOENT
			      ? 0
			      : read_file(o, DEFAULT_CONFIG, &errors, d);
		if (!err)
			err = read_config_dir(o, &errors, d);
	}
	if (!err && errors)
		err = diag_set(d, DIAG_USAGE, EINVAL, "%d error%s in the configuration", errors,
			       errors == 1 ? "" : "s");
	return err;
}

static int read_flags(struct daemon_options *o, int argc, char **argv, struct diag *d)
{
	int words;

	optind = 0;
	words = option_table_parse(&option_table, argc, argv, o, d);
	if (words < 0)
		return words;
	return words < argc ? diag_set(d, DIAG_USAGE, EINVAL,
				       "daemon: \"%.100s\" is no option; 'bpftruss daemon --help' "
				       "lists them",
				       argv[words])
			    : 0;
}

/* The default budget is this share of one CPU for each CPU of the host. */
#define BUDGET_PERCENT_A_CPU 10.0

/* A daemon runs for months: what has ended takes so much memory for each process that keeps rows. */
#define KEEP_BYTES_EACH ((size_t)8192)

static void set_defaults(struct daemon_options *o)
{
	*o = (struct daemon_options){
		.config = { .socket = DEFAULT_SOCKET,
			    .state_dir = DEFAULT_STATE_DIR,
			    .interval_ns = 60 * NS_PER_SEC,
			    .recent_bytes = 8 << 20,
			    .budget_percent =
				    BUDGET_PERCENT_A_CPU * (double)sysconf(_SC_NPROCESSORS_ONLN),
			    .history = true,
			    .metrics = { .histograms = true } },
	};
}

/* What the files say of targets is replaced, not added to. */
static void forget_targets(struct daemon_options *o)
{
	targets_done(&o->count.targets);
	o->count.targets = (struct targets){ 0 };
	o->count.collector.nr_selectors = 0;
}

/* Nobody was named: everybody is meant. A unit or user may come to be later. */
static int complete(struct daemon_options *o, struct diag *d)
{
	struct targets *targets = &o->count.targets;
	int err = 0;

	if (!targets->nr_pids && !targets->nr_selectors)
		err = targets_add_selector(targets, SELECT_ALL, NULL, d);
	o->config.collector = o->count.collector;
	o->config.collector.selectors = targets->selectors;
	o->config.collector.nr_selectors = targets->nr_selectors;
	o->config.collector.pids = targets->pids;
	o->config.collector.nr_pids = targets->nr_pids;
	o->config.collector.wait = true;
	o->config.collector.lasting = true;
	o->config.collector.keep_bytes =
		(o->config.collector.keep_exited ?: DEFAULT_KEEP_EXITED) * KEEP_BYTES_EACH;
	o->config.pids = targets->pids;
	o->config.nr_pids = targets->nr_pids;
	if (!err && o->config.follow && !targets->nr_pids)
		err = diag_set(d, DIAG_USAGE, EINVAL,
			       "--follow goes with --pid: the other targets choose each process by "
			       "itself");
	return err;
}

int daemon_options_parse(int argc, char **argv, struct daemon_options *o, struct diag *d)
{
	struct daemon_options flags;
	bool has_targets;
	int err;

	set_defaults(o);
	set_defaults(&flags);
	/* Once to learn which files to read, and whether flags name targets. */
	err = read_flags(&flags, argc, argv, d);
	has_targets = flags.count.targets.nr_pids || flags.count.targets.nr_selectors;
	o->config_file = flags.config_file;
	o->help = flags.help;
	daemon_options_done(&flags);
	if (err || o->help)
		return err;
	err = read_files(o, d);
	if (!err && has_targets)
		forget_targets(o);
	if (!err)
		err = read_flags(o, argc, argv, d);
	return err ?: complete(o, d);
}

void daemon_options_done(struct daemon_options *o)
{
	options_done(&o->count);
	for (size_t i = 0; i < o->nr_texts; i++)
		free(o->texts[i]);
	free(o->texts);
}

void daemon_options_print_help(void)
{
	puts("usage: bpftruss daemon [options]\n"
	     "\n"
	     "Counts the system calls of all processes, or of those that are named, from now on,\n"
	     "and answers 'bpftruss snapshot', 'history' and the like. Each option but the last\n"
	     "three is also a key of the configuration, without its dashes.\n");
	option_table_print(&option_table);
	puts("\n"
	     "  systemctl enable --now bpftruss        as a service\n"
	     "  bpftruss daemon --check-config         is the configuration in order?\n"
	     "  bpftruss daemon --socket /run/my.sock --state-dir /root/counts -u nginx.service\n"
	     "                                         a private one, beside the system's\n"
	     "\n"
	     "Exit status: 0 ok, 1 failure, 2 usage, 4 kernel or privileges cannot do it.\n"
	     "bpftruss-daemon(8) and bpftruss.conf(5) have the details.");
}
