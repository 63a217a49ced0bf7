/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads options: the argument of each as its kind wants it, into the member it is for. getopt,
 * --help and completion use the same table.
 */
#include <ctype.h>
#include <getopt.h>
#include <math.h>

#include "base/clock.h"
#include "base/moment.h"
#include "base/nearest.h"
#include "cmd/options.h"
#include "collect/user_names.h"
#include "ipc/socket.h"
#include "syscalls/families.h"
#include "syscalls/names.h"

/* An argument on its way to a member. */
struct setting {
	const struct option_def *def;
	const char *called, *arg;
	void *member;
	struct options *options;
	struct diag *d;
};

/* A usage error: OPTION: "ARGUMENT" and what is wrong with it. */
__attribute__((format(printf, 2, 3))) static int refuse(const struct setting *s, const char *format,
							...)
{
	char why[350];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return diag_set(s->d, DIAG_USAGE, EINVAL, "%s: \"%.150s\" %s", s->called, s->arg, why);
}

static int store(const struct setting *s, uint64_t value)
{
	if (s->def->size == sizeof(bool))
		*(bool *)s->member = value;
	else if (s->def->size == sizeof(uint32_t))
		*(uint32_t *)s->member = (uint32_t)value;
	else
		*(uint64_t *)s->member = value;
	return 0;
}

static int set_flag(const struct setting *s)
{
	static const char *const words[][2] = {
		{ "no", "yes" }, { "false", "true" }, { "off", "on" }, { "0", "1" }
	};

	if (!s->arg)
		return store(s, true);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		for (unsigned int on = 0; on < 2; on++) {
			if (!strcasecmp(s->arg, words[i][on]))
				return store(s, on);
		}
	}
	return refuse(s, "is neither yes nor no");
}

static int set_value(const struct setting *s)
{
	return store(s, s->def->value);
}

static int set_choice(const struct setting *s)
{
	struct nearest near = nearest_to(s->arg ?: "");
	char list[320] = "";
	size_t used = 0;

	for (size_t i = 0; i < s->def->nr_words; i++)
		nearest_look(&near, s->def->words[i]);
	for (size_t i = 0; i < s->def->nr_words; i++) {
		if (!s->arg || !strcmp(s->arg, s->def->words[i]))
			return store(s, i);
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
					 s->def->words[i]);
	}
	return refuse(s, near.best ? "is none of %s; did you mean \"%s\"?" : "is none of %s", list,
		      near.best);
}

/* Names begin with the least, numbers with the largest. */
static int set_rate_sort(const struct setting *s)
{
	const char sign = *s->arg == '+' || *s->arg == '-' ? *s->arg : 0;
	struct setting word = *s;

	word.arg += sign != 0;
	if (set_choice(&word))
		return -EINVAL;
	s->options->rate_reversed = sign == (rate_key_is_name(s->options->rate_sort) ? '-' : '+');
	return 0;
}

static int set_number(const struct setting *s)
{
	uint64_t value;

	if (!number_read(s->arg, s->def->high, &value) || (!value && !s->def->value))
		return refuse(s, "is not a number from %d to %llu", !s->def->value,
			      (unsigned long long)s->def->high);
	return store(s, value);
}

static const struct unit {
	const char *name;
	double factor;
} sizes[] = { { "", 1 }, { "K", 0x1p10 }, { "M", 0x1p20 }, { "G", 0x1p30 }, { NULL, 0 } },
  percents[] = { { "%", 1 }, { "", 1 }, { NULL, 0 } };

/* Amounts with a unit behind them, in the unit of their members. */
static const struct amount {
	const struct unit *units;
	double low, high;
	const char *refusal;
} amounts[NR_OPTION_KIND] = {
	[OPTION_SIZE] = { sizes, 1, 0x1p50, "is not a size, such as 8M or 2G" },
	[OPTION_PERCENT] = { percents, 1e-3, 1e6, "is not a percentage, such as 20% or 0.5%" },
};

