/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what this process may do. */
#pragma once

#include "base/mem.h"

/* Whether a capability of <linux/capability.h> is effective; false if that is not known. */
bool capability_is_ours(int capability);
