/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of arguments. */
#pragma once

#include "calls/call.h"

/* Passes the value of argument i to the writer. */
void call_put_value(const struct call *call, const struct argument *argument, size_t i);
