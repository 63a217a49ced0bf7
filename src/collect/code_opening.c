/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps files that are being opened, and those that wait for it, in the order in which they came. */
#include "collect/code_opening.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stacks/process.h"
#include "stacks/watcher.h"

struct opening {
	struct errand *errand; /* NULL: there is none */
	struct code_identity identity;
	uint32_t number;
	struct mapped_place place;
	uid_t user;
};

struct code_openings {
	struct opening running[MAX_OPENINGS];
	struct opening *waiting;
	size_t nr_waiting, capacity;
	struct code_identity identity;
	int watcher;
};

int code_openings_new(const struct code_identity *identity, int watcher, struct code_openings **ret)
{
	struct code_openings *openings = calloc(1, sizeof(*openings));

	if (!openings)
		return -ENOMEM;
	openings->identity = *identity;
	openings->watcher = watcher;
	*ret = openings;
	return 0;
}

void code_openings_free(struct code_openings *openings)
{
	if (!openings)
		return;
	for (size_t i = 0; i < MAX_OPENINGS; i++)
		errand_free(openings->running[i].errand);
	free(openings->waiting);
	free(openings);
}

/* --- on the way home -------------------------------------------------------------------------- */

enum packed { PACKED_DEV, PACKED_INO, PACKED_S, PACKED_NS, PACKED_OWNER, PACKED_IS_OPEN };

void mapped_file_pack(struct mapped_file *file, struct errand_answer *ret)
{
	const struct inode_key *key = &file->key;

	ret->numbers[PACKED_DEV] = (uint64_t)key->generation << 32 | key->dev;
	ret->numbers[PACKED_INO] = key->ino;
	ret->numbers[PACKED_S] = (uint64_t)key->mtime_s;
	ret->numbers[PACKED_NS] = (uint64_t)key->mtime_ns;
	ret->numbers[PACKED_OWNER] = file->owner;
	ret->numbers[PACKED_IS_OPEN] = file->fd >= 0;
	if (file->fd >= 0)
		ret->fds[ret->nr_fds++] = file->fd;
	if (file->fd >= 0 && file->root >= 0)
		ret->fds[ret->nr_fds++] = file->root;
	snprintf(ret->text, sizeof(ret->text), "%s", file->path ?: "");
	snprintf(ret->name, sizeof(ret->name), "%s", file->name ?: "");
}

/* The key has the time when it was written last. */
void mapped_file_unpack(struct errand_answer *answer, struct mapped_file *ret)
{
	const uint64_t *numbers = answer->numbers;
	bool is_open = numbers[PACKED_IS_OPEN] && answer->nr_fds;

	*ret = (struct mapped_file){
		.fd = is_open ? answer->fds[0] : -1,
		.root = is_open && answer->nr_fds > 1 ? answer->fds[1] : -1,
		.key = { .dev = (uint32_t)numbers[PACKED_DEV],
			 .generation = (uint32_t)(numbers[PACKED_DEV] >> 32),
			 .ino = numbers[PACKED_INO],
			 .mtime_s = (int64_t)numbers[PACKED_S],
			 .mtime_ns = (int64_t)numbers[PACKED_NS] },
		.owner = (uint32_t)numbers[PACKED_OWNER],
		.path = answer->text[0] ? strdup(answer->text) : NULL,
		.name = answer->name[0] ? strdup(answer->name) : NULL,
	};
	ret->written.tv_sec = (time_t)ret->key.mtime_s;
	ret->written.tv_nsec = (long)ret->key.mtime_ns;
	if (is_open)
		answer->nr_fds = 0;
}

/* --- errands ---------------------------------------------------------------------------------- */

static int opening_run(void *closure, struct errand_answer *ret)
{
	const struct opening *opening = closure;
	struct mapped_file file = { .fd = -1, .root = -1 };
	int process = process_open(opening->place.pid);
	int err = mapped_file_open(&opening->identity, process, opening->place.start,
				   opening->place.end, &file);

	if (!err)
		mapped_file_pack(&file, ret);
	return err;
}

