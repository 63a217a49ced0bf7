/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The verbs, and the options of all of them as one struct. It is filled once, from the command line
 * and for the daemon from its configuration, and passed down as const. The
 * table in option_table.c says which option is which member.
 */
#pragma once

#include "base/diag.h"
#include "calls/triggers.h"
#include "collect/collector.h"
#include "daemon/config.h"
#include "ipc/remote.h"
#include "model/merge.h"
#include "model/rates.h"
#include "report/report.h"
#include "syscalls/syscall_set.h"

#define DEFAULT_CONFIG "/etc/bpftruss/bpftruss.conf"

/* Besides those of errors: enum diag_kind. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_REGRESSION = 3, /* compare --fail-over found one */
	STATUS_UNSUPPORTED = DIAG_UNSUPPORTED,
};

/* Bits that say which verbs take an option. */
enum verb_bit {
	VERB_COUNT = 1 << 0, /* no word of its own: the truss face, bpftruss -c */
	VERB_TOP = 1 << 1,
	VERB_DOCTOR = 1 << 2,
	VERB_DAEMON = 1 << 3,
	VERB_SNAPSHOT = 1 << 4,
	VERB_STATUS = 1 << 5,
	VERB_HISTORY = 1 << 6,
	VERB_BASELINE = 1 << 7,
	VERB_COMPARE = 1 << 8,
	VERB_REPORT = 1 << 9,
	VERB_TOP_REPORT = 1 << 10, /* top --once with what makes a report of it */
	VERB_CALLS = 1 << 11,      /* no word of its own either: single calls, without -c */
	VERB_RECORDER = 1 << 12,
	VERB_MERGE = 1 << 13,
	VERBS_COUNTING = VERB_COUNT | VERB_TOP | VERB_DAEMON,
	/* These report what a daemon keeps; see verb_keys_not_kept(). */
	VERBS_OF_KEPT = VERB_SNAPSHOT | VERB_HISTORY | VERB_COMPARE,
	/* These take words that are no options; those of the truss face are a command to run. */
	VERBS_WITH_WORDS = VERB_COUNT | VERB_CALLS | VERB_BASELINE | VERB_COMPARE | VERB_REPORT |
			   VERB_RECORDER | VERB_MERGE,
	VERBS_WITH_COMMAND = VERB_COUNT | VERB_CALLS,
};

/* Keys of --by that what a daemon keeps does not tell apart, for a verb that reports that; else none. */
unsigned int verb_keys_not_kept(enum verb_bit verb);

/* Refuses to tell processes of the history apart, baselines included. */
#define HISTORY_LACKS_PIDS                                                                    \
	"--by: the history knows processes by name, user and unit, not by pid; see bpftruss " \
	"snapshot"

struct options;

struct verb {
	const char *name; /* "" for the truss face */
	enum verb_bit bit;
	/* Returns an exit status, or a negative errno with d filled. */
	int (*run)(const struct options *options, struct diag *d);
	const char *summary; /* one line */
	/* The parts of --help: lines of what may be typed, what it does, and examples. */
	const char *usage, *about, *examples;
};

extern const struct verb count_verb, calls_verb, top_verb, top_report_verb, doctor_verb,
	daemon_verb, snapshot_verb, status_verb, history_verb, baseline_verb, compare_verb,
	report_verb, recorder_verb, merge_verb;

/* Files that are written besides the report. */
enum side_file {
	SIDE_FILE_CHART,
	SIDE_FILE_FOLDED,
	SIDE_FILE_PPROF,
	SIDE_FILE_FLAME,
	SIDE_FILE_HEATMAP, /* of the history alone */
	SIDE_FILE_HTML,
	NR_SIDE_FILE,
};

/* Names the processes whose calls are counted or reported. */
struct targets {
	pid_t *pids; /* owned */
	size_t nr_pids;
	struct target_selector selectors[MAX_SELECTORS]; /* texts are borrowed */
	size_t nr_selectors;
	bool all; /* options_complete() makes a selector of it */
};

/* Holds the options of a report. */
struct output_options {
	struct column_list columns;           /* --columns */
	struct syscall_set *waiting;          /* owned */
	struct syscall_set *only;             /* owned; NULL: all calls */
	const char *side_files[NR_SIDE_FILE]; /* paths, or NULL */
	bool flame_is_normalized;             /* of a difference */
	const char *path;                     /* NULL: stdout or stderr */
	uint32_t width;                       /* --width; 0: that of the screen */
};

