/* SPDX-License-Identifier: BSD-2-Clause */
/* Lays a frame out. Whatever the size, every write is clipped to the grid. */
#include "tui/screen.h"

#include "base/clock.h"
#include "base/text.h"

static const char *const help_lines[] = {
	"Up Down PgUp PgDn Home End   move        Enter   calls of this line",
	"< >  s    sort by another column         Esc q   back; from the list, quit",
	"g         by pid, comm or unit           /       filter by name, pid, user, unit",
	"p, blank  pause                          d       set the delay",
	"",
	"%USR %SYS %RUNQ %LOCK %SLP  how its threads spent their time: user, system,",
	"        waiting for a CPU, for a lock (futex), asleep; together 100",
	"%CPU    of one CPU      VCSW ICSW  voluntary, involuntary context switches",
	"MAX     longest call that ended in the interval (at most 25% too high)",
	"OLDEST  age of the oldest call in flight; >: before counting began",
	"OPEN    calls in flight        THR  threads; \"end\": the process has ended",
};

void screen_done(struct screen *screen)
{
	free(screen->cells);
	screen->cells = NULL;
}

/* Returns where the text ends. Text beyond the screen is left out. */
static int put(struct screen *screen, int x, int y, enum cell_style style, const char *text)
{
	for (; *text; text++, x++) {
		if (x < 0 || y < 0 || x >= screen->width || y >= screen->height)
			continue;
		/* Texts were made safe where they were made; this is the last wall. */
		screen->cells[y * screen->width + x] = (struct cell){
			.c = *text >= ' ' && *text <= '~' ? *text : '?',
			.style = (unsigned char)style,
		};
	}
	return x;
}

__attribute__((format(printf, 5, 6))) static int
put_format(struct screen *screen, int x, int y, enum cell_style style, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return put(screen, x, y, style, text);
}

static void put_right(struct screen *screen, int y, int from, enum cell_style style,
		      const char *text)
{
	int x = screen->width - (int)strlen(text);

	if (x > from + 1)
		put(screen, x, y, style, text);
}

/* Texts side by side, as many as fit whole. Returns where the last one ends. */
static int put_list(struct screen *screen, int y, enum cell_style style, int gap,
		    const char *const *texts, size_t count)
{
	int x = 0, end = 0;

	for (size_t i = 0; i < count && x + (int)strlen(texts[i]) <= screen->width; i++) {
		end = put(screen, x, y, style, texts[i]);
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
	char host[96], kernel[96], state[64];
	const struct snapshot *diff = top->rates ? top->rates->diff : NULL;
	unsigned int s = top->rates ? (unsigned int)(top->rates->counting_ns / NS_PER_SEC) : 0;
	int x = put(screen, 0, 0, STYLE_STRONG, "bpftruss top");

	if (diff) {
		text_escape_ascii(diff->host ?: "", 64, host, sizeof(host));
		text_escape_ascii(diff->kernel ?: "", 64, kernel, sizeof(kernel));
		x = put_format(screen, x, 0, STYLE_PLAIN, "  %s  %s  counting %u:%02u:%02u", host,
			       kernel, s / 3600, s / 60 % 60, s % 60);
	}
	snprintf(state, sizeof(state), "every %g s", (double)top->delay_ns / 1e9);
	put_right(screen, 0, x, top->paused ? STYLE_BAD : STYLE_PLAIN,
		  top->paused ? "paused" : state);
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
	};
	char parts[ARRAY_SIZE(totals)][48];
	const char *texts[ARRAY_SIZE(totals)];
	int x;

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		snprintf(parts[i], sizeof(parts[i]), "%s %.0f", totals[i].name, totals[i].value);
		texts[i] = parts[i];
	}
	x = put_list(screen, y, STYLE_PLAIN, 2, texts, ARRAY_SIZE(texts));
	/* Without the title there must be another place for it. */
	if (top->paused && !top_is_roomy(top))
		put_right(screen, y, x, STYLE_BAD, "paused");
}

static void draw_trust(struct screen *screen, const struct top *top)
{
	bool exact = losses_none(&top->rates->losses);
	char text[LOSSES_TEXT_MAX], order[160];
	int x;

	losses_text(&top->rates->losses, text, sizeof(text));
	x = put(screen, 0, 2, exact ? STYLE_PLAIN : STYLE_BAD, text);
	snprintf(order, sizeof(order), "by %s, sort %s%s%s", rate_by_names[top->by],
		 columns_sort_head(top->places[top->opened].sort),
		 top->filter[0] ? ", filter " : "", top->filter);
	put_right(screen, 2, x, STYLE_PLAIN, order);
}