/* Negative if it is no plain decimal number with one of the units. */
static double read_amount(const char *arg, const struct unit *units)
{
	char *end;
	/* strtod() takes blanks, signs, "inf" and hexadecimal, too. */
	double value = strtod(arg, &end);

	if (!(isdigit((unsigned char)*arg) || *arg == '.') || end == arg || strpbrk(arg, "xX"))
		return -1;
	for (; units->name; units++) {
		if (!strcmp(end, units->name))
			return value * units->factor;
	}
	return -1;
}

static int set_amount(const struct setting *s)
{
	const struct amount *amount = &amounts[s->def->kind];
	double value = read_amount(s->arg, amount->units);

	if (s->def->kind == OPTION_PERCENT && s->def->value && !strcmp(s->arg, "none"))
		value = 0;
	else if (!(value >= amount->low && value <= amount->high))
		return refuse(s, "%s", amount->refusal);
	if (s->def->range && !(value >= (double)s->def->low && value <= (double)s->def->high))
		return refuse(s, "is not %s", s->def->range);
	if (s->def->kind != OPTION_PERCENT)
		return store(s, (uint64_t)llround(value));
	*(double *)s->member = value;
	return 0;
}

static int set_duration(const struct setting *s)
{
	uint64_t *ns = s->member;
	int err = duration_parse(s->called, s->arg, ns, s->d);

	if (!err && s->def->range && (*ns < s->def->low || *ns > s->def->high))
		err = refuse(s, "is not %s", s->def->range);
	return err;
}

static int set_text(const struct setting *s)
{
	if (!s->arg) {
		*(const char **)s->member = "";
		return 0;
	}
	if (!*s->arg)
		return refuse(s, "is empty");
	*(const char **)s->member = s->arg;
	return 0;
}

/* A daemon may have been started anywhere. */
static int set_path(const struct setting *s)
{
	return *s->arg == '/' ? set_text(s)
			      : refuse(s, "is not an absolute path: it must begin with /");
}

static int set_group(const struct setting *s)
{
	/* The default need not exist. */
	if (strcmp(s->arg, DEFAULT_GROUP) && !group_name_exists(s->arg))
		return diag_set(s->d, DIAG_USAGE, ENOENT, "%s: there is no group \"%.64s\"",
				s->called, s->arg);
	return set_text(s);
}

static int set_address(const struct setting *s)
{
	int err = socket_tcp_check(s->arg, s->d);

	return err ? err : set_text(s);
}

static int set_calls(const struct setting *s)
{
	struct syscall_set **set = s->member;
	struct diag why;
	int err;

	syscall_set_free(steal_ptr(set));
	err = syscall_set_parse(s->arg, set, &why);
	return err ? diag_set(s->d, why.kind, -err, "%s: %.400s", s->called, why.text) : 0;
}

/* trace=LIST, t=LIST or LIST, as strace -e has it. */
static int set_expression(const struct setting *s)
{
	static const char *const names[] = { "trace=", "t=" };
	struct setting list = *s;
	size_t word = strspn(s->arg, "abcdefghijklmnopqrstuvwxyz-");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strncmp(s->arg, names[i], strlen(names[i]))) {
			list.arg += strlen(names[i]);
			return set_calls(&list);
		}
	}
	/* =open is the call alone. */
	if (word && s->arg[word] == '=')
		return refuse(s, "is not understood: give trace=LIST%s",
			      strncmp(s->arg, "status", word)
				      ? ""
				      : ", -z for calls that succeed or -Z for "
					"those that fail");
	return set_calls(s);
}

static int set_keys(const struct setting *s)
{
	return group_keys_parse(s->called, s->arg, s->member, s->d);
}

static int set_sort(const struct setting *s)
{
	return sort_parse(s->called, s->arg, s->member, s->d);
}

static int set_columns(const struct setting *s)
{
	return columns_parse(s->arg, s->member, s->d);
}

