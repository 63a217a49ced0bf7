/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns what workers have answered. Invariant: each place that was ever wanted is in the tree, with
 * the answer that tells of it or, where there is none, without; those of the list wait for theirs.
 */
#include "collect/code_inlines.h"

#include <errno.h>
#include <search.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "elf/worker.h"

/* Workers at a time. */
#define MAX_JOBS 4

/* For all files of a report together; a job that has begun may go on to its own end. */
#define LOAD_NS (20 * NS_PER_SEC)

struct code_place {
	uint32_t file;
	uint64_t address; /* in the code that is at work, not behind it */
	struct elf_inlines *answer;
};

struct code_inlines {
	struct code_files *files;
	void *places; /* tree of struct code_place */
	struct code_place **wanted;
	size_t nr_wanted;
	size_t wanted_capacity;
	struct elf_inlines **answers; /* owned */
	size_t nr_answers;
	bool failed[MAX_UNWIND_FILES]; /* files that are not asked any more */
};

static int compare_places(const void *a, const void *b)
{
	const struct code_place *x = a, *y = b;

	if (x->file != y->file)
		return x->file > y->file ? 1 : -1;
	return (x->address > y->address) - (x->address < y->address);
}

static int compare_wanted(const void *a, const void *b)
{
	return compare_places(*(struct code_place *const *)a, *(struct code_place *const *)b);
}

int code_inlines_new(struct code_files *files, struct code_inlines **ret)
{
	struct code_inlines *inlines = calloc(1, sizeof(*inlines));

	if (!inlines)
		return -ENOMEM;
	inlines->files = files;
	*ret = inlines;
	return 0;
}

void code_inlines_free(struct code_inlines *inlines)
{
	if (!inlines)
		return;
	tdestroy(inlines->places, free);
	for (size_t i = 0; i < inlines->nr_answers; i++)
		elf_inlines_free(inlines->answers[i]);
	free(inlines->answers);
	free(inlines->wanted);
	free(inlines);
}

static struct code_place *place_find(const struct code_inlines *inlines,
				     const struct code_place *wanted)
{
	struct code_place *const *found = tfind(wanted, &inlines->places, compare_places);

	return found ? *found : NULL;
}

static int wanted_add(struct code_inlines *inlines, struct code_place *place)
{
	if (inlines->nr_wanted == inlines->wanted_capacity) {
		size_t capacity = 2 * inlines->wanted_capacity + 64;
		struct code_place **grown = reallocarray(inlines->wanted, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		inlines->wanted = grown;
		inlines->wanted_capacity = capacity;
	}
	if (!tsearch(place, &inlines->places, compare_places))
		return -ENOMEM;
	inlines->wanted[inlines->nr_wanted++] = place;
	return 0;
}

int code_inlines_want(struct code_inlines *inlines, uint32_t file, uint64_t address, bool exact)
{
	const struct code_place wanted = { .file = file, .address = address - !exact };
	struct code_place *place;
	int err;

	if (file == FILE_NONE || file >= MAX_UNWIND_FILES || inlines->failed[file] ||
	    place_find(inlines, &wanted))
		return 0;
	place = malloc(sizeof(*place));
	if (!place)
		return -ENOMEM;
	*place = wanted;
	err = wanted_add(inlines, place);
	if (err)
		free(place);
	return err;
}

/* --- loading ---------------------------------------------------------------------------------- */

/* Places of one file, and the worker that looks for them. */
struct inlines_job {
	struct code_place **places;
	size_t count;
	struct elf_job *job; /* NULL: there is nothing to be found */
};

/* The first of the wanted places, as many as are of one file and go into one question. */
static size_t places_of_file(struct code_place **places, size_t count)
{
	size_t same = 1;

	while (same < count && same < MAX_INLINE_ADDRESSES && places[same]->file == places[0]->file)
		same++;
	return same;
}

static void job_start(struct code_inlines *inlines, struct inlines_job *job)
{
	uint64_t *addresses __cleanup(freep) = calloc(job->count, sizeof(*addresses));
	const struct elf_addresses question = { addresses, job->count };
	uint32_t file = job->places[0]->file;
	int fd, debug_fd;

	job->job = NULL;
	if (!addresses || inlines->failed[file] ||
	    !code_files_dwarf(inlines->files, file, &fd, &debug_fd))
		return;
	for (size_t i = 0; i < job->count; i++)
		addresses[i] = job->places[i]->address;
	elf_job_start_inlines(fd, debug_fd, &question, &job->job);
}

static void job_finish(struct code_inlines *inlines, struct inlines_job *job)
{
	struct elf_inlines *answer __cleanup(elf_inlines_freep) = NULL;
	struct elf_inlines **grown;
	int err = job->job ? elf_job_finish_inlines(steal_ptr(&job->job), &answer) : 0;

	inlines->failed[job->places[0]->file] |= err != 0;
	if (!answer)
		return;
	grown = reallocarray(inlines->answers, inlines->nr_answers + 1, sizeof(*grown));
	if (!grown)
		return;
	inlines->answers = grown;
	for (size_t i = 0; i < job->count; i++)
		job->places[i]->answer = answer;
	inlines->answers[inlines->nr_answers++] = steal_ptr(&answer);
}

void code_inlines_load(struct code_inlines *inlines)
{
	struct inlines_job running[MAX_JOBS];
	uint64_t end_ns = clock_mono_ns() + LOAD_NS;
	size_t first = 0, last = 0, count;

	if (inlines->nr_wanted)
		qsort(inlines->wanted, inlines->nr_wanted, sizeof(*inlines->wanted),
		      compare_wanted);
	for (size_t i = 0; i < inlines->nr_wanted && clock_mono_ns() < end_ns; i += count) {
		struct code_place **places = &inlines->wanted[i];

		count = places_of_file(places, inlines->nr_wanted - i);
		if (last - first == MAX_JOBS)
			job_finish(inlines, &running[first++ % MAX_JOBS]);
		running[last % MAX_JOBS] = (struct inlines_job){ places, count, NULL };
		job_start(inlines, &running[last++ % MAX_JOBS]);
	}
	while (first < last)
		job_finish(inlines, &running[first++ % MAX_JOBS]);
	inlines->nr_wanted = 0;
}

size_t code_inlines_find(const struct code_inlines *inlines, uint32_t file, uint64_t address,
			 bool exact, const char *names[MAX_INLINE_DEPTH])
{
	const struct code_place wanted = { .file = file, .address = address - !exact };
	const struct code_place *place = place_find(inlines, &wanted);

	return place && place->answer ? elf_inlines_find(place->answer, wanted.address, names) : 0;
}
