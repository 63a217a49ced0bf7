/* SPDX-License-Identifier: BSD-2-Clause */
/* Does what the keys say, and chooses which lines are shown. */
#include "tui/top.h"

#include <math.h>

#include "base/clock.h"

void top_init(struct top *top, uint64_t delay_ns)
{
	memset(top, 0, sizeof(*top));
	top->places[0].sort = top->places[1].sort = RATE_CALLS;
	top->delay_ns = delay_ns;
	top->width = 80;
}

void top_done(struct top *top)
{
	rates_free(top->rates);
	free(top->calls);
	free(top->shown);
	free(top->depths);
	free(top->parents);
	sparks_done(&top->sparks);
	heat_done(&top->heat);
	host_done(&top->host);
}

/* --- lines ------------------------------------------------------------------------------------ */

const struct rate *top_line(const struct top *top, size_t index)
{
	return top->opened ? &top->calls[index] : &top->rates->lines[top->shown[index]];
}

bool top_is_roomy(const struct top *top)
{
	return !top->height || top->height >= ROOMY_HEIGHT;
}

/* A screen this tall has room for CPUs and the pane. */
#define TALL_HEIGHT 20

#define CPU_WIDTH 68

int top_cpu_lines(const struct top *top, unsigned int *ret_per_line)
{
	unsigned int columns =
		top->width >= 2 * CPU_WIDTH ? (unsigned int)top->width / CPU_WIDTH : 1;
	unsigned int lines = (top->host.nr_cpus + columns - 1) / columns;

	*ret_per_line = columns;
	if (!top->host.nr_cpus || top->height < TALL_HEIGHT)
		return 0;
	if (!top->one_cpu && (int)lines <= top->height / 6)
		return (int)lines;
	*ret_per_line = 0;
	return 1;
}

bool top_has_pane(const struct top *top, enum top_pane pane)
{
	switch (pane) {
	case PANE_CALLS:
		return top->opened || top->by != RATE_BY_SYSCALL;
	case PANE_ARGUMENTS:
		return top->split >= SPLIT_PATH && top->by != RATE_BY_PATH &&
		       top->by != RATE_BY_FILE;
	case PANE_STACKS:
		return top->has_stacks;
	case PANE_NONE:
		return !top->opened;
	default:
		return true;
	}
}

enum top_pane top_pane_shown(const struct top *top)
{
	/* A call has no calls. */
	return top_has_pane(top, top->pane) ? top->pane : PANE_ERRORS;
}

int top_pane_lines(const struct top *top)
{
	if (top->opened || top->pane == PANE_NONE || top->height < TALL_HEIGHT || !top->nr_shown)
		return 0;
	return top->height / 3;
}

int top_head_lines(const struct top *top)
{
	unsigned int per_line;

	/* Title, totals, CPUs, trust; whose calls; heads of the columns. */
	return (top_is_roomy(top) ? 3 + top_cpu_lines(top, &per_line) + top->opened : 1) + 1;
}

const struct rate *top_subject(const struct top *top)
{
	if (top->opened)
		return &top->line;
	return top->nr_shown ? top_line(top, top->places[0].cursor) : NULL;
}

int top_foot_lines(const struct top *top)
{
	return (top->height && top_is_roomy(top)) || top->prompt != PROMPT_NONE || top->message;
}

size_t top_count(const struct top *top)
{
	return top->opened ? top->nr_calls : top->nr_shown;
}

size_t top_room(const struct top *top)
{
	int taken = top_head_lines(top) + top_foot_lines(top) + top_pane_lines(top);

	if (!top->height)
		return top_count(top);
	return top->height > taken ? (size_t)(top->height - taken) : 0;
}

/* Keeps the cursor on a line and the line on the screen. */
static void top_settle(struct top *top)
{
	struct top_place *place = &top->places[top->opened];
	size_t count = top_count(top), room = top_room(top);

	if (place->cursor >= count)
		place->cursor = count ? count - 1 : 0;
	if (place->first > place->cursor)
		place->first = place->cursor;
	if (room && place->cursor >= place->first + room)
		place->first = place->cursor - room + 1;
	if (place->first + room > count)
		place->first = count > room ? count - room : 0;
}

static void top_sort(struct top *top)
{
	const struct top_place *place = &top->places[0];
	struct rates *rates = top->rates;

	if (rates->by == RATE_BY_SYSCALL || rate_by_split(rates->by))
		columns_sort_calls(rates->lines, rates->nr_lines, place);
	else
		rates_sort(rates, place->sort, place->reversed);
}

