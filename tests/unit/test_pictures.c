/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Charts, flame graphs and folded stacks: golden files, well-formed XML whatever the names, nothing
 * active in charts, nothing from outside, all inside; lines that every reader splits at the same
 * places. What the script of flame graphs does is tested in tests/readers.
 */
#include "stack_scenarios.h"

#include "report/picture.h"

/* Nothing that runs or loads. */
static void passive_check(const char *text)
{
	static const char *const active[] = { "<script",        "href",   "url(",
					      "@import",        "<image", "<use",
					      "<foreignObject", "<!",     "<?" };

	for (size_t i = 0; i < ARRAY_SIZE(active); i++)
		assert_null(strstr(text, active[i]));
	/* The name of the format is the only address. */
	assert_ptr_equal(strstr(text, "http"), strstr(text, "http://www.w3.org/2000/svg"));
	assert_null(strstr(strstr(text, "http") + 4, "http"));
}

/* All x from 0 to the width, all y from 0 to the height. */
static void bounds_check(const char *text)
{
	int width, height, value;

	assert_int_equal(sscanf(strstr(text, "viewBox"), "viewBox=\"0 0 %d %d\"", &width, &height),
			 2);
	for (const char *at = text; (at = strpbrk(at, "xy")); at++) {
		if (at[-1] == ' ' && (sscanf(at + 1, "=\"%d\"", &value) == 1 ||
				      sscanf(at + 1, "%*1[12]=\"%d\"", &value) == 1))
			assert_in_range(value, 0, *at == 'x' ? width : height);
	}
}

TEST(test_sound)
{
	static const unsigned int keys[] = { 0, GROUP_PID, GROUP_COMM | GROUP_SYSCALL, GROUP_UNIT };

	scenario_for_each (i, snapshot, ABI_OF_TESTS) {
		for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
			const struct table_options options = { .keys = keys[j] };
			__cleanup(freep) char *text = render(report_chart, snapshot, &options);

			xml_check(text);
			passive_check(text);
			bounds_check(text);
		}
	}
}

/* At most 20 rows; what is left out is said. */
BUILDER_TEST(test_many_rows)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL;
	struct row row;

	for (int nr = 0; nr < 50; nr++) {
		row_init_for(&row, 1, ABI_I386, nr);
		row_add_calls(&row, 1 + (uint64_t)nr, 1ULL << (nr / 2), 0, 0);
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	text = render(report_chart, snapshot, &plain);
	xml_check(text);
	bounds_check(text);
	assert_int_equal(count_of(text, "<g>"), 20);
	assert_int_equal(count_of(text, "class=\"range\""), 20);
	assert_non_null(strstr(text, "; 30 others not shown."));
}

/* Each group has its total, as a mark and in digits, and the time that it covers. */
TEST(test_total)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL;
	struct builder *builder = builder_make();

	builder_take_calls(builder, 1, ABI_OF_TESTS, "read", 1000, MSEC, 0, 0);
	builder_take_calls(builder, 1, ABI_OF_TESTS, "write", 10, 100 * USEC, 0, 0);
	builder_take_untimed(builder, 1, ABI_OF_TESTS, "close", 3);
	snapshot = snapshot_take(builder);
	text = render(report_chart, snapshot, &plain);
	assert_int_equal(count_of(text, "<path class=\"total\""), 1 + 2);
	assert_int_equal(count_of(text, "class=\"number sum\">1.000 s</text>"), 1);
	assert_int_equal(count_of(text, "class=\"number sum\">1.00 ms</text>"), 1);
	assert_non_null(strstr(text, "Z for 2.500 s"));
	bounds_check(text);
}

