/* SPDX-License-Identifier: BSD-2-Clause */
/* Works out what options say of each other, and refuses in one sentence what makes no sense. */
#include "cmd/options.h"

#include "calls/truss.h"

unsigned int verb_keys_not_kept(enum verb_bit verb)
{
	const unsigned int all = GROUPS_OF_THREADS | GROUP_SPLITS;

	if (!(verb & VERBS_OF_KEPT))
		return 0;
	return verb == VERB_SNAPSHOT  ? all & ~GROUPS_OF_NAMES
	       : verb == VERB_HISTORY ? all | GROUP_PID
				      : all;
}

void options_init(struct options *o, const struct verb *verb)
{
	*o = (struct options){ .verb = verb, .rate_sort = RATE_CALLS };
}

void options_done(struct options *o)
{
	free(o->targets.pids);
	syscall_set_free(o->output.only);
	syscall_set_free(o->output.waiting);
	syscall_set_free(o->daemon.recorder.calls);
	syscall_set_free(o->daemon.metrics.histograms);
	for (size_t i = 0; i < o->nr_kept; i++)
		free(o->kept[i]);
	free(o->kept);
}

bool targets_given(const struct targets *targets)
{
	return targets->nr_pids || targets->nr_selectors || targets->all;
}

/* Whether anything that is written has call stacks. */
static bool stacks_are_shown(const struct options *o)
{
	const char *const *files = o->output.side_files;

	return o->report.show_stacks || report_format_has_stacks(o->report.format) ||
	       files[SIDE_FILE_FOLDED] || files[SIDE_FILE_PPROF] || files[SIDE_FILE_FLAME];
}

/* The part of a glob before its first special character. */
static void calls_set_prefix(struct call_conditions *conditions, const char *glob)
{
	size_t size = strcspn(glob, "*?[\\");

	conditions->path_size = (uint32_t)(size < PATH_PREFIX_MAX ? size : PATH_PREFIX_MAX);
	memcpy(conditions->path, glob, conditions->path_size);
}

static void conditions_complete(struct call_options *calls)
{
	calls->view.conditions = calls->conditions;
	calls->view.conditions.only_succeeded = calls->only_succeeded;
}

/* A recording has the beginning of each buffer; else the rest comes on its own, for whole rows of a dump. */
static void dump_complete(struct call_options *calls)
{
	struct call_view *view = &calls->view;

	if (!calls->dumped)
		return;
	if (calls->record.last_ns || calls->record.last_count) {
		view->plan.data_bytes = MAX_FETCH;
	} else {
		view->plan.data_bytes = (view->plan.data_bytes + ROW_BYTES - 1) & ~(ROW_BYTES - 1u);
		view->whole_fds = calls->dumped;
	}
}

/* Tells the collector which single calls the programs send. */
static void calls_complete(struct options *o)
{
	struct call_options *calls = &o->calls;
	uint16_t bytes = (uint16_t)calls->string_bytes;
	bool only_paths = calls->limits_strings && !bytes;

	calls->view = (struct call_view){
		.plan = { .path_bytes = bytes ?: DEFAULT_PATHS,
			  .data_bytes = calls->limits_strings ? bytes : DEFAULT_DATA,
			  .only_paths = only_paths,
			  .structs = calls->structs || calls->format != CALL_FORMAT_TRUSS,
			  .environment = calls->environment },
	};
	conditions_complete(calls);
	dump_complete(calls);
	if (calls->path)
		calls_set_prefix(&calls->view.conditions, calls->path);
	o->collector.view = &calls->view;
	o->collector.stacks |= calls->stack_trace;
}

/* The slowest calls are read as calls are that are shown. */
static void exemplars_complete(struct options *o)
{
	o->calls.view = (struct call_view){
		.plan = { .path_bytes = DEFAULT_PATHS, .data_bytes = DEFAULT_DATA },
		.only_slowest = true,
	};
	o->collector.view = &o->calls.view;
}

