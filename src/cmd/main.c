/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the choice of the verb. Anything that is not a verb is the truss face: count_main(). */
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{ "doctor", doctor_main },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(argv[1], verbs[i].name))
			return verbs[i].run(argc - 1, argv + 1);
	}
	return count_main(argc, argv);
}