/* It says whose calls they are and what a row is. */
TEST(test_chart_title)
{
	static const struct {
		const char *names[2], *title;
		unsigned int keys;
	} cases[] = {
		{ { "nginx", "nginx" },
		  "System calls of nginx (2 processes) by syscall: how many, and how long they "
		  "take",
		  0 },
		{ { "nginx", "httpd" },
		  "System calls of 2 processes by comm, syscall: how many, and how long they take",
		  GROUP_COMM | GROUP_SYSCALL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct table_options options = { .keys = cases[i].keys };
		__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
		__cleanup(freep) char *text = NULL;
		struct builder *builder = builder_make();

		for (uint32_t pid = 1; pid <= 2; pid++) {
			builder_take_process(builder, pid, cases[i].names[pid - 1], 6, SEC);
			builder_take_calls(builder, pid, ABI_OF_TESTS, "read", 1, MSEC, 0, 0);
		}
		snapshot = snapshot_take(builder);
		text = render(report_chart, snapshot, &options);
		assert_non_null(strstr(text, cases[i].title));
		bounds_check(text);
	}
}

/* Every time from 0 to the largest finds a place. */
TEST(test_extremes)
{
	static const uint64_t times[] = { 0, 1, 9, 10, 999999999, 1ULL << 42, UINT64_MAX / 4 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
		__cleanup(freep) char *text = NULL;
		struct builder *builder = builder_make();

		builder_take_calls(builder, 1, ABI_OF_TESTS, "read", 1, times[i], 0, 0);
		builder_take_calls(builder, 1, ABI_OF_TESTS, "read", 1, times[0], 0, 0);
		builder_take_untimed(builder, 1, ABI_OF_TESTS, "write", UINT64_MAX / 2);
		snapshot = snapshot_take(builder);
		text = render(report_chart, snapshot, &plain);
		xml_check(text);
		bounds_check(text);
	}
}

/* --- flame graphs -------------------------------------------------------------------------------- */

static const struct stack_options by_calls = { .weight = STACK_WEIGHT_CALLS };
static const struct flame_bounds whole = { UINT64_MAX, FLAME_BOXES };
static const struct flame_bounds drawn = { 1180, FLAME_BOXES };

static char *flame_render(const struct snapshot *snapshot, enum stack_weight weight,
			  const char *name)
{
	const struct stack_options options = { .weight = weight };
	char *text = render(report_flame, snapshot, &options);
	char file[64];

	snprintf(file, sizeof(file), "%s.svg", name);
	sample_write(file, text, strlen(text));
	return text;
}

/* Returns a picture without style and script, which are files of their own. */
static char *picture_of(const char *text)
{
	const char *head_end = strstr(text, "<style>"), *body = strstr(text, "</style>");
	const char *body_end = strstr(text, "<script>");
	char *picture;

	assert_all(head_end && body && body_end && body < body_end,
		   asprintf(&picture, "%.*s<style>%.*s</svg>\n", (int)(head_end - text), text,
			    (int)(body_end - body), body) > 0);
	return picture;
}

static void flame_check(const struct snapshot *snapshot, enum stack_weight weight, const char *name)
{
	__cleanup(freep) char *text = flame_render(snapshot, weight, name);
	__cleanup(freep) char *picture = picture_of(text);

	golden_check(name, picture);
	xml_check(picture);
}

STACKS_TEST(test_golden, scenario_stacks())
{
	__cleanup(stacked_done) struct stacked empty = scenario_stacks_empty();

	flame_check(snapshot, STACK_WEIGHT_CALLS, "flame_calls");
	flame_check(snapshot, STACK_WEIGHT_TIME, "flame_time");
	flame_check(empty.snapshot, STACK_WEIGHT_CALLS, "flame_empty");
	assert_full(report_flame, snapshot, &by_calls);
}

/* CPU time and errors say what they are, in the head and in each tooltip. */
STACKS_TEST(test_weights, scenario_stacks())
{
	const struct row all = snapshot_sum(snapshot);
	__cleanup(freep) char *cpu = flame_render(snapshot, STACK_WEIGHT_CPU, "flame_cpu");
	__cleanup(freep) char *errors = flame_render(snapshot, STACK_WEIGHT_ERRORS, "flame_errors");
	char text[96];

	snprintf(text, sizeof(text), "%" PRIu64 " errors in %" PRIu64 " calls", all.errors,
		 all.calls);
	assert_int_equal(count_of(errors, text), 1);
	assert_int_equal(count_of(cpu, " of CPU time in "), 1 + count_of(cpu, "<g class=\"box "));
	assert_non_null(strstr(cpu, "by CPU time in them"));
}

/* A page has style and script once: a part of one is the same picture without. */
STACKS_TEST(test_part, scenario_stacks())
{
	static const struct stack_options by_time = { .weight = STACK_WEIGHT_TIME };
	__cleanup(freep) char *text = render(report_flame, snapshot, &by_time);
	__cleanup(freep) char *part = render(flame_write_part, snapshot, &by_time);
	const char *style = strstr(text, "<style>"), *script = strstr(text, "<script>");
	const char *style_end = strstr(text, "</style>\n") + strlen("</style>\n");

	assert_memory_equal(part, text, (size_t)(style - text));
	assert_memory_equal(part + (style - text), style_end, (size_t)(script - style_end));
	assert_string_equal(part + (style - text) + (script - style_end), "</svg>\n");
}

/* Nothing that a program chose gets into the script or out of its text. */
STACKS_TEST(test_hostile, scenario_stacks_hostile())
{
	__cleanup(stacked_done) struct stacked empty = scenario_stacks_empty();
	__cleanup(freep) char *text = NULL, *other = NULL;

	flame_check(snapshot, STACK_WEIGHT_CALLS, "flame_hostile");
	text = render(report_flame, snapshot, &by_calls);
	other = render(report_flame, empty.snapshot, &by_calls);
	assert_int_equal(count_of(text, "<script"), 1);
	assert_int_equal(count_of(text, "]]>"), 1);
	assert_string_equal(strstr(text, "<script"), strstr(other, "<script"));
}

/* Nothing is loaded; the names of two formats are the only addresses. */
STACKS_TEST(test_self_contained, scenario_stacks())
{
	static const char *const loading[] = { "href", "src=",   "url(",     "@import", "<image",
					       "<use", "fetch(", "import(",  "XMLHttp", "eval(",
					       "<?",   "<!--",   "innerHTML" };
	__cleanup(freep) char *text = render(report_flame, snapshot, &by_calls);

	for (size_t i = 0; i < ARRAY_SIZE(loading); i++)
		assert_null(strstr(text, loading[i]));
	assert_int_equal(count_of(text, "://"), 3);
	assert_int_equal(count_of(text, "http://www.w3.org/2000/svg"), 2);
	assert_int_equal(count_of(text, "http://www.w3.org/1999/xhtml"), 1);
}

/* --- the layout ------------------------------------------------------------------------------- */

/* Each box within the last one of the level above, and right of the last one of its own. */
static void boxes_check(const struct flame *flame)
{
	uint64_t ends[256] = { 0 }, outer_end[256] = { 0 };

	for (size_t i = 0; i < flame->nr_boxes; i++) {
		const struct flame_box *box = &flame->boxes[i];
		uint64_t end = box->start + box->weight;

		assert_true(box->depth < flame->depth && box->depth < ARRAY_SIZE(ends));
		assert_int_equal(box->depth == 0, i == 0);
		assert_true(box->start >= ends[box->depth]);
		if (box->depth)
			assert_true(end <= outer_end[box->depth - 1]);
		ends[box->depth] = end;
		outer_end[box->depth] = end;
		for (size_t deeper = box->depth + 1; deeper < ARRAY_SIZE(ends); deeper++)
			ends[deeper] = box->start;
	}
}

static uint64_t kind_sum(const struct flame *flame, enum box_kind kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < flame->nr_boxes; i++)
		sum += flame->boxes[i].kind == kind ? flame->boxes[i].weight : 0;
	return sum;
}

