/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of the whole file, by name. */
#ifndef BPFTRUSS_STORE_META_H
#define BPFTRUSS_STORE_META_H

#include <stdint.h>

struct db;

/* 0 when there is none, or it is damaged. See db.h for the errors. */
int meta_read(struct db *db, const char *name, int64_t *ret);
int meta_write(struct db *db, const char *name, int64_t value);

#endif
