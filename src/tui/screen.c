/* SPDX-License-Identifier: BSD-2-Clause */
/* Lays a frame out. Whatever the size, every write is clipped to the grid. */
#include "tui/screen.h"

#include "base/clock.h"
#include "base/text.h"

/* Help on keys, the most important first; those without room are left out. */
static const struct {
	const char *keys, *what;
} help_keys[] = {
	{ "Up Down j k", "move; PgUp PgDn Home End" },
	{ "Enter", "calls of this line" },
	{ "Esc q", "back; from the list, quit" },
	{ "< > s", "sort by another column" },
	{ "/ u", "filter by name, pid, user" },
	{ "g G", "group: pid, comm, unit ..." },
	{ "H", "threads" },
	{ "t", "tree of processes" },
	{ "Tab", "calls, errors, paths ..." },
	{ "l L", "latency by time: line, all" },
	{ "p, blank", "pause" },
	{ "I R", "reverse the order" },
	{ "P N", "sort by %CPU, by PID" },
	{ "d", "set the delay" },
	{ "1", "all CPUs in one line" },
};

static const char *const help_columns[] = {
	"%USR %SYS %RUNQ %LOCK %SLP  how its threads spent their time: user, system,",
	"        waiting for a CPU, for a lock (futex), asleep; together 100",
	"STATES  the same as a bar: u s r l, dots for sleep      %CPU  of one CPU",
	"MAX     longest call that ended in the interval (at most 25% too high)",
	"OLDEST  age of the oldest call in flight; >: at least   OPEN  calls in flight",
	"THR     threads; \"end\": the process has ended          VCSW ICSW  switches",
};

#define HELP_KEY_WIDTH 39
#define HELP_WIDTH     79

void screen_done(struct screen *screen)
{
	free(screen->cells);
	screen->cells = NULL;
}

static void put_right(struct screen *screen, int y, int from, enum cell_style style,
		      const char *text)
{
	int x = screen->width - (int)strlen(text);

	if (x > from + 1)
		screen_put(screen, x, y, style, text);
}

/* Texts side by side, as many as fit whole. Returns where the last one ends. */
static int put_list(struct screen *screen, int y, enum cell_style style, int gap,
		    const char *const *texts, size_t count)
{
	int x = 0, end = 0;

	for (size_t i = 0; i < count && x + (int)strlen(texts[i]) <= screen->width; i++) {
		end = screen_put(screen, x, y, style, texts[i]);
		x = end + gap;
	}
	return end;
}

static void fill(struct screen *screen, int y, enum cell_style style)
{
	for (int x = 0; x < screen->width && y < screen->height; x++)
		screen->cells[y * screen->width + x].style = (unsigned char)style;
}

/* --- above the table -------------------------------------------------------------------------- */

static void draw_title(struct screen *screen, const struct top *top)
{
	char host[96] = "", kernel[96] = "", state[64], time[32] = "";
	const struct snapshot *diff = top->rates ? top->rates->diff : NULL;
	unsigned int s = top->rates ? (unsigned int)(top->rates->counting_ns / NS_PER_SEC) : 0;
	const char *const texts[] = { host, kernel, time };
	int x = screen_put(screen, 0, 0, STYLE_STRONG, "bpftruss top"), room;

	if (diff) {
		text_escape_ascii(diff->host ?: "", 64, host, sizeof(host));
		text_escape_ascii(diff->kernel ?: "", 64, kernel, sizeof(kernel));
		snprintf(time, sizeof(time), "counting %u:%02u:%02u", s / 3600, s / 60 % 60,
			 s % 60);
	}
	snprintf(state, sizeof(state), "every %g s", (double)top->delay_ns / 1e9);
	room = screen->width - x - (int)strlen(top->paused ? "paused" : state) - 1;
	if (room <= (int)(strlen(host) + strlen(kernel) + strlen(time)) + 3 * 2)
		*kernel = 0;
	if (room <= (int)(strlen(host) + strlen(time)) + 2 * 2)
		*host = 0;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (*texts[i])
			x = screen_put_format(screen, x, 0, STYLE_PLAIN, "  %s", texts[i]);
	}
	put_right(screen, 0, x, top->paused ? STYLE_BAD : STYLE_PLAIN,
		  top->paused ? "paused" : state);
}

#define CPU_BAR 10