/* Processes at the top and system calls at the bottom each have all. */
TEST(test_sums)
{
	struct stacked (*const scenarios[])(void) = { scenario_stacks, scenario_stacks_many,
						      scenario_stacks_hostile,
						      scenario_stacks_empty };

	for (size_t i = 0; i < ARRAY_SIZE(scenarios) * NR_STACK_WEIGHT; i++) {
		enum stack_weight weight = (enum stack_weight)(i % NR_STACK_WEIGHT);
		const struct stack_options options = { .weight = weight };
		__cleanup(stacked_done) struct stacked stacked = scenarios[i / NR_STACK_WEIGHT]();
		__cleanup(flame_done) struct flame flame = { .boxes = NULL };
		const struct row all = snapshot_sum(stacked.snapshot);
		const uint64_t sums[NR_STACK_WEIGHT] = {
			[STACK_WEIGHT_CALLS] = all.calls,
			[STACK_WEIGHT_TIME] = all.wall_ns,
			[STACK_WEIGHT_CPU] = row_cpu_ns(&all),
			[STACK_WEIGHT_ERRORS] = all.errors,
		};
		uint64_t sum = sums[weight];

		assert_int_equal(flame_make(stacked.snapshot, NULL, &options, whole, &flame), 0);
		boxes_check(&flame);
		assert_int_equal(flame.boxes[0].weight, sum);
		assert_int_equal(kind_sum(&flame, BOX_COMM), sum);
		assert_int_equal(kind_sum(&flame, BOX_SYSCALL), sum);
	}
}

