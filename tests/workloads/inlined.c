/* SPDX-License-Identifier: BSD-2-Clause */
/* inlined CALLS: makes its calls in functions that are inlined into another one. */
#include "table.h"

#define INLINE static inline __attribute__((always_inline))

INLINE void ask(void)
{
	table_add(SYS_getppid, raw_call(SYS_getppid), END_OK);
}

INLINE void ask_twice(void)
{
	ask();
	ask();
}

static __attribute__((noinline)) void work(int calls)
{
	for (int i = 0; i < calls; i += 2)
		ask_twice();
}

WORKLOAD(argc, argv)
{
	work(arg_number(argc, argv, 1, 100));
}