static int add_pids(const struct setting *s)
{
	struct targets *targets = s->member;
	const char *at = s->arg + strspn(s->arg, ", ");
	char *end;
	long pid;

	if (!*at)
		return diag_set(s->d, DIAG_USAGE, EINVAL, "%s: give at least one pid", s->called);
	for (; *at; at = end + strspn(end, ", ")) {
		errno = 0;
		pid = strtol(at, &end, 10);
		if (!isdigit((unsigned char)*at) || errno || pid < 1 || pid > INT_MAX ||
		    (*end && !strchr(", ", *end)))
			return refuse(s, "is not a pid or a list such as 17,18");
		if (!array_grow(&targets->pids, targets->nr_pids, sizeof(*targets->pids)))
			return diag_oom(s->d);
		targets->pids[targets->nr_pids++] = (pid_t)pid;
	}
	return 0;
}

/* strace -U has columns where truss has a user: who is no user and all columns is taken for these. */
static bool user_is_columns(const struct setting *s)
{
	struct column_list columns;

	if (s->def->value != SELECT_USER || user_name_exists(s->arg) ||
	    columns_parse(s->arg, &columns, NULL))
		return false;
	s->options->output.columns = columns;
	return true;
}

static int add_selector(const struct setting *s)
{
	struct targets *targets = s->member;

	if (user_is_columns(s))
		return 0;
	if (targets->nr_selectors == MAX_SELECTORS)
		return diag_set(s->d, DIAG_USAGE, EINVAL,
				"at most %d of -n, -u, -g, -U can be given", MAX_SELECTORS);
	targets->selectors[targets->nr_selectors++] =
		(struct target_selector){ (enum selector_kind)s->def->value, s->arg };
	return 0;
}

/* ENOENT,EACCES: a bit for each error; without a list each error. */
static int read_errnos(const struct setting *s, const char *at, uint64_t errnos[64])
{
	char name[32];
	int number;

	if (!at)
		memset(errnos, 0xff, 64 * sizeof(*errnos));
	else if (!*at)
		return refuse(s, "is not a list of errors such as ENOENT,EACCES");
	for (size_t size; at && *at; at += size + (at[size] == ',')) {
		size = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)size, at);
		number = errno_find(name);
		if (number <= 0 || size >= sizeof(name))
			return refuse(s, "is not a list of errors such as ENOENT,EACCES");
		errnos[number / 64] |= 1ull << number % 64;
	}
	return 0;
}

static int set_errnos(const struct setting *s)
{
	struct call_conditions *conditions = s->member;

	conditions->only_failed = true;
	return read_errnos(s, s->arg, (uint64_t *)conditions->errnos);
}

static int read_span(const struct setting *s, const char *text, uint64_t *ns)
{
	int err = duration_parse(s->called, text, ns, s->d);

	return err || *ns ? err : refuse(s, "is no time at all");
}

/* A number alone is one of calls: elsewhere it would be of seconds. */
static int set_last(const struct setting *s)
{
	struct record_options *record = s->member;

	record->last_ns = record->last_count = 0;
	if (!s->arg[strspn(s->arg, "0123456789")]) {
		if (!number_read(s->arg, UINT32_MAX, &record->last_count) || !record->last_count)
			return refuse(s, "is not a number of calls from 1 to %u", UINT32_MAX);
		return 0;
	}
	return read_span(s, s->arg, &record->last_ns);
}

static int add_attribute(const struct setting *s)
{
	return otlp_attributes_add(s->member, s->arg)
		       ? 0
		       : refuse(s, "is not one of up to 32 attributes, such as service.version=1");
}

static int set_trigger(const struct setting *s)
{
	struct save_triggers *triggers = s->member;
	const char *colon = strchr(s->arg, ':');
	size_t size = strcspn(s->arg, ":");

	if (size == 6 && !strncmp(s->arg, "slower", size) && colon)
		return read_span(s, colon + 1, &triggers->slower_ns);
	if (size == 6 && !strncmp(s->arg, "failed", size) && (!colon || colon[1])) {
		triggers->failed = true;
		return read_errnos(s, colon ? colon + 1 : NULL, triggers->errnos);
	}
	if (strcmp(s->arg, "signal") != 0)
		return refuse(s, "is none of slower:TIME, failed, failed:ERRNOS, signal");
	triggers->signal = true;
	return 0;
}

static int set_fd(const struct setting *s)
{
	struct call_conditions *conditions = s->member;
	uint64_t value;

	if (!number_read(s->arg, INT_MAX, &value))
		return refuse(s, "is not a file descriptor");
	conditions->only_fd = true;
	conditions->fd = (int)value;
	return 0;
}