static int opening_start(struct code_openings *openings, struct opening *opening)
{
	unsigned int at = (unsigned int)(opening - openings->running);
	int err;

	opening->identity = openings->identity;
	opening->identity.asker = MAX_SEARCHERS + 1 + at;
	err = errand_start(opening_run, opening, &opening->identity.program,
			   opening->identity.program >= 0, &opening->errand);
	return err ? err : watcher_add(openings->watcher, errand_fd(opening->errand));
}

static size_t running_of(const struct code_openings *openings, uid_t user)
{
	size_t count = 0;

	for (size_t i = 0; i < MAX_OPENINGS; i++)
		count += openings->running[i].errand && openings->running[i].user == user;
	return count;
}

/* The first of a user who has less than half of what there is; else there is none. */
static size_t waiting_choose(const struct code_openings *openings)
{
	size_t at = 0;

	while (at < openings->nr_waiting &&
	       running_of(openings, openings->waiting[at].user) >= (MAX_OPENINGS + 1) / 2)
		at++;
	return at;
}

static void openings_fill(struct code_openings *openings)
{
	for (size_t i = 0; i < MAX_OPENINGS; i++) {
		struct opening *opening = &openings->running[i];
		size_t at = opening->errand ? 0 : waiting_choose(openings);

		if (opening->errand)
			continue;
		if (at == openings->nr_waiting)
			break;
		*opening = openings->waiting[at];
		if (opening_start(openings, opening)) {
			/* It has its turn when there are fewer processes, or more memory. */
			errand_free(steal_ptr(&opening->errand));
			break;
		}
		memmove(&openings->waiting[at], &openings->waiting[at + 1],
			(--openings->nr_waiting - at) * sizeof(*openings->waiting));
	}
}

/* Whoever has mapped it. */
static uid_t place_user(const struct mapped_place *place)
{
	int process __cleanup(closep) = process_open(place->pid);
	struct stat status;

	return process < 0 || fstat(process, &status) ? 0 : status.st_uid;
}

int code_openings_add(struct code_openings *openings, uint32_t number,
		      const struct mapped_place *place)
{
	if (openings->nr_waiting == openings->capacity) {
		size_t capacity = 2 * openings->capacity + 16;
		struct opening *grown = reallocarray(openings->waiting, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		openings->waiting = grown;
		openings->capacity = capacity;
	}
	openings->waiting[openings->nr_waiting++] =
		(struct opening){ .number = number, .place = *place, .user = place_user(place) };
	openings_fill(openings);
	return 0;
}

bool code_openings_next(struct code_openings *openings, uint32_t *number, int *err,
			struct mapped_file *ret)
{
	struct errand_answer answer;

	openings_fill(openings);
	for (size_t i = 0; i < MAX_OPENINGS; i++) {
		struct opening *opening = &openings->running[i];

		if (!opening->errand)
			continue;
		if (!fd_is_ready(errand_fd(opening->errand))) {
			if (!errand_timeout_ms(opening->errand))
				errand_stop(opening->errand);
			continue;
		}
		*number = opening->number;
		*ret = (struct mapped_file){ .fd = -1, .root = -1 };
		answer = (struct errand_answer){ .nr_fds = 0 };
		*err = errand_finish(steal_ptr(&opening->errand), &answer);
		if (!*err)
			mapped_file_unpack(&answer, ret);
		errand_answer_done(&answer);
		return true;
	}
	return false;
}

bool code_openings_are_busy(const struct code_openings *openings)
{
	for (size_t i = 0; i < MAX_OPENINGS; i++) {
		if (openings->running[i].errand)
			return true;
	}
	return openings->nr_waiting;
}

int code_openings_patience_ms(const struct code_openings *openings)
{
	int patience = -1;

	for (size_t i = 0; i < MAX_OPENINGS; i++) {
		if (openings->running[i].errand)
			patience = sooner_ms(patience,
					     errand_timeout_ms(openings->running[i].errand) ?: 100);
	}
	/* None could be started. */
	return patience < 0 && openings->nr_waiting ? 100 : patience;
}
