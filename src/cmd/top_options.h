/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `bpftruss top`. */
#ifndef BPFTRUSS_TOP_OPTIONS_H
#define BPFTRUSS_TOP_OPTIONS_H

#include "cmd/targets.h"
#include "model/rates.h"

struct top_options {
	bool help;
	bool once, json;
	bool follow; /* children of those given by pid */
	bool wait;   /* for processes that do not exist yet */
	struct targets targets;
	uint64_t delay_ns;
	enum rate_by by;
	enum rate_key sort;
	uint32_t limit;                     /* lines; 0: all */
	struct collector_options collector; /* its selectors are those of targets */
};

/* Returns 0, or fills d and returns a negative errno; top_options_done() is due in both cases. */
int top_options_parse(int argc, char **argv, struct top_options *ret, struct diag *d);

void top_options_done(struct top_options *options);

/* The text of top --help. */
void top_options_print_help(void);

#endif