static int set_fds(const struct setting *s)
{
	char *end;

	for (const char *at = s->arg; *at; at = end + (*end == ',')) {
		unsigned long fd = strtoul(at, &end, 10);

		if (!isdigit((unsigned char)*at) || fd >= 64 || (*end && *end != ','))
			return refuse(s, "is not a list of file descriptors from 0 to 63");
		*(uint64_t *)s->member |= 1ull << fd;
	}
	return 0;
}

static const struct kind {
	int (*set)(const struct setting *s);
	const char *arg; /* in --help; NULL: it takes none */
	/*
	 * Tells what completes the argument: "word" (one of the words), "list" (some, with commas),
	 * "file" (or one of the words), "name" (of what the option is called); NULL: nothing.
	 */
	const char *hint;
} kinds[NR_OPTION_KIND] = {
	[OPTION_FLAG] = { set_flag, NULL, NULL },
	[OPTION_VALUE] = { set_value, NULL, NULL },
	[OPTION_CHOICE] = { set_choice, "WORD", "word" },
	[OPTION_NUMBER] = { set_number, "N", NULL },
	[OPTION_SIZE] = { set_amount, "SIZE", NULL },
	[OPTION_DURATION] = { set_duration, "TIME", NULL },
	[OPTION_PERCENT] = { set_amount, "PERCENT", NULL },
	[OPTION_MOMENT] = { set_text, "TIME", NULL },
	[OPTION_TEXT] = { set_text, "TEXT", "file" },
	[OPTION_FILE] = { set_text, "FILE", "file" },
	[OPTION_PATH] = { set_path, "PATH", "file" },
	[OPTION_GROUP] = { set_group, "GROUP", "name" },
	[OPTION_ADDRESS] = { set_address, "ADDRESS:PORT", NULL },
	[OPTION_CALLS] = { set_calls, "[!]LIST", "list" },
	[OPTION_EXPRESSION] = { set_expression, "trace=LIST", "list" },
	[OPTION_KEYS] = { set_keys, "KEYS", "list" },
	[OPTION_SORT] = { set_sort, "COLUMNS", "list" },
	[OPTION_RATE_SORT] = { set_rate_sort, "COLUMN", "word" },
	[OPTION_COLUMNS] = { set_columns, "LIST", "list" },
	[OPTION_PIDS] = { add_pids, "PID[,PID...]", "name" },
	[OPTION_SELECTOR] = { add_selector, "TEXT", "name" },
	[OPTION_ERRNOS] = { set_errnos, "[=ERRNOS]", NULL },
	[OPTION_FD] = { set_fd, "N", NULL },
	[OPTION_FD_SET] = { set_fds, "N,...", NULL },
	[OPTION_LAST] = { set_last, "TIME|N", NULL },
	[OPTION_TRIGGER] = { set_trigger, "EVENT", "word" },
	[OPTION_ATTRIBUTE] = { add_attribute, "KEY=VALUE", NULL },
};

const char *option_argument(const struct option_def *def)
{
	const char *arg = def->arg ?: kinds[def->kind].arg;

	return arg && *arg ? arg : NULL;
}

/* Returns no_argument, required_argument or optional_argument. */
static int option_wants(const struct option_def *def)
{
	if (!option_argument(def))
		return no_argument;
	return def->arg && def->arg[0] == '[' && def->arg[1] == '=' ? optional_argument
								    : required_argument;
}

/* FNV-1a, as of a text with its NUL. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	while (*text++);
	return hash;
}

int option_set(const struct option_def *def, struct options *o, const char *called, const char *arg,
	       struct diag *d)
{
	const char **given = &o->given[def - option_defs];
	const struct setting setting = { def, called, arg, (char *)o + def->offset, o, d };
	int err = kinds[def->kind].set(&setting);

	if (err)
		return err;
	/* If another option is given twice, the last one wins. */
	if ((def->words == report_format_names || def->words == call_format_names) && *given &&
	    strcmp(*given, arg) != 0)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"there is one format: %.32s or %.32s, not both", *given, arg);
	if (def->also)
		*(bool *)((char *)o + def->also) = true;
	*given = arg ?: def->nr_words ? def->words[0] : "1";
	if (def->section && !def->reloads)
		o->fixed += hash_text(hash_text(0, def->name), arg ?: "");
	return 0;
}

