/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots as parts of other JSON documents. */
#ifndef BPFTRUSS_SNAPSHOT_JSON_H
#define BPFTRUSS_SNAPSHOT_JSON_H

#include "model/snapshot.h"
#include "report/json_read.h"
#include "report/json_write.h"

/* The object of report_json(). */
void json_put_snapshot(struct json_writer *to, const char *key, const struct snapshot *snapshot);

/* Where and when something was counted: the members host to elapsed_ns. */
void json_put_origin(struct json_writer *to, const struct snapshot *snapshot);

/* Each loss by its name, as an object under "losses". */
void json_put_losses(struct json_writer *to, const struct losses *losses);

/*
 * What json_put_snapshot() wrote; the stacks as of report_json_read(). NULL on failure, which the
 * document remembers.
 */
struct snapshot *json_get_snapshot(const struct json_place *at, struct stack_table **ret_stacks);

#endif
