/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of all verbs: the table, command lines, what contradicts what, configuration files. */
#include "fixture.h"

#include "base/clock.h"
#include "cmd/options.h"
#include "cmd/asking.h"
#include "cmd/reporting.h"

static const struct verb count_face = { .name = "", .bit = VERB_COUNT };
static const struct verb calls_face = { .name = "", .bit = VERB_CALLS };
static const struct verb top_face = { .name = "top", .bit = VERB_TOP };
static const struct verb daemon_face = { .name = "daemon", .bit = VERB_DAEMON };
static const struct verb recorder_face = { .name = "recorder", .bit = VERB_RECORDER };
static const struct verb snapshot_face = { .name = "snapshot", .bit = VERB_SNAPSHOT };
static const struct verb status_face = { .name = "status", .bit = VERB_STATUS };
static const struct verb history_face = { .name = "history", .bit = VERB_HISTORY };
static const struct verb compare_face = { .name = "compare", .bit = VERB_COMPARE };

/* --- the table --- */

static bool is_of(const struct option_def *def, enum option_kind low, enum option_kind high)
{
	return def->kind >= low && def->kind <= high;
}

/* The member has the size that its kind writes. */
static void assert_fits(const struct option_def *def)
{
	if (def->kind == OPTION_FLAG)
		assert_int_equal(def->size, sizeof(bool));
	else if (is_of(def, OPTION_VALUE, OPTION_CHOICE))
		assert_int_equal(def->size, sizeof(enum report_format));
	else if (is_of(def, OPTION_SIZE, OPTION_DURATION))
		assert_int_equal(def->size, sizeof(uint64_t));
	else if (is_of(def, OPTION_MOMENT, OPTION_CALLS))
		assert_int_equal(def->size, sizeof(void *));
	if (def->kind == OPTION_CHOICE)
		assert_true(def->nr_words > 0);
	if (def->kind == OPTION_NUMBER)
		assert_true(def->high > 0 && (def->size == 8 || def->high <= UINT32_MAX));
	assert_all(!def->section || def->verbs & VERB_DAEMON,
		   def->offset > 0 && def->offset + def->size <= sizeof(struct options),
		   *def->help && def->verbs);
}

TEST(test_table)
{
	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *a = &option_defs[i];

		assert_fits(a);
		for (size_t j = 0; j < i; j++) {
			const struct option_def *b = &option_defs[j];

			if (!(a->verbs & b->verbs))
				continue;
			assert_string_not_equal(a->name, b->name);
			assert_true(!a->letter || a->letter != b->letter);
		}
	}
}

/* --- command lines --- */

#define MAX_WORDS 48

/* Keeps what read_line() has read last: words with blanks between them, which options borrow. */
static struct {
	struct options options;
	char text[512];
	char *words[MAX_WORDS + 1];
} line;

static void forget(void)
{
	options_done(&line.options);
	memset(&line, 0, sizeof(line));
	d = (struct diag){ .text = "" };
}

static int read_line(const struct verb *verb, const char *text)
{
	char *rest = line.text;
	int count = 1, err;

	forget();
	snprintf(line.text, sizeof(line.text), "%s", text);
	line.words[0] = "bpftruss";
	while (count < MAX_WORDS && (line.words[count] = strsep(&rest, " ")))
		count++;
	options_init(&line.options, verb);
	err = options_read(&line.options, count, line.words, &d);
	return err ? err : options_complete(&line.options, &d);
}

static const struct options *taken(const struct verb *verb, const char *text)
{
	if (read_line(verb, text))
		fail_msg("%s: %s", text, d.text);
	return &line.options;
}

static void assert_refused(const struct verb *verb, const char *text, const char *sentence)
{
	if (!read_line(verb, text))
		fail_msg("%s was taken", text);
	assert_int_equal(d.kind, DIAG_USAGE);
	if (!strstr(d.text, sentence))
		fail_msg("%s: %s", text, d.text);
}

/* The daemon is asked for what the user gave, under the names of its protocol. */
static void assert_asks(const char *text, bool is_table, const char *query)
{
	struct ipc_url url;

	ipc_url_init(&url, "/");
	ask_add_report(&url, taken(&snapshot_face, text), is_table, 132);
	assert_string_equal(url.text, query);
}