/* --- the command line -------------------------------------------------------------------------- */

#define MAX_OPTIONS     80 /* of one verb */
#define FIRST_LONG_ONLY 256

/* Returns the value by which getopt names an option. */
static int option_key(size_t index)
{
	return option_defs[index].letter ?: FIRST_LONG_ONLY + (int)index;
}

static void options_for_getopt(const struct verb *verb, char *letters, struct option *longs)
{
	letters += sprintf(letters, "%s:", verb->bit & VERBS_WITH_COMMAND ? "+" : "");
	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];

		if (!(def->verbs & verb->bit))
			continue;
		*longs++ = (struct option){ def->name, option_wants(def), NULL, option_key(i) };
		if (def->letter)
			letters += sprintf(letters, "%c%s", def->letter,
					   option_wants(def) == no_argument ? "" : ":");
	}
	*longs = (struct option){ 0 };
}

/* Whether a word of the command line, or a letter in it, means this option. */
static bool option_is_called(const struct option_def *def, const char *called)
{
	return called[1] == '-' ? !strcmp(def->name, called + 2)
				: def->letter && def->letter == called[1];
}

/* The option of another verb that is called so; the verbs that are named are those with most options. */
static const struct option_def *option_elsewhere(const char *called, const char **ret_verb)
{
	static const struct {
		enum verb_bit bit;
		const char *name;
	} verbs[] = {
		{ VERB_COUNT, "-c" },          { VERB_TOP, "top" },
		{ VERB_DAEMON, "daemon" },     { VERB_SNAPSHOT, "snapshot" },
		{ VERB_HISTORY, "history" },   { VERB_COMPARE, "compare" },
		{ VERB_BASELINE, "baseline" }, { VERB_CALLS, "for single calls" },
		{ VERB_RECORDER, "recorder" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(verbs) * nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i % nr_option_defs];

		*ret_verb = verbs[i / nr_option_defs].name;
		if (def->verbs & verbs[i / nr_option_defs].bit && option_is_called(def, called))
			return def;
	}
	return NULL;
}

/* The first option that was given and that -c does not take; NULL: there is none. */
static const struct option_def *option_not_of_count(const struct options *o)
{
	for (size_t i = 0; i < nr_option_defs; i++) {
		if (o->given[i] && !option_find(VERB_COUNT, option_defs[i].name))
			return &option_defs[i];
	}
	return NULL;
}

/* Returns the user's word for the verb; "": single calls. */
static const char *verb_called(const struct options *o)
{
	if (o->verb->bit != VERB_COUNT)
		return o->verb->name;
	return o->in_flight ? "--in-flight" : o->count ? "-c" : "";
}

/* The word that getopt does not know stands before where it goes on. */
static int unknown_option_error(struct options *o, struct diag *d)
{
	const char *word = o->argv[optind - 1];
	const char *verb = verb_called(o), *blank = *verb ? " " : "";
	/* A letter may stand inside a word, as in -cz. */
	bool is_letter = optopt && optopt < FIRST_LONG_ONLY;
	char called[2 * NEAREST_WORD_MAX] = { '-', (char)optopt };
	const char *name = *verb ? verb : "single calls", *other, *advice;
	char help[64];
	struct nearest near;
	const struct option_def *elsewhere, *here;

	o->is_unknown = true;
	if (!is_letter)
		snprintf(called, sizeof(called), "%.*s", (int)strcspn(word, "="), word);
	elsewhere = option_elsewhere(called, &other);
	here = option_not_of_count(o);
	/* -c is no mistake, but what stands before it. */
	if (elsewhere == option_find(VERB_COUNT, "count") && here)
		return diag_set(
			d, DIAG_USAGE, EINVAL,
			"--%s is an option of bpftruss without -c, not of -c; to print calls "
			"and count them, give -C",
			here->name);
	advice = o->in_flight ? NULL : option_advice(o->verb->bit, called, NULL, false);
	o->is_advised = advice != NULL;
	snprintf(help, sizeof(help), "'bpftruss %s%s--help' lists ", verb, blank);
	if (elsewhere)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s is an option of bpftruss %s, not of %s; %s%s%s", called, other,
				name, advice ?: help, advice ? "" : "those of ",
				advice ? "" : name);
	near = nearest_to(is_letter ? "" : called + strspn(called, "-"));
	for (size_t i = 0; i < nr_option_defs; i++) {
		if (option_defs[i].verbs & o->verb->bit)
			nearest_look(&near, option_defs[i].name);
	}
	if (near.best)
		return diag_set(d, DIAG_USAGE, EINVAL, "unknown option %s; did you mean --%s?",
				called, near.best);
	return diag_set(d, DIAG_USAGE, EINVAL, "unknown%s option %s; %s%s",
			is_letter ? "" : " or ambiguous", called, advice ?: help,
			advice ? "" : "them");
}