/* Sorts and filters anew. */
static int top_arrange(struct top *top)
{
	const struct rate *followed;
	size_t *shown;

	if (!top->rates)
		return 0;
	shown = calloc(top->rates->nr_lines + 1, sizeof(*shown));
	if (!shown)
		return -ENOMEM;
	free(top->shown);
	top->shown = shown;
	top->nr_shown = 0;
	free(top->depths);
	top->depths = NULL;
	top_sort(top);
	for (size_t i = 0; i < top->rates->nr_lines; i++) {
		if (top->limit && top->nr_shown == top->limit)
			break;
		if (columns_contain(&top->rates->lines[i], top->filter))
			shown[top->nr_shown++] = i;
	}
	if (top->tree && top->rates->by == RATE_BY_PID && top_make_tree(top))
		return -ENOMEM;
	followed = top->follows ? rates_find(top->rates, &top->followed) : NULL;
	for (size_t i = 0; followed && i < top->nr_shown; i++) {
		if (&top->rates->lines[shown[i]] == followed)
			top->places[0].cursor = i;
	}
	if (top->opened && top->calls)
		columns_sort_calls(top->calls, top->nr_calls, &top->places[1]);
	top_settle(top);
	return 0;
}

/* Finds whom the user opened in the new figures; keeps the old ones when it is not there. */
static int top_find_opened(struct top *top)
{
	const struct rate *found;
	struct rate *calls = NULL;
	size_t nr_calls = 0;

	if (!top->opened)
		return 0;
	found = rates_find(top->rates, &top->who);
	top->gone = !found;
	if (!found) {
		/* Its figures stay; what its pointers led to is gone with the interval. */
		top->line.process = NULL;
		top->line.thread = NULL;
		top->line.user = NULL;
		top->line.argument = NULL;
		top->line.unit = "-";
		top->line.unit_length = 1;
		return 0;
	}
	if (rates_calls(top->rates, found, &calls, &nr_calls))
		return -ENOMEM;
	free(top->calls);
	top->calls = calls;
	top->nr_calls = nr_calls;
	top->line = *found;
	return 0;
}

int top_update(struct top *top, struct rates *rates)
{
	int err = 0;

	rates_free(top->rates);
	top->rates = rates;
	top->nr_shown = 0;
	free(top->parents);
	top->parents = NULL;
	if (rates->by != top->by)
		err = rates_group(rates, top->by);
	if (!err)
		err = sparks_add(&top->sparks, rates) ?: heat_add(&top->heat, rates);
	if (!err)
		err = top_find_opened(top);
	return err ?: top_arrange(top);
}

void top_resize(struct top *top, int width, int height)
{
	top->width = width;
	top->height = height;
	top_settle(top);
}

/* --- keys ------------------------------------------------------------------------------------- */

static int key_open(struct top *top, int unused)
{
	const struct rate *line;

	(void)unused;
	if (top->opened || !top->nr_shown)
		return 0;
	if (top->by == RATE_BY_SYSCALL) {
		top->message = "This is a call already: the pane below has its errors (Tab).";
		return 0;
	}
	line = top_line(top, top->places[0].cursor);
	rate_identify(top->rates, line, &top->who);
	columns_title(top->rates, line, top->title, sizeof(top->title));
	top->follows = true;
	top->followed = top->who;
	top->opened = true;
	top->places[1].cursor = top->places[1].first = 0;
	if (top_find_opened(top))
		return -ENOMEM;
	return top_arrange(top);
}

/*
 * Goes from the calls of a line to the list, from a filter to all, from all or at once to the
 * shell.
 */
static int key_back(struct top *top, bool at_once, bool *quit)
{
	if (top->opened) {
		top->opened = false;
		top_settle(top);
	} else if (top->filter[0] && !at_once) {
		top->filter[0] = 0;
		return top_arrange(top);
	} else {
		*quit = true;
	}
	return 0;
}

static int key_sort(struct top *top, int step)
{
	enum rate_key key = columns_next_key(top, step);

	/* The order is what the user wants to see now: its head. */
	top->follows = false;
	top->places[top->opened] = (struct top_place){ .sort = key };
	return top_arrange(top);
}

static int key_reverse(struct top *top, int unused)
{
	struct top_place *place = &top->places[top->opened];

	(void)unused;
	top->follows = false;
	*place = (struct top_place){ .sort = place->sort, .reversed = !place->reversed };
	return top_arrange(top);
}

