/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call as one object on one line. Each of its arguments has a name, a kind and a value; kind and value
 * are those of bpftruss-json(5).
 */
#pragma once

#include "calls/decode.h"
#include "model/stack.h"

struct json_writer;

/*
 * Writes the object without its schema, as an element of another document. The time is CLOCK_REALTIME at the end
 * of the call; without a stack (NULL), the object has no such member.
 */
void json_put_call(struct json_writer *to, struct call_decoder *decoder,
		   const struct call_record *record, int64_t real_ns, const struct stack *stack);

/* Writes the object and its schema as one line. Returns 0 or -EIO. */
int report_call_json(struct call_decoder *decoder, const struct call_record *record,
		     int64_t real_ns, const struct stack *stack, FILE *out);
