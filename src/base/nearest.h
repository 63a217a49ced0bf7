/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the word that a misspelt one is most likely meant to be. */
#pragma once

#include "base/mem.h"

/* Longer words have no near ones. */
#define NEAREST_WORD_MAX 32

/* A search: begins with nearest_to(), then looks at one candidate after the other. */
struct nearest {
	const char *word; /* borrowed */
	const char *best; /* borrowed; NULL: none is near enough to be helpful */
	size_t limit;     /* letters that may differ */
};

struct nearest nearest_to(const char *word);

/* Of candidates that are equally near the first wins. */
void nearest_look(struct nearest *nearest, const char *candidate);
