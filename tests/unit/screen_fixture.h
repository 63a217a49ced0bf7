/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of `bpftruss top`: a top with an interval, keys, and what is on the screen. */
#pragma once

#include "scenarios.h"

#include "report/report.h"
#include "tui/screen.h"
#include "tui/top.h"

#define BEFORE (5000 * SEC)

/* A process of threads that live for the whole interval, of 2 s. Some of its time is in no call. */
static inline void take_process(struct builder *builder, uint32_t pid, const char *comm,
				size_t length, uint64_t threads, uint64_t user_ns)
{
	struct process process = process_make(pid, comm, length);
	uint64_t whole_ns = 2 * SEC * threads;

	process.threads = threads;
	process.uid = pid == 300 ? 33 : 0;
	process.cgroup_id = pid < 400 ? 1 : 2;
	process.user_ns = user_ns;
	process.usage = (struct usage){
		.threads_ns = whole_ns,
		.cpu_ns = user_ns + user_ns / 4 < whole_ns ? user_ns + user_ns / 4 : whole_ns,
		.runq_ns = user_ns / 8,
		.minor_faults = threads * 100,
		.voluntary_switches = threads * 50,
		.involuntary_switches = threads * 5,
	};
	assert_int_equal(builder_add_process(builder, &process, false), 0);
}

static inline void take_row(struct builder *builder, uint32_t pid, const char *name, uint64_t count,
			    uint64_t wall_ns, uint64_t off_ns, uint64_t errors)
{
	builder_take_calls(builder, pid, ABI_OF_TESTS, name, count, wall_ns, off_ns, off_ns / 10);
	builder_take_errors(builder, pid, ABI_OF_TESTS, name, ENOENT, errors);
}

/* A call that began long before the interval, all of which it was slept in. */
static inline void take_early(struct builder *builder, uint32_t pid, const char *name)
{
	struct row row;

	row_init_named(&row, pid, ABI_OF_TESTS, name);
	row.in_flight = row.in_flight_early = 1;
	row.oldest_start_ns = BEFORE - 3700 * SEC;
	row.open_wall_ns = row.open_off_ns = 2 * SEC;
	builder_take_row(builder, &row);
}

static inline struct snapshot *reading(struct builder *builder, uint64_t at_ns)
{
	struct snapshot *snapshot = snapshot_take(builder);

	snapshot->end_mono_ns = BEFORE + at_ns;
	snapshot->elapsed_ns = 3725 * SEC + at_ns;
	names_add(&snapshot->users, &snapshot->nr_users, 0, "root");
	names_add(&snapshot->users, &snapshot->nr_users, 33, "www-data");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 1, "/system.slice/nginx.service");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 2, "/init.scope/\033[2J");
	return snapshot;
}

/* Four processes, one that writes escapes to terminals, and calls that found no room. */
static inline struct rates *rates_ordinary(bool one_has_ended)
{
	static const char hostile[] = "\033]0;x\a\n\xff\xc2\x9b"
				      "31m";
	struct builder *before = builder_make(), *after = builder_make();
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL;
	struct rates *rates;

	take_process(after, 300, "nginx", 5, 4, 500 * MSEC);
	take_row(after, 300, "read", 20000, 30 * USEC, 20 * USEC, 150);
	take_row(after, 300, "clock_nanosleep", 10, 100 * MSEC, 100 * MSEC, 0);
	take_row(after, 300, "futex", 4, 100 * MSEC, 100 * MSEC, 0);
	take_process(after, 400, hostile, sizeof(hostile) - 1, 1, 2 * SEC - 1);
	take_row(after, 400, "getppid", 3, 120, 0, 0);
	take_process(after, 4194304, "sixteen-byte-nam", 15, 1, 0);
	take_early(after, 4194304, "epoll_pwait");
	if (!one_has_ended) {
		take_process(after, 17, "sleep", 5, 1, 0);
		take_row(after, 17, "exit_group", 1, USEC, 0, 0);
		take_early(after, 17, "read");
	}
	builder_take_untimed(after, 0, ABI_OF_TESTS, "read", 7);
	earlier = reading(before, 0);
	later = reading(after, 2 * SEC);
	later->losses.count[LOSS_SLOT_TABLE_FULL] = 7;
	assert_int_equal(rates_new(earlier, later, RATE_BY_PID, &rates), 0);
	return rates;
}

/* Takes the same interval again, so often. */
static inline void top_go_on(struct top *top, int times)
{
	while (times--)
		assert_int_equal(top_update(top, rates_ordinary(false)), 0);
}

static inline void top_make(struct top *top, int width, int height)
{
	top_init(top, SEC);
	assert_int_equal(top_update(top, rates_ordinary(false)), 0);
	top_resize(top, width, height);
}

#define TOP_TEST(name, width, height) \
	TEST_OF(name, struct top, top, top_done, top_make, width, height)

/* Presses keys, a character each; upper case ones are special. */
static inline bool press(struct top *top, const char *keys)
{
	bool quit = false;

	for (; *keys; keys++) {
		int key = *keys == 'U'   ? TOP_KEY_UP
			  : *keys == 'D' ? TOP_KEY_DOWN
			  : *keys == 'E' ? TOP_KEY_ENTER
			  : *keys == 'X' ? TOP_KEY_ESC
			  : *keys == 'B' ? TOP_KEY_BACKSPACE
			  : *keys == 'Z' ? TOP_KEY_END
			  : *keys == 'A' ? TOP_KEY_HOME
			  : *keys == 'N' ? TOP_KEY_PAGE_DOWN
			  : *keys == 'P' ? TOP_KEY_PAGE_UP
					 : *keys;

		assert_int_equal(top_press(top, key, &quit), 0);
	}
	return quit;
}

/* Checks members of the frame after these keys. */
#define pressed(top, keys, ...)               \
	do {                                  \
		press(top, keys);             \
		assert_has(top, __VA_ARGS__); \
	} while (0)

/* The text, and behind each line the style of its first cell. */
static inline char *screen_text(const struct top *top)
{
	static const char styles[NR_CELL_STYLE + 1] = " .*_^>!usrlzh";
	struct text_stream stream;
	FILE *out = text_open(&stream);
	struct screen screen;

	assert_int_equal(screen_draw(top, &screen), 0);
	for (int y = 0; y < screen.height; y++) {
		for (int x = 0; x < screen.width; x++) {
			char c = screen.cells[y * screen.width + x].c;

			assert_in_range(c, 1, '~');
			assert_true(c <= SPARK_LEVELS || c >= ' ');
			fputc(c <= SPARK_LEVELS ? '0' + c : c, out);
		}
		fprintf(out, "|%c\n",
			screen.width ? styles[screen.cells[y * screen.width].style] : ' ');
	}
	screen_done(&screen);
	return text_close(&stream);
}

static inline void check(const struct top *top, const char *name)
{
	__cleanup(freep) char *text = screen_text(top);

	golden_check(name, text);
}