static bool has_page(const struct options *o)
{
	return o->output.side_files[SIDE_FILE_HTML] || o->report.format == FORMAT_HTML;
}

/* JSON and pages have the slowest call of each row without being asked, if rows can have it. */
static void exemplars_default(struct options *o)
{
	o->exemplars = o->report.exemplars;
	if (o->verb->bit != VERB_COUNT || o->in_flight || o->report.exemplars_given ||
	    o->report.table.keys & (GROUPS_OF_THREADS | GROUP_SPLITS))
		return;
	o->report.exemplars = o->report.format == FORMAT_JSON;
	if (report_exemplars_contradiction(&o->report))
		o->report.exemplars = 0;
	o->exemplars = o->report.exemplars || has_page(o);
}

static void collector_complete(struct options *o)
{
	struct targets *targets = &o->targets;
	struct collector_options *c = &o->collector;

	/* Any other target is one of all. */
	if (targets->all) {
		targets->selectors[0] = (struct target_selector){ SELECT_ALL, NULL };
		targets->nr_selectors = 1;
	}
	c->selectors = targets->selectors;
	c->nr_selectors = targets->nr_selectors;
	c->pids = targets->pids;
	c->nr_pids = targets->nr_pids;
	/* Options that say how stacks are to be ask for them. */
	if (o->verb->bit == VERB_COUNT && (c->kernel_stacks || c->inlines || c->debuginfod) &&
	    !stacks_are_shown(o))
		o->report.show_stacks = true;
	c->stacks |= stacks_are_shown(o);
	c->by_thread = o->report.table.keys & GROUPS_OF_THREADS || o->rate_by == RATE_BY_TID ||
		       o->report.stacks.by == FLAME_BY_TID;
	c->keeps_threads = c->by_thread && !(o->verb->bit & (VERB_TOP | VERB_TOP_REPORT));
	c->split_by = group_split(o->report.table.keys) ?: rate_by_split(o->rate_by);
	c->calls = o->output.only;
	if (o->verb->bit == VERB_CALLS)
		calls_complete(o);
	if (o->verb->bit == VERB_RECORDER)
		conditions_complete(&o->calls);
	exemplars_default(o);
	if (o->exemplars)
		exemplars_complete(o);
	c->lists_calls = o->in_flight;
	c->frame_pointers = getenv("BPFTRUSS_FRAME_POINTERS") != NULL;
}

/* --- contradictions --------------------------------------------------------------------------- */

/* The format that an option has chosen; NR_REPORT_FORMAT: none. */
static enum report_format format_given(const struct options *o, size_t index)
{
	const struct option_def *def = &option_defs[index];
	enum report_format format;

	if (!o->given[index] || def->offset != offsetof(struct options, report.format))
		return NR_REPORT_FORMAT;
	if (def->kind == OPTION_VALUE)
		return (enum report_format)def->value;
	return report_format_parse(o->given[index], &format, NULL) ? NR_REPORT_FORMAT : format;
}

static bool format_is_wide(enum report_format format)
{
	return format == FORMAT_WIDE || format == FORMAT_ERRORS || format == FORMAT_HIST;
}

/* The report that -C prints has the form of the single calls. */
static enum report_format format_default(const struct options *o)
{
	static const enum report_format formats[NR_CALL_FORMAT] = {
		[CALL_FORMAT_TRUSS] = FORMAT_TRUSS,
		[CALL_FORMAT_STRACE] = FORMAT_STRACE,
		[CALL_FORMAT_JSON] = FORMAT_JSON,
	};

	return formats[o->calls.format];
}

