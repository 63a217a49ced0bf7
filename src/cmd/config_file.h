/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of sections and keys, whose keys are options. */
#ifndef BPFTRUSS_CONFIG_FILE_H
#define BPFTRUSS_CONFIG_FILE_H

#include "cmd/option_table.h"

struct config_section {
	const char *name;
	const struct option_part *part;
};

struct config_reader {
	const struct config_section *sections;
	size_t nr_sections;
	void *options;
	/* Keeps a value as long as the options live; NULL: no memory. */
	const char *(*keep)(void *options, const char *value);
	/* Told each error: file, line, and a sentence. */
	void (*complain)(const char *file, int line, const char *sentence);
};

/* Sets what a file says. Returns the number of errors, or -errno when it cannot be read. */
int config_file_read(const struct config_reader *reader, const char *path);

#endif
