/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the verb, runs it, and reports errors. Without a verb, it runs the truss face. */
#include <fcntl.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "cmd/edition.h"
#include "cmd/session.h"
#include "daemon/log.h"
#include "ipc/post.h"
#include "model/label.h"

/* The completion of a shell asks for this. */
#define COMPLETE_ARGUMENT "--complete"

#define HELP_VERB "help"

/* A report must not land in a file that took the number of a closed stdout or stderr. */
static void occupy_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; name && i < edition.nr_verbs; i++) {
		if (!strcmp(name, edition.verbs[i]->name))
			return edition.verbs[i];
	}
	return NULL;
}

/* Whether it is a verb that only other editions have. */
static int check_edition(const char *name, struct diag *d)
{
	for (const char *const *missing = edition.missing; *missing; missing++) {
		if (!strcmp(name, *missing))
			return diag_set(d, DIAG_USAGE, ENOTSUP,
					"\"%s\" is not in this bpftruss, which is %s", name,
					edition.remark);
	}
	return 0;
}

static bool edition_lacks(const char *option)
{
	for (const char *const *at = edition.missing_options; at && *at; at++) {
		if (!strcmp(option, *at))
			return true;
	}
	return false;
}

/* Refuses options that only other editions have, and formats of the same name. */
static int check_options(const struct options *o, struct diag *d)
{
	const char *lacking = NULL;

	if (edition_lacks(report_format_names[o->report.format]))
		lacking = report_format_names[o->report.format];
	if (edition_lacks(call_format_names[o->calls.format]))
		lacking = call_format_names[o->calls.format];
	for (size_t i = 0; i < nr_option_defs; i++) {
		if (o->given[i] && edition_lacks(option_defs[i].name))
			lacking = option_defs[i].name;
	}
	return lacking ? diag_set(d, DIAG_USAGE, ENOTSUP, "%s is not in this bpftruss, which is %s",
				  lacking, edition.remark)
		       : 0;
}

/* The options of a verb, "" for the truss face; without one, the verbs and what they do. */
static void print_completion(const char *name)
{
	/* The face takes the options of both. */
	static const struct verb face = { .name = "", .bit = VERBS_WITH_COMMAND };
	const struct verb *verb = verb_find(name);

	if (verb)
		options_print_completion(verb == edition.verbs[0] ? &face : verb);
	for (size_t i = 1; i < edition.nr_verbs && !verb; i++)
		printf("%s\t%s\n", edition.verbs[i]->name, edition.verbs[i]->summary);
	if (!verb)
		puts(HELP_VERB "\twhat a verb does, and its options");
}

/* The exit statuses that not all verbs have. */
static const char *statuses_of(const struct verb *verb)
{
	if (verb->bit == VERB_COMPARE)
		return ", 3 --fail-over exceeded";
	if (verb->bit & (VERBS_COUNTING | VERB_CALLS | VERB_DOCTOR))
		return ", 4 kernel or privileges not sufficient";
	return "";
}

/* The manual page is bpftruss-PAGE(8). */
static const char *verb_page(const struct verb *verb)
{
	if (*verb->name)
		return verb->name;
	return verb->bit == VERB_COUNT ? "count" : "calls";
}

static int print_help(const struct verb *verb)
{
	printf("%s\n\n%s\n\n", verb->usage, verb->about);
	for (size_t i = 1; i < edition.nr_verbs && verb == edition.verbs[0]; i++)
		printf("  %-10s %s\n", edition.verbs[i]->name, edition.verbs[i]->summary);
	if (verb == edition.verbs[0])
		putchar('\n');
	options_print_help(verb);
	printf("\n%s\n\nExit status: 0 ok, 1 failure, 2 usage%s.\n"
	       "See bpftruss-%s(8) for details.\n",
	       verb->examples, statuses_of(verb), verb_page(verb));
	return STATUS_OK;
}

/*
 * Prints one line on stderr; the journal shows it as an error. The text may quote what the user, or another
 * process, chose.
 */
static int fail(const struct diag *d)
{
	char text[TEXT_ESCAPED_MAX(sizeof(d->text))];

	text_escape_visible(d->text, sizeof(d->text), text);
	fprintf(stderr, "%s%s\n", log_is_read_by_journal() ? "<3>" : "bpftruss: ", text);
	return d->kind;
}

/* Whoever types "bpftruss tpo" or "bpftruss -E FOO=bar true" hardly means a program, unless there is one. */
static int check_command(const char *name, bool is_verb, struct diag *d)
{
	struct nearest near = nearest_to(name);
	char path[PATH_MAX];

	for (size_t i = 1; i < edition.nr_verbs; i++)
		nearest_look(&near, edition.verbs[i]->name);
	nearest_look(&near, HELP_VERB);
	if (command_search(name, path, sizeof(path)))
		return 0;
	if (strchr(name, '='))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"no program \"%.100s\": use env %.100s COMMAND to set a variable "
				"(-E is --system-time here)",
				name, name);
	if (!near.best || !is_verb)
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"\"%.64s\" is neither a verb nor a program in PATH; did you mean \"%s\"?",
			name, near.best);
}

