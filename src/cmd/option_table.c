/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists all options of all verbs, in the order of --help. */
#include "cmd/options.h"

#include "base/clock.h"
#include "calls/exemplars.h"
#include "cmd/reporting.h"

/* Verbs that take the same options. */
#define REPORTING   (VERB_COUNT | VERB_SNAPSHOT | VERB_HISTORY | VERB_REPORT | VERB_TOP_REPORT)
#define SHAPING     (REPORTING | VERB_COMPARE)
#define OF_HISTORY  (VERB_SNAPSHOT | VERB_STATUS | VERB_HISTORY | VERB_BASELINE | VERB_COMPARE)
#define ASKING      (OF_HISTORY | VERB_RECORDER)
#define TABLES      (VERB_COUNT | VERB_DAEMON)
#define WITH_TARGET (VERBS_COUNTING | SHAPING | VERB_CALLS)
#define FACE        (VERB_COUNT | VERB_CALLS)
#define SINGLE      (VERB_CALLS | VERB_RECORDER)
#define ALL_VERBS   (WITH_TARGET | ASKING | VERB_DOCTOR | VERB_MERGE)

#define FRAME_RANGE \
	.range = "from 0.1 to 3600 seconds", .low = NS_PER_SEC / 10, .high = 3600 * NS_PER_SEC

#define RECORD_RANGE .range = "a size from 64K to 64G", .low = 64 << 10, .high = 64ull << 30

#define TO(member)                                  \
	.offset = offsetof(struct options, member), \
	.size = sizeof(__typeof__(((struct options *)0)->member))
#define ALSO(member) .also = offsetof(struct options, member)
#define WORDS(array) .words = (array), .nr_words = ARRAY_SIZE(array)

static const char *const weight_words[] = {
	[STACK_WEIGHT_CALLS] = "calls", [STACK_WEIGHT_TIME] = "time"
};

static const char *const sum_words[] = {
	[MERGE_SUM_HOSTS] = "hosts", [MERGE_SUM_PROCESSES] = "processes"
};

static const char *const metrics_words[] = {
	[METRICS_BY_UNIT] = "unit",           [METRICS_BY_CGROUP] = "cgroup",
	[METRICS_BY_COMM] = "comm",           [METRICS_BY_PID] = "pid",
	[METRICS_BY_CONTAINER] = "container", [METRICS_BY_POD] = "pod"
};

/* Only completion uses these. */
static const char *const since_words[] = { "10m", "1h", "BOOT" };
static const char *const step_words[] = { "1m", "10m", "1h", "1d", "all" };

static const char *const key_words[] = { "host",      "pid",  "tid",  "thread", "comm",    "unit",
					 "container", "pod",  "user", "cgroup", "syscall", "abi",
					 "cpu",       "arg0", "arg1", "arg2",   "arg3",    "arg4",
					 "arg5",      "path", "dir",  "file" };

static const char *const argument_words[] = {
	[DAEMON_KEEPS_NONE] = "none", [DAEMON_KEEPS_PATHS] = "path", [DAEMON_KEEPS_FILES] = "file"
};

static const char *const temporality_words[] = {
	[OTLP_CUMULATIVE] = "cumulative", [OTLP_DELTA] = "delta"
};

static const char *const trigger_words[] = { "slower:10ms", "failed", "failed:EIO", "signal" };

const char *const call_format_names[NR_CALL_FORMAT] = {
	[CALL_FORMAT_TRUSS] = "truss", [CALL_FORMAT_STRACE] = "strace", [CALL_FORMAT_JSON] = "json"
};