TEST(test_asked)
{
	assert_asks("--errors", true, "/?format=wide&width=132&errors=1");
	assert_asks("--by unit,comm --by comm -t !read,%file", true,
		    "/?format=wide&width=132&trace=%21read%2C%25file&by=comm");
	assert_asks("-w --hist --sort p99 --top 3 --min-calls 2 --errors-only --columns calls,p99",
		    true,
		    "/?format=wide&width=132&hist=1&sort=p99&top=3&columns=calls%2Cp99&min_calls=2&"
		    "errors_only=1");
	assert_asks("--top 3 --stacks", true, "/?format=truss&width=132&top_stacks=3&stacks=calls");
	assert_asks("--stacks=time --waiting read", true,
		    "/?format=wide&width=132&waiting=read&stacks=time");
	assert_asks("--json -t read", false, "/?trace=read");
	assert_asks("--chart x --top 3 --waiting read", false, "/");
}

TEST(test_count)
{
	const struct options *o =
		taken(&count_face, "-cfp 17,18 -p 19 -d 0.25 -i10s -N 3 --slower-than 1.5ms "
				   "--max-t=7 --min-calls 5 --top 2 --by pid,arg0 -t !read -o x");

	assert_true(o->count && o->follow && !o->collector.wait && !o->command);
	assert_has(o, targets.nr_pids, 3, targets.pids[2], 19);
	assert_ptr_equal(o->collector.pids, o->targets.pids);
	assert_true(o->duration_ns == NS_PER_SEC / 4 && o->interval_ns == 10 * NS_PER_SEC);
	assert_int_equal(o->count_limit, 3);
	assert_has(&o->collector, slower_than_ns, 1500000, max_tasks, 7);
	assert_has(&o->report.table, min_calls, 5, top, 2);
	assert_int_equal(o->report.format, FORMAT_WIDE);
	assert_true(o->collector.split_by == SPLIT_ARG0 && !o->collector.by_thread &&
		    !o->collector.stacks);
	assert_ptr_equal(o->collector.calls, o->output.only);
	assert_string_equal(o->output.path, "x");
}

TEST(test_command)
{
	const struct options *o = taken(&count_face, "-c --json make -c --wide");

	assert_has(o, report.format, FORMAT_JSON, nr_words, 3);
	assert_string_equal(o->command[2], "--wide");
}

/* The wide table may be JSON; --top is about what there are many of. */
TEST(test_reports)
{
	const struct options *o = taken(&count_face, "-c -a --json --hist --columns calls,p99");

	assert_int_equal(o->report.format, FORMAT_JSON);
	assert_true(o->report.table.hist);
	assert_int_equal(o->report.table.columns->count, 2);
	o = taken(&snapshot_face, "--stacks=time --top 3 --flame x");
	assert_true(o->report.show_stacks && o->collector.stacks);
	assert_has(&o->report.stacks, weight, STACK_WEIGHT_TIME, top, 3);
	assert_int_equal(o->report.table.top, 0);
	o = taken(&snapshot_face, "--pprof x --format errors");
	assert_true(!o->report.show_stacks && o->collector.stacks);
	assert_int_equal(o->report.format, FORMAT_WIDE);
	assert_true(o->report.errors);
	o = taken(&count_face, "-c -p 1 --kernel-stacks");
	assert_true(o->report.show_stacks && o->collector.stacks);
	o = taken(&count_face, "-c -p 1 --sort -calls --top 3");
	assert_int_equal(o->report.format, FORMAT_TRUSS);
	o = taken(&count_face, "-e trace=open -S name -z -p 1");
	assert_true(o->output.only && o->report.table.successes_only);
	o = taken(&count_face, "-U calls,errors -p 1");
	assert_int_equal(o->report.table.columns->count, 2);
}

TEST(test_targets)
{
	const struct options *o = taken(&top_face, "-v");

	assert_has(o, collector.nr_selectors, 1, collector.selectors[0].kind, SELECT_ALL);
	o = taken(&top_face, "-n a -u b -U c -g d --sort oldest");
	assert_has(o, collector.nr_selectors, 4, collector.selectors[1].kind, SELECT_UNIT);
	assert_string_equal(o->collector.selectors[3].text, "d");
	assert_int_equal(o->rate_sort, RATE_OLDEST);
	o = taken(&snapshot_face, "--all");
	assert_has(&o->collector, nr_selectors, 1, nr_pids, 0);
	assert_refused(&snapshot_face, "-n a --all", "-a is all processes");
}

