/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the texts of the paths and files by which rows are split, by key. Snapshots share a list,
 * which no longer changes once a snapshot has it.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/abi.h"

/* Paths are cut after this many bytes, files before the last ones; three more bytes mark that. */
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

/* Takes another reference. NULL is fine. */
struct argument_texts *argument_texts_ref(struct argument_texts *texts);

/* Drops a reference, and frees the list with the last one. NULL is fine. */
void argument_texts_free(struct argument_texts *texts);
CLEANUP_OF(argument_texts, argument_texts_free)

/* Adds a copy of a text; argument_texts_sort() is due before anything is looked up. 0 or -ENOMEM. */
int argument_texts_add(struct argument_texts *texts, uint64_t key, const char *text);
void argument_texts_sort(struct argument_texts *texts);

/*
 * Makes a list of texts and gives them keys: each text once, in their order. Sorts the caller's
 * texts. Nothing may be added to the list. Returns 0 or -ENOMEM.
 */
int argument_texts_number(char **list, size_t count, struct argument_texts **ret);

/* The key of a text in such a list; ARGUMENT_ABSENT: it is not there. */
uint64_t argument_texts_key(const struct argument_texts *texts, const char *text);

/* Returns NULL when absent, and if there are no texts. */
const struct argument_text *argument_texts_find_item(const struct argument_texts *texts,
						     uint64_t key);
const char *argument_texts_find(const struct argument_texts *texts, uint64_t key);

/* The length of the folder that a path names, as dirname(1) finds it; 0: it is in ".". */
size_t path_folder_length(const char *path);
