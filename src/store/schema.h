/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the history; docs/HISTORY.md explains them. */
#ifndef BPFTRUSS_STORE_SCHEMA_H
#define BPFTRUSS_STORE_SCHEMA_H

#include <stdbool.h>

#include "store/db.h"

#define SCHEMA_VERSION 1

/*
 * Says whether a file is a history of this version, and makes the tables of an empty one if that is
 * asked for. 0, -ENOTSUP for one of a newer version, or an error of db.h; -EBADMSG also for the file
 * of another program.
 */
int schema_open(struct db *db, bool make);

#endif
