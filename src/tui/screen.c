/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the layout. Whatever the size, every write is clipped to the grid. */
#include "tui/screen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tui/top_columns.h"

/* Below this height there is no room for more than totals and table. */
#define ROOMY_HEIGHT 10

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

/* Returns where the text ends. */
static int put(struct screen *screen, int x, int y, int width, enum cell_style style,
	       const char *text)
{
	for (; *text && width > 0; text++, x++, width--) {
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

static void put_right(struct screen *screen, int y, int from, enum cell_style style,
		      const char *text)
{
	int x = screen->width - (int)strlen(text);

	if (x > from + 1)
		put(screen, x, y, screen->width, style, text);
}

static void fill(struct screen *screen, int y, enum cell_style style)
{
	for (int x = 0; x < screen->width && y < screen->height; x++)
		screen->cells[y * screen->width + x].style = (unsigned char)style;
}

static bool is_roomy(const struct top *top)
{
	return !top->height || top->height >= ROOMY_HEIGHT;
}

int screen_head_lines(const struct top *top)
{
	/* Title, totals, trust; whose calls; heads of the columns. */
	return (is_roomy(top) ? 3 + top->opened : 1) + 1;
}

int screen_foot_lines(const struct top *top)
{
	return (top->height && is_roomy(top)) || top->prompt != PROMPT_NONE || top->message;
}

/* --- above the table -------------------------------------------------------------------------- */

static void draw_title(struct screen *screen, const struct top *top)
{
	char text[256], host[96], kernel[96], state[64];
	const struct snapshot *diff = top->rates ? top->rates->diff : NULL;
	unsigned int s = top->rates ? (unsigned int)(top->rates->counting_ns / NS_PER_SEC) : 0;
	int x = put(screen, 0, 0, screen->width, STYLE_STRONG, "bpftruss top");

	if (diff) {
		column_safe_text(diff->host ?: "", 64, host, sizeof(host));
		column_safe_text(diff->kernel ?: "", 64, kernel, sizeof(kernel));
		snprintf(text, sizeof(text), "  %s  %s  counting %u:%02u:%02u", host, kernel,
			 s / 3600, s / 60 % 60, s % 60);
		x = put(screen, x, 0, screen->width - x, STYLE_PLAIN, text);
	}
	snprintf(state, sizeof(state), "every %g s", (double)top->delay_ns / 1e9);
	put_right(screen, 0, x, top->paused ? STYLE_BAD : STYLE_PLAIN,
		  top->paused ? "paused" : state);
}

/* Per second, and totals of the moment. What does not fit is left out whole. */
static void draw_totals(struct screen *screen, const struct top *top, int y)
{
	const struct rates *rates = top->rates;
	const struct rate *total = &rates->total;
	char parts[6][48];
	int x = 0;

	snprintf(parts[0], sizeof(parts[0]), "calls/s %.0f", rates_per_second(rates, total->calls));
	snprintf(parts[1], sizeof(parts[1]), "errors/s %.0f",
		 rates_per_second(rates, total->errors));
	snprintf(parts[2], sizeof(parts[2]), "processes %" PRIu64, total->nr_processes);
	snprintf(parts[3], sizeof(parts[3]), "threads %" PRIu64, total->threads);
	snprintf(parts[4], sizeof(parts[4]), "%%usr %.0f",
		 rates_cpu_pct(rates, total->states.user_ns));
	snprintf(parts[5], sizeof(parts[5]), "%%sys %.0f",
		 rates_cpu_pct(rates, total->states.system_ns));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (x + (int)strlen(parts[i]) > screen->width)
			break;
		x = put(screen, x, y, screen->width, STYLE_PLAIN, parts[i]) + 2;
	}
	/* Without the title there must be another place for it. */
	if (top->paused && !is_roomy(top))
		put_right(screen, y, x - 2, STYLE_BAD, "paused");
}

static void losses_text(const struct losses *losses, char *text, size_t size)
{
	size_t used = 0;

	snprintf(text, size, "exact: no call is missing");
	for (int i = 0; i < NR_MODEL_LOSS && used < size; i++) {
		if (losses->count[i])
			used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 " %s (%s)",
						 used ? "; " : "not exact: ", losses->count[i],
						 loss_texts[i].what, loss_texts[i].why);
	}
}

static void draw_trust(struct screen *screen, const struct top *top)
{
	bool exact = losses_none(&top->rates->losses);
	char text[512], order[160];
	int x;

	losses_text(&top->rates->losses, text, sizeof(text));
	x = put(screen, 0, 2, screen->width, exact ? STYLE_PLAIN : STYLE_BAD, text);
	snprintf(order, sizeof(order), "by %s, sort %s%s%s", rate_by_names[top->by],
		 columns_sort_head(top), top->filter[0] ? ", filter " : "", top->filter);
	put_right(screen, 2, x, STYLE_PLAIN, order);
}