/* Shows lines of another kind; threads are known from the next interval on. */
static int top_group(struct top *top, enum rate_by by)
{
	bool has_threads = top->by == RATE_BY_TID;
	enum rate_key *sort = &top->places[0].sort;

	if (top->opened || by == top->by)
		return 0;
	if (has_threads || by == RATE_BY_TID) {
		rates_free(top->rates);
		top->rates = NULL;
		top->nr_shown = 0;
		top->paused = false;
	} else if (top->rates && rates_group(top->rates, by)) {
		return -ENOMEM;
	}
	top->by = by;
	top->follows = false;
	top->places[0].cursor = top->places[0].first = 0;
	if (!columns_have(top, *sort))
		*sort = RATE_CALLS;
	return top_arrange(top);
}

static int key_group(struct top *top, int step)
{
	const unsigned int kinds = RATE_BY_TID; /* which H is for */
	unsigned int by = top->by;

	if (by == RATE_BY_TID)
		return top_group(top, RATE_BY_PID);
	do
		by = (by + (unsigned int)step) % kinds;
	while (rate_by_split(by) && rate_by_split(by) != top->split);
	return top_group(top, by);
}

static int key_prompt(struct top *top, int prompt)
{
	if (prompt == PROMPT_FILTER && top->opened)
		return 0;
	top->prompt = (enum top_prompt)prompt;
	top->input[0] = 0;
	memcpy(top->filter_before, top->filter, sizeof(top->filter));
	if (prompt == PROMPT_FILTER)
		memcpy(top->input, top->filter, sizeof(top->input));
	top_settle(top);
	return 0;
}

/* Moves the cursor, if that is what the key does. */
static void key_move(struct top *top, int key)
{
	struct top_place *place = &top->places[top->opened];
	size_t count = top_count(top), page = top_room(top) ?: 1;
	size_t last = count ? count - 1 : 0;
	size_t at = place->cursor;

	if (key == TOP_KEY_UP || key == 'k')
		at = at ? at - 1 : 0;
	else if (key == TOP_KEY_DOWN || key == 'j')
		at = at + 1;
	else if (key == TOP_KEY_PAGE_UP)
		at = at > page ? at - page : 0;
	else if (key == TOP_KEY_PAGE_DOWN)
		at = at + page;
	else if (key == TOP_KEY_HOME)
		at = 0;
	else if (key == TOP_KEY_END)
		at = last;
	else
		return;
	place->cursor = at < last ? at : last;
	if (!top->opened && count) {
		/* At the head it stays there, to show whoever is first. */
		top->follows = place->cursor > 0;
		rate_identify(top->rates, top_line(top, place->cursor), &top->followed);
	}
}

static int press_in_prompt(struct top *top, int key)
{
	enum top_prompt prompt = top->prompt;
	size_t length = strlen(top->input);
	char *end;
	double seconds = strtod(top->input, &end);

	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESC) {
		top->prompt = PROMPT_NONE;
		if (prompt == PROMPT_DELAY && key == TOP_KEY_ENTER && length) {
			if (*end || !(seconds >= 0.1) || seconds > 3600)
				top->message = "The delay is a number of seconds from 0.1 to 3600.";
			else
				top->delay_ns = (uint64_t)llround(seconds * 1e9);
		}
		if (prompt == PROMPT_FILTER && key == TOP_KEY_ESC)
			memcpy(top->filter, top->filter_before, sizeof(top->filter));
		return top_arrange(top);
	}
	if (key == TOP_KEY_BACKSPACE && length)
		top->input[length - 1] = 0;
	else if (key >= ' ' && key < 0x7f && length + 1 < sizeof(top->input))
		top->input[length] = (char)key, top->input[length + 1] = 0;
	if (prompt == PROMPT_FILTER)
		memcpy(top->filter, top->input, sizeof(top->filter));
	return top_arrange(top);
}

static int key_pane(struct top *top, int step)
{
	top->pane = top_pane_shown(top);
	do
		top->pane = (top->pane + (unsigned int)step) % NR_TOP_PANE;
	while (!top_has_pane(top, top->pane));
	top_settle(top);
	return 0;
}

/* Shows the heat map of the chosen line, or of all; a second time the calls again. */
static int key_heat(struct top *top, int of_all)
{
	const bool is_shown = top->pane == PANE_HEAT && top->heat_of_all == of_all;

	if (top->height < TALL_HEIGHT && !top->opened) {
		top->message = "This screen is too low for it: make it 20 lines or more.";
		return 0;
	}
	top->pane = is_shown ? PANE_CALLS : PANE_HEAT;
	top->heat_of_all = of_all && !is_shown;
	top_settle(top);
	return 0;
}

