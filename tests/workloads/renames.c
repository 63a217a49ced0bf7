// SPDX-License-Identifier: BSD-2-Clause
/*
 * renames NAME TIMES [child]: is called NAME, then TIMES times something else and NAME again. Makes
 * two getppid calls under NAME each time, and a getsid call under the other name. With child it is a
 * child that does, which began as NAME.
 */

#include "table.h"

static void take_name(const char *name)
{
	raw_call(SYS_prctl, PR_SET_NAME, name);
}

int main(int argc, char **argv)
{
	const char *name;
	int times;

	table_init(&argc, &argv);
	name = argc > 1 ? argv[1] : "chosen";
	times = arg_number(argc, argv, 2, 7);
	take_name(name);
	table_barrier();
	if (argc > 3 && fork()) {
		wait(NULL);
		exit(0);
	}
	for (int i = 0; i < times; i++) {
		repeat_call(2, SYS_getppid, 0);
		take_name("somebody else");
		raw_call(SYS_getsid, 0);
		take_name(name);
	}
	exit(0);
}
