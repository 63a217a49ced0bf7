/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An edition of the program: the verbs that it has. src/cmd/editions/ has a file for each; the Makefile
 * links one of them, and the folders that its verbs need.
 */
#pragma once

#include "cmd/options.h"

struct edition {
	/* In the order of --help; the first is that of the truss face, which has no name. */
	const struct verb *const *verbs;
	size_t nr_verbs;
	/* What --version says of it, NULL for nothing; and the verbs that are missing, up to NULL. */
	const char *remark;
	const char *const *missing;
};

extern const struct edition edition;
