/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An edition of the program: the verbs that it has. src/cmd/editions/ has a file for each; the Makefile
 * links one of them, and the folders that its verbs need.
 */
#pragma once

#include "cmd/options.h"

struct edition {
	/* The order is that of --help; the first verb, single calls, has no name. */
	const struct verb *const *verbs;
	size_t nr_verbs;
	/*
	 * The words that --version adds (NULL: none), and the verbs that are missing, up to NULL.
	 */
	const char *remark;
	const char *const *missing;
	/* Options and formats that are missing, up to NULL; NULL: none. */
	const char *const *missing_options;
	/* main() of the child that sends what a daemon pushes; NULL: there is no daemon. */
	void (*post)(int argc, char **argv);
};

extern const struct edition edition;