/* The wide table may be CSV or JSON, too. Otherwise a report has one format. */
static int format_complete(struct options *o, struct diag *d)
{
	enum report_format chosen = NR_REPORT_FORMAT;

	for (size_t i = 0; i < nr_option_defs; i++) {
		const enum report_format before = chosen, format = format_given(o, i);

		if (format == NR_REPORT_FORMAT)
			continue;
		o->report.errors |= format == FORMAT_ERRORS;
		o->report.table.hist |= format == FORMAT_HIST;
		if (before == NR_REPORT_FORMAT || format_is_wide(before))
			chosen = format;
		if (before == NR_REPORT_FORMAT || before == format ||
		    (format_is_wide(before) && format_is_wide(format)) ||
		    (format_is_wide(before) && (format == FORMAT_JSON || format == FORMAT_CSV)) ||
		    (format_is_wide(format) && (before == FORMAT_JSON || before == FORMAT_CSV)))
			continue;
		return diag_set(d, DIAG_USAGE, EINVAL,
				"a report has one format: %s or %s, not both",
				report_format_names[before], report_format_names[format]);
	}
	o->report.format = chosen == NR_REPORT_FORMAT ? format_default(o) : chosen;
	return 0;
}

static int format_check(const struct options *o, struct diag *d)
{
	struct report_options report = o->report;

	/* The picture obeys it. */
	if (o->output.side_files[SIDE_FILE_CHART] && report.format == FORMAT_CSV)
		report.table.waiting = NULL;
	/* A chart over time shows one column. */
	if (o->verb->bit == VERB_HISTORY && report.format == FORMAT_CHART) {
		report.table.columns = NULL;
		report.table.sort.count = 0;
	}
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

/* A name that promises another kind of picture would be opened by a program that cannot read it. */
static int pictures_check(const struct output_options *r, struct diag *d)
{
	static const char *const others[] = { ".png",  ".jpg",  ".jpeg", ".gif",
					      ".webp", ".html", ".svg",  ".pdf" };
	static const struct {
		const char *name, *writes, *ending;
	} files[NR_SIDE_FILE] = {
		[SIDE_FILE_CHART] = { "--chart", "draws SVG", ".svg" },
		[SIDE_FILE_FLAME] = { "--flame", "draws SVG", ".svg" },
		[SIDE_FILE_HEATMAP] = { "--heatmap", "draws SVG", ".svg" },
		[SIDE_FILE_HTML] = { "--html", "writes a page", ".html" },
	};

	for (size_t i = 0; i < NR_SIDE_FILE * ARRAY_SIZE(others); i++) {
		const char *other = others[i % ARRAY_SIZE(others)];
		size_t which = i / ARRAY_SIZE(others);
		const char *path = files[which].name ? r->side_files[which] : NULL;
		const char *dot = path ? strrchr(path, '.') : NULL;

		if (dot && !strcasecmp(dot, other) && strcmp(other, files[which].ending) != 0)
			return diag_set(d, DIAG_USAGE, EINVAL,
					"%s %s, not %s: name the file %.*s%s (a browser shows it "
					"and can print it)",
					files[which].name, files[which].writes, other + 1,
					(int)(dot - path), path, files[which].ending);
	}
	return 0;
}

/* Returns the value given to an option of the verb; NULL: it was not given. */
static const char *option_given(const struct options *o, const char *name)
{
	const struct option_def *def = option_find(o->verb->bit, name);

	return def ? o->given[def - option_defs] : NULL;
}

/* Options of flame graphs alone. */
static int flame_check(const struct options *o, struct diag *d)
{
	const bool is_compare = o->verb->bit == VERB_COMPARE;
	const bool has_flame = o->output.side_files[SIDE_FILE_FLAME] ||
			       o->report.format == FORMAT_FLAME || has_page(o);
	const bool is_drawn = o->output.side_files[SIDE_FILE_FLAME];
	const struct {
		bool is_broken;
		const char *sentence;
	} rules[] = {
		{ o->report.stacks.by && !has_flame,
		  is_compare ? "--flame-by is about flame graphs: give --flame FILE, too"
			     : "--flame-by is about flame graphs: give --flame FILE or "
			       "--format flame, too" },
		{ is_compare && o->output.flame_is_normalized && !is_drawn,
		  "--flame-normalize is about flame graphs: give --flame FILE, too" },
		{ is_compare && option_given(o, "stacks") && !has_flame,
		  "compare has no stacks but those of flame graphs: give --flame FILE, too" },
		{ o->verb->bit == VERB_SNAPSHOT && o->report.stacks.by == FLAME_BY_TID,
		  "--flame-by: the daemon does not keep threads; use bpftruss -c for these" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].is_broken)
			return diag_set(d, DIAG_USAGE, EINVAL, "%s", rules[i].sentence);
	}
	return 0;
}