/* Sets an option, and tells who was refused what may have been meant. */
static int option_set_as_typed(const struct option_def *def, struct options *o, const char *called,
			       const char *arg, struct diag *d)
{
	const bool again = def->letter && o->given[def - option_defs];
	const char twice[] = { '-', def->letter, def->letter, 0 };
	const char *name = again && def->kind == OPTION_FLAG ? twice : called;
	const char *advice = option_advice(o->verb->bit, name, arg, true);
	struct diag why = { 0 };
	int err;

	if (advice)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s%s%.150s: %s", name, arg ? " " : "",
				arg ?: "", advice);
	err = option_set(def, o, called, arg, &why);
	advice = err ? option_advice(o->verb->bit, called, arg, false) : NULL;
	return err ? diag_set(d, why.kind, -err, "%s%s%s", why.text, advice ? "; " : "",
			      advice ?: "")
		   : 0;
}

/* Sets the option that getopt has found, and names it as it was written. */
static int option_take(struct options *o, int key, bool is_long, struct diag *d)
{
	char called[32];

	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];

		if (!(def->verbs & o->verb->bit) || option_key(i) != key)
			continue;
		if (is_long)
			snprintf(called, sizeof(called), "--%s", def->name);
		else
			snprintf(called, sizeof(called), "-%c", def->letter);
		return option_set_as_typed(def, o, called, optarg, d);
	}
	return unknown_option_error(o, d);
}

int options_read(struct options *o, int argc, char **argv, struct diag *d)
{
	char letters[2 + 2 * MAX_OPTIONS + 1];
	struct option longs[MAX_OPTIONS + 1];
	int key, index = -1, err = 0;

	options_for_getopt(o->verb, letters, longs);
	o->argc = argc;
	o->argv = argv;
	opterr = 0;
	optind = 0;
	while (!err && (key = getopt_long(argc, argv, letters, longs, &index)) != -1) {
		if (key == ':')
			return diag_set(d, DIAG_USAGE, EINVAL, "%s needs an argument",
					argv[optind - 1]);
		err = option_take(o, key, index >= 0, d);
		index = -1;
	}
	if (err)
		return err;
	o->words = argv + optind;
	o->nr_words = argc - optind;
	if (o->nr_words && o->verb->bit & VERBS_WITH_COMMAND)
		o->command = o->words;
	/* "top 5" */
	if (o->nr_words == 1 && o->verb->bit & (VERB_TOP | VERB_TOP_REPORT) &&
	    isdigit(*o->words[0]))
		return option_set(option_find(o->verb->bit, "interval"), o, "the delay",
				  o->words[0], d);
	if (!o->nr_words || o->verb->bit & VERBS_WITH_WORDS || o->help)
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL, "%s: \"%.100s\" is not an option; %s", o->verb->name,
			o->words[0],
			option_find(o->verb->bit, "name") ? "-n NAME takes processes of that name"
							  : "see --help");
}

const char *option_hint(const struct option_def *def)
{
	const int wants = option_wants(def);

	if (wants == no_argument)
		return "flag";
	return wants == optional_argument ? "optional" : kinds[def->kind].hint ?: "none";
}