/* bpftruss help [VERB] */
static int help(const char *name, struct diag *d)
{
	const struct verb *verb = name ? verb_find(name) : &calls_verb;
	struct nearest near;

	/* These two have no name, but an option and manual pages. */
	if (name && (!strcmp(name, "-c") || !strcmp(name, verb_page(&count_verb))))
		verb = &count_verb;
	if (name && !strcmp(name, verb_page(&calls_verb)))
		verb = &calls_verb;
	if (verb)
		return print_help(verb);
	near = nearest_to(name);
	for (size_t i = 1; i < edition.nr_verbs; i++)
		nearest_look(&near, edition.verbs[i]->name);
	if (near.best)
		return diag_set(d, DIAG_USAGE, EINVAL, "no verb \"%.64s\"; did you mean \"%s\"?",
				name, near.best);
	return diag_set(d, DIAG_USAGE, EINVAL, "no verb \"%.64s\"; 'bpftruss help' lists them",
			name);
}

/* Says once what a name of the C library is taken for. */
static void explain_calls(const struct options *o)
{
	char text[800];

	if (syscall_set_explain(o->output.only, LABEL_NATIVE_ABI, text, sizeof(text)))
		fprintf(stderr, "bpftruss: -t: %s; =%.*s is that call alone\n", text,
			(int)strcspn(text, " "), text);
}

static int print_version(void)
{
	printf("bpftruss " BPFTRUSS_VERSION);
	if (edition.remark)
		printf(" (%s)", edition.remark);
	putchar('\n');
	return STATUS_OK;
}

static void swap_options(struct options *a, struct options *b)
{
	struct options other = *a;

	*a = *b;
	*b = other;
}

/*
 * Reads options. With --once, top reports for one interval as -c does if it is given options that its own
 * frames do not have.
 */
static int read_options(struct options *o, int argc, char **argv, struct diag *d)
{
	struct options report __cleanup(options_done);
	int err = options_read(o, argc, argv, d), other;
	struct diag why;

	options_init(&report, &top_report_verb);
	if (o->verb->bit != VERB_TOP || (!err && !(o->once && o->collector.stacks)))
		return err;
	other = options_read(&report, argc, argv, &why);
	if (other && report.once)
		*d = why;
	if (other)
		return err;
	if (!report.once && !o->is_advised)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"top: these options are for a report of one interval: add --once");
	if (!report.once)
		return err;
	swap_options(o, &report);
	o->verb = &count_verb;
	o->count = true;
	o->duration_ns = o->duration_ns ?: NS_PER_SEC;
	o->targets.all |= !targets_given(&o->targets);
	return 0;
}

/* Whether options are given that only a report has. */
static bool wants_report(const struct options *o)
{
	/* strace -U has columns. */
	if (o->count || o->in_flight || o->version || o->output.columns.count)
		return true;
	for (size_t i = 0; i < nr_option_defs; i++) {
		if (o->given[i] && !option_find(VERB_CALLS, option_defs[i].name))
			return true;
	}
	return false;
}

/*
 * Without -c, single calls are printed, unless an option is given that only a report has: then -c is meant.
 */
static int read_face_options(struct options *o, int argc, char **argv, struct diag *d)
{
	struct options calls __cleanup(options_done);
	int err = options_read(o, argc, argv, d), read_to = optind, other;
	struct diag why;

	options_init(&calls, &calls_verb);
	if (!err && wants_report(o))
		return 0;
	other = options_read(&calls, argc, argv, &why);
	/* If there are two errors, the later one is reported, or the one about a value. */
	if (other && err && (optind > read_to || (o->is_unknown && !calls.is_unknown)))
		*d = why;
	if (other)
		return err;
	swap_options(o, &calls);
	return 0;
}

static int run(int argc, char **argv, struct diag *d)
{
	const struct verb *verb = argc > 1 && *argv[1] ? verb_find(argv[1]) : NULL;
	const int skipped = verb != NULL;
	struct options o __cleanup(options_done);
	int err;

	options_init(&o, verb ?: &count_verb);
	if (argc > 1 && argc < 4 && !strcmp(argv[1], HELP_VERB))
		return help(argv[2], d);
	err = argc > 1 ? check_edition(argv[1], d) : 0;
	if (err)
		return err;
	err = verb ? read_options(&o, argc - skipped, argv + skipped, d)
		   : read_face_options(&o, argc, argv, d);
	if (!err && o.command)
		err = check_command(o.command[0], !o.count, d);
	if (!err)
		err = options_complete(&o, d) ?: check_options(&o, d);
	if (err)
		return err;
	if (o.help)
		return print_help(o.verb);
	if (o.version)
		return print_version();
	explain_calls(&o);
	return o.verb->run(&o, d);
}

int main(int argc, char **argv)
{
	int status = STATUS_OK;
	struct diag d;

	if (argc > 1 && !strcmp(argv[1], ELF_WORKER_ARGUMENT))
		elf_worker_main(argc, argv);
	if (argc > 1 && edition.post && !strcmp(argv[1], POST_ARGUMENT))
		edition.post(argc, argv);
	occupy_standard_descriptors();
	if (argc > 1 && !strcmp(argv[1], COMPLETE_ARGUMENT))
		print_completion(argv[2]);
	else
		status = run(argc, argv, &d);
	/* Output through stdio fails only when it is flushed. */
	if (status == STATUS_OK && (fflush(stdout) || ferror(stdout)))
		status = diag_set(&d, DIAG_FAILED, errno ?: EIO, "cannot write to stdout: %s",
				  strerror(errno));
	return status < 0 ? fail(&d) : status;
}
