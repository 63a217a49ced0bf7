/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every reason for which a snapshot may not be exact: those the BPF programs count (enum loss) and
 * those only user space can see. The names are part of the JSON contract.
 */
#ifndef BPFTRUSS_LOSSES_H
#define BPFTRUSS_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpftruss/abi.h"

enum model_loss {
	LOSS_NUMBER_FOLDED = NR_LOSS, /* by folding; see model/fold.h */
	LOSS_KIND_FOLDED,
	LOSS_ENTER_MISSED, /* runs of a program that the kernel skipped, host-wide */
	LOSS_LEAVE_MISSED,
	LOSS_SWITCH_MISSED,
	LOSS_LIFECYCLE_MISSED,
	LOSS_CHANGE_MISSED,
	LOSS_TORN_READ,
	NR_MODEL_LOSS,
};

struct losses {
	uint64_t count[NR_MODEL_LOSS];
};

struct loss_text {
	const char *name;   /* JSON key */
	const char *what;   /* what N of them mean, after the number */
	const char *why;    /* cause or remedy */
	bool calls_missing; /* counts calls that are in no row */
};

/* Indexed by enum loss and enum model_loss. */
extern const struct loss_text loss_texts[NR_MODEL_LOSS];

/* Writes "exact: no call is missing", or what is missing and why. */
#define LOSSES_TEXT_MAX 4096
void losses_text(const struct losses *losses, char *buf, size_t size);

bool losses_none(const struct losses *losses);

void losses_merge(struct losses *into, const struct losses *from);

/* Torn reads are of one reading, not since the start: those of either distort what is between. */
void losses_subtract(struct losses *from, const struct losses *earlier);

#endif
