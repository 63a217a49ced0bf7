/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares records with what --save-on names. */
#include "calls/triggers.h"

bool save_triggers_given(const struct save_triggers *on)
{
	return on->slower_ns || on->failed || on->signal;
}

/* A signal interrupted the call, and the kernel begins it anew: nobody has seen it fail. */
static bool is_interruption(uint64_t number)
{
	return number >= 512 && number <= 516 && number != 515;
}

bool save_triggers_meet(const struct save_triggers *on, const struct call_record *record)
{
	uint64_t number = (uint64_t)-record->result;

	if (on->slower_ns && record->flags & CALL_TIMED && record->wall_ns >= on->slower_ns)
		return true;
	return on->failed && record->flags & CALL_RETURNED && record->result < 0 &&
	       !is_interruption(number) && number < 64 * ARRAY_SIZE(on->errnos) &&
	       on->errnos[number / 64] >> number % 64 & 1;
}