/* How single calls are written. */
enum call_format {
	CALL_FORMAT_TRUSS,
	CALL_FORMAT_STRACE,
	CALL_FORMAT_JSON,
	NR_CALL_FORMAT,
};

extern const char *const call_format_names[NR_CALL_FORMAT];

/* Calls are recorded, and printed later. */
struct record_options {
	uint64_t last_ns;    /* --last TIME; 0: of any age */
	uint64_t last_count; /* --last N; 0: any number */
	uint64_t bytes;      /* --record-size; 0: the default */
	struct save_triggers save_on;
};

/* Holds the options of the view of single calls. */
struct call_options {
	struct call_view view; /* options_complete() fills it in */
	struct call_conditions conditions;
	struct record_options record;
	const char *path;      /* a glob; NULL: any, or none */
	uint64_t max_events;   /* 0: no limit */
	uint32_t string_bytes; /* if limits_strings; else the defaults */
	bool limits_strings;
	uint64_t dumped; /* a bit for each of the descriptors 0 to 63 */
	enum call_format format;
	bool only_succeeded; /* one of the conditions */
	bool structs, environment, raw, threads, elapsed, delta, system_time, stack_trace;
};

#define MAX_OPTION_DEFS 160

struct options {
	const struct verb *verb;
	int argc; /* the command line, for a daemon that reloads */
	char **argv;
	char **words; /* those of argv that are no options */
	int nr_words;
	char **command; /* the words, where they are a command to run; else NULL */
	char **kept;    /* owned: values from configuration files, which members borrow */
	size_t nr_kept;

	/* The argument of each option of the table, "1" for one without; NULL: it was not given. */
	const char *given[MAX_OPTION_DEFS];

	bool help, version;
	struct targets targets;
	struct report_options report; /* borrows from output */
	struct output_options output;

	/* Verbs that count. */
	struct call_options calls;
	bool count;          /* -c, -C */
	const char *as_user; /* who runs the command; "": whoever called sudo; NULL: the caller */
	bool in_flight;
	bool is_unknown;      /* the verb has no such option */
	bool is_advised;      /* the refusal says what may be meant */
	size_t in_flight_top; /* 0: the default */
	bool follow, once;
	uint64_t exemplars;   /* so many of the slowest calls are taken of each row */
	uint64_t duration_ns; /* 0: until a signal or the end of the targets */
	uint64_t interval_ns; /* 0: one report at the end, or the verb's default */
	uint64_t count_limit; /* intervals; 0: no limit */
	enum rate_by rate_by;
	enum rate_key rate_sort;
	bool rate_reversed;
	struct collector_options collector; /* borrows from targets and report */

	/* The daemon. */
	bool check_config;
	const char *config_file; /* NULL: the default and its conf.d, which need not be there */
	struct daemon_config daemon;
	struct call_view recorder_view; /* what it records */
	uint64_t fixed; /* a hash of the options that a reload cannot change, as they were given */

	/* Verbs that ask the daemon. */
	const char *socket, *state_dir; /* NULL: the defaults */
	struct remote_options remote;   /* without a URL: the daemon of this host */
	const char *since, *from, *to, *step;
	bool replace;
	enum merge_sum sum; /* merge: if has_sum */
	bool has_sum;
	double fail_over_percent; /* 0: nothing fails */
};

/* Sets the defaults: to be called first; options_done() is due whatever happens then. */
void options_init(struct options *options, const struct verb *verb);

/* Reads the command line, whose first word is skipped. 0, or -errno with d filled. */
int options_read(struct options *options, int argc, char **argv, struct diag *d);

/*
 * Works out what options say of each other and refuses what makes no sense together, unless
 * --help or --version is asked for. The struct must stay where it is from here on. 0, or -errno
 * with d filled.
 */
int options_complete(struct options *options, struct diag *d);

void options_done(struct options *options);

/*
 * Sets what the files say: one that is named, or the default and those of conf.d beside it, which
 * need not be there. Errors in them are printed on stderr, each with its line, and are all one
 * error here. Returns 0 or -errno with d filled.
 */
int config_read(struct options *options, const char *path, struct diag *d);

/* The lines of --help, a line or more an option. */
void options_print_help(const struct verb *verb);

