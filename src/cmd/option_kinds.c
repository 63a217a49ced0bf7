/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the argument of an option as its kind wants it, and writes the member it is for. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/clock.h"
#include "cmd/option_table.h"
#include "collect/user_names.h"
#include "ipc/socket.h"

/* An argument on its way to a member. */
struct setting {
	const struct option_def *def;
	const char *called, *arg;
	void *member;
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
	char list[320] = "";
	size_t used = 0;

	for (size_t i = 0; i < s->def->nr_words; i++) {
		if (!s->arg || !strcmp(s->arg, s->def->words[i]))
			return store(s, i);
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
					 s->def->words[i]);
	}
	return refuse(s, "is none of %s", list);
}

static int set_number(const struct setting *s)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(s->arg, &end, 10);
	if (!isdigit((unsigned char)*s->arg) || *end || errno || value < 1 || value > s->def->high)
		return refuse(s, "is not a number from 1 to %llu",
			      (unsigned long long)s->def->high);
	return store(s, value);
}

static const struct unit {
	const char *name;
	double factor;
} sizes[] = { { "", 1 }, { "K", 0x1p10 }, { "M", 0x1p20 }, { "G", 0x1p30 }, { NULL, 0 } },
  times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { NULL, 0 } },
  seconds[] = { { "", 1e9 }, { NULL, 0 } }, percents[] = { { "%", 1 }, { NULL, 0 } };

/* Amounts with a unit behind them, in the unit of their members. */
static const struct amount {
	const struct unit *units;
	double low, high;
	const char *refusal;
} amounts[NR_OPTION_KIND] = {
	[OPTION_SIZE] = { sizes, 1, 0x1p50, "is not a size, such as 8M or 2G" },
	[OPTION_SECONDS] = { seconds, 1e6, 1e18, "is not a number of seconds, such as 10 or 0.5" },
	[OPTION_TIME] = { times, 1, 3600e9, "is not a time with its unit, such as 10ms or 1.5s" },
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
	return duration_parse(s->called, s->arg, s->member, s->d);
}

static int set_text(const struct setting *s)
{
	if (!*s->arg)
		return refuse(s, "is empty");
	*(const char **)s->member = s->arg;
	return 0;
}

/* A daemon may have been started anywhere. */
static int set_path(const struct setting *s)
{
	return *s->arg == '/' ? set_text(s)
			      : refuse(s, "is no absolute path: it must begin with /");
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

static int set_keys(const struct setting *s)
{
	return group_keys_parse(s->called, s->arg, s->member, s->d);
}

static int set_column(const struct setting *s)
{
	return column_find(s->called, s->arg, s->member, s->d);
}

static int set_columns(const struct setting *s)
{
	return columns_parse(s->arg, s->member, s->d);
}

static int add_pids(const struct setting *s)
{
	struct targets *targets = s->member;
	const char *at = s->arg + strspn(s->arg, ", ");
	pid_t *grown;
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
		grown = reallocarray(targets->pids, targets->nr_pids + 1, sizeof(*grown));
		if (!grown)
			return diag_oom(s->d);
		targets->pids = grown;
		targets->pids[targets->nr_pids++] = (pid_t)pid;
	}
	return 0;
}

static int add_selector(const struct setting *s)
{
	struct targets *targets = s->member;

	if (targets->nr_selectors == MAX_SELECTORS)
		return diag_set(s->d, DIAG_USAGE, EINVAL,
				"at most %d of -n, -u, -g, -U can be given", MAX_SELECTORS);
	targets->selectors[targets->nr_selectors++] =
		(struct target_selector){ (enum selector_kind)s->def->value, s->arg };
	return 0;
}

static const struct kind {
	int (*set)(const struct setting *s);
	const char *arg;  /* in --help; NULL: it takes none */
	const char *hint; /* for completion; NULL: none */
} kinds[NR_OPTION_KIND] = {
	[OPTION_FLAG] = { set_flag, NULL, NULL },
	[OPTION_VALUE] = { set_value, NULL, NULL },
	[OPTION_CHOICE] = { set_choice, "WORD", "word" },
	[OPTION_NUMBER] = { set_number, "N", NULL },
	[OPTION_SIZE] = { set_amount, "SIZE", NULL },
	[OPTION_SECONDS] = { set_amount, "SECONDS", NULL },
	[OPTION_TIME] = { set_amount, "TIME", NULL },
	[OPTION_DURATION] = { set_duration, "SPAN", NULL },
	[OPTION_PERCENT] = { set_amount, "PERCENT", NULL },
	[OPTION_MOMENT] = { set_text, "TIME", NULL },
	[OPTION_TEXT] = { set_text, "TEXT", "file" },
	[OPTION_FILE] = { set_text, "FILE", "file" },
	[OPTION_PATH] = { set_path, "PATH", "file" },
	[OPTION_GROUP] = { set_group, "GROUP", "name" },
	[OPTION_ADDRESS] = { set_address, "ADDRESS:PORT", NULL },
	[OPTION_CALLS] = { set_calls, "[!]LIST", "list" },
	[OPTION_KEYS] = { set_keys, "KEYS", "list" },
	[OPTION_COLUMN] = { set_column, "COLUMN", "word" },
	[OPTION_COLUMNS] = { set_columns, "LIST", "list" },
	[OPTION_PIDS] = { add_pids, "PID[,PID...]", "name" },
	[OPTION_SELECTOR] = { add_selector, "TEXT", "name" },
};

const char *option_argument(const struct option_def *def)
{
	return def->arg ?: kinds[def->kind].arg;
}

int option_wants(const struct option_def *def)
{
	if (!option_argument(def))
		return no_argument;
	return def->arg && def->arg[0] == '[' && def->arg[1] == '=' ? optional_argument
								    : required_argument;
}

const char *option_hint(const struct option_def *def)
{
	return kinds[def->kind].hint;
}

int option_set(const struct option_def *def, struct options *o, const char *called, const char *arg,
	       struct diag *d)
{
	const struct setting setting = { def, called, arg, (char *)o + def->offset, d };
	int err = kinds[def->kind].set(&setting);

	if (!err && def->also)
		*(bool *)((char *)o + def->also) = true;
	return err;
}