static int report_check(const struct options *o, struct diag *d)
{
	const char *twice = path_given_twice(&o->output);
	const char *word = o->report.show_stacks && o->command ? o->command[0] : "";
	int err = format_check(o, d) ?: pictures_check(&o->output, d) ?: flame_check(o, d);

	if (err)
		return err;
	/* "--stacks time" would run the program time. */
	if (!strcmp(word, "time") || !strcmp(word, "calls"))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"write --stacks=%s, with an equals sign (to run a program of "
				"that name, give its path)",
				word);
	if (twice)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: one file cannot hold two reports",
				twice);
	return 0;
}

/* Whether an option makes sense where nothing is counted and no table is made. */
static bool in_flight_takes(const struct option_def *def)
{
	static const char *const names[] = { "count", "summary", "in-flight", "wait",   "top",
					     "json",  "format",  "output",    "verbose" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(def->name, names[i]))
			return true;
	}
	/* A report of another form is refused by its own name. */
	return def->offset == offsetof(struct options, targets) ||
	       def->offset == offsetof(struct options, targets.all);
}

static int in_flight_check(const struct options *o, struct diag *d)
{
	enum report_format format = o->report.format;

	if (!o->in_flight)
		return 0;
	if (o->command)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--in-flight looks at processes that are running: give -p, -n, -u, "
				"-g, -U or -a");
	if (format != FORMAT_TRUSS && format != FORMAT_JSON)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--in-flight prints text, or JSON with --json, but no table");
	for (size_t i = 0; i < nr_option_defs; i++) {
		if (o->given[i] && !in_flight_takes(&option_defs[i]))
			return diag_set(d, DIAG_USAGE, EINVAL,
					"--in-flight looks once and counts nothing: leave out --%s",
					option_defs[i].name);
	}
	return 0;
}

/* Whether calls are saved when something happens. */
bool calls_are_saved(const struct options *o)
{
	return save_triggers_given(&o->calls.record.save_on);
}

bool calls_are_recorded(const struct options *o)
{
	return o->calls.record.last_ns || o->calls.record.last_count;
}

/* Other formats have these anyway, or have no place for them. */
static int call_format_check(const struct options *o, struct diag *d)
{
	static const char *const of_truss[] = { "dump", "threads", "elapsed", "delta",
						"system-time" };
	const char *name = call_format_names[o->calls.format], *format, *json;

	if (!(o->verb->bit & (VERB_CALLS | VERB_RECORDER)))
		return 0;
	format = option_given(o, "format");
	json = option_given(o, "json");
	if (json && format && strcmp(format, "json") != 0)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"there is one format: json or %.32s, not both", format);
	for (size_t i = 0; i < ARRAY_SIZE(of_truss) && o->calls.format; i++) {
		if (option_given(o, of_truss[i]))
			return diag_set(d, DIAG_USAGE, EINVAL,
					"lines of truss have --%s: leave it out with "
					"--format %s",
					of_truss[i], name);
	}
	return 0;
}

