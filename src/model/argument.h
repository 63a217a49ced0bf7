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
	char *text; /* owned; untrusted bytes */
};

struct argument_texts {
	uint32_t refs;
	struct argument_text *items; /* owned, by key */
	size_t count;
	void *by_text; /* tree of struct argument_text, only for argument_texts_key() */
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

/* The key of a text, a new one if it has none yet; others must not be added. Returns 0 or -ENOMEM. */
int argument_texts_key(struct argument_texts *texts, const char *text, uint64_t *ret);

/* NULL when absent, and where there are no texts. */
const char *argument_texts_find(const struct argument_texts *texts, uint64_t key);

/* The length of the folder that a path names, as dirname(1) finds it; 0: it is in ".". */
size_t path_folder_length(const char *path);