TEST(test_daemon)
{
	const struct options *o =
		taken(&daemon_face, "-i 1h30m --recent 1.5M --budget none --keep 2d "
				    "--metrics-by comm --listen [::1]:9 --stacks -v");

	assert_has(&o->daemon, interval_ns, 5400 * NS_PER_SEC, recent_bytes, 3 << 19);
	assert_true(o->daemon.budget_percent == 0);
	assert_has(o, daemon.keep.keep_ns[0], 172800 * NS_PER_SEC, daemon.metrics.group,
		   METRICS_BY_COMM);
	assert_all(o->collector.stacks && o->collector.verbose && !o->report.show_stacks,
		   taken(&daemon_face, "--budget 12.5%")->daemon.budget_percent == 12.5,
		   taken(&compare_face, "a b --fail-over 20%")->fail_over_percent == 20);
}

TEST(test_recorder_of_daemon)
{
	const struct options *o = taken(
		&daemon_face, "--record --record-size 1M --record-calls open --save-on "
			      "slower:10ms --save-on failed:EIO --save-last 3s --save-size 2M");

	assert_true(o->daemon.recorder.is_on && o->daemon.recorder.calls);
	assert_has(&o->daemon.recorder, bytes, 1 << 20, save_last_ns, 3 * NS_PER_SEC, save_bytes,
		   2 << 20);
	assert_has(&o->daemon.recorder.save_on, slower_ns, 10 * NS_PER_MS, failed, true, signal,
		   false);
	o = taken(&recorder_face,
		  "dump --since 5s -p 7 -n cat -n x* --failed=EIO --slower-than 1ms");
	assert_has(o, nr_words, 1, targets.nr_pids, 1, targets.nr_selectors, 2,
		   calls.record.last_ns, 5 * NS_PER_SEC, collector.slower_than_ns, NS_PER_MS);
	/* The programs have nothing to do. */
	assert_null(o->collector.view);
	assert_true(o->calls.view.conditions.only_failed);
}

