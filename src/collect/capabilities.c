/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks libcap. */
#include "collect/capabilities.h"

#include <sys/capability.h>

bool capability_is_ours(int capability)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t ours = cap_get_proc();
	bool known;

	known = ours && !cap_get_flag(ours, capability, CAP_EFFECTIVE, &value);
	cap_free(ours);
	return known && value == CAP_SET;
}
