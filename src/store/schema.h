/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the history, by version; docs/HISTORY.md explains them. */
#ifndef BPFTRUSS_STORE_SCHEMA_H
#define BPFTRUSS_STORE_SCHEMA_H

#include <stddef.h>

#include "base/diag.h"

struct db;

/* "bptr": what the first page of a history says that it is. */
#define SCHEMA_APPLICATION_ID 0x62707472

/* SQL that takes a file from version i to i + 1; an empty file is version 0. */
extern const char *const schema_steps[];
extern const int schema_version;

/*
 * Brings a file to the latest version, all steps in one transaction. 0, -ENOTSUP for one that is
 * newer, or an error of db.h; -EBADMSG also for the file of another program.
 */
int schema_migrate(struct db *db, const char *const steps[], int version);

/* Whether a file has the latest version: 0, or -ENOTSUP, -EBADMSG as above. */
int schema_check(struct db *db);

#endif
