// SPDX-License-Identifier: BSD-2-Clause
/* Children, each under a name that no output format likes. */

#include "table.h"

static const char *const names[] = {
	"\"quo\"ted\\",  "new\nline\rtab\t", "\033[31mred\033[0m",  "\377\376\x80nonutf8",
	"csi\302\2332J", "a,b;c=d{e}",       "rtl\342\200\256evil", " ",
	"\001\002\177",  "fifteen\342\200",  "../../etc",           "%s%n%x",
};

WORKLOAD(argc, argv)
{
	for (int i = 0; i < COUNT(names); i++) {
		int child = counted_fork();

		if (!child) {
			counted_call(SYS_prctl, PR_SET_NAME, names[i]);
			repeat_call(5 + i, SYS_getppid, 0);
			counted_exit(SYS_exit_group, 0);
		}
		counted_wait(child);
	}
	counted_call(SYS_prctl, PR_SET_NAME, names[argc > 1 ? 2 : 0]);
}
