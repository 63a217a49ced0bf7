/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes what the history reads of a file that may be damaged. The first byte of an input chooses:
 * a histogram, errnos, or a whole file, which must open, answer and take another interval.
 */
#include <fcntl.h>

#include "store/sum.h"
#include "store/history.h"
#include "fuzz.h"

/* A histogram that was read is written the same way, or in fewer bytes. */
static void fuzz_histogram(const uint8_t *data, size_t size)
{
	struct blob blob __cleanup(blob_done) = { 0 };
	struct hist hist __cleanup(hist_done) = { 0 };

	if (blob_to_hist(data, size, &hist))
		return;
	require(!blob_from_hist(&blob, &hist));
	require(blob.size <= size);
}

static void fuzz_errnos(const uint8_t *data, size_t size)
{
	struct blob blob __cleanup(blob_done) = { 0 };
	__cleanup(row_done) struct row row;

	row_init(&row);
	if (!blob_to_errnos(data, size, &row)) {
		require(!blob_from_errnos(&blob, row.errnos, row.nr_errnos));
		require(blob.size <= size);
	}
}

static void write_file(const char *dir, const uint8_t *data, size_t size)
{
	char path[128];
	int fd __cleanup(closep) = -1;

	snprintf(path, sizeof(path), "%s/history.db", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
}

static void append_one(struct history *history)
{
	const struct snapshot description = { .elapsed_ns = 1, .end_mono_ns = INT64_MAX };
	struct snapshot *interval __cleanup(snapshot_freep) = NULL;
	struct diag d;

	require(!snapshot_new_like(&description, &interval));
	history_append(history, interval, &d);
}

static void fuzz_file(const uint8_t *data, size_t size)
{
	const struct history_options options = { 0 };
	const struct history_question question = { 0 };
	char dir[] = "/dev/shm/bpftruss-fuzz-XXXXXX", command[64];
	struct history *history = NULL;
	struct timeline timeline;
	struct diag d;

	require(mkdtemp(dir));
	write_file(dir, data, size);
	if (!history_open(dir, &options, &history, &d)) {
		if (!history_ask(history, &question, &timeline, &d))
			timeline_done(&timeline);
		append_one(history);
		history_close(history);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	require(!system(command));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(const uint8_t *data, size_t size) = {
		fuzz_histogram,
		fuzz_errnos,
		fuzz_file,
	};

	if (size)
		parsers[data[0] % ARRAY_SIZE(parsers)](data + 1, size - 1);
	return 0;
}
