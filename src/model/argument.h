/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows what the paths and files are called that rows are split by: texts by key. Snapshots share a list, which
 * does not change any more once one has it.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/abi.h"

/* A path is cut behind so many bytes, a file before them; either is marked by three more. */
#define ARGUMENT_BYTES_MAX (ARGUMENT_TEXT + 3)

struct argument_text {
	uint64_t key;
	char *text;     /* owned; untrusted bytes */
	uint32_t looks; /* how often its owner has looked whether it has another one by now */
};

struct argument_texts {
	uint32_t refs;
	struct argument_text *items; /* owned, by key */
	size_t count;
};

/* Returns 0 or -ENOMEM. */
int argument_texts_new(struct argument_texts **ret);

/* One more has it. NULL is fine. */
struct argument_texts *argument_texts_ref(struct argument_texts *texts);

/* Frees it with the last who has it; NULL is fine. */
void argument_texts_free(struct argument_texts *texts);
CLEANUP_OF(argument_texts, argument_texts_free)

/* Adds a copy of a text; argument_texts_sort() is due before anything is looked up. 0 or -ENOMEM. */
int argument_texts_add(struct argument_texts *texts, uint64_t key, const char *text);
void argument_texts_sort(struct argument_texts *texts);

/*
 * Makes a list of texts that are to be given keys: each one once, in the order of the texts. Sorts the
 * caller's. Nothing is to be added to it. Returns 0 or -ENOMEM.
 */
int argument_texts_number(char **list, size_t count, struct argument_texts **ret);

/* The key of a text in such a list; ARGUMENT_ABSENT: it is not there. */
uint64_t argument_texts_key(const struct argument_texts *texts, const char *text);

/* NULL when absent, and where there are no texts. */
const struct argument_text *argument_texts_find_item(const struct argument_texts *texts,
						     uint64_t key);
const char *argument_texts_find(const struct argument_texts *texts, uint64_t key);

/* The length of the folder that a path names, as dirname(1) finds it; 0: it is in ".". */
size_t path_folder_length(const char *path);