/* The calls of all processes in the last intervals, at the right. */
static void draw_history(struct screen *screen, const struct sparks *sparks, int y, int from)
{
	unsigned char levels[SPARK_INTERVALS];
	char text[SPARK_INTERVALS + 1] = "";

	spark_levels(sparks->total, levels);
	for (int i = 0; i < SPARK_INTERVALS; i++)
		text[i] = levels[i] ? (char)levels[i] : ' ';
	put_right(screen, y, from, STYLE_USER, text);
}

/* Draws rates per second and current totals. A figure that does not fit is left out whole. */
static void draw_totals(struct screen *screen, const struct top *top, int y)
{
	const struct rates *rates = top->rates;
	const struct rate *total = &rates->total;
	const struct {
		const char *name;
		double value;
	} totals[] = {
		{ "calls/s", rates_per_second(rates, total->calls) },
		{ "errors/s", rates_per_second(rates, total->errors) },
		{ "processes", (double)total->nr_processes },
		{ "threads", (double)total->threads },
		{ "%usr", rates_cpu_pct(rates, total->states.user_ns) },
		{ "%sys", rates_cpu_pct(rates, total->states.system_ns) },
		{ "%idle", top->host.all.idle },
		{ "running", top->host.running },
	};
	const size_t count = ARRAY_SIZE(totals) - (top->host.nr_cpus ? 0 : 2);
	char parts[ARRAY_SIZE(totals)][48];
	const char *texts[ARRAY_SIZE(totals)];
	int x;

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		snprintf(parts[i], sizeof(parts[i]), "%s %.0f", totals[i].name, totals[i].value);
		texts[i] = parts[i];
	}
	x = put_list(screen, y, STYLE_PLAIN, 2, texts, count);
	/* Without the title there must be another place for it. */
	if (top->paused && !top_is_roomy(top))
		put_right(screen, y, x, STYLE_BAD, "paused");
	else if (top->height)
		draw_history(screen, &top->sparks, y, x);
}

/* Draws what ran on a CPU of the host, as a bar and in the numbers that end before a column. */
static void draw_cpu(struct screen *screen, int x, int end, int y, const char *name,
		     const struct host_cpu *cpu)
{
	const double parts[] = { cpu->user, cpu->system, cpu->stolen };
	const struct {
		const char *name;
		double value; /* below 0: unknown */
	} rates[] = { { "csw/s", cpu->switches }, { "mig/s", cpu->migrations } };
	static const char letters[] = "us#";
	static const enum cell_style styles[] = { STYLE_USER, STYLE_SYSTEM, STYLE_RUNQ };
	char text[2] = "", number[48];
	double sum = 0;
	int at;

	x = screen_put_format(screen, x, y, STYLE_DIM, "%-5s[", name);
	for (at = 0; at < CPU_BAR; at++) {
		size_t part = 0;

		/* The part that the middle of the letter is in. */
		for (sum = parts[0];
		     part + 1 < ARRAY_SIZE(parts) && (at + 0.5) * 100 / CPU_BAR > sum;)
			sum += parts[++part];
		text[0] = (at + 0.5) * 100 / CPU_BAR > sum ? ' ' : letters[part];
		x = screen_put(screen, x, y, styles[part], text);
	}
	x = screen_put(screen, x, y, STYLE_DIM, "]");
	x = screen_put_format(screen, x, y, STYLE_PLAIN, " usr %2.0f sys %2.0f idle %3.0f",
			      cpu->user, cpu->system, cpu->idle);
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		snprintf(number, sizeof(number), "  %s %.0f", rates[i].name, rates[i].value);
		if (rates[i].value < 0)
			continue;
		if (x + (int)strlen(number) > end)
			break;
		x = screen_put(screen, x, y, STYLE_DIM, number);
	}
}

static int draw_cpus(struct screen *screen, const struct top *top, int y)
{
	const struct host *host = &top->host;
	unsigned int per_line;
	int lines = top_cpu_lines(top, &per_line);
	char name[16];

	if (lines && !per_line) {
		draw_cpu(screen, 0, screen->width, y, "cpus", &host->all);
	} else if (lines) {
		int width = screen->width / (int)per_line;

		for (unsigned int i = 0; i < host->nr_cpus; i++) {
			int x = (int)(i % per_line) * width;

			snprintf(name, sizeof(name), "cpu%u", host->cpus[i].number);
			/* Two columns part it from the next one. */
			draw_cpu(screen, x, x + width - 2 * (per_line > 1), y + (int)(i / per_line),
				 name, &host->cpus[i]);
		}
	}
	return lines;
}