static int record_check(const struct options *o, struct diag *d)
{
	const bool records = calls_are_recorded(o), saves = calls_are_saved(o);
	const struct {
		bool broken;
		const char *sentence;
	} rules[] = {
		{ !records && (o->calls.record.bytes || saves),
		  "--record-size and --save-on are about recorded calls: give --last, too" },
		{ records && o->calls.max_events,
		  "--last is how many are printed: leave --max-events out" },
		{ saves && !o->output.path, "--save-on writes files: give -o FILE, too" },
		{ saves && o->count, "--save-on writes calls alone: leave -C out" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].broken)
			return diag_set(d, DIAG_USAGE, EINVAL, "%s", rules[i].sentence);
	}
	return 0;
}

#define ONE_PAGE          "a page has one report: give --html FILE, which each interval writes anew"
#define FAILS_OR_SUCCEEDS "a call either fails or succeeds: give --failed or --successes-only"

/* Other tools run a command as the user that -u names. */
static int targets_with_command(const struct options *o, struct diag *d)
{
	const struct targets *t = &o->targets;
	const char *user = NULL;

	for (size_t i = 0; i < t->nr_selectors && !user; i++) {
		if (t->selectors[i].kind == SELECT_UNIT || t->selectors[i].kind == SELECT_USER)
			user = t->selectors[i].text;
	}
	return diag_set(d, DIAG_USAGE, EINVAL,
			"give either processes (-p, -n, -u, -g, -U, -a) or a command, not both "
			"(command: \"%.100s\")%s%.64s%s",
			o->command[0], user ? "; --as-user=" : "", user ?: "",
			user ? " runs it as a user" : "");
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
		{ o->as_user && !o->command, "--as-user is for a command: give one to run" },
		{ c->debuginfod && (!urls || !*urls),
		  "--debuginfod needs DEBUGINFOD_URLS: set it, and make sure that "
		  "sudo passes it on" },
		{ o->count_limit && !o->interval_ns, "-N counts intervals: give -i SECONDS, too" },
		{ o->report.exemplars && o->report.table.keys & (GROUPS_OF_THREADS | GROUP_SPLITS),
		  "--exemplars are of processes and calls: --by goes without threads, CPUs and "
		  "arguments" },
		{ o->report.format == FORMAT_HTML && o->interval_ns, ONE_PAGE },
		{ o->collector.wait && !c->nr_selectors, "--wait needs -n, -u, -g, -U or -a" },
		{ o->follow && c->nr_selectors && !c->nr_pids,
		  "-f needs -p or a command: other targets select each process on its own" },
		{ o->calls.conditions.only_failed && o->calls.only_succeeded, FAILS_OR_SUCCEEDS },
		{ !targets_given(&o->targets) && !o->command,
		  "whose calls? give -p PID for a running process, or a command to run; see "
		  "'bpftruss help'" },
	};
	int err;

	err = in_flight_check(o, d) ?: report_check(o, d) ?: call_format_check(o, d) ?:
	      record_check(o, d);
	if (!err && targets_given(&o->targets) && o->command)
		err = targets_with_command(o, d);
	for (size_t i = 0; i < ARRAY_SIZE(rules) && !err; i++) {
		if (rules[i].broken)
			err = diag_set(d, DIAG_USAGE, EINVAL, "%s", rules[i].sentence);
	}
	return err;
}

/* Whether the history draws something over time. */
static bool has_time_picture(const struct options *o)
{
	const enum report_format format = o->report.format;

	return o->output.side_files[SIDE_FILE_CHART] || o->output.side_files[SIDE_FILE_HEATMAP] ||
	       o->output.side_files[SIDE_FILE_HTML] || format == FORMAT_CHART ||
	       format == FORMAT_HTML;
}

/* Returns why the way to another host makes no sense, or NULL. */
static const char *remote_lacks(const struct options *o)
{
	const struct remote_options *remote = &o->remote;

	if (remote->url && o->socket)
		return "--socket is of this host: give either it or --host";
	if (remote->url && o->state_dir)
		return "--state-dir is of this host: leave it out with --host";
	if (!remote->url && (remote->ca || remote->certificate || remote->key || remote->secret ||
			     remote->is_insecure))
		return "--ca, --cert, --key, --auth and --insecure are about another host: give "
		       "--host, too";
	return NULL;
}

