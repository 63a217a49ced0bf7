/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for libcap. */
#include "collect/capabilities.h"

bool capability_is_ours(int capability)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/self/status", "re");
	unsigned long long effective = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	}
	return effective >> capability & 1;
}
