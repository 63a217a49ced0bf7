/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells users of strace and top what their options are called here, where ours refuses them. */
#include <fnmatch.h>

#include "cmd/options.h"

#define FACE     (VERB_COUNT | VERB_CALLS)
#define ANY_TOP  (VERB_TOP | VERB_TOP_REPORT)
#define ALL      UINT_MAX
#define ANOTHER  "[!0-9]*"
#define A_NUMBER "+([0-9])"

static const struct advice {
	unsigned int verbs;
	const char *called; /* a glob, as arg is */
	const char *arg;    /* a glob of ksh; NULL: the option is unknown, or takes none */
	const char *text;
} of_refused[] = {
	/* strace */
	{ FACE, "-y", NULL, "leave it out: what a descriptor refers to is always shown" },
	{ FACE, "-T", NULL, "--format=strace shows the time of each call, -E its CPU time" },
	{ FACE, "-r", NULL, "-D shows the time since the last call" },
	{ FACE, "-q", NULL, "leave it out: there is nothing to silence" },
	{ FACE, "-P", NULL, "--path GLOB shows calls with that path; with -c: --by path" },
	{ FACE, "-t", "t", "-t is --trace here; --elapsed or --format=strace show times" },
	{ FACE, "-t", "tt", "-t is --trace here; --elapsed or --format=strace show times" },
	{ FACE, "-i", ANOTHER, "-i is --interval here; -k shows where a call comes from" },
	{ FACE, "-e", "status=*", "-z shows calls that succeed, -Z those that fail" },
	{ FACE, "-e", "@(fd|fds|trace-fd|trace-fds)=*", "--fd N shows calls on that descriptor" },
	{ FACE, "-e", "@(read|write)=*", "--dump N shows all data of that descriptor" },
	{ FACE, "-e", "@(abbrev|verbose|v)=*", "-v shows all of structures" },
	{ FACE, "-e", "@(raw|x)=*", "-x shows arguments in hexadecimal" },
	{ FACE, "-e", "@(fault|inject)=*", "bpftruss never changes what a call does" },
	{ VERB_COUNT, "-E", NULL, "'env NAME=VALUE COMMAND' sets a variable" },

	/* Single calls, when they are counted. */
	{ VERB_COUNT, "--failed", NULL, "with -c: --errors, or -Z" },
	{ VERB_COUNT, "--path", NULL, "with -c: --by path" },
	{ VERB_COUNT, "-k", NULL, "with -c: --stacks" },
	{ VERB_COUNT, "-l", NULL, "with -c: --by tid" },

	/* top */
	{ VERB_TOP, "-b", NULL, "--once prints one frame as text, --json goes on" },
	{ VERB_TOP, "-H", NULL, "--by tid shows threads, as the key H does" },
	{ VERB_TOP, "-o", NULL, "-o is --output here; --sort cpu sorts" },

	{ VERB_COMPARE, "-[0-9]", NULL,
	  "times that begin with - come last, behind --: bpftruss compare --by comm -- -2h..-1h "
	  "-1h..now" },
	{ ALL, "-p", ANOTHER, "-n NAME chooses processes by name" },
};

/* Hints for options that are accepted, but hardly with the meaning that the user wants. */
static const struct advice of_taken[] = {
	{ FACE, "-ff", NULL,
	  "all processes share one output, in which each line says whose it is: give -f once" },
	{ ANY_TOP, "-n", A_NUMBER, "-n is --name here; --once prints one frame" },
};

static const struct advice_list {
	const struct advice *list;
	size_t count;
} lists[] = { { of_refused, ARRAY_SIZE(of_refused) }, { of_taken, ARRAY_SIZE(of_taken) } };

const char *option_advice(enum verb_bit verb, const char *called, const char *arg, bool is_taken)
{
	for (size_t i = 0; i < lists[is_taken].count; i++) {
		const struct advice *a = &lists[is_taken].list[i];

		if (a->verbs & verb && !fnmatch(a->called, called, FNM_EXTMATCH) &&
		    (!a->arg || (arg && !fnmatch(a->arg, arg, FNM_EXTMATCH))))
			return a->text;
	}
	return NULL;
}
