/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of arguments. */
#pragma once

#include "calls/call.h"

/* Tells the writer what argument i of this call is. */
void call_put_value(const struct call *call, const struct argument *argument, size_t i);
