/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that several verbs share. Their options are a struct that begins with struct options. */
#ifndef BPFTRUSS_OPTIONS_PARTS_H
#define BPFTRUSS_OPTIONS_PARTS_H

#include "cmd/option_table.h"

/* Whose calls. */
extern const struct option_part target_options;

/* What a report is like. */
extern const struct option_part report_options;

/* Those of them that a comparison and a timeline obey. */
extern const struct option_part comparison_options;
extern const struct option_part timeline_options;

/* How large the tables are, and what stacks tell. */
extern const struct option_part collect_options;

#endif
