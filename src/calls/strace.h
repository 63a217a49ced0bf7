/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call as `strace -f -ttt -T -y` writes it into a file, for programs that read that:
 *
 *   4712 1732459000.123456 openat(AT_FDCWD</srv>, "a", O_RDONLY) = 3</srv/a> <0.000012>
 */
#pragma once

#include "calls/decode.h"
#include "calls/line.h"

/* mono_to_real_ns: what CLOCK_REALTIME is ahead of the clock of records. */
void strace_put_call(struct call_decoder *decoder, const struct call_record *record,
		     int64_t mono_to_real_ns, struct line *out);