static void draw_trust(struct screen *screen, const struct top *top, int y)
{
	bool exact = losses_none(&top->rates->losses);
	char text[LOSSES_TEXT_MAX], order[160];
	size_t room;
	int x;

	snprintf(order, sizeof(order), "by %s%s, sort %s%s%s%s", rate_by_names[top->by],
		 top->depths ? " as a tree" : "", columns_sort_head(top),
		 top->places[top->opened].reversed ? " reversed" : "",
		 top->filter[0] ? ", filter " : "", top->filter);
	room = above((uint64_t)screen->width, strlen(order) + 2);
	losses_text(&top->rates->losses, text, sizeof(text));
	/* What the lines are sorted by is needed to read them. */
	if (strlen(text) > room)
		losses_brief(&top->rates->losses, text, sizeof(text));
	if (strlen(text) > room)
		strcpy(text, exact ? "exact" : "not exact");
	x = screen_put(screen, 0, y, exact ? STYLE_PLAIN : STYLE_BAD, text);
	put_right(screen, y, x, STYLE_PLAIN, order);
}

/* Draws whose calls are shown, and what it does as a whole. */
#define STATES_BAR 20

static void draw_opened(struct screen *screen, const struct top *top, int y)
{
	const struct rate *line = &top->line;
	const struct microstates *states = &line->states;
	char bar[STATES_BAR + 1], one[2] = "";
	int x = screen_put(screen, 0, y, STYLE_STRONG, top->title);

	if (top->gone) {
		screen_put(screen, x, y, STYLE_BAD,
			   top->who.by == RATE_BY_PID || top->who.by == RATE_BY_TID
				   ? " has ended; its last calls:"
				   : ": nothing left; the last calls:");
		return;
	}
	if (rate_has_argument(line)) {
		screen_put_format(screen, x, y, STYLE_PLAIN, "  calls/s %.1f  errors/s %.1f",
				  rates_per_second(top->rates, line->calls),
				  rates_per_second(top->rates, line->errors));
		return;
	}
	if (line->threads)
		x = screen_put_format(screen, x, y, STYLE_PLAIN, "  threads %" PRIu64,
				      line->threads);
	else
		x = screen_put(screen, x, y, STYLE_PLAIN, "  ended");
	x = screen_put_format(
		screen, x, y, STYLE_PLAIN, "  %%: usr %.1f sys %.1f runq %.1f lock %.1f sleep %.1f",
		rate_share_pct(line, states->user_ns), rate_share_pct(line, states->system_ns),
		rate_share_pct(line, states->runq_ns), rate_share_pct(line, states->lock_ns),
		rate_share_pct(line, states->sleep_ns));
	write_states(states, STATES_BAR, bar);
	for (const char *letter = bar; *letter && x + 2 + STATES_BAR < screen->width; letter++) {
		one[0] = *letter;
		screen_put(screen, x + 2 + (int)(letter - bar), y, state_style(*letter), one);
	}
}

static void draw_head(struct screen *screen, const struct top *top)
{
	int y = 2;

	if (!top_is_roomy(top)) {
		if (top->opened)
			draw_opened(screen, top, 0);
		else
			draw_totals(screen, top, 0);
		return;
	}
	draw_title(screen, top);
	draw_totals(screen, top, 1);
	y += draw_cpus(screen, top, y);
	draw_trust(screen, top, y++);
	if (top->opened)
		draw_opened(screen, top, y);
}

/* --- the table -------------------------------------------------------------------------------- */

static void put_cell(struct screen *screen, const struct column_place *place, int y,
		     enum cell_style style, const char *text)
{
	int length = (int)strlen(text);
	/* A number that does not fit is shown from its head, and so is a name. */
	int indent = place->column->left || length > place->width ? 0 : place->width - length;
	char fitting[RATE_TEXT_MAX];

	snprintf(fitting, sizeof(fitting), "%s", text);
	if (place->column->keeps_end)
		text_fit_end(fitting, (size_t)place->width);
	screen_put_format(screen, place->x + indent, y, style, "%.*s", place->width - indent,
			  fitting);
}

/* A bar letter by letter, and numbers that are not 0, have colours of their own. */
static void put_styled(struct screen *screen, const struct column_place *place, int y,
		       enum cell_style style, const char *text)
{
	enum cell_style own = place->column->style;
	char one[2] = "";