/* Whose calls are shown, and what it does as a whole. */
static void draw_opened(struct screen *screen, const struct top *top, int y)
{
	const struct rate *line = &top->line;
	char text[128];
	int x = put(screen, 0, y, screen->width, STYLE_STRONG, top->title);

	if (top->gone) {
		put(screen, x, y, screen->width - x, STYLE_BAD,
		    top->who.by == RATE_BY_PID ? " has ended" : ": nothing left");
		return;
	}
	if (line->threads)
		snprintf(text, sizeof(text), "  threads %" PRIu64, line->threads);
	else
		snprintf(text, sizeof(text), "  ended");
	x = put(screen, x, y, screen->width - x, STYLE_PLAIN, text);
	snprintf(text, sizeof(text), "  %%: usr %.1f sys %.1f runq %.1f lock %.1f sleep %.1f",
		 rate_share_pct(line, line->states.user_ns),
		 rate_share_pct(line, line->states.system_ns),
		 rate_share_pct(line, line->states.runq_ns),
		 rate_share_pct(line, line->states.lock_ns),
		 rate_share_pct(line, line->states.sleep_ns));
	put(screen, x, y, screen->width - x, STYLE_PLAIN, text);
}

static void draw_head(struct screen *screen, const struct top *top)
{
	if (!is_roomy(top)) {
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
	int indent = place->left || length > place->width ? 0 : place->width - length;

	put(screen, place->x + indent, y, place->width - indent, style, text);
}

static enum cell_style line_style(const struct top *top, size_t index)
{
	const struct top_place *place = top->opened ? &top->call_list : &top->list;
	const struct rate *line;

	if (top->height && place->cursor == index)
		return STYLE_CURSOR;
	if (top->opened)
		return top->calls.rows[index]->calls ? STYLE_PLAIN : STYLE_DIM;
	line = &top->rates->lines[top->shown[index]];
	return line->calls && line->threads ? STYLE_PLAIN : STYLE_DIM;
}

static void draw_table(struct screen *screen, const struct top *top)
{
	const struct top_place *place = top->opened ? &top->call_list : &top->list;
	struct column_place columns[MAX_COLUMNS];
	size_t nr_columns = columns_place(top, columns), count = top_count(top);
	size_t room = top_room(top);
	char text[RATE_TEXT_MAX];
	int y = screen_head_lines(top) - 1;

	fill(screen, y, STYLE_HEAD);
	for (size_t i = 0; i < nr_columns; i++)
		put_cell(screen, &columns[i], y, columns[i].sorted ? STYLE_SORTED : STYLE_HEAD,
			 columns[i].head);
	for (size_t at = place->first; at < count && at < place->first + room; at++) {
		fill(screen, ++y, line_style(top, at));
		for (size_t i = 0; i < nr_columns; i++) {
			top_column_text(top, &columns[i], at, text);
			put_cell(screen, &columns[i], y, line_style(top, at), text);
		}
	}
	if (!count && room)
		put(screen, 0, y + 1, screen->width, STYLE_DIM,
		    top->opened      ? "no calls"
		    : top->filter[0] ? "nothing passes the filter"
				     : "no process is counted");
}

/* --- below it --------------------------------------------------------------------------------- */

static void draw_prompt(struct screen *screen, const struct top *top, int y)
{
	const char *what = top->prompt == PROMPT_FILTER ? "filter: " : "delay in seconds: ";
	int x = put(screen, 0, y, screen->width, STYLE_STRONG, what);

	x = put(screen, x, y, screen->width - x, STYLE_PLAIN, top->input);
	screen->cursor_x = x < screen->width ? x : screen->width - 1;
	screen->cursor_y = y;
}

static void draw_keys(struct screen *screen, const struct top *top, int y)
{
	static const char *const list_keys[] = { "h help",  "q quit",  "Enter open", "/ filter",
						 "<> sort", "g group", "p pause",    "d delay" };
	static const char *const call_keys[] = { "h help", "q back", "<> sort", "p pause",
						 "d delay" };
	const char *const *keys = top->opened ? call_keys : list_keys;
	size_t count = top->opened ? ARRAY_SIZE(call_keys) : ARRAY_SIZE(list_keys);
	int x = 0;

	for (size_t i = 0; i < count; i++) {
		if (x + (int)strlen(keys[i]) > screen->width)
			break;
		x = put(screen, x, y, screen->width, STYLE_DIM, keys[i]) + 3;
	}
}

static void draw_foot(struct screen *screen, const struct top *top)
{
	int y = screen->height - 1;

	if (top->prompt != PROMPT_NONE)
		draw_prompt(screen, top, y);
	else if (top->message)
		put(screen, 0, y, screen->width, STYLE_BAD, top->message);
	else if (screen_foot_lines(top))
		draw_keys(screen, top, y);
}

static void draw_help(struct screen *screen)
{
	int y = 0;

	if (screen->height >= ROOMY_HEIGHT + 4) {
		put(screen, 0, y, screen->width, STYLE_STRONG, "bpftruss top: keys and columns");
		y = 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(help_lines); i++)
		put(screen, 0, y++, screen->width, STYLE_PLAIN, help_lines[i]);
	put(screen, 0, y + 1, screen->width, STYLE_DIM, "any key goes back");
}

int screen_draw(const struct top *top, struct screen *ret)
{
	struct screen screen = { top->width, top->height, -1, -1, NULL };
	size_t count;

	if (!screen.height)
		screen.height = screen_head_lines(top) + (int)top_count(top);
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
		put(&screen, 0, screen.height > 2 ? 2 : 1, screen.width, STYLE_DIM,
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
