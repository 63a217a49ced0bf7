/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of a call that has not failed, as text. */
#pragma once

#include "calls/decode.h"
#include "calls/line.h"

/* Writes what stands behind "= ". */
void result_put(struct call_decoder *decoder, const struct call_record *record,
		const struct call_result *result, enum call_style style, struct line *out);