	if (own == STYLE_STRONG && style != STYLE_CURSOR) {
		for (int i = 0; text[i] && i < place->width; i++) {
			one[0] = text[i];
			screen_put(screen, place->x + i, y, state_style(text[i]), one);
		}
		return;
	}
	if (own && style == STYLE_PLAIN && strcspn(text, "123456789") < strlen(text))
		style = own;
	put_cell(screen, place, y, style, text);
}

static enum cell_style line_style(const struct top *top, size_t index, bool has_cursor)
{
	const struct rate *line = top_line(top, index);

	if (has_cursor && top->height && top->places[top->opened].cursor == index)
		return STYLE_CURSOR;
	return line->calls && (top->opened || line->threads || top->by == RATE_BY_SYSCALL ||
			       rate_has_argument(line))
		       ? STYLE_PLAIN
		       : STYLE_DIM;
}

/* Draws the heads and so many lines of a table, from a line of the screen on. */
static void draw_table(struct screen *screen, const struct top *top, int y, size_t room,
		       bool has_cursor)
{
	size_t count = top_count(top), first = has_cursor ? top->places[top->opened].first : 0;
	struct column_place columns[MAX_COLUMNS];
	size_t nr_columns = columns_place(top, columns);
	char text[RATE_TEXT_MAX];

	fill(screen, y, STYLE_HEAD);
	for (size_t i = 0; i < nr_columns; i++)
		put_cell(screen, &columns[i], y,
			 columns[i].column->key == top->places[top->opened].sort ? STYLE_SORTED
										 : STYLE_HEAD,
			 columns[i].column->head);
	for (size_t at = first; at < count && at < first + room; at++) {
		enum cell_style style = line_style(top, at, has_cursor);

		fill(screen, ++y, style);
		for (size_t i = 0; i < nr_columns; i++) {
			columns[i].column->write(top, columns[i].column, top_line(top, at), text);
			put_styled(screen, &columns[i], y, style, text);
		}
	}
	if (!count && room)
		screen_put(screen, 0, y + 1, STYLE_DIM,
			   top->opened      ? "no calls"
			   : top->filter[0] ? "nothing passes the filter"
					    : "no process is counted");
}

/* --- the pane --------------------------------------------------------------------------------- */

static int draw_text(struct screen *screen, const struct top *top, int y, int lines)
{
	struct pane_text *pane __cleanup(freep) = malloc(sizeof(*pane));

	if (!pane || pane_write(top, (size_t)lines, pane))
		return -ENOMEM;
	for (size_t i = 0; i < pane->count; i++)
		screen_put(screen, 0, y + (int)i, STYLE_PLAIN, pane->lines[i]);
	return 0;
}

/* The calls of the chosen line, as if it were opened. */
static int draw_chosen_calls(struct screen *screen, const struct top *top, int y, int lines)
{
	struct top view = *top;
	struct rate *calls __cleanup(freep) = NULL;

	if (rates_calls(top->rates, top_subject(top), &calls, &view.nr_calls))
		return -ENOMEM;
	columns_sort_calls(calls, view.nr_calls, &top->places[1]);
	view.opened = true;
	view.line = *top_subject(top);
	view.calls = calls;
	draw_table(screen, &view, y, lines > 1 ? (size_t)lines - 1 : 0, false);
	return 0;
}

static int draw_pane(struct screen *screen, const struct top *top)
{
	int lines = top_pane_lines(top), x;
	int y = screen->height - top_foot_lines(top) - lines;
	char title[TOP_TEXT_MAX];

	if (!lines)
		return 0;
	columns_title(top->rates, top_subject(top), title, sizeof(title));
	if (top_pane_shown(top) == PANE_HEAT && top->heat_of_all)
		snprintf(title, sizeof(title), "all");
	fill(screen, y, STYLE_DIM);
	x = screen_put_format(screen, 0, y, STYLE_STRONG, "%s: ", title);
	for (int pane = 0; pane < PANE_NONE; pane++) {
		if (!top_has_pane(top, pane))
			continue;
		x = screen_put(screen, x, y,
			       pane == (int)top_pane_shown(top) ? STYLE_SORTED : STYLE_DIM,
			       pane_name(top, pane));
		x = screen_put(screen, x, y, STYLE_DIM, "  ");
	}
	put_right(screen, y, x, STYLE_DIM, "Tab: next");
	if (top_pane_shown(top) == PANE_CALLS)
		return draw_chosen_calls(screen, top, y + 1, lines - 1);
	if (top_pane_shown(top) == PANE_HEAT) {
		screen_draw_heat(screen, top, y + 1, lines - 1);
		return 0;
	}
	return draw_text(screen, top, y + 1, lines - 1);
}

