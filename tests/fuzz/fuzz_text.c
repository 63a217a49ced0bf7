/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes what a user writes: lists of calls, columns and keys, globs, units, times, numbers, whole
 * command lines and configuration files. The first byte of an input chooses the parser, by a
 * letter. A text that a parser takes must keep what its header promises; if it refuses one, it must
 * say why.
 */
#include <fnmatch.h>
#include <getopt.h>

#include "base/clock.h"
#include "base/moment.h"
#include "cmd/options.h"
#include "model/container.h"
#include "model/match.h"
#include "model/group.h"
#include "report/table.h"
#include "syscalls/syscall_set.h"
#include "fuzz.h"

#define NOW_NS 1763560000123456789

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Whether it was taken; if not, that there is a sentence. */
static bool taken(int err, const struct diag *d)
{
	require(err <= 0);
	require(!err || (d->text[0] && strlen(d->text) < sizeof(d->text)));
	return !err;
}

/* A list of calls, and everything but them: that takes terms with a "!" of their own as well. */
static void fuzz_calls(char *text)
{
	__cleanup(syscall_set_freep) struct syscall_set *set = NULL, *others = NULL;
	__cleanup(freep) char *inverted = NULL;
	struct diag d;

	if (!taken(syscall_set_parse(text, &set, &d), &d) || strchr(text, '!'))
		return;
	require(asprintf(&inverted, "!%s", text) > 0);
	if (!taken(syscall_set_parse(inverted, &others, &d), &d))
		return;
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = -1; nr < CALLS_INDEXED; nr += 7)
			require(syscall_set_has(set, abi, nr) != syscall_set_has(others, abi, nr));
	}
}

/* Names have at most so many bytes, and a glob without a star is cut there. */
#define NAME_BYTES 15

/* A glob, and behind a newline a name. Brackets apart, it means what it does to fnmatch(3). */
static void fuzz_glob(char *text)
{
	char *name = text + strcspn(text, "\n");
	struct selector selector;
	struct diag d;
	bool matches;

	if (*name)
		*name++ = 0;
	if (!taken(glob_compile(text, &selector, &d), &d))
		return;
	matches = glob_matches(&selector, name, strlen(name));
	if (strlen(text) <= NAME_BYTES && strlen(name) <= NAME_BYTES && !strpbrk(text, "[\\"))
		require(matches == !fnmatch(text, name, 0));
}

static void fuzz_columns(char *text)
{
	struct column_list list = { .count = 0 };
	struct diag d;

	if (!taken(columns_parse(text, &list, &d), &d))
		return;
	require(list.count > 0 && list.count <= COLUMNS_MAX);
	for (size_t i = 1; i < list.count; i++) {
		for (size_t j = 0; j < i; j++)
			require(list.columns[i] != list.columns[j]);
	}
}

static void fuzz_keys(char *text)
{
	unsigned int keys = 0;
	struct diag d;

	if (taken(group_keys_parse("--by", text, &keys, &d), &d))
		require(keys && keys < GROUP_ARG0 << 1);
}

static void fuzz_times(char *text)
{
	int64_t from, to;
	uint64_t ns;
	struct diag d;

	taken(moment_parse("--from", text, NOW_NS, &from, &d), &d);
	if (taken(duration_parse("--step", text, &ns, &d), &d))
		require(ns > 0);
	if (taken(span_parse("--span", text, NOW_NS, &from, &to, &d), &d))
		require(from < to && span_is(text));
}

/* The path of a cgroup, and behind a newline what is compared with it. */
static void fuzz_units(char *text)
{
	char *other = text + strcspn(text, "\n"), name[SELECTOR_NAME_SIZE];
	char shown[CONTAINER_NAME_MAX];
	struct container container;
	const char *unit;
	size_t length;

	if (*other)
		*other++ = 0;
	length = cgroup_unit(text, &unit);
	require(length > 0 && length <= strlen(unit));
	require(cgroup_is_in(text, text));
	cgroup_is_in(text, other);
	container_find(text, &container);
	container_write(&container, false, shown);
	container_write_pod(&container, true, shown);
	require(container.id_length <= strlen(text) && container.pod_length <= 64);
	container_is_meant(text, other, true, NULL);
	container_shorten(text, strlen(text), shown, sizeof(shown));
	if (!unit_complete_name(other, name, sizeof(name))) {
		require(strlen(name) < sizeof(name) && strchr(name, '.'));
		cgroup_is_in_unit(text, name);
	}
}

#define WORDS_MAX 64

/* A word a line, up to an empty one; what follows that one stays behind. */
static int words_split(char **text, char *words[WORDS_MAX + 1])
{
	int count = 0;
	char *word;

	words[count++] = "bpftruss";
	while (count < WORDS_MAX && (word = strsep(text, "\n")) && *word)
		words[count++] = word;
	words[count] = NULL;
	optind = 0;
	return count;
}

/* The command line of a verb, and behind an empty line a configuration file for the daemon. */
static void fuzz_verb(const struct verb *verb, char *text)
{
	char *words[WORDS_MAX + 1], path[64];
	int count = words_split(&text, words);
	int fd __cleanup(closep) = file_make(text ?: "", strlen(text ?: ""));
	struct options options;
	struct diag d;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options_init(&options, verb);
	if (verb->bit == VERB_DAEMON)
		taken(config_read(&options, path, &d), &d);
	if (taken(options_read(&options, count, words, &d), &d))
		taken(options_complete(&options, &d), &d);
	options_done(&options);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	/* Clocks that are set forth and back; without that, mktime() searches for years. */
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	/* Errors of configuration files are printed. Sanitizers write to the descriptor itself. */
	stderr = fopen("/dev/null", "we");
	return !stderr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		void (*parse)(char *text);
		struct verb verb; /* without parse() */
	} parsers[] = {
		{ .parse = fuzz_calls },                                  /* a */
		{ .parse = fuzz_glob },                                   /* b */
		{ .parse = fuzz_columns },                                /* c */
		{ .parse = fuzz_keys },                                   /* d */
		{ .parse = fuzz_times },                                  /* e */
		{ .verb = { .name = "snapshot", .bit = VERB_SNAPSHOT } }, /* f */
		{ .parse = fuzz_units },                                  /* g */
		{ .verb = { .name = "", .bit = VERB_COUNT } },            /* h */
		{ .verb = { .name = "top", .bit = VERB_TOP } },           /* i */
		{ .verb = { .name = "daemon", .bit = VERB_DAEMON } },     /* j */
	};
	const size_t i = size ? (uint8_t)(data[0] - 'a') % ARRAY_SIZE(parsers) : 0;
	__cleanup(freep) char *text = NULL;

	if (!size)
		return 0;
	/* The text has memory of its own size, so that a read beyond it is seen. */
	text = strndup((const char *)data + 1, size - 1);
	require(text);
	if (parsers[i].parse)
		parsers[i].parse(text);
	else
		fuzz_verb(&parsers[i].verb, text);
	return 0;
}