/* Sorts the list by a column, where it has that. */
static int key_sort_by(struct top *top, int key)
{
	if (top->opened || !columns_have(top, (enum rate_key)key))
		return 0;
	top->follows = false;
	top->places[0] = (struct top_place){ .sort = (enum rate_key)key };
	return top_arrange(top);
}

static int key_threads(struct top *top, int unused)
{
	(void)unused;
	return top_group(top, top->by == RATE_BY_TID ? RATE_BY_PID : RATE_BY_TID);
}

static int key_tree(struct top *top, int unused)
{
	(void)unused;
	top->tree = !top->tree;
	return top_arrange(top);
}

/* Turns one of the switches on or off. */
static int key_switch(struct top *top, int offset)
{
	bool *which = (bool *)((char *)top + offset);

	*which = !*which;
	top_settle(top);
	return 0;
}

/* Who knows the key from another top is told what there is instead. */
static int key_memory(struct top *top, int unused)
{
	(void)unused;
	top->message = "Memory is not measured; P sorts by %CPU, > by another column.";
	return 0;
}

static const struct binding {
	int key;
	int (*press)(struct top *top, int how);
	int how;
} bindings[] = {
	{ TOP_KEY_ENTER, key_open, 0 },
	{ 's', key_sort, 1 },
	{ '>', key_sort, 1 },
	{ TOP_KEY_RIGHT, key_sort, 1 },
	{ '<', key_sort, -1 },
	{ TOP_KEY_LEFT, key_sort, -1 },
	{ 'I', key_reverse, 0 },
	{ 'R', key_reverse, 0 },
	{ 'P', key_sort_by, RATE_CPU },
	{ 'N', key_sort_by, RATE_PID },
	{ 'g', key_group, 1 },
	{ 'G', key_group, RATE_BY_TID - 1 },
	{ 'H', key_threads, 0 },
	{ 't', key_tree, 0 },
	{ '\t', key_pane, 1 },
	{ TOP_KEY_BACKTAB, key_pane, NR_TOP_PANE - 1 },
	{ 'l', key_heat, false },
	{ 'L', key_heat, true },
	{ '1', key_switch, offsetof(struct top, one_cpu) },
	{ 'p', key_switch, offsetof(struct top, paused) },
	{ ' ', key_switch, offsetof(struct top, paused) },
	{ 'h', key_switch, offsetof(struct top, help) },
	{ '?', key_switch, offsetof(struct top, help) },
	{ '/', key_prompt, PROMPT_FILTER },
	{ 'u', key_prompt, PROMPT_FILTER },
	{ 'M', key_memory, 0 },
	{ 'd', key_prompt, PROMPT_DELAY },
};

static int press_in_table(struct top *top, int key, bool *quit)
{
	if (key == 'q' || key == TOP_KEY_ESC)
		return key_back(top, key == 'q', quit);
	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
		if (bindings[i].key == key)
			return bindings[i].press(top, bindings[i].how);
	}
	key_move(top, key);
	top_settle(top);
	return 0;
}

int top_press(struct top *top, int key, bool *quit)
{
	top->message = NULL;
	if (key == TOP_KEY_NONE || key == TOP_KEY_RESIZE || key == TOP_KEY_CLICK)
		return 0;
	if (top->help) {
		top->help = false;
		return 0;
	}
	if (top->prompt != PROMPT_NONE)
		return press_in_prompt(top, key);
	return press_in_table(top, key, quit);
}

int top_click(struct top *top, int x, int y)
{
	struct top_place *place = &top->places[top->opened];
	size_t line = place->first + (size_t)(y - top_head_lines(top));
	struct column_place columns[MAX_COLUMNS];
	size_t nr_columns = columns_place(top, columns);

	if (top->help || top->prompt != PROMPT_NONE)
		return 0;
	for (size_t i = 0; i < nr_columns && y == top_head_lines(top) - 1; i++) {
		enum rate_key key = columns[i].column->key;

		if (x < columns[i].x || x > columns[i].x + columns[i].width || key == NR_LINE_KEY)
			continue;
		if (key == place->sort)
			return key_reverse(top, 0);
		top->follows = false;
		*place = (struct top_place){ .sort = key };
		return top_arrange(top);
	}
	if (y < top_head_lines(top) || line >= place->first + top_room(top) ||
	    line >= top_count(top))
		return 0;
	if (line == place->cursor)
		return key_open(top, 0);
	place->cursor = line;
	if (!top->opened) {
		top->follows = true;
		rate_identify(top->rates, top_line(top, line), &top->followed);
	}
	return 0;
}
