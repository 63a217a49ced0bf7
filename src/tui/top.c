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

int top_head_lines(const struct top *top)
{
	/* Title, totals, trust; whose calls; heads of the columns. */
	return (top_is_roomy(top) ? 3 + top->opened : 1) + 1;
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
	int taken = top_head_lines(top) + top_foot_lines(top);

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
	rates_sort(top->rates, top->places[0].sort);
	for (size_t i = 0; i < top->rates->nr_lines; i++) {
		if (top->limit && top->nr_shown == top->limit)
			break;
		if (columns_contain(&top->rates->lines[i], top->filter))
			shown[top->nr_shown++] = i;
	}
	followed = top->follows ? rates_find(top->rates, &top->followed) : NULL;
	for (size_t i = 0; followed && i < top->nr_shown; i++) {
		if (&top->rates->lines[shown[i]] == followed)
			top->places[0].cursor = i;
	}
	if (top->opened && top->calls)
		columns_sort_calls(top->calls, top->nr_calls, top->places[1].sort);
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
	if (found && rates_calls(top->rates, found, &calls, &nr_calls))
		return -ENOMEM;
	free(top->calls);
	top->calls = calls;
	top->nr_calls = nr_calls;
	if (found)
		top->line = *found;
	else /* What its pointers led to is gone with the interval. */
		top->line = (struct rate){ .pid = top->line.pid, .unit = "-", .unit_length = 1 };
	return 0;
}

int top_update(struct top *top, struct rates *rates)
{
	int err = 0;

	rates_free(top->rates);
	top->rates = rates;
	top->nr_shown = 0;
	if (rates->by != top->by)
		err = rates_group(rates, top->by);
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

static int key_open(struct top *top)
{
	const struct rate *line;

	if (top->opened || !top->nr_shown)
		return 0;
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

static int key_group(struct top *top)
{
	enum rate_by by = (top->by + 1) % NR_RATE_BY;

	if (top->opened)
		return 0;
	if (top->rates && rates_group(top->rates, by))
		return -ENOMEM;
	top->by = by;
	top->follows = false;
	top->places[0].cursor = top->places[0].first = 0;
	return top_arrange(top);
}

static void key_prompt(struct top *top, enum top_prompt prompt)
{
	if (prompt == PROMPT_FILTER && top->opened)
		return;
	top->prompt = prompt;
	top->input[0] = 0;
	memcpy(top->filter_before, top->filter, sizeof(top->filter));
	if (prompt == PROMPT_FILTER)
		memcpy(top->input, top->filter, sizeof(top->input));
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

static int press_in_table(struct top *top, int key, bool *quit)
{
	switch (key) {
	case 'q':
		return key_back(top, true, quit);
	case TOP_KEY_ESC:
		return key_back(top, false, quit);
	case TOP_KEY_ENTER:
		return key_open(top);
	case 's':
	case '>':
	case TOP_KEY_RIGHT:
		return key_sort(top, 1);
	case '<':
	case TOP_KEY_LEFT:
		return key_sort(top, -1);
	case 'g':
		return key_group(top);
	case 'p':
	case ' ':
		top->paused = !top->paused;
		return 0;
	case 'h':
	case '?':
		top->help = true;
		return 0;
	case '/':
		key_prompt(top, PROMPT_FILTER);
		break;
	case 'd':
		key_prompt(top, PROMPT_DELAY);
		break;
	default:
		key_move(top, key);
	}
	top_settle(top);
	return 0;
}

int top_press(struct top *top, int key, bool *quit)
{
	top->message = NULL;
	if (key == TOP_KEY_NONE || key == TOP_KEY_RESIZE)
		return 0;
	if (top->help) {
		top->help = false;
		return 0;
	}
	if (top->prompt != PROMPT_NONE)
		return press_in_prompt(top, key);
	return press_in_table(top, key, quit);
}