/* Draws whose calls are shown, and what it does as a whole. */
static void draw_opened(struct screen *screen, const struct top *top, int y)
{
	const struct rate *line = &top->line;
	const struct microstates *states = &line->states;
	int x = put(screen, 0, y, STYLE_STRONG, top->title);

	if (top->gone) {
		put(screen, x, y, STYLE_BAD,
		    top->who.by == RATE_BY_PID ? " has ended" : ": nothing left");
		return;
	}
	if (line->threads)
		x = put_format(screen, x, y, STYLE_PLAIN, "  threads %" PRIu64, line->threads);
	else
		x = put(screen, x, y, STYLE_PLAIN, "  ended");
	put_format(screen, x, y, STYLE_PLAIN,
		   "  %%: usr %.1f sys %.1f runq %.1f lock %.1f sleep %.1f",
		   rate_share_pct(line, states->user_ns), rate_share_pct(line, states->system_ns),
		   rate_share_pct(line, states->runq_ns), rate_share_pct(line, states->lock_ns),
		   rate_share_pct(line, states->sleep_ns));
}

static void draw_head(struct screen *screen, const struct top *top)
{
	if (!top_is_roomy(top)) {
		if (top->opened)
			draw_opened(screen, top, 0);
		else
			draw_totals(screen, top, 0);
		return;
	}
	draw_title(screen, top);
	draw_totals(screen, top, 1);
	draw_trust(screen, top);
	if (top->opened)
		draw_opened(screen, top, 3);
}

/* --- the table -------------------------------------------------------------------------------- */

static void put_cell(struct screen *screen, const struct column_place *place, int y,
		     enum cell_style style, const char *text)
{
	int length = (int)strlen(text);
	/* A number that does not fit is shown from its head, and so is a name. */
	int indent = place->column->left || length > place->width ? 0 : place->width - length;

	put_format(screen, place->x + indent, y, style, "%.*s", place->width - indent, text);
}

static enum cell_style line_style(const struct top *top, size_t index)
{
	const struct rate *line = top_line(top, index);

	if (top->height && top->places[top->opened].cursor == index)
		return STYLE_CURSOR;
	return line->calls && (top->opened || line->threads) ? STYLE_PLAIN : STYLE_DIM;
}

static void draw_table(struct screen *screen, const struct top *top)
{
	size_t count = top_count(top), room = top_room(top), first = top->places[top->opened].first;
	struct column_place columns[MAX_COLUMNS];
	size_t nr_columns = columns_place(top, columns);
	char text[RATE_TEXT_MAX];
	int y = top_head_lines(top) - 1;

	fill(screen, y, STYLE_HEAD);
	for (size_t i = 0; i < nr_columns; i++)
		put_cell(screen, &columns[i], y,
			 columns[i].column->key == top->places[top->opened].sort ? STYLE_SORTED
										 : STYLE_HEAD,
			 columns[i].column->head);
	for (size_t at = first; at < count && at < first + room; at++) {
		fill(screen, ++y, line_style(top, at));
		for (size_t i = 0; i < nr_columns; i++) {
			columns[i].column->write(top, columns[i].column, top_line(top, at), text);
			put_cell(screen, &columns[i], y, line_style(top, at), text);
		}
	}
	if (!count && room)
		put(screen, 0, y + 1, STYLE_DIM,
		    top->opened      ? "no calls"
		    : top->filter[0] ? "nothing passes the filter"
				     : "no process is counted");
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
		x = put(screen, 0, y, STYLE_STRONG, what);
		x = put(screen, x, y, STYLE_PLAIN, top->input);
		screen->cursor_x = x < screen->width ? x : screen->width - 1;
		screen->cursor_y = y;
	} else if (top->message)
		put(screen, 0, y, STYLE_BAD, top->message);
	else if (top_foot_lines(top))
		put_list(screen, y, STYLE_DIM, 3, top->opened ? call_keys : list_keys,
			 top->opened ? ARRAY_SIZE(call_keys) : ARRAY_SIZE(list_keys));
}

static void draw_help(struct screen *screen)
{
	int y = 0;

	if (screen->height >= ROOMY_HEIGHT + 4) {
		put(screen, 0, y, STYLE_STRONG, "bpftruss top: keys and columns");
		y = 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(help_lines); i++)
		put(screen, 0, y++, STYLE_PLAIN, help_lines[i]);
	put(screen, 0, y + 1, STYLE_DIM, "any key goes back");
}

int screen_draw(const struct top *top, struct screen *ret)
{
	struct screen screen = { top->width, top->height, -1, -1, NULL };
	size_t count;

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
		put(&screen, 0, screen.height > 2 ? 2 : 1, STYLE_DIM,
		    "counting; the first figures come after one interval");
		draw_foot(&screen, top);
	} else {
		draw_head(&screen, top);
		draw_table(&screen, top);
		draw_foot(&screen, top);
	}
	*ret = screen;
	return 0;
}

int screen_print(const struct screen *screen, FILE *out)
{
	for (int y = 0; y < screen->height; y++) {
		const struct cell *row = &screen->cells[y * screen->width];
		int length = screen->width;

		while (length && row[length - 1].c == ' ')
			length--;
		for (int x = 0; x < length; x++)
			fputc(row[x].c, out);
		fputc('\n', out);
	}
	return ferror(out) ? -EIO : 0;
}
