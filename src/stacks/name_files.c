/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the queue of files. Invariant: a file that wants something is in the queue or busy. What has
 * failed is tried again, the more seldom the more often it has failed, and never given up for good.
 */
#include "stacks/name_files.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* At a time: what a worker says about so many is taken without keeping anybody waiting. */
#define MAX_BATCH 4096

/* A failed file is tried again after 4, 16, 64, 256 s, and then every 10 minutes. */
#define FIRST_RETRY_NS (4 * NS_PER_SEC)
#define LAST_RETRY_NS  (600 * NS_PER_SEC)
#define MAX_RETRY_STEP 4

/* An unknown moment is soon. */
#define DELAY_NS   (NS_PER_SEC / 2)
#define MAX_DELAYS 20

struct name_files {
	struct name_places *places;
	void *files; /* tree of struct name_file */
	struct name_file **queue;
	size_t nr_queue, capacity;
	uint64_t since_ns;
	uint64_t turn;
};

static int compare_files(const void *a, const void *b)
{
	const struct name_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

int name_files_new(struct name_places *places, struct name_files **ret)
{
	struct name_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->places = places;
	*ret = files;
	return 0;
}

static void file_free(void *node)
{
	struct name_file *file = node;

	closep(&file->fetched);
	free(file->wanted.places);
	free(file);
}

void name_files_free(struct name_files *files)
{
	if (!files)
		return;
	tdestroy(files->files, file_free);
	free(files->queue);
	free(files);
}

struct name_file *name_files_get(struct name_files *files, uint32_t number)
{
	const struct name_file like = { .number = number };
	struct name_file *const *found = tfind(&like, &files->files, compare_files);
	struct name_file *file = found ? *found : calloc(1, sizeof(*file));

	if (found || !file)
		return file;
	file->number = number;
	file->fetched = -1;
	if (tsearch(file, &files->files, compare_files))
		return file;
	free(file);
	return NULL;
}

/* Of several users it is the one's whose turn is next: nobody makes others wait by having their files. */
static bool user_goes_before(const struct name_user *a, const struct name_user *b)
{
	return a->running != b->running ? a->running < b->running : a->turn < b->turn;
}

void name_file_met(struct name_file *file, const struct process_id *process, struct name_user *user)
{
	if (!file->user || !file->wanted.nr || file->is_lost || user == file->user ||
	    user_goes_before(user, file->user)) {
		file->process = *process;
		file->user = user;
	}
	if (!file->is_lost)
		return;
	file->is_lost = false;
	file->failures = 0;
	file->retry_ns = 0;
}

static bool file_is_barren(const struct name_file *file)
{
	return file->is_barren && clock_mono_ns() < file->retry_ns;
}

bool name_file_may_tell(const struct name_file *file)
{
	return !file_is_barren(file) && clock_mono_ns() >= file->more_ns;
}

/* --- the queue -------------------------------------------------------------------------------- */

static int queue_add(struct name_files *files, struct name_file *file)
{
	if (file->is_queued || file->is_busy || !file->wanted.nr)
		return 0;
	if (files->nr_queue == files->capacity) {
		size_t capacity = 2 * files->capacity + 16;
		struct name_file **grown = reallocarray(files->queue, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		files->queue = grown;
		files->capacity = capacity;
	}
	if (!files->nr_queue)
		files->since_ns = clock_mono_ns();
	files->queue[files->nr_queue++] = file;
	file->is_queued = true;
	return 0;
}

void name_files_want(struct name_files *files, struct name_file *file, struct name_place *place)
{
	if (file_is_barren(file))
		name_places_settle_one(files->places, place, file->is_barren_oddly);
	else if (place_list_add(&file->wanted, place))
		name_places_settle_one(files->places, place, true);
	else if (queue_add(files, file))
		name_places_settle(files->places, &file->wanted, true);
}

static size_t queue_choose(const struct name_files *files, unsigned int max_running)
{
	uint64_t now_ns = clock_mono_ns();
	size_t best = files->nr_queue;

	for (size_t i = 0; i < files->nr_queue; i++) {
		const struct name_file *file = files->queue[i];

		if (file->retry_ns > now_ns || file->user->running >= max_running)
			continue;
		if (best == files->nr_queue ||
		    user_goes_before(file->user, files->queue[best]->user))
			best = i;
	}
	return best;
}

/* The first of what is wanted. Without memory for a batch the rest has no names. */
static void batch_take(struct name_files *files, struct name_file *file, struct place_list *batch)
{
	*batch = file->wanted;
	file->wanted = (struct place_list){ 0 };
	if (batch->nr <= MAX_BATCH)
		return;
	for (size_t i = MAX_BATCH; i < batch->nr; i++) {
		if (place_list_add(&file->wanted, batch->places[i]))
			name_places_settle_one(files->places, batch->places[i], true);
	}
	batch->nr = MAX_BATCH;
}

struct name_file *name_files_take(struct name_files *files, unsigned int max_running,
				  struct place_list *batch)
{
	size_t at = queue_choose(files, max_running);
	struct name_file *file;

	if (at == files->nr_queue)
		return NULL;
	file = files->queue[at];
	memmove(&files->queue[at], &files->queue[at + 1],
		(--files->nr_queue - at) * sizeof(*files->queue));
	file->is_queued = false;
	file->is_busy = true;
	file->user->turn = ++files->turn;
	batch_take(files, file, batch);
	return file;
}

/* --- what becomes of it ----------------------------------------------------------------------- */

uint64_t retry_at_ns(unsigned int failures)
{
	uint64_t pause_ns = LAST_RETRY_NS;

	if (failures && failures <= MAX_RETRY_STEP)
		pause_ns = FIRST_RETRY_NS << 2 * (failures - 1);
	return clock_mono_ns() + pause_ns;
}

static void file_give_back(struct name_files *files, struct name_file *file)
{
	file->is_busy = false;
	if (queue_add(files, file))
		name_places_settle(files->places, &file->wanted, true);
}

void name_files_done(struct name_files *files, struct name_file *file)
{
	file->failures = file->delays = 0;
	file->is_barren = false;
	file_give_back(files, file);
}

static void batch_put_back(struct name_files *files, struct name_file *file,
			   struct place_list *batch)
{
	for (size_t i = 0; i < batch->nr; i++) {
		if (place_list_add(&file->wanted, batch->places[i]))
			name_places_settle_one(files->places, batch->places[i], true);
	}
	free(batch->places);
	*batch = (struct place_list){ 0 };
}

void name_files_delayed(struct name_files *files, struct name_file *file, struct place_list *batch,
			uint64_t until_ns)
{
	batch_put_back(files, file, batch);
	file->retry_ns = until_ns;
	file_give_back(files, file);
}

/* Whether a file that could not be read is what it is. Who writes to it later makes another one of it. */
static bool failure_lasts(int err)
{
	static const int lasting[] = { -EBADMSG, -E2BIG, -EINVAL, -EFBIG, -ENOTSUP, -ENOSYS };

	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++) {
		if (err == lasting[i])
			return true;
	}
	return false;
}

void name_files_failed(struct name_files *files, struct name_file *file, struct place_list *batch,
		       int err)
{
	if (err == -EAGAIN && ++file->delays < MAX_DELAYS) {
		name_files_delayed(files, file, batch, clock_mono_ns() + DELAY_NS);
		return;
	}
	file->failures++;
	file->is_lost = err == -ESRCH;
	file->retry_ns = retry_at_ns(file->failures);
	file->is_barren = failure_lasts(err);
	file->is_barren_oddly = err != -EBADMSG;
	if (file->is_barren) {
		file->retry_ns = retry_at_ns(MAX_RETRY_STEP + 1);
		name_places_settle(files->places, batch, file->is_barren_oddly);
		name_places_settle(files->places, &file->wanted, file->is_barren_oddly);
	} else {
		batch_put_back(files, file, batch);
	}
	/* A stack that waits for ever would keep all that is known from being kept. */
	if (file->failures >= MAX_NAME_WAITS)
		name_places_settle(files->places, &file->wanted, true);
	if (file->is_lost || file->failures >= MAX_NAME_TRIES)
		name_places_fail(files->places, &file->wanted);
	file_give_back(files, file);
}

/* --- when ------------------------------------------------------------------------------------- */

size_t name_files_waiting(const struct name_files *files)
{
	return files->nr_queue;
}

uint64_t name_files_since_ns(const struct name_files *files)
{
	return files->since_ns;
}

uint64_t name_files_next_ns(const struct name_files *files, unsigned int max_running)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < files->nr_queue; i++) {
		const struct name_file *file = files->queue[i];

		if (file->user->running < max_running && file->retry_ns < next_ns)
			next_ns = file->retry_ns;
	}
	return next_ns;
}