/* Words that are not understood, and those that make no sense together. */
TEST(test_refused)
{
	static const struct {
		const struct verb *verb;
		const char *text, *sentence;
	} cases[] = {
		{ &count_face, "-c -A", "unknown option -A; 'bpftruss -c --help' lists them" },
		{ &count_face, "-c --failed",
		  "--failed is an option of bpftruss for single calls, not of -c; with -c: "
		  "--errors" },
		{ &calls_face, "-a --failed -c",
		  "--failed is an option of bpftruss without -c, not of -c; to print calls and "
		  "count them, give -C" },
		{ &calls_face, "-C --by pid",
		  "--by is an option of bpftruss -c, not of single calls" },
		{ &calls_face, "-s 1023 -a", "-s: \"1023\" is not a number from 0 to 1022" },
		{ &calls_face, "--failed= -a", "is not a list of errors such as ENOENT,EACCES" },
		{ &calls_face, "--json --format strace -a",
		  "one format: json or strace, not both" },
		{ &calls_face, "--json -a -D", "lines of truss have --delta: leave it out" },
		{ &calls_face, "--format strace -a -l", "lines of truss have --threads" },
		{ &calls_face, "--json -a --dump 1", "lines of truss have --dump" },
		{ &recorder_face, "dump --since 1us",
		  "--since: \"1us\" is not a millisecond or more" },
		{ &recorder_face, "dump -z --failed", "a call either fails or succeeds" },
		{ &recorder_face, "dump --json -l", "lines of truss have --threads" },
		{ &recorder_face, "dump -k",
		  "-k is an option of bpftruss for single calls, not of recorder" },
		{ &daemon_face, "--save-on later", "is none of slower:TIME, failed" },
		{ &daemon_face, "--record-size 1K", "is not a size from 64K to 64G" },
		{ &top_face, "--csv", "--csv is an option of bpftruss -c, not of top; '" },
		{ &top_face, "nginx", "top: \"nginx\" is not an option; -n NAME takes" },
		{ &status_face, "x", "status: \"x\" is not an option; see --help" },
		{ &snapshot_face, "--slower-than 1",
		  "--slower-than is an option of bpftruss -c, not of snapshot; 'bpftruss snapshot "
		  "--help' lists those of snapshot" },
		{ &status_face, "-w", "-w is an option of bpftruss -c, not of status" },
		{ &count_face, "-c --budget=5", "--budget is an option of bpftruss daemon" },
		{ &count_face, "--in-flight true", "looks at processes that are running" },
		{ &count_face, "--in-flight -a --hist", "prints text, or JSON" },
		{ &count_face, "--in-flight -a -Z", "nothing: leave out --errors-only" },
		{ &count_face, "--in-flight -p 1 -f", "nothing: leave out --follow" },
		{ &count_face, "--in-flight -a -d 1", "nothing: leave out --duration" },
		{ &count_face, "--in-flight -a --width 80", "leave out --width" },
		{ &count_face, "--in-flight -a -t read", "leave out --trace" },
		{ &count_face, "--in-flight -p 1 -l",
		  "-l is an option of bpftruss for single calls, not of --in-flight; "
		  "'bpftruss --in-flight --help' lists those of --in-flight" },
		{ &calls_face, "-p nginx", "such as 17,18; -n NAME chooses processes by name" },
		{ &snapshot_face, "-p nginx", "; -n NAME chooses processes by name" },
		{ &calls_face, "-yy ls", "unknown option -y; leave it out: what a descriptor" },
		{ &calls_face, "-T ls", "unknown option -T; --format=strace shows" },
		{ &count_face, "-r ls", "unknown option -r; -D shows" },
		{ &count_face, "-q ls", "unknown option -q; leave it out" },
		{ &calls_face, "-P /etc ls", "unknown option -P; --path GLOB" },
		{ &calls_face, "-tt ls",
		  "\"t\"; -t is --trace here; --elapsed or --format=strace" },
		{ &calls_face, "-ttt ls", "\"tt\"; -t is --trace here; --elapsed or" },
		{ &count_face, "-i ls", "or 1d; -i is --interval here" },
		{ &calls_face, "-o f -ff ls", "-ff: all processes share one output" },
		{ &calls_face, "-f -f ls", "-ff: all processes share one output" },
		{ &calls_face, "-e abbrev=none ls", "; -v shows all of structures" },
		{ &calls_face, "-e inject=open ls", "; bpftruss never changes" },
		{ &calls_face, "-e trace-fd=3 ls", "; --fd N shows" },
		{ &calls_face, "-e read=3 ls", "; --dump N shows" },
		{ &calls_face, "-u www-data true",
		  "(command: \"true\"); --as-user=www-data runs it as a user" },
		{ &count_face, "-c -E FOO=bar true", "'env NAME=VALUE COMMAND' sets a variable" },
		{ &count_face, "-c -l", "with -c: --by tid" },
		{ &top_face, "-b -n 1", "unknown option -b; --once prints one frame" },
		{ &top_face, "-n 12", "-n 12: -n is --name here; --once prints one frame" },
		{ &top_face, "-H", "unknown option -H; --by tid shows threads" },
		{ &top_face, "-o %CPU", "not of top; -o is --output here; --sort cpu sorts" },
		{ &count_face, "-c -p", "-p needs an argument" },
		{ &count_face, "-c -p 1x", "-p: \"1x\" is not a pid" },
		{ &count_face, "-c -p ,", "-p: give at least one pid" },
		{ &count_face, "-c -p 4294967296", "is not a pid" },
		{ &count_face, "-c -p 0", "is not a pid" },
		{ &count_face, "-c -d -1", "-d: \"-1\" is not a duration, such as 10, 500ms" },
		{ &count_face, "-c --top 0", "--top: \"0\" is not a number from 1 to 1000000" },
		{ &count_face, "-c --max-rows -1", "is not a number from 1 to 3000000" },
		{ &count_face, "-c -d 0x1", "is not a duration" },
		{ &count_face, "-c -d inf", "is not a duration" },
		{ &count_face, "-c -d 0.0001", "-d: \"0.0001\" is not a millisecond or more" },
		{ &count_face, "-c --slower-than 3601s", "is not an hour or less" },
		{ &top_face, "-i 0.05", "-i: \"0.05\" is not from 0.1 to 3600 seconds" },
		{ &daemon_face, "-i 10x", "is not a duration" },
		{ &daemon_face, "--recent 1K", "--recent: \"1K\" is not a size of 64K or more" },
		{ &daemon_face, "--recent x", "is not a size, such as 8M" },
		{ &daemon_face, "--budget 20x", "is not a percentage" },
		{ &compare_face, "--fail-over none", "is not a percentage" },
		{ &daemon_face, "--socket x", "is not an absolute path" },
		{ &daemon_face, "--group no-such-group", "there is no group" },
		{ &daemon_face, "--listen 0.0.0.0", "is not ADDRESS:PORT" },
		{ &top_face, "--by arg0", "--by: \"arg0\" is none of pid, comm, unit" },
		{ &count_face, "-c --stacks=x", "--stacks: \"x\" is none of calls, time" },
		{ &count_face, "-c --by pid,,", "--by: no key \"\"" },
		{ &count_face, "-c --sort x", "--sort: no column \"x\"" },
		{ &count_face, "-c -t opne", "-t: " },
		{ &count_face, "-c -o ", "-o: \"\" is empty" },
		{ &count_face, "--sotr calls", "unknown option --sotr; did you mean --sort?" },
		{ &count_face, "--sort=cals", "did you mean \"calls\"?" },
		{ &count_face, "--by usr", "--by: no key \"usr\"; did you mean \"user\"?" },
		{ &count_face, "--format wid", "chart, html; did you mean \"wide\"?" },
		{ &count_face, "-c", "whose calls?" },
		{ &count_face, "-c -a make", "not both (command: \"make\")" },
		{ &count_face, "-c -a -N 3", "-N counts intervals" },
		{ &count_face, "-c -p 1 --wait", "--wait needs -n" },
		{ &count_face, "-c -a -f", "-f needs -p" },
		{ &count_face, "-c -f -p 1 -a", "-a is all processes" },
		{ &count_face, "-c -a --json --csv", "one format: csv or json" },
		{ &count_face, "-c -a --format strace -w", "one format: wide or strace" },
		{ &count_face, "-c -a --format strace --columns calls", "--columns is for" },
		{ &count_face, "-c -a --errors --hist", "--errors has all calls in one" },
		{ &count_face, "-c -a --exemplars 6", "is not a number from 0 to 5" },
		{ &count_face, "-c -a --exemplars 1 --by arg0", "--exemplars are of processes" },
		{ &count_face, "-c -a --exemplars 1 --csv", "--exemplars is for the wide table" },
		{ &count_face, "-c -a --exemplars 1 --errors", "one of --errors and --exemplars" },
		{ &count_face, "-c -a --exemplars 1 --stacks --json --by comm",
		  "one of --stacks and --exemplars" },
		{ &count_face, "-c -a --exemplars 1 --in-flight --json", "leave out --exemplars" },
		{ &count_face, "-c -a --hist --csv", "CSV has no place for histograms" },
		{ &count_face, "-c -a -z -Z", "one of --errors-only and" },
		{ &count_face, "-c -a --format flame --by pid", "have all stacks" },
		{ &count_face, "-c -a --format chart --sort p99", "a chart has rows" },
		{ &count_face, "-c -a --by cpu,arg0", "rows are split by one" },
		{ &count_face, "-c -a -e status=failed", "-Z for those that fail" },
		{ &count_face, "-c -a -e signal=none", "is not understood: give trace=LIST" },
		{ &count_face, "-c -a --as-user=root", "--as-user is for a command" },
		{ &count_face, "-c -a --width 0", "is not a number from 1 to 10000" },
		{ &count_face, "-c --stacks time", "write --stacks=time, with an equals sign" },
		{ &count_face, "-c -a -o x --chart x", "x: one file cannot hold" },
		{ &count_face, "-c -a --folded x --flame x", "x: one file cannot hold" },
		{ &count_face, "-c -a --chart a/b.png",
		  "--chart draws SVG, not png: name the file a/b.svg" },
		{ &count_face, "-c -a --flame .x.JPG",
		  "--flame draws SVG, not jpg: name the file .x.svg" },
		{ &count_face, "-c -a --flame-by unit", "give --flame FILE or --format flame" },
		{ &snapshot_face, "--flame x --flame-by tid", "the daemon does not keep threads" },
		{ &compare_face, "a b --stacks=time", "give --flame FILE, too" },
		{ &compare_face, "a b --flame-normalize", "give --flame FILE, too" },
		{ &compare_face, "a b --flame x.pdf", "--flame draws SVG, not pdf" },
		{ &history_face, "--heatmap x.png",
		  "--heatmap draws SVG, not png: name the file x.svg" },
		{ &history_face, "--heatmap x --step all", "needs more than one step" },
		{ &history_face, "--chart x --heatmap x", "one file cannot hold two reports" },
		{ &snapshot_face, "--heatmap x", "--heatmap" },
		{ &snapshot_face, "--chart x.pdf",
		  "--chart draws SVG, not pdf: name the file x.svg" },
		{ &count_face, "-c -a --html a/b.pdf",
		  "--html writes a page, not pdf: name the file a/b.html" },
		{ &compare_face, "a b --html b.svg",
		  "--html writes a page, not svg: name the file b.html" },
		{ &count_face, "-c -a --html x --flame x", "x: one file cannot hold" },
		{ &count_face, "-c -a --flame x.html", "--flame draws SVG, not html" },
		{ &count_face, "-c -a --format html --hist", "leave out --hist and --errors" },
		{ &count_face, "-c -a --format html --errors", "leave out --hist and --errors" },
		{ &count_face, "-c -a --format html --csv", "a report has one format" },
		{ &count_face, "-c -a --format html -i 1", "a page has one report: give --html" },
		{ &snapshot_face, "--format html -i 1", "a page has one report: give --html" },
		{ &history_face, "--html x --step all", "needs more than one step" },
		{ &count_face, "-c -a --in-flight --html x", "leave out --html" },
		{ &count_face, "-c -a --sort pid", "several values of pid; add --by pid" },
		{ &count_face, "-c -a --columns calls,comm", "several values of comm" },
		{ &snapshot_face, "--by tid", "--by: the daemon does not keep threads" },
		{ &snapshot_face, "--since 10m --from 09:00", "give either --since, or" },
		{ &snapshot_face, "-i 1 --since 10m", "-i and -d report what comes next" },
		{ &snapshot_face, "-N 2", "-N counts intervals" },
		{ &history_face, "--by pid", "the history knows processes by name" },
		{ &history_face, "--stacks", "the history has no call stacks" },
		{ &history_face, "--format flame", "the history has no call stacks" },
		{ &compare_face, "-2h..-1h -1h..now",
		  "times that begin with - come last, behind --" },
		{ &compare_face, "a b --by arg0", "--by: the daemon does not keep threads" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_refused(cases[i].verb, cases[i].text, cases[i].sentence);
}

TEST(test_combinations)
{
	static const char *const fine[] = {
		"-c -a --json --by tid",
		"-c -a --csv --waiting read --chart x",
		"-c -a --errors --csv",
		"-c -a --json --errors --sort calls",
		"-c -a --csv -w --waiting read",
		"-c -a --csv --stacks",
		"-c -a --json --hist --by unit --sort p99,-calls --top 3",
		"-c -a --format strace --by comm --sort calls --top 2 -Z",
		"-c -a --format folded",
		"-c -a --width 100",
		"-c -a -o /dev/null --chart /dev/null",
		"-c -a --by pid --sort comm",
		"-c -a --stacks --json --flame x",
		"-c -a --flame x --flame-by tid",
		"-c -a --format flame --flame-by syscall",
		"-c -a --html x.htm --errors --csv --flame x.svg",
		"-c -a --format html --stacks=time --by comm --top 3 --columns calls,p99",
		"-c -a -i 1 --html x",
		"-c -a --stacks --html x --flame-by unit",
		"-c -a --folded x.png --flame png --chart x.png.svg",
	};

	for (size_t i = 0; i < ARRAY_SIZE(fine); i++)
		taken(&count_face, fine[i]);
	/* Anybody who asks for help gets it. */
	assert_true(taken(&count_face, "--help")->help);
}

/* Writes an option with an argument that it takes, without the blank before. */
static void option_sample(const struct option_def *def, char *buf, size_t size)
{
	static const char *const arguments[NR_OPTION_KIND] = {
		[OPTION_NUMBER] = "2",       [OPTION_SIZE] = "8M",
		[OPTION_DURATION] = "2s",    [OPTION_PERCENT] = "20%",
		[OPTION_MOMENT] = "-1h",     [OPTION_TEXT] = "10m",
		[OPTION_FILE] = "/dev/null", [OPTION_PATH] = "/x",
		[OPTION_GROUP] = "root",     [OPTION_ADDRESS] = "[::1]:9",
		[OPTION_CALLS] = "read",     [OPTION_EXPRESSION] = "read",
		[OPTION_KEYS] = "comm",      [OPTION_SORT] = "calls",
		[OPTION_COLUMNS] = "calls",  [OPTION_PIDS] = "1",
		[OPTION_SELECTOR] = "root",
	};
	const char *argument =
		def->kind == OPTION_CHOICE ? def->words[def->nr_words - 1] : arguments[def->kind];

	snprintf(buf, size, "--%s%s%s", def->name, argument ? "=" : "", argument ?: "");
}

/* Works, or is refused in a sentence of one line. */
static void assert_answers(const struct verb *verb, const char *text)
{
	d.text[0] = '\0';
	if (!read_line(verb, text))
		return;
	if (!d.text[0] || strchr(d.text, '\n') || strlen(d.text) > 400)
		fail_msg("%s %s: \"%s\"", verb->name, text, d.text);
}

/* All options of all verbs, two by two. */
TEST(test_all_pairs)
{
	static const struct verb faces[] = {
		{ .name = "", .bit = VERB_COUNT },
		{ .name = "top", .bit = VERB_TOP },
		{ .name = "doctor", .bit = VERB_DOCTOR },
		{ .name = "daemon", .bit = VERB_DAEMON },
		{ .name = "snapshot", .bit = VERB_SNAPSHOT },
		{ .name = "status", .bit = VERB_STATUS },
		{ .name = "history", .bit = VERB_HISTORY },
		{ .name = "baseline", .bit = VERB_BASELINE },
		{ .name = "compare", .bit = VERB_COMPARE },
		{ .name = "report", .bit = VERB_REPORT },
		{ .name = "recorder", .bit = VERB_RECORDER },
	};
	char one[128], other[128], text[sizeof(one) + sizeof(other)];

	for (size_t i = 0; i < ARRAY_SIZE(faces); i++) {
		for (size_t j = 0; j < nr_option_defs; j++) {
			if (!(option_defs[j].verbs & faces[i].bit))
				continue;
			option_sample(&option_defs[j], one, sizeof(one));
			for (size_t k = 0; k < nr_option_defs; k++) {
				if (!(option_defs[k].verbs & faces[i].bit))
					continue;
				option_sample(&option_defs[k], other, sizeof(other));
				snprintf(text, sizeof(text), "%s %s", one, other);
				assert_answers(&faces[i], text);
			}
		}
	}
}

TEST(test_many_selectors)
{
	char text[512] = "-n a";

	for (int i = 1; i < MAX_SELECTORS; i++)
		strcat(text, " -na");
	assert_int_equal(taken(&top_face, text)->collector.nr_selectors, MAX_SELECTORS);
	strcat(text, " -na");
	assert_refused(&top_face, text, "at most 32 of -n");
}

/* --- configuration files --- */

/* Reads a file into options of a daemon, and what is printed of it into line.text. */
static int read_file(const char *text)
{
	int file = memfd_create("config", MFD_CLOEXEC),
	    printed = memfd_create("stderr", MFD_CLOEXEC);
	int before = dup(STDERR_FILENO), err;
	char path[64];

	forget();
	options_init(&line.options, &daemon_face);
	assert_true(file >= 0 && printed >= 0 && before >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	dup2(printed, STDERR_FILENO);
	err = config_read(&line.options, path, &d);
	dup2(before, STDERR_FILENO);
	assert_true(pread(printed, line.text, sizeof(line.text) - 1, 0) >= 0);
	close(file);
	close(printed);
	close(before);
	return err;
}

TEST(test_switches)
{
	static const struct text_number cases[] = {
		{ "yes", true },    { "no", false }, { "true", true }, { "1", true },
		{ "FALSE", false }, { "On", true },  { "0", false },   { "off", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64];

		snprintf(text, sizeof(text), "[tables]\ninline = %s\n", cases[i].text);
		assert_int_equal(read_file(text), 0);
		assert_int_equal(line.options.collector.inlines, cases[i].number);
	}
}

/* The last one wins, targets add up, and texts outlive the file. */
TEST(test_file)
{
	const struct options *o = &line.options;

	assert_int_equal(read_file("# c\n[daemon]\nsocket = /a\nsocket = /b c\nverbose = yes\n"
				   "[targets]\nname = x\npid = 1,2\nall = yes\nall = no\n"
				   "[daemon]\nverbose = no\n[history]\ninterval = 5m\n"),
			 0);
	assert_string_equal(o->daemon.socket, "/b c");
	assert_true(!o->collector.verbose && !o->targets.all);
	assert_int_equal(o->targets.nr_pids, 2);
	assert_string_equal(o->targets.selectors[0].text, "x");
	assert_int_equal(o->daemon.interval_ns, 300 * NS_PER_SEC);
}

TEST(test_faults)
{
	static const struct text_pair cases[] = {
		{ "[tables]\nstacks = maybe\n", ":2: stacks: \"maybe\" is neither yes nor no\n" },
		{ "[tables]\nstacks =\n", ":2: stacks: \"\" is neither yes nor no\n" },
		{ "[daemon]\n\nsocket =\n", ":3: socket has no value\n" },
		{ "[daemon]\nsocket = x\n", ":2: socket: \"x\" is not an absolute path" },
		{ "[daemons]\nsocket = /a\n", ":2: socket belongs in [daemon]\n" },
		{ "socket = /a\n", ":1: socket belongs in [daemon]\n" },
		{ "[history]\nsocket = /a\n", ":2: socket belongs in [daemon]\n" },
		{ "[daemon]\nsokcet = /a\n", ":2: no key sokcet;" },
		{ "[daemon]\nconfig = /a\n", ":2: no key config;" },
		{ "[targets]\nwait = yes\n", ":2: no key wait;" },
		{ "[daemon]\n socket = /a\n", ":2: a line must not begin with a blank\n" },
		{ "[daemon]\nnothing\n", ":2: this is neither" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_file(cases[i].given), -EINVAL);
		assert_string_equal(d.text, "1 error in the configuration");
		if (!strstr(line.text, cases[i].expected))
			fail_msg("%s: %s", cases[i].given, line.text);
	}
	assert_int_equal(config_read(&line.options, "/nonexistent/file", &d), -ENOENT);
}

/* --- errors that a user must act on -------------------------------------------------------------- */

TEST(test_set)
{
	char name[2 * sizeof(((struct diag *)0)->text)];

	assert_int_equal(diag_set(&d, DIAG_USAGE, EINVAL, "%s: %d", "pid", 7), -EINVAL);
	assert_int_equal(d.kind, DIAG_USAGE);
	assert_string_equal(d.text, "pid: 7");
	assert_int_equal(diag_set(&d, DIAG_UNSUPPORTED, 0, "no"), 0);
	assert_int_equal(d.kind, DIAG_UNSUPPORTED);
	assert_string_equal(d.text, "no");
	assert_int_equal(diag_set(NULL, DIAG_FAILED, ESRCH, "%s", "unheard"), -ESRCH);
	assert_int_equal(diag_oom(&d), -ENOMEM);
	assert_int_equal(d.kind, DIAG_FAILED);
	assert_string_equal(d.text, "out of memory");
	assert_int_equal(diag_oom(NULL), -ENOMEM);
	/* The documented exit statuses. */
	assert_int_equal(DIAG_FAILED, 1);
	assert_int_equal(DIAG_USAGE, 2);
	assert_int_equal(DIAG_UNSUPPORTED, 4);
	text_fill(name, 'a');
	diag_set(&d, DIAG_FAILED, EIO, "%s", name);
	assert_int_equal(strlen(d.text), sizeof(d.text) - 1);
}