const struct option_def option_defs[] = {
	{ "count", 'c', OPTION_FLAG, VERB_COUNT, TO(count),
	  "count system calls; print one table at the end" },
	{ "count-too", 'C', OPTION_FLAG, VERB_CALLS, TO(count),
	  "print the calls, and at the end the table of -c" },
	{ "as-user", 0, OPTION_TEXT, FACE, TO(as_user),
	  "run the command as this user, by default as the one who called sudo", .arg = "[=USER]" },

	{ "in-flight", 0, OPTION_FLAG, VERB_COUNT, TO(in_flight),
	  "count nothing; show what each thread waits for now: call, file,\n"
	  "peer, stack" },

	/* These choose a part of the past. */
	{ "since", 0, OPTION_TEXT, VERB_SNAPSHOT, TO(since),
	  "only what happened since: a span, a time, boot, a saved snapshot",
	  .arg = "10m|14:05|BOOT|FILE", WORDS(since_words) },
	{ "since", 0, OPTION_DURATION, VERB_RECORDER, TO(calls.record.last_ns),
	  "only calls that ended in the last 5s, 200ms …", .range = "a millisecond or more",
	  .low = NS_PER_MS, .high = UINT64_MAX },
	{ "since", 0, OPTION_MOMENT, VERB_HISTORY | VERB_BASELINE, TO(from), "the same as --from" },
	{ "from", 0, OPTION_MOMENT, VERB_SNAPSHOT | VERB_HISTORY | VERB_BASELINE, TO(from),
	  "start: 14:05, \"2026-11-19 14:05\", -2h, \"5 minutes ago\", yesterday" },
	{ "to", 0, OPTION_MOMENT, VERB_SNAPSHOT | VERB_HISTORY | VERB_BASELINE, TO(to),
	  "end (default now)" },
	{ "step", 0, OPTION_TEXT, VERB_HISTORY, TO(step),
	  "a line per 1m, 10m, 1h, 1d …; all: one (default: to fit)", .arg = "SPAN",
	  WORDS(step_words) },
	{ "replace", 0, OPTION_FLAG, VERB_BASELINE, TO(replace),
	  "save: replace a baseline of that name" },
	{ "fail-over", 0, OPTION_PERCENT, VERB_COMPARE, TO(fail_over_percent),
	  "exit with 3 if calls, errors, time or p99 rose by more" },

	{ "sum", 0, OPTION_CHOICE, VERB_MERGE, TO(sum),
	  "add up processes of the same name, user and unit, on all hosts\nor on each",
	  .arg = "[=hosts|processes]", WORDS(sum_words), ALSO(has_sum) },
	{ "output", 'o', OPTION_FILE, VERB_MERGE, TO(output.path), "write the snapshot to FILE" },

	/* Frames of top. */
	{ "interval", 'i', OPTION_DURATION, VERB_TOP, TO(interval_ns),
	  "time between two frames (default 1s)", FRAME_RANGE },
	{ "delay", 'd', OPTION_DURATION, VERB_TOP, TO(interval_ns), "the same", FRAME_RANGE },
	{ "interval", 'i', OPTION_DURATION, VERB_TOP_REPORT, TO(duration_ns), "how long to count",
	  FRAME_RANGE },
	{ "delay", 'd', OPTION_DURATION, VERB_TOP_REPORT, TO(duration_ns), "the same",
	  FRAME_RANGE },
	{ "by", 0, OPTION_CHOICE, VERB_TOP, TO(rate_by),
	  "a line per pid (default), comm, unit, user, container,\n"
	  "pod, syscall, path, dir, file or tid",
	  .arg = "KEY", WORDS(rate_by_names) },
	{ "sort", 'S', OPTION_RATE_SORT, VERB_TOP, TO(rate_sort),
	  "pid, comm, user, unit, container, pod, threads,\ncalls (default), "
	  "errors, cpu, usr, sys, runq, lock, sleep, max, oldest;\n"
	  "-COLUMN: largest first, +: smallest",
	  .arg = "COLUMN", WORDS(rate_key_names) },
	{ "top", 0, OPTION_NUMBER, VERB_TOP, TO(report.table.top),
	  "with --once and --json: only the first N lines", .high = 1000000 },
	{ "once", 0, OPTION_FLAG, VERB_TOP | VERB_TOP_REPORT, TO(once),
	  "print one frame as text after one interval" },
	{ "json", 0, OPTION_VALUE, VERB_TOP, TO(report.format),
	  "one JSON object per interval, one per line", .value = FORMAT_JSON },

	/* The daemon: its place and its cost. */
	{ "socket", 0, OPTION_PATH, VERB_DAEMON, TO(daemon.socket),
	  "socket to answer on (default " DEFAULT_SOCKET ")", "daemon" },
	{ "state-dir", 0, OPTION_PATH, VERB_DAEMON, TO(daemon.state_dir),
	  "directory of the history (default " DEFAULT_STATE_DIR ")", "daemon", .arg = "DIR" },
	{ "group", 0, OPTION_GROUP, VERB_DAEMON, TO(daemon.group),
	  "members of this group may query (default " DEFAULT_GROUP ")", "daemon" },
	{ "recent", 0, OPTION_SIZE, VERB_DAEMON, TO(daemon.recent_bytes),
	  "memory for recent counts by process (default 8M)", "daemon", .reloads = true,
	  .range = "a size of 64K or more", .low = 64 << 10, .high = UINT64_MAX },
	{ "budget", 0, OPTION_PERCENT, VERB_DAEMON, TO(daemon.budget_percent),
	  "CPU limit, or none; above it, drop recorded calls, then\n"
	  "stacks, then errnos; by default 10% of each CPU",
	  "daemon", .reloads = true, .value = true },

	/* Targets. */
	{ "pid", 'p', OPTION_PIDS, WITH_TARGET | VERB_RECORDER, TO(targets),
	  "processes by number (may be repeated)", "targets" },
	{ "name", 'n', OPTION_SELECTOR, VERB_RECORDER, TO(targets),
	  "threads with this name, or matching a glob", .arg = "COMM", .value = SELECT_COMM },
	{ "name", 'n', OPTION_SELECTOR, SHAPING & ~(VERB_COUNT | VERB_TOP_REPORT), TO(targets),
	  "processes with this name or glob", .arg = "COMM", .value = SELECT_COMM },
	{ "name", 'n', OPTION_SELECTOR, VERBS_COUNTING | VERB_TOP_REPORT | VERB_CALLS, TO(targets),
	  "processes with this name or glob, now and later", "targets", .arg = "COMM",
	  .value = SELECT_COMM },
	{ "unit", 'u', OPTION_SELECTOR, WITH_TARGET, TO(targets), "the processes of a systemd unit",
	  "targets", .arg = "UNIT", .value = SELECT_UNIT },
	{ "cgroup", 'g', OPTION_SELECTOR, WITH_TARGET, TO(targets),
	  "the processes in a cgroup and below it", "targets", .arg = "PATH",
	  .value = SELECT_CGROUP },
	{ "user", 'U', OPTION_SELECTOR, WITH_TARGET, TO(targets), "the processes of a user",
	  "targets", .arg = "USER", .value = SELECT_USER },
	{ "container", 0, OPTION_SELECTOR, WITH_TARGET, TO(targets),
	  "the processes in a container: its name, or how its id begins", "targets", .arg = "ID",
	  .value = SELECT_CONTAINER },
	{ "all", 'a', OPTION_FLAG, WITH_TARGET, TO(targets.all), "all processes", "targets" },
	{ "wait", 0, OPTION_FLAG, FACE | VERB_TOP | VERB_TOP_REPORT, TO(collector.wait),
	  "with -n, -u, -U: wait for matching processes" },
	{ "follow", 'f', OPTION_FLAG, FACE, TO(follow),
	  "also child processes, from their first call" },
	{ "follow", 'f', OPTION_FLAG, VERB_TOP | VERB_TOP_REPORT | VERB_DAEMON, TO(follow),
	  "with -p: also count child processes", "targets" },

	/* Time, and kinds of calls. */
	{ "duration", 'd', OPTION_DURATION, FACE | VERB_SNAPSHOT, TO(duration_ns),
	  "stop after this time: 10, 500ms, 5m, 2h", .range = "a millisecond or more",
	  .low = NS_PER_MS, .high = UINT64_MAX },
	{ "interval", 'i', OPTION_DURATION, VERB_COUNT | VERB_SNAPSHOT, TO(interval_ns),
	  "report each interval by itself", .range = "a millisecond or more", .low = NS_PER_MS,
	  .high = UINT64_MAX },
	{ "number", 'N', OPTION_NUMBER, VERB_COUNT | VERB_SNAPSHOT, TO(count_limit),
	  "with -i: stop after this many", .arg = "COUNT", .high = 1000000000 },
	{ "slower-than", 0, OPTION_DURATION, FACE | VERB_RECORDER, TO(collector.slower_than_ns),
	  "only calls that take at least this long, such as 10ms", .range = "an hour or less",
	  .low = 1, .high = 3600 * NS_PER_SEC },
	{ "trace", 't', OPTION_CALLS, SHAPING | SINGLE, TO(output.only),
	  "report only (or, with !, all but) these calls and %classes", .asked = true },
	{ "expr", 'e', OPTION_EXPRESSION, FACE, TO(output.only),
	  "the same in the notation of strace: trace=LIST" },

	/* Options that choose which calls are shown. */
	{ "failed", 0, OPTION_ERRNOS, SINGLE, TO(calls.conditions),
	  "only calls that fail, or fail so: ENOENT,EACCES", .arg = "[=ERRNOS]" },
	{ "errors-only", 'Z', OPTION_ERRNOS, SINGLE, TO(calls.conditions), "the same", .arg = "" },
	{ "successes-only", 'z', OPTION_FLAG, SINGLE, TO(calls.only_succeeded),
	  "only calls that succeed" },
	{ "path", 0, OPTION_TEXT, SINGLE, TO(calls.path),
	  "only calls with a path that matches this glob", .arg = "GLOB" },
	{ "fd", 0, OPTION_FD, SINGLE, TO(calls.conditions), "only calls on this file descriptor",
	  .arg = "N" },
	{ "max-events", 0, OPTION_NUMBER, VERB_CALLS, TO(calls.max_events),
	  "stop after this many lines", .high = 1000000000000 },

	/* Recording them. */
	{ "last", 0, OPTION_LAST, VERB_CALLS, TO(calls.record),
	  "print nothing but, at the end and on SIGUSR1,\n"
	  "the calls of the last 10s, or the last 1000",
	  .arg = "TIME|N" },
	{ "record-size", 0, OPTION_SIZE, VERB_CALLS, TO(calls.record.bytes),
	  "with --last: memory for calls (default 64M)", RECORD_RANGE },
	{ "save-on", 0, OPTION_TRIGGER, VERB_CALLS, TO(calls.record.save_on),
	  "with --last: write them to FILE, FILE.2 … whenever a call\n"
	  "is slower:10ms, failed, failed:EIO,ENOSPC, or a process\n"
	  "ends by a signal (may be repeated)",
	  .arg = "EVENT", WORDS(trigger_words) },

	/* How they are shown. */
	{ "string-limit", 's', OPTION_NUMBER, VERB_CALLS, TO(calls.string_bytes),
	  "show so many bytes of strings and buffers\n(default: 256 of a path, 32 of data; 0: only "
	  "paths)",
	  .high = MAX_FETCH - 2, .value = true, ALSO(calls.limits_strings) },
	{ "verbose", 'v', OPTION_FLAG, SINGLE, TO(calls.structs),
	  "show the contents of all structures" },
	{ "environment", 0, OPTION_FLAG, VERB_CALLS, TO(calls.environment),
	  "show the environment of execve" },
	{ "raw", 'x', OPTION_FLAG, SINGLE, TO(calls.raw), "show arguments in hexadecimal" },
	{ "dump", 0, OPTION_FD_SET, VERB_CALLS, TO(calls.dumped),
	  "below each call on these descriptors, show its data", .arg = "N,..." },
	{ "threads", 'l', OPTION_FLAG, SINGLE, TO(calls.threads), "begin each line with PID/TID" },
	{ "elapsed", 0, OPTION_FLAG, SINGLE, TO(calls.elapsed),
	  "and with the seconds since the start" },
	{ "delta", 'D', OPTION_FLAG, SINGLE, TO(calls.delta),
	  "and with the seconds since the thread's last call" },
	{ "system-time", 'E', OPTION_FLAG, SINGLE, TO(calls.system_time),
	  "and with the CPU seconds that the call took" },
	{ "stack-trace", 'k', OPTION_FLAG, VERB_CALLS, TO(calls.stack_trace),
	  "show the user stack below each call" },
	{ "json", 0, OPTION_VALUE, SINGLE, TO(calls.format), "a JSON object a line",
	  .value = CALL_FORMAT_JSON },
	{ "format", 0, OPTION_CHOICE, SINGLE, TO(calls.format),
	  "truss, strace (as strace -f -ttt -T -y), or json", .arg = "NAME",
	  WORDS(call_format_names) },

	/* Reports. */
	{ "output", 'o', OPTION_FILE, SHAPING | SINGLE, TO(output.path),
	  "write the report to FILE" },
	{ "wide", 'w', OPTION_VALUE, SHAPING, TO(report.format),
	  "a wide table: times, percentiles, waiting calls apart", .value = FORMAT_WIDE },
	{ "hist", 0, OPTION_FLAG, REPORTING, TO(report.table.hist),
	  "the wide table, with a histogram of each row", .asked = true },
	{ "errors", 0, OPTION_FLAG, SHAPING, TO(report.errors),
	  "a table of errors: errno, number, share", .asked = true },
	{ "csv", 0, OPTION_VALUE, SHAPING, TO(report.format), "comma-separated values",
	  .value = FORMAT_CSV },
	{ "json", 0, OPTION_VALUE, SHAPING, TO(report.format),
	  "one JSON object: all that was counted, or with --by, --sort,\n"
	  "--top and the like the rows of that table",
	  .value = FORMAT_JSON },
	{ "format", 0, OPTION_CHOICE, REPORTING, TO(report.format),
	  "truss, wide, json, csv, strace, errors, hist,\nfolded, pprof, flame, chart or html",
	  .arg = "NAME", WORDS(report_format_names) },
	{ "chart", 0, OPTION_FILE, REPORTING & ~VERB_HISTORY,
	  TO(output.side_files[SIDE_FILE_CHART]),
	  "also draw counts and times of the calls as SVG" },
	{ "chart", 0, OPTION_FILE, VERB_HISTORY, TO(output.side_files[SIDE_FILE_CHART]),
	  "also draw a column by time as SVG, a line per --by group:\n"
	  "the first of --columns, or of --sort; else calls" },
	{ "heatmap", 0, OPTION_FILE, VERB_HISTORY, TO(output.side_files[SIDE_FILE_HEATMAP]),
	  "also draw latency by time as SVG" },
	{ "html", 0, OPTION_FILE, SHAPING, TO(output.side_files[SIDE_FILE_HTML]),
	  "also write one page for a browser: tables, histograms,\nflame graphs if there are "
	  "stacks" },
	{ "by", 0, OPTION_KEYS, VERB_HISTORY, TO(report.table.keys),
	  "rows by host,comm,unit,container,pod,user,cgroup,syscall,abi", WORDS(key_words),
	  .asked = true },
	{ "by", 0, OPTION_KEYS, VERB_COMPARE, TO(report.table.keys),
	  "rows by host,comm,unit,container,pod,user,cgroup,syscall,\n"
	  "abi; pid if neither side is a baseline or of the history",
	  WORDS(key_words), .asked = true },
	{ "by", 0, OPTION_KEYS, VERB_SNAPSHOT, TO(report.table.keys),
	  "rows by host,pid,comm,unit,container,pod,user,cgroup,\n"
	  "syscall,abi,path,dir,file",
	  WORDS(key_words), .asked = true },
	{ "by", 0, OPTION_KEYS, REPORTING & ~(VERB_SNAPSHOT | VERB_HISTORY), TO(report.table.keys),
	  "rows by host,pid,tid,thread,comm,unit,container,pod,user,\n"
	  "cgroup,syscall,abi,cpu,arg0...arg5,path,dir,file",
	  WORDS(key_words), .asked = true },
	{ "sort", 'S', OPTION_SORT, SHAPING, TO(report.table.sort),
	  "sort by these columns; -COLUMN: largest first, +: smallest", .asked = true },
	{ "top", 0, OPTION_NUMBER, SHAPING, TO(report.table.top),
	  "only the first N rows; the others are added up", .high = 1000000, .asked = true },
	{ "columns", 0, OPTION_COLUMNS, REPORTING, TO(output.columns),
	  "columns of the wide table, CSV or JSON", .asked = true },
	{ "min-calls", 0, OPTION_NUMBER, SHAPING, TO(report.table.min_calls),
	  "only rows of at least N calls", .high = UINT32_MAX, .asked = true },
	{ "successes-only", 'z', OPTION_FLAG, SHAPING, TO(report.table.successes_only),
	  "only rows with calls that succeeded", .asked = true },
	{ "errors-only", 'Z', OPTION_FLAG, SHAPING, TO(report.table.errors_only),
	  "only rows with errors", .asked = true },
	{ "waiting", 0, OPTION_CALLS, SHAPING, TO(output.waiting),
	  "calls that wait for work, listed separately", .asked = true },
	{ "width", 0, OPTION_NUMBER, SHAPING, TO(output.width),
	  "of tables, in columns (default: of the terminal, or COLUMNS)", .high = MAX_WIDTH },

	{ "exemplars", 0, OPTION_NUMBER, VERB_COUNT, TO(report.exemplars),
	  "with each row of the wide table its slowest calls\n(JSON and pages have one; 0: none)",
	  .high = EXEMPLARS_MAX, .value = true, ALSO(report.exemplars_given) },

	/* Call stacks. */
	{ "stacks", 0, OPTION_CHOICE, REPORTING, TO(report.stacks.weight),
	  "also the user stacks that made the calls", .arg = "[=calls|time]", WORDS(weight_words),
	  ALSO(report.show_stacks), .asked = true },
	{ "folded", 0, OPTION_FILE, REPORTING, TO(output.side_files[SIDE_FILE_FOLDED]),
	  "also write stacks as lines for flame graph tools" },
	{ "pprof", 0, OPTION_FILE, REPORTING, TO(output.side_files[SIDE_FILE_PPROF]),
	  "also write a profile for pprof" },
	{ "flame", 0, OPTION_FILE, REPORTING, TO(output.side_files[SIDE_FILE_FLAME]),
	  "also write a flame graph as SVG" },
	{ "flame", 0, OPTION_FILE, VERB_COMPARE, TO(output.side_files[SIDE_FILE_FLAME]),
	  "also draw what changed in call stacks as SVG: a flame graph of B" },
	{ "stacks", 0, OPTION_CHOICE, VERB_COMPARE, TO(report.stacks.weight),
	  "with --flame: by calls (default) or time", .arg = "[=calls|time]", WORDS(weight_words) },
	{ "flame-normalize", 0, OPTION_FLAG, VERB_COMPARE, TO(output.flame_is_normalized),
	  "with --flame: compare shares of the whole, not amounts per second" },
	{ "flame-by", 0, OPTION_CHOICE, (REPORTING & ~VERB_HISTORY) | VERB_COMPARE,
	  TO(report.stacks.by),
	  "below the root of flame graphs: comm (default), pid, tid,\n"
	  "unit, container or user; syscall: callers below each call",
	  .arg = "KEY", WORDS(flame_by_names) },
	{ "stacks", 0, OPTION_FLAG, VERB_DAEMON | VERB_TOP, TO(collector.stacks),
	  "also the user stacks that made the calls", "tables" },
	{ "kernel-stacks", 0, OPTION_FLAG, TABLES, TO(collector.kernel_stacks),
	  "also the kernel stack in which a call last slept", "tables" },
	{ "inline", 0, OPTION_FLAG, TABLES | VERB_CALLS, TO(collector.inlines),
	  "show inlined functions in stacks (needs DWARF)", "tables" },
	{ "debuginfod", 0, OPTION_FLAG, TABLES | VERB_CALLS, TO(collector.debuginfod),
	  "fetch missing debug files from DEBUGINFOD_URLS", "tables" },

	{ "arguments", 0, OPTION_CHOICE, VERB_DAEMON, TO(daemon.arguments),
	  "keep what calls are about: path, file or none (default)", "tables", .arg = "KIND",
	  WORDS(argument_words) },

	/* Sizes. Upper limits: 2 GiB a table, so that a typing error cannot take the memory. */
	{ "keep-exited", 0, OPTION_NUMBER, TABLES, TO(collector.keep_exited),
	  "ended processes with rows of their own (default 1000)", "tables", .high = 1000000 },
	{ "max-tasks", 0, OPTION_NUMBER, VERBS_COUNTING | VERB_TOP_REPORT | VERB_CALLS,
	  TO(collector.max_tasks), "threads counted at the same time (default: as memory allows)",
	  "tables", .high = 1000000 },
	{ "max-rows", 0, OPTION_NUMBER, VERBS_COUNTING | VERB_TOP_REPORT, TO(collector.max_rows),
	  "(thread, syscall) entries (default: as memory allows)", "tables", .high = 3000000 },
	{ "max-errnos", 0, OPTION_NUMBER, TABLES, TO(collector.max_errnos),
	  "(thread, syscall, errno) entries (default: as memory allows)", "tables",
	  .high = 30000000 },
	{ "max-stacks", 0, OPTION_NUMBER, TABLES, TO(collector.max_stacks),
	  "(thread, syscall, stack) entries (default 65536)", "tables", .high = 10000000 },
	{ "max-paths", 0, OPTION_NUMBER, VERBS_COUNTING | VERB_TOP_REPORT, TO(collector.max_paths),
	  "paths or files that are told apart (default 16384)", "tables", .high = 1000000 },

	/* The daemon's recorder. */
	{ "record", 0, OPTION_FLAG, VERB_DAEMON, TO(daemon.recorder.is_on),
	  "keep the newest single calls, for bpftruss recorder dump", "recorder" },
	{ "record-size", 0, OPTION_SIZE, VERB_DAEMON, TO(daemon.recorder.bytes),
	  "memory for them (default 64M)", "recorder", RECORD_RANGE },
	{ "record-calls", 0, OPTION_CALLS, VERB_DAEMON, TO(daemon.recorder.calls),
	  "record only (or, with !, all but) these calls and %classes", "recorder" },
	{ "save-on", 0, OPTION_TRIGGER, VERB_DAEMON, TO(daemon.recorder.save_on),
	  "save them to a file whenever a call is slower:10ms, failed,\n"
	  "failed:EIO,ENOSPC, or a process ends by a signal (may be\nrepeated)",
	  "recorder", .reloads = true, .arg = "EVENT", WORDS(trigger_words) },
	{ "save-last", 0, OPTION_DURATION, VERB_DAEMON, TO(daemon.recorder.save_last_ns),
	  "so much of the time before is in the file (default 10s)", "recorder", .reloads = true,
	  .range = "a millisecond or more", .low = NS_PER_MS, .high = UINT64_MAX },
	{ "save-size", 0, OPTION_SIZE, VERB_DAEMON, TO(daemon.recorder.save_bytes),
	  "limit on all files; remove the oldest (default 256M)", "recorder", .reloads = true,
	  .range = "a size of 1M or more", .low = 1 << 20, .high = UINT64_MAX },

	/* The daemon's history. */
	{ "no-history", 0, OPTION_FLAG, VERB_DAEMON, TO(daemon.no_history), "keep no history",
	  "history", .reloads = true },
	{ "interval", 'i', OPTION_DURATION, VERB_DAEMON, TO(daemon.interval_ns),
	  "length of an interval (default 60s)", "history", .reloads = true },
	{ "keep", 0, OPTION_DURATION, VERB_DAEMON, TO(daemon.keep.keep_ns[0]),
	  "keep intervals as recorded (default 12h)", "history", .reloads = true },
	{ "keep-10m", 0, OPTION_DURATION, VERB_DAEMON, TO(daemon.keep.keep_ns[1]),
	  "keep them added up to ten minutes (default 14d)", "history", .reloads = true },
	{ "keep-1h", 0, OPTION_DURATION, VERB_DAEMON, TO(daemon.keep.keep_ns[2]),
	  "keep them added up to hours (default 400d)", "history", .reloads = true },
	{ "history-size", 0, OPTION_SIZE, VERB_DAEMON, TO(daemon.keep.max_bytes),
	  "limit on the file; drop the oldest (default 512M)", "history", .reloads = true,
	  .range = "a size of 1M or more", .low = 1 << 20, .high = UINT64_MAX },

	/* Its metrics. */
	{ "listen", 0, OPTION_ADDRESS, VERB_DAEMON, TO(daemon.listen),
	  "also serve /metrics over TCP (default none)", "metrics" },
	{ "listen-cert", 0, OPTION_FILE, VERB_DAEMON, TO(daemon.guard.certificate),
	  "with TLS: the certificate, and those that vouch for it, in PEM", "metrics" },
	{ "listen-key", 0, OPTION_FILE, VERB_DAEMON, TO(daemon.guard.key),
	  "and its private key, which others may not read", "metrics" },
	{ "listen-client-ca", 0, OPTION_FILE, VERB_DAEMON, TO(daemon.guard.client_ca),
	  "only for clients with a certificate of this CA", "metrics" },
	{ "listen-auth", 0, OPTION_FILE, VERB_DAEMON, TO(daemon.guard.secrets),
	  "only for clients with a token or USER:PASSWORD in this file", "metrics" },
	{ "listen-reports", 0, OPTION_FLAG, VERB_DAEMON, TO(daemon.listen_reports),
	  "answer snapshot, status, history and compare there, too", "metrics" },
	{ "listen-insecure", 0, OPTION_FLAG, VERB_DAEMON, TO(daemon.listen_insecure),
	  "serve other hosts without TLS, or without asking who they are", "metrics" },
	{ "listen-profiles", 0, OPTION_FLAG, VERB_DAEMON, TO(daemon.listen_profiles),
	  "serve profiles of call stacks there, too", "metrics" },
	{ "metrics-by", 0, OPTION_CHOICE, VERB_DAEMON, TO(daemon.metrics.group),
	  "group series by unit (default), container, pod, cgroup,\ncomm or pid", "metrics",
	  .arg = "KEY", WORDS(metrics_words) },
	{ "metrics-top", 0, OPTION_NUMBER, VERB_DAEMON, TO(daemon.metrics.top),
	  "N groups get series of their own; the rest is other (default 10)", "metrics",
	  .high = 10000 },
	{ "metrics-series", 0, OPTION_NUMBER, VERB_DAEMON, TO(daemon.metrics.max_series),
	  "limit on the number of their series (default 400)", "metrics", .high = 1000000 },
	{ "metrics-histograms", 0, OPTION_CALLS, VERB_DAEMON, TO(daemon.metrics.histograms),
	  "calls with latencies: 16 series for each of a group\n(default fsync,fdatasync)",
	  "metrics" },

	/* Pushing to a collector. */
	{ "otlp-endpoint", 0, OPTION_TEXT, VERB_DAEMON, TO(daemon.otlp.post.endpoint),
	  "push metrics and events to an OpenTelemetry collector", "otlp", .arg = "URL" },
	{ "otlp-headers", 0, OPTION_FILE, VERB_DAEMON, TO(daemon.otlp.post.headers),
	  "with these headers, such as a token, which others may not read", "otlp" },
	{ "otlp-ca", 0, OPTION_FILE, VERB_DAEMON, TO(daemon.otlp.post.ca),
	  "the collector has a certificate of this CA", "otlp" },
	{ "otlp-interval", 0, OPTION_DURATION, VERB_DAEMON, TO(daemon.otlp.interval_ns),
	  "time between two pushes (default 60s)", "otlp", .range = "from a second to an hour",
	  .low = NS_PER_SEC, .high = 3600 * NS_PER_SEC },
	{ "otlp-temporality", 0, OPTION_CHOICE, VERB_DAEMON, TO(daemon.otlp.temporality),
	  "counters are cumulative (default) or delta", "otlp", WORDS(temporality_words) },
	{ "otlp-attribute", 0, OPTION_ATTRIBUTE, VERB_DAEMON, TO(daemon.otlp.attributes),
	  "an attribute of all resources (may be repeated)", "otlp" },
	{ "otlp-queue", 0, OPTION_SIZE, VERB_DAEMON, TO(daemon.otlp.queue_bytes),
	  "limit on what waits to be pushed (default 32M)", "otlp",
	  .range = "a size from 64K to 1G", .low = 64 << 10, .high = 1 << 30 },

	/* Which daemon. */
	{ "json", 0, OPTION_VALUE, VERB_DOCTOR | VERB_STATUS | VERB_BASELINE, TO(report.format),
	  "one JSON object instead of text", .value = FORMAT_JSON },
	{ "socket", 0, OPTION_TEXT, ASKING, TO(socket),
	  "socket of the daemon (default " DEFAULT_SOCKET ")", .arg = "PATH" },
	{ "host", 0, OPTION_TEXT, OF_HISTORY, TO(remote.url),
	  "ask the daemon of another host, which has listen-reports\n(default port 9477)",
	  .arg = "https://HOST:PORT" },
	{ "ca", 0, OPTION_FILE, OF_HISTORY, TO(remote.ca),
	  "with --host: who vouches for it, in PEM (default: the system's)" },
	{ "cert", 0, OPTION_FILE, OF_HISTORY, TO(remote.certificate),
	  "with --host: a certificate for this client, in PEM" },
	{ "key", 0, OPTION_FILE, OF_HISTORY, TO(remote.key),
	  "and its private key, which others may not read" },
	{ "auth", 0, OPTION_FILE, OF_HISTORY, TO(remote.secret),
	  "with --host: a file with a token or USER:PASSWORD" },
	{ "insecure", 0, OPTION_FLAG, OF_HISTORY, TO(remote.is_insecure),
	  "allow http:// to other hosts: all can be read on the way" },
	{ "state-dir", 0, OPTION_TEXT, OF_HISTORY, TO(state_dir),
	  "directory of its history, if it is not running\n(default " DEFAULT_STATE_DIR ")",
	  .arg = "DIR" },

	/* The rest. */
	{ "verbose", 'v', OPTION_FLAG, VERBS_COUNTING | VERB_TOP_REPORT | VERB_DOCTOR,
	  TO(collector.verbose), "show messages of libbpf and of the verifier", "daemon" },
	{ "version", 'V', OPTION_FLAG, FACE, TO(version), "print the version" },
	{ "config", 0, OPTION_TEXT, VERB_DAEMON, TO(config_file),
	  "read only this file (default " DEFAULT_CONFIG ",\nand conf.d/*.conf)", .arg = "FILE" },
	{ "check-config", 0, OPTION_FLAG, VERB_DAEMON, TO(check_config), "only check the files" },
	{ "help", 'h', OPTION_FLAG, ALL_VERBS, TO(help), "print this text" },
};

const size_t nr_option_defs = ARRAY_SIZE(option_defs);
_Static_assert(ARRAY_SIZE(option_defs) <= MAX_OPTION_DEFS, "more options than there is room for");

const struct option_def *option_find(enum verb_bit verb, const char *name)
{
	for (size_t i = 0; i < nr_option_defs; i++) {
		if (option_defs[i].verbs & verb && !strcmp(option_defs[i].name, name))
			return &option_defs[i];
	}
	return NULL;
}
