/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the line in full each time, cut to the terminal, and erases it with the sequence that all have. */
#include "cmd/live_line.h"

#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/text.h"
#include "model/label.h"

#define ERASE "\r\033[K"

/* A reading costs, too: it may take a fiftieth of the time between two. */
#define PAUSE_NS   NS_PER_SEC
#define COST_SHARE 50

void live_line_begin(struct live_line *line, const struct options *o)
{
	const char *term = getenv("TERM");

	*line = (struct live_line){
		.is_on = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !o->command,
		.start_ns = clock_mono_ns(),
		.duration_ns = o->duration_ns,
		.only = o->output.only,
	};
	line->last_ns = line->start_ns;
}

void live_line_erase(const struct live_line *line)
{
	if (line->is_on)
		fputs(ERASE, stderr);
}

void live_line_show_names(const struct live_line *line, uint64_t waiting)
{
	if (line->is_on)
		fprintf(stderr, ERASE "naming %" PRIu64 " frame%s", waiting, plural(waiting));
}

/* 1234567 as 1,234,567. */
static void format_count(uint64_t count, char *buf, size_t size)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < size; i++) {
		if (i && (length - i) % 3 == 0)
			buf[used++] = ',';
		buf[used++] = digits[i];
	}
	buf[used] = '\0';
}

struct figures {
	uint64_t calls, errors;
	const struct group *most; /* the call that came most often; NULL: there is none */
};

static struct figures figures_of(const struct group_list *list, const struct syscall_set *only)
{
	struct figures figures = { .most = NULL };

	for (size_t i = 0; i < list->nr_groups; i++) {
		const struct group *group = &list->groups[i];
		const struct row *row = &group->sum;

		if (only &&
		    (row->nr == ROW_NR_OTHER || !syscall_set_has(only, row->abi, (int)row->nr)))
			continue;
		figures.calls += row->calls;
		figures.errors += row->errors;
		if (row->calls && (!figures.most || row->calls > figures.most->sum.calls))
			figures.most = group;
	}
	return figures;
}

static void show(const struct live_line *line, const struct snapshot *snapshot,
		 const struct figures *figures, uint64_t now_ns)
{
	char text[256], calls[32], rate[32], label[ROW_LABEL_MAX];
	const uint64_t elapsed_ns = now_ns - line->start_ns;
	struct winsize size = { .ws_col = 80 };
	size_t used, live = 0;

	for (size_t i = 0; i < snapshot->nr_processes; i++)
		live += snapshot->processes[i].threads != 0;
	format_count(figures->calls, calls, sizeof(calls));
	format_count(above(figures->calls, line->last_calls) * NS_PER_SEC /
			     max_u64(now_ns - line->last_ns, 1),
		     rate, sizeof(rate));
	used = (size_t)snprintf(text, sizeof(text), "%" PRIu64 " s",
				(uint64_t)(elapsed_ns / NS_PER_SEC));
	if (line->duration_ns)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " of %.3g s",
					 (double)line->duration_ns / (double)NS_PER_SEC);
	used += (size_t)snprintf(text + used, sizeof(text) - used,
				 "  %zu process%s  %s calls  %s/s", live, live == 1 ? "" : "es",
				 calls, rate);
	if (figures->errors && figures->calls)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "  %.1f%% errors",
					 (double)figures->errors * 100 / (double)figures->calls);
	if (figures->most) {
		row_label(&figures->most->sum, label, sizeof(label));
		snprintf(text + used, sizeof(text) - used, "  mostly %s (%.0f%%)", label,
			 (double)figures->most->sum.calls * 100 / (double)figures->calls);
	}
	ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	text_cut_fields(text, size.ws_col > 1 ? size.ws_col - 1 : 79);
	fprintf(stderr, ERASE "%s", text);
	fflush(stderr);
}

uint64_t live_line_show(struct live_line *line, const struct snapshot *snapshot, uint64_t taken_ns)
{
	struct group_list list __cleanup(group_list_done) = { 0 };
	const uint64_t now_ns = clock_mono_ns();
	struct figures figures;

	if (!snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list)) {
		figures = figures_of(&list, line->only);
		show(line, snapshot, &figures, now_ns);
		line->last_calls = figures.calls;
		line->last_ns = now_ns;
	}
	return max_u64(PAUSE_NS, taken_ns * COST_SHARE);
}
