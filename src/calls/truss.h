/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call as a line of truss:
 *
 *   4711/4712:  0.001234 openat(AT_FDCWD, "/srv/.htaccess", O_RDONLY|O_CLOEXEC)  Err#2 ENOENT
 *
 * What text_writer.h says of addresses and "?" holds. A call that seccomp or a tracer refused ends in
 * (refused), one in which its thread ended in (not returned).
 */
#pragma once

#include "calls/decode.h"
#include "calls/line.h"
#include "calls/pieces.h"
#include "calls/rests.h"

struct truss_options {
	bool shows_thread; /* pid/tid */
	bool shows_time;   /* since start_ns, of the call's end */
	bool shows_delta;  /* since the call before it */
	bool shows_cpu;    /* system time; "-" where it is not known */
	bool is_coloured;
	bool is_sleeping; /* it goes on: (sleeping...) */
	uint64_t start_ns;
};

/* Appends the line of a call, whose thread's last call that was shown ended at before_ns (0: none). */
void truss_put_call(struct call_decoder *decoder, const struct call_record *record,
		    const struct truss_options *options, uint64_t before_ns, struct line *out);

#define ROW_BYTES 16

/*
 * Appends what was moved through a descriptor, as hexadecimal and as text, ROW_BYTES a line. rests has what found no
 * room in the record; NULL: that is not known.
 */
void truss_put_buffers(struct call_decoder *decoder, const struct call_record *record,
		       const struct rests *rests, struct line *out);