/*
 * Prints what completion in a shell has to know, a line an option, with tabs between: its names; what
 * completes its argument; what it is for; and words for the argument. The second is "flag" (it takes
 * none), "optional" (a word behind =), "word" (one of them), "list" (some, with commas), "file" (or one of
 * the words), "name" (of what the option is called) or "none" (nothing completes it).
 */
void options_print_completion(const struct verb *verb);

/* Whether any processes are named. */
bool targets_given(const struct targets *targets);

/* Whether calls are recorded and not printed as they come, and whether that is saved on some event. */
bool calls_are_recorded(const struct options *options);
bool calls_are_saved(const struct options *options);

/* --- the table of options ---------------------------------------------------------------------- */

/* Tells how an argument is read, and what its member is. */
enum option_kind {
	OPTION_FLAG,     /* bool; yes or no in files */
	OPTION_VALUE,    /* no argument: an enum becomes value */
	OPTION_CHOICE,   /* one of words: an enum becomes its index */
	OPTION_NUMBER,   /* integer from 1 to high */
	OPTION_SIZE,     /* bytes */
	OPTION_DURATION, /* ns, from low to high if these are set */
	OPTION_PERCENT,  /* double; none is 0 if value is set */
	OPTION_MOMENT,   /* text: what it means depends on when that is asked */
	OPTION_TEXT,
	OPTION_FILE, /* a path */
	OPTION_PATH, /* an absolute path */
	OPTION_GROUP,
	OPTION_ADDRESS,    /* ADDRESS:PORT on loopback */
	OPTION_CALLS,      /* struct syscall_set * */
	OPTION_EXPRESSION, /* the same, as -e of strace has it */
	OPTION_KEYS,       /* enum group_key bits */
	OPTION_SORT,       /* struct sort_list */
	OPTION_RATE_SORT,  /* enum rate_key, and rate_reversed */
	OPTION_COLUMNS,    /* struct column_list */
	OPTION_PIDS,       /* struct targets */
	OPTION_SELECTOR,   /* struct targets; value is the enum selector_kind */
	OPTION_ERRNOS,     /* struct call_conditions: errors by name; without any all of them */
	OPTION_FD,         /* struct call_conditions: a descriptor */
	OPTION_FD_SET,     /* uint64_t: a bit for each descriptor */
	OPTION_LAST,       /* struct record_options: a time, or a number of calls */
	OPTION_TRIGGER,    /* struct save_triggers */
	OPTION_ATTRIBUTE,  /* struct otlp_attributes: one of a resource */
	NR_OPTION_KIND,
};

struct option_def {
	const char *name;
	char letter; /* 0: long form only */
	enum option_kind kind;
	unsigned int verbs;  /* enum verb_bit */
	size_t offset, size; /* of the member of struct options */
	const char *help;    /* further lines after a newline */
	const char *section; /* of configuration files; NULL: none has it */
	bool asked;          /* a daemon is asked for it when it writes the report */
	bool reloads;        /* a running daemon obeys it when it reads its files anew */
	const char *arg; /* in --help; NULL: as its kind has it; "": none; "[=…": may be left out */
	size_t also;     /* offset of a bool that becomes true, too; 0: none */
	const char *range; /* of an amount from low to high, in words; NULL: its kind's */
	uint64_t low, high;
	unsigned int value; /* of OPTION_NUMBER: it may be 0 */
	const char *const *words;
	size_t nr_words;
};

extern const struct option_def option_defs[];
extern const size_t nr_option_defs;

/* The option of a verb by its long name; NULL when absent. */
const struct option_def *option_find(enum verb_bit verb, const char *name);

/* Returns what stands for its argument in --help; NULL: it takes none. */
const char *option_argument(const struct option_def *def);

/* The word that options_print_completion() has for what completes the argument. */
const char *option_hint(const struct option_def *def);

/*
 * What a user of strace or top may want instead of an option that is refused, or that was taken as another
 * one; NULL: it is not known. is_taken: only what is to be refused all the same.
 */
const char *option_advice(enum verb_bit verb, const char *called, const char *arg, bool is_taken);

/*
 * Sets a member from an argument, NULL if there is none. A fault is a usage error that begins with
 * what the user wrote: called. The argument must live as long as the options.
 */
int option_set(const struct option_def *def, struct options *options, const char *called,
	       const char *arg, struct diag *d);
