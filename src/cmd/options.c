/* SPDX-License-Identifier: BSD-2-Clause */
/* Works out what options say of each other, and refuses in one sentence what makes no sense. */
#include "cmd/options.h"

void options_init(struct options *o, const struct verb *verb)
{
	*o = (struct options){ .verb = verb, .rate_sort = RATE_CALLS };
}

void options_done(struct options *o)
{
	free(o->targets.pids);
	syscall_set_free(o->output.only);
	syscall_set_free(o->output.waiting);
	for (size_t i = 0; i < o->nr_kept; i++)
		free(o->kept[i]);
	free(o->kept);
}

bool targets_given(const struct targets *targets)
{
	return targets->nr_pids || targets->nr_selectors || targets->all;
}

static void collector_complete(struct options *o)
{
	struct targets *targets = &o->targets;
	struct collector_options *c = &o->collector;
	const char *const *files = o->output.side_files;

	/* Any other target is one of all. */
	if (targets->all) {
		targets->selectors[0] = (struct target_selector){ SELECT_ALL, NULL };
		targets->nr_selectors = 1;
	}
	c->selectors = targets->selectors;
	c->nr_selectors = targets->nr_selectors;
	c->pids = targets->pids;
	c->nr_pids = targets->nr_pids;
	c->stacks = c->stacks || o->report.show_stacks || files[SIDE_FILE_FOLDED] ||
		    files[SIDE_FILE_PPROF] || files[SIDE_FILE_FLAME];
	c->by_thread = o->report.table.keys & GROUP_TID;
	c->by_arg0 = o->report.table.keys & GROUP_ARG0;
	c->calls = o->output.only;
	c->lists_calls = o->in_flight;
	c->frame_pointers = getenv("BPFTRUSS_FRAME_POINTERS") != NULL;
}

/* --- contradictions --------------------------------------------------------------------------- */

static int format_check(const struct options *o, struct diag *d)
{
	struct report_options report = o->report;

	/* The picture obeys it. */
	if (o->output.side_files[SIDE_FILE_CHART] && report.format == FORMAT_CSV)
		report.table.waiting = NULL;
	if (o->collector.kernel_stacks && !o->collector.stacks)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--kernel-stacks needs --stacks, --folded, --pprof "
				"or --flame");
	return report_options_check(&report, d);
}

/* The first of the report and its side files that has the path of another; NULL if there is none. */
static const char *path_given_twice(const struct output_options *r)
{
	const char *path = r->path;

	for (int i = 0; i < NR_SIDE_FILE; path = r->side_files[i++]) {
		for (int j = i; j < NR_SIDE_FILE && path; j++) {
			if (r->side_files[j] && !strcmp(path, r->side_files[j]) &&
			    strncmp(path, "/dev/", 5) != 0)
				return path;
		}
	}
	return NULL;
}

static int report_check(const struct options *o, struct diag *d)
{
	const char *twice = path_given_twice(&o->output);
	const char *word = o->report.show_stacks && o->command ? o->command[0] : "";
	int err = format_check(o, d);

	if (err)
		return err;
	/* "--stacks time" would run the program time. */
	if (!strcmp(word, "time") || !strcmp(word, "calls"))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--stacks=%s is written with an equals sign (a program of that "
				"name: by its path)",
				word);
	if (twice)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: one file cannot hold two reports",
				twice);
	return 0;
}

static int in_flight_check(const struct options *o, struct diag *d)
{
	enum report_format format = o->report.format;
	const struct {
		bool broken;
		const char *sentence;
	} rules[] = {
		{ o->command,
		  "looks at processes that are running: give -p, -n, -u, -g, -U or -a" },
		{ o->duration_ns || o->interval_ns, "looks once and at once: leave -d and -i out" },
		{ format != FORMAT_TRUSS && format != FORMAT_JSON,
		  "has a form of its own, and --json: leave other forms and columns out" },
		{ o->collector.stacks,
		  "shows the kernel's stacks: leave --stacks and its files out" },
		{ o->output.only || o->collector.slower_than_ns,
		  "shows any call: leave -t and --slower-than out" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules) && o->in_flight; i++) {
		if (rules[i].broken)
			return diag_set(d, DIAG_USAGE, EINVAL, "--in-flight %s", rules[i].sentence);
	}
	return 0;
}

static int count_check(const struct options *o, struct diag *d)
{
	const struct collector_options *c = &o->collector;
	const char *urls = getenv("DEBUGINFOD_URLS");
	/* Options that would change nothing are refused: whoever gives one expects something of it. */
	const struct {
		bool broken;
		const char *sentence;
	} rules[] = {
		{ c->inlines && !c->stacks, "--inline needs --stacks, --folded, "
					    "--pprof or --flame" },
		{ c->debuginfod && !c->stacks,
		  "--debuginfod needs --stacks, --folded, --pprof or --flame" },
		{ c->debuginfod && (!urls || !*urls),
		  "--debuginfod needs DEBUGINFOD_URLS: set it, and make sure that "
		  "sudo passes it on" },
		{ o->count_limit && !o->interval_ns, "-N counts intervals: give -i SECONDS, too" },
		{ o->collector.wait && !c->nr_selectors, "--wait needs -n, -u, -g, -U or -a" },
		{ o->follow && c->nr_selectors && !c->nr_pids,
		  "-f needs -p or a command: other targets select each process on its own" },
		{ !targets_given(&o->targets) && !o->command,
		  "whose calls? give -p PID for a running process, or a command to run; see "
		  "'bpftruss help'" },
	};
	int err;

	err = in_flight_check(o, d) ?: report_check(o, d);
	if (!err && targets_given(&o->targets) && o->command)
		err = diag_set(d, DIAG_USAGE, EINVAL,
			       "give either processes (-p, -n, -u, -g, -U, -a) or a command, not "
			       "both (command: \"%s\")",
			       o->command[0]);
	for (size_t i = 0; i < ARRAY_SIZE(rules) && !err; i++) {
		if (rules[i].broken)
			err = diag_set(d, DIAG_USAGE, EINVAL, "%s", rules[i].sentence);
	}
	return err;
}

int options_complete(struct options *o, struct diag *d)
{
	const bool is_snapshot = o->verb->bit == VERB_SNAPSHOT;
	struct report_options *r = &o->report;

	if (o->verb->bit == VERB_TOP && !targets_given(&o->targets))
		o->targets.all = true;
	r->table.columns = o->output.columns.count ? &o->output.columns : NULL;
	r->table.waiting = o->output.waiting;
	if (o->in_flight) {
		o->in_flight_top = r->table.top;
		r->table.top = 0;
	}
	/* Where stacks are shown, --top limits them and not the table. */
	if (r->show_stacks) {
		r->stacks.top = r->table.top;
		r->table.top = 0;
	}
	if (r->format == FORMAT_TRUSS && report_needs_wide(&r->table))
		r->format = FORMAT_WIDE;
	collector_complete(o);
	if (o->help || o->version)
		return 0;
	if (o->verb->bit == VERB_COUNT)
		return count_check(o, d);
	/* The verbs that ask the daemon. */
	if (r->table.keys & (GROUP_TID | GROUP_ARG0))
		return diag_set(d, DIAG_USAGE, EINVAL, "--by: %s",
				is_snapshot ? "the daemon keeps neither threads nor first "
					      "arguments; use bpftruss -c"
					    : "threads and first arguments are not compared");
	return is_snapshot ? report_check(o, d) : 0;
}
