/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind tables in the kernel: include/bpftruss/stack_abi.h. A file's table is published once
 * and never changes; the programs see it only when all of it is there.
 */
#ifndef BPFTRUSS_UNWIND_TABLES_H
#define BPFTRUSS_UNWIND_TABLES_H

#include "elf/unwind_rows.h"

struct unwind_tables;
struct truss_bpf;

/* The maps must be loaded. Returns 0 or -errno. */
int unwind_tables_new(const struct truss_bpf *skel, struct unwind_tables **ret);
void unwind_tables_free(struct unwind_tables *tables);
CLEANUP_OF(unwind_tables, unwind_tables_free)

/*
 * Packs the rows of a file of this owner under its number; NULL or no rows: frame pointers. -ENOSPC
 * when there is no room for all of them, or its owner has as much as is left for others: then, too,
 * it has frame pointers only.
 */
int unwind_tables_publish(struct unwind_tables *tables, uint32_t file, uint32_t owner,
			  const struct elf_unwind *unwind);

/* Has the programs ask again for the table of a file, once its code is seen again after a pause. */
void unwind_tables_ask_again(struct unwind_tables *tables, const struct inode_key *key,
			     uint32_t file, uint32_t pause_s);

/* Kernel memory of the rows so far. */
size_t unwind_tables_bytes(const struct unwind_tables *tables);

#endif