/* A box that is too narrow is left out, and still counted above. */
STACKS_TEST(test_narrow, scenario_stacks_many())
{
	__cleanup(flame_done) struct flame all = { .boxes = NULL }, wide = { .boxes = NULL };

	assert_int_equal(flame_make(snapshot, NULL, &by_calls, whole, &all), 0);
	assert_int_equal(flame_make(snapshot, NULL, &by_calls,
				    (struct flame_bounds){ 50, FLAME_BOXES }, &wide),
			 0);
	boxes_check(&wide);
	assert_true(wide.nr_boxes < all.nr_boxes);
	assert_int_equal(wide.boxes[0].weight, all.boxes[0].weight);
	assert_int_equal(kind_sum(&wide, BOX_COMM), all.boxes[0].weight);
	assert_true(kind_sum(&wide, BOX_SYSCALL) < all.boxes[0].weight);
	for (size_t i = 0; i < wide.nr_boxes; i++)
		assert_true(wide.boxes[i].weight >= wide.boxes[0].weight / 50);
}

/* Makes towers side by side, of so many frames, the first ones with more calls. */
static struct stacked towers_make(size_t count, size_t nr_frames)
{
	__cleanup(freep) struct stack_frame *frames = calloc(nr_frames, sizeof(*frames));
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	char name[32];
	struct row row;

	assert_non_null(frames);
	row_init_named(&row, 1, ABI_OF_TESTS, "read");
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "tower_%zu", i);
		for (size_t j = 0; j < nr_frames; j++)
			frames[j] = (struct stack_frame)FRAME("python3", name, 1);
		stack_take(table, 1 + i, STACK_COMPLETE, frames, nr_frames);
		row_add_calls_of(&row, 1 + i, i < 10 ? 100 : 1, 64, 0, 0);
	}
	builder_take_process(builder, 1, "python3", 7, 0);
	builder_take_row(builder, &row);
	return stacked_take(table, builder);
}

/* The root is on top, however deep the picture is; its boxes come one below the other. */
STACKS_TEST(test_deep, towers_make(1, 1000))
{
	__cleanup(freep) char *text = flame_render(snapshot, STACK_WEIGHT_CALLS, "flame_deep");
	const char *at = strstr(text, "<g class=\"boxes\" transform=\"translate(0 ");
	int top, y, last = -1, count = 0;

	assert_int_equal(sscanf(at, "<g class=\"boxes\" transform=\"translate(0 %d", &top), 1);
	assert_in_range(top, 0, 200);
	for (; (at = strstr(at, "<rect x=")); at++) {
		assert_int_equal(sscanf(at, "<rect x=\"%*f\" y=\"%d\"", &y), 1);
		assert_int_equal(y, last + 1 + (count ? 17 : 0));
		last = y;
		count++;
	}
	assert_int_equal(count, 1003);
	assert_null(strstr(text, "not drawn"));
}

/* Boxes that are left out are counted; the picture stays small, and shows the widest boxes. */
static void left_out_check(struct stacked stacked, size_t all, const char *note)
{
	__cleanup(flame_done) struct flame flame = { .boxes = NULL };
	__cleanup(freep) char *text = render(report_flame, stacked.snapshot, &by_calls);

	assert_int_equal(flame_make(stacked.snapshot, NULL, &by_calls, drawn, &flame), 0);
	assert_in_range(flame.nr_boxes, 1, FLAME_BOXES);
	assert_int_equal(flame.nr_boxes + flame.nr_left_out, all);
	assert_true(strlen(text) < 4 << 20);
	if (!strstr(text, note))
		fail_msg("no \"%s\" in: %.1500s", note, strstr(text, "class=\"note\""));
	stacked_done(&stacked);
}

TEST(test_left_out)
{
	/* Most towers have one of 2,990 calls, .4 pixels; ten have more. */
	left_out_check(towers_make(2000, 20), 2 + 2000 * 21,
		       "41790 frames narrower than a pixel are not drawn");
	/* Each could be drawn, but all together are too many. */
	left_out_check(towers_make(120, 100), 2 + 120 * 101,
		       "11110 frames narrower than 2 pixels are not drawn");
	left_out_check(towers_make(1, FLAME_LEVELS + 9), FLAME_LEVELS + 1,
		       "1 frame narrower than a pixel or below level 2000 is not drawn");
}

/* Where many towers are equally wide, the deepest levels go, and not all of them. */
STACKS_TEST(test_too_many_boxes, towers_make(10, 200))
{
	const struct flame_bounds few = { 1180, FLAME_PAGE_BOXES };
	__cleanup(flame_done) struct flame flame = { .boxes = NULL };
	uint64_t deepest = 0;

	assert_int_equal(flame_make(snapshot, NULL, &by_calls, few, &flame), 0);
	boxes_check(&flame);
	assert_in_range(flame.nr_boxes, FLAME_PAGE_BOXES * 3 / 4, FLAME_PAGE_BOXES);
	assert_int_equal(flame.nr_boxes + flame.nr_left_out, 2 + 10 * 201);
	assert_true(flame.too_deep);
	for (size_t i = 0; i < flame.nr_boxes; i++)
		deepest = max_u64(deepest, flame.boxes[i].depth);
	assert_int_equal(deepest + 1, flame.levels);
	assert_int_equal(deepest + 1, flame.depth);
}