static int draw_body(struct screen *screen, const struct top *top)
{
	int y = top_head_lines(top) - 1;

	if (top->opened && top->pane == PANE_HEAT && top->height) {
		screen_draw_heat(screen, top, y, (int)top_room(top) + 1);
		return 0;
	}
	if (top->opened && top->pane != PANE_CALLS && top->pane != PANE_NONE && top->height)
		return draw_text(screen, top, y, (int)top_room(top) + 1);
	draw_table(screen, top, y, top_room(top), true);
	return draw_pane(screen, top);
}

/* --- below it --------------------------------------------------------------------------------- */

static void draw_foot(struct screen *screen, const struct top *top)
{
	static const char *const list_keys[] = { "h help",  "q quit",  "Enter open", "/ filter",
						 "<> sort", "g group", "p pause",    "d delay" };
	static const char *const call_keys[] = { "h help", "q back", "<> sort", "p pause",
						 "d delay" };
	const char *what = top->prompt == PROMPT_FILTER ? "filter: " : "delay in seconds: ";
	int y = screen->height - 1, x;

	if (top->prompt != PROMPT_NONE) {
		x = screen_put(screen, 0, y, STYLE_STRONG, what);
		x = screen_put(screen, x, y, STYLE_PLAIN, top->input);
		screen->cursor_x = x < screen->width ? x : screen->width - 1;
		screen->cursor_y = y;
	} else if (top->message)
		screen_put(screen, 0, y, STYLE_BAD, top->message);
	else if (top_foot_lines(top))
		put_list(screen, y, STYLE_DIM, 3, top->opened ? call_keys : list_keys,
			 top->opened ? ARRAY_SIZE(call_keys) : ARRAY_SIZE(list_keys));
}

/* Two keys on a line, or one where the screen is narrow; the columns only where they fit. */
static void draw_help(struct screen *screen)
{
	const bool is_wide = screen->width >= HELP_WIDTH;
	const int per_line = is_wide ? 2 : 1, last = screen->height - 1;
	int y = 0, x;

	if (screen->height >= ROOMY_HEIGHT + 4) {
		screen_put(screen, 0, y, STYLE_STRONG, "bpftruss top: keys and columns");
		y = 2;
	}
	for (int i = 0; i < (int)ARRAY_SIZE(help_keys) && y < last; i++) {
		x = i % per_line * (HELP_KEY_WIDTH + 1);
		screen_put_format(screen, x, y, STYLE_STRONG, "%s", help_keys[i].keys);
		screen_put(screen, x + 13, y, STYLE_PLAIN, help_keys[i].what);
		y += i % per_line == per_line - 1;
	}
	y++;
	for (size_t i = 0; i < ARRAY_SIZE(help_columns) && is_wide && y < last; i++)
		screen_put(screen, 0, y++, STYLE_PLAIN, help_columns[i]);
	screen_put(screen, 0, y < last ? y + 1 : last, STYLE_DIM, "any key goes back");
}

int screen_draw(const struct top *top, struct screen *ret)
{
	struct screen screen = { top->width, top->height, -1, -1, NULL };
	size_t count;
	int err = 0;

	if (!screen.height)
		screen.height = top_head_lines(top) + (int)top_count(top);
	count = (size_t)screen.width * (size_t)screen.height;
	screen.cells = calloc(count + 1, sizeof(*screen.cells));
	if (!screen.cells)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		screen.cells[i].c = ' ';
	if (top->help) {
		draw_help(&screen);
	} else if (!top->rates) {
		draw_title(&screen, top);
		screen_put(&screen, 0, screen.height > 2 ? 2 : 1, STYLE_DIM,
			   "counting; the first figures come after one interval");
		draw_foot(&screen, top);
	} else {
		draw_head(&screen, top);
		err = draw_body(&screen, top);
		draw_foot(&screen, top);
	}
	if (err)
		screen_done(&screen);
	else
		*ret = screen;
	return err;
}

int screen_print(const struct screen *screen, FILE *out)
{
	for (int y = 0; y < screen->height; y++) {
		const struct cell *row = &screen->cells[y * screen->width];
		int length = screen->width;

		while (length && row[length - 1].c == ' ')
			length--;
		for (int x = 0; x < length; x++)
			fputc(cell_is_spark(row[x].c) ? SPARK_ASCII[(int)row[x].c] : row[x].c, out);
		fputc('\n', out);
	}
	return ferror(out) ? -EIO : 0;
}
