/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call as one object on one line. Each of its arguments has a name, a kind and a value; kind and value
 * are those of bpftruss-json(5).
 */
#pragma once

#include "calls/decode.h"
#include "json/json.h"

/* What a record does not say itself. */
struct call_context {
	int64_t real_ns;         /* CLOCK_REALTIME of its end */
	enum syscall_abi native; /* the ABI that goes without saying */
	const char *comm;        /* up to comm_size bytes or a NUL */
	size_t comm_size;
	const char *const *frames; /* of its stack, the innermost first */
	size_t nr_frames;
	bool has_stack;
};

/* The members of that object but for the schema, as one within another document. */
void json_put_call(struct json_writer *to, struct call_decoder *decoder,
		   const struct call_record *record, const struct call_context *context);

/* Returns 0 or -EIO. */
int report_call_json(struct call_decoder *decoder, const struct call_record *record,
		     const struct call_context *context, FILE *out);