/* The largest modules get the colours, as many as there are. */
STACKS_TEST(test_modules, scenario_stacks_many())
{
	__cleanup(flame_done) struct flame flame = { .boxes = NULL };
	size_t others = 0;

	assert_int_equal(flame_make(snapshot, NULL, &by_calls, whole, &flame), 0);
	assert_int_equal(flame.nr_modules, FLAME_MODULES);
	for (size_t i = 0; i < flame.nr_boxes; i++) {
		const struct flame_box *box = &flame.boxes[i];
		size_t module = box->kind == BOX_USER ? box->module : 0;

		others += module == FLAME_MODULES;
		if (box->kind == BOX_USER && module < FLAME_MODULES)
			assert_string_equal(flame.modules[module], frame_module(box->frame));
	}
	assert_true(others > 0);
}

/* A picture of many stacks, for the readers; well-formed, too. */
STACKS_TEST(test_many, scenario_stacks_many())
{
	__cleanup(freep) char *calls =
		flame_render(snapshot, STACK_WEIGHT_CALLS, "flame_many_calls");
	__cleanup(freep) char *time = flame_render(snapshot, STACK_WEIGHT_TIME, "flame_many_time");
	__cleanup(freep) char *picture = picture_of(calls);

	xml_check(picture);
	assert_string_not_equal(calls, time);
}

/* --- folded stacks ------------------------------------------------------------------------------- */

STACKS_TEST(test_folded, scenario_stacks())
{
	__cleanup(freep) char *calls = render(report_folded, snapshot, STACK_WEIGHT_CALLS);
	__cleanup(stacked_done) struct stacked stacked = scenario_stacks_empty();
	__cleanup(freep) char *text = render(report_folded, stacked.snapshot, STACK_WEIGHT_CALLS);

	sample_write("stacks.folded", calls, strlen(calls));
	golden_check("folded_calls", calls);
	golden_render("folded_time", report_folded, snapshot, STACK_WEIGHT_TIME);
	assert_full(report_folded, snapshot, STACK_WEIGHT_CALLS);
	assert_string_equal(text, "");
}

/* Reads a line back as tools do: the number behind the last blank. Returns the line's end. */
static const char *line_read(const char *line, uint64_t *sum)
{
	const char *end = strchr(line, '\n'), *blank = memchr(line, ' ', (size_t)(end - line));
	uint64_t count;
	int length;

	assert_non_null(blank);
	assert_int_equal(sscanf(blank, " %" SCNu64 "%n", &count, &length), 1);
	assert_ptr_equal(blank + length, end);
	assert_true(count > 0);
	/* No name is empty. */
	assert_int_not_equal(*line, ';');
	for (const char *at = line; at < blank; at++)
		assert_true((unsigned char)*at > ' ' &&
			    (*at != ';' || (at[1] != ';' && at[1] != ' ')));
	*sum += count;
	return end + 1;
}

static uint64_t folded_sum(const struct snapshot *snapshot, enum stack_weight weight)
{
	__cleanup(freep) char *text = render(report_folded, snapshot, weight);
	uint64_t sum = 0;

	for (const char *line = text; *line;)
		line = line_read(line, &sum);
	return sum;
}

static void sums_check(const struct snapshot *snapshot)
{
	const struct row sum = snapshot_sum(snapshot);

	assert_int_equal(folded_sum(snapshot, STACK_WEIGHT_CALLS), sum.calls);
	assert_int_equal(folded_sum(snapshot, STACK_WEIGHT_TIME), sum.wall_ns);
}

STACKS_TEST(test_folded_sums, scenario_stacks())
{
	sums_check(snapshot);
	/* Without any stack all calls are of others. */
	snapshot->stacks = NULL;
	sums_check(snapshot);
}

STACKS_TEST(test_folded_hostile, scenario_stacks_hostile())
{
	__cleanup(freep) char *text = render(report_folded, snapshot, STACK_WEIGHT_CALLS);

	sums_check(snapshot);
	sample_write("hostile.folded", text, strlen(text));
	golden_check("folded_hostile", text);
	/* Blanks beyond ASCII. */
	assert_all(!strstr(text, "\xc2\xa0"), !strstr(text, "\xe3\x80\x80"),
		   strstr(text, "nb_sp_x_y"));
}
