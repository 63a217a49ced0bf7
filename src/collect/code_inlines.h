/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that were inlined at addresses of files. All addresses of a report are asked for
 * at once, a file at a time; what is known is not asked again.
 */
#ifndef BPFTRUSS_CODE_INLINES_H
#define BPFTRUSS_CODE_INLINES_H

#include "collect/code_files.h"
#include "elf/inlines.h"

struct code_inlines;

/* Borrows the files, which must keep their descriptors. Returns 0 or -ENOMEM. */
int code_inlines_new(struct code_files *files, struct code_inlines **ret);

/* NULL is fine. */
void code_inlines_free(struct code_inlines *inlines);

/* Addresses as code_files_name() takes them. To be asked for with the next load; 0 or -ENOMEM. */
int code_inlines_want(struct code_inlines *inlines, uint32_t file, uint64_t address, bool exact);

/*
 * Asks for all that is wanted. A file that takes too long has no inlined functions, nor have those
 * for which no time is left.
 */
void code_inlines_load(struct code_inlines *inlines);

/* Fills names, innermost first, and returns their number. They live as long as the inlines. */
size_t code_inlines_find(const struct code_inlines *inlines, uint32_t file, uint64_t address,
			 bool exact, const char *names[MAX_INLINE_DEPTH]);

#endif
