/* SPDX-License-Identifier: BSD-2-Clause */
/* Says on which events calls that were recorded are saved, and recognises such a call. */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

struct save_triggers {
	uint64_t slower_ns;  /* a call takes so long; 0: whatever it takes */
	bool failed;         /* a call fails with one of the errors */
	bool signal;         /* a process ends by a signal: no call tells of that */
	uint64_t errnos[64]; /* a bit for each */
};

/* Whether there are any. */
bool save_triggers_given(const struct save_triggers *triggers);

/* Whether a call is such an event. */
bool save_triggers_meet(const struct save_triggers *triggers, const struct call_record *record);
