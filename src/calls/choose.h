/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments that another argument gives a meaning: of fcntl(), futex(), prctl() and their like. */
#pragma once

#include "calls/call.h"

/* NULL: the arguments of this call are what the table says. */
argument_chooser argument_chooser_find(const char *name);