/* Returns what a verb cannot tell, or NULL. */
static const char *verb_lacks(const struct options *o)
{
	const unsigned int keys = o->report.table.keys;
	const enum verb_bit verb = o->verb->bit;
	const struct {
		bool is_broken;
		const char *sentence;
	} rules[] = {
		{ verb == VERB_HISTORY && keys & GROUPS_OF_NAMES,
		  "--by: the history keeps no paths or files; see bpftruss snapshot --since" },
		{ keys & verb_keys_not_kept(verb) & ~(unsigned int)GROUP_PID,
		  "--by: the daemon does not keep threads, arguments or CPUs; use bpftruss -c for "
		  "these" },
		{ verb == VERB_TOP && o->collector.stacks && o->report.format == FORMAT_JSON,
		  "top --json has no stacks: use top --once --stacks, or -c --json --stacks" },
		{ keys & verb_keys_not_kept(verb) & GROUP_PID, HISTORY_LACKS_PIDS },
		{ verb == VERB_HISTORY && stacks_are_shown(o),
		  "the history has no call stacks; see bpftruss snapshot --stacks" },
		{ verb == VERB_HISTORY && has_time_picture(o) && o->step && !strcmp(o->step, "all"),
		  "a picture over time needs more than one step: leave out --step, or give its "
		  "length" },
		{ verb == VERB_COMPARE && o->report.format == FORMAT_CSV && o->report.errors,
		  "compare --csv lists the errors of each row anyway: leave out --errors" },
		{ verb == VERB_SNAPSHOT && o->since && (o->from || o->to),
		  "give either --since, or --from and --to" },
		{ verb == VERB_SNAPSHOT && (o->since || o->from || o->to) &&
			  (o->interval_ns || o->duration_ns),
		  "-i and -d report what comes next, --since, --from and --to what has been: give "
		  "one or the other" },
		{ verb == VERB_RECORDER && o->calls.conditions.only_failed &&
			  o->calls.only_succeeded,
		  FAILS_OR_SUCCEEDS },
		{ o->report.format == FORMAT_HTML && o->interval_ns, ONE_PAGE },
		{ verb == VERB_SNAPSHOT && o->count_limit && !o->interval_ns,
		  "-N counts intervals: give -i TIME, too" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].is_broken)
			return rules[i].sentence;
	}
	return NULL;
}

int options_complete(struct options *o, struct diag *d)
{
	struct report_options *r = &o->report;
	const bool has_report = !(o->verb->bit & (VERB_TOP | VERB_DOCTOR | VERB_DAEMON |
						  VERB_STATUS | VERB_BASELINE | VERB_RECORDER));
	const char *lacks;
	int err;

	if (o->targets.all && (o->targets.nr_pids || o->targets.nr_selectors))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"-a is all processes: give either -a, or some of -p, -n, -u, -g "
				"and -U");
	if (o->verb->bit == VERB_TOP && !targets_given(&o->targets))
		o->targets.all = true;
	r->table.columns = o->output.columns.count ? &o->output.columns : NULL;
	r->table.waiting = o->output.waiting;
	if (o->in_flight) {
		o->in_flight_top = r->table.top;
		r->table.top = 0;
	}
	/* If stacks are shown, --top limits them instead of the table. */
	if (r->show_stacks) {
		r->stacks.top = r->table.top;
		r->table.top = 0;
	}
	err = has_report ? format_complete(o, d) : 0;
	if (!err && has_report)
		report_options_settle(r);
	collector_complete(o);
	if (o->help || o->version)
		return 0;
	if (err)
		return err;
	if (o->verb->bit & VERBS_WITH_COMMAND)
		return count_check(o, d);
	lacks = verb_lacks(o) ?: remote_lacks(o);
	if (lacks)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s", lacks);
	return has_report ? report_check(o, d) : call_format_check(o, d);
}
