/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A text of /metrics that may be given again: anybody may ask, as often as he likes, and each text
 * takes a reading of all rows. All zero: there is none.
 */
#ifndef BPFTRUSS_SCRAPE_H
#define BPFTRUSS_SCRAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* A text is given again until it is this old. */
#define SCRAPE_MAX_AGE_NS NS_PER_SEC

struct scrape {
	char *text; /* NULL: none */
	size_t size;
	uint64_t made_ns; /* monotonic */
};

void scrape_done(struct scrape *scrape);

/* A copy, which the caller frees. False: there is none that is young enough, or no memory for it. */
bool scrape_again(const struct scrape *scrape, uint64_t now_ns, char **ret_text, size_t *ret_size);

/* Copies a text, to be given again; without memory there is none. */
void scrape_keep(struct scrape *scrape, uint64_t now_ns, const char *text, size_t size);

#endif
